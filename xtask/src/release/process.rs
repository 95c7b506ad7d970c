//! Runs programs with captured output, a time limit and, if asked, a clean environment.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Seconds that one program may take; installing Debian packages takes longest.
const PROGRAM_S_MAX: u32 = 600;
/// Bytes of a failed program's output that are shown.
const SHOWN_BYTES_MAX: usize = 2_000;

/// A command below a time limit. `timeout` passes exit codes and signals on.
pub(super) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command
        .args(["--kill-after=10", &PROGRAM_S_MAX.to_string()])
        .arg(program);
    command
}

/// Gives a command an environment of its own: an empty home, and no settings of this machine's user.
pub(super) fn clean<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .current_dir(home)
}

/// Runs a command and returns how it ended.
pub(super) fn finish(command: &mut Command) -> Result<Output> {
    let shown = shown(command);
    eprintln!("$ {shown}");
    command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting {shown}"))
}

/// Runs a command that must succeed and returns its standard output.
pub(super) fn output(command: &mut Command) -> Result<String> {
    let ended = finish(command)?;
    let stdout = String::from_utf8_lossy(&ended.stdout).into_owned();
    if ended.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let all = format!("{}\n{}", stdout.trim(), stderr.trim());
    let from = all.len().saturating_sub(SHOWN_BYTES_MAX);
    let from = (from..all.len()).find(|at| all.is_char_boundary(*at));
    let tail = all.get(from.unwrap_or_default()..).unwrap_or_default();
    bail!(
        "{} ended with {}: {}",
        shown(command),
        ended.status,
        tail.trim()
    )
}

/// The command line without the time limit.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let words = match words.first() {
        Some(first) if first == "timeout" => words.get(3..).unwrap_or_default(),
        _ => words.as_slice(),
    };
    let root = format!("{}/", crate::paths::root().display());
    words.join(" ").replace(&root, "")
}
