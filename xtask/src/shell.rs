//! Runs other programs: commands are printed, failures are reported.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// How the names of the variables start with which cargo describes the package that it runs.
const OWN_PACKAGE: [&str; 5] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_BIN_",
    "CARGO_CRATE_",
    "CARGO_PRIMARY_",
];

/// Runs a command to completion with inherited output.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    announce(command);
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("starting {}", name(command)))?;
    if status.success() {
        Ok(())
    } else {
        bail!("{} ended with {status}", name(command))
    }
}

/// What a command printed, and whether it succeeded.
pub(crate) struct CommandOutput {
    /// The lines of both streams.
    pub(crate) lines: Vec<String>,
    /// Whether it exited with 0.
    pub(crate) success: bool,
}

/// Runs a command to completion, printing its output and collecting it.
pub(crate) fn run_and_capture(command: &mut Command) -> Result<CommandOutput> {
    announce(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {}", name(command)))?;
    let out = child.stdout.take().map(|stream| echo(stream, false));
    let err = child.stderr.take().map(|stream| echo(stream, true));
    let mut lines = Vec::new();
    for reader in [out, err].into_iter().flatten() {
        lines.extend(reader.join().unwrap_or_default());
    }
    let success = child.wait()?.success();
    Ok(CommandOutput { lines, success })
}

fn echo(stream: impl Read + Send + 'static, is_error: bool) -> thread::JoinHandle<Vec<String>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        // Test output may be anything: invalid UTF-8 is shown lossily.
        for line in BufReader::new(stream).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            if is_error {
                eprintln!("{line}");
            } else {
                println!("{line}");
            }
            kept.push(line);
        }
        kept
    })
}

/// The `cargo` that runs us, at the workspace root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(crate::paths::root());
    hide_own_package(&mut command);
    command
}

/// Hides the variables with which `cargo run` describes our own package. Build scripts that watch
/// them, such as that of `ring`, would run again, and everything above them would be compiled again.
pub(crate) fn hide_own_package(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let is_own = name
            .to_str()
            .is_some_and(|name| OWN_PACKAGE.iter().any(|start| name.starts_with(start)));
        if is_own {
            command.env_remove(name);
        }
    }
}

/// The program of this name: in `first`, otherwise on the PATH.
pub(crate) fn find(program: &str, first: Option<&Path>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    first
        .map(Path::to_path_buf)
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|dir| dir.join(program))
        .find(|candidate| candidate.is_file())
}

fn announce(command: &Command) {
    let arguments: Vec<_> = command.get_args().map(|a| a.to_string_lossy()).collect();
    eprintln!("$ {} {}", name(command), arguments.join(" "));
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
