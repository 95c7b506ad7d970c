//! Damaged expressions in a process with little memory: the mutation test of `tramline-expr`, with
//! more rounds and a hard bound on its address space.

use crate::{paths, shell};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

/// The address space of the child, in KiB, as `ulimit -v` takes it: 1 GB.
const ADDRESS_SPACE_KIB: u32 = 1_000_000_000 / 1024;
/// The processor time of the child, in seconds, as `ulimit -t` takes it: what never ends is ended.
const CPU_SECONDS: u32 = 900;
/// How far past its deadline an evaluation may end.
const RATIO_MAX: f64 = 2.0;
/// What the test prints before the worst ratio.
const SLOWEST: &str = "the slowest took ";

/// Runs `count` damaged expressions. The test itself gives them a stack of 2 MiB.
pub(super) fn run(count: u64, seed: u64) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    ensure!(
        paths::shared().join("data/jsonata-suite").is_dir(),
        "there is no JSONata suite in {}; TRAMLINE_SHARED names another place",
        paths::shared().display()
    );
    let program = built()?;
    // The shell sets the bounds for itself and becomes the program.
    let script = format!(
        "ulimit -v {ADDRESS_SPACE_KIB} && ulimit -t {CPU_SECONDS} && exec \"$0\" --nocapture"
    );
    let printed = shell::run_and_keep(
        Command::new("sh")
            .args(["-c", &script])
            .arg(program)
            .env("TRAMLINE_MUTATIONS", count.to_string())
            .env("TRAMLINE_SEED", seed.to_string())
            .env("TRAMLINE_SHARED", paths::shared()),
    )?;
    ensure!(
        printed.success,
        "damaged expressions brought the process down"
    );
    let Some(ratio) = printed.lines.iter().find_map(|line| ratio(line)) else {
        bail!("the test did not say how long the slowest took");
    };
    ensure!(
        ratio <= RATIO_MAX,
        "the slowest took {ratio} of its deadline, {RATIO_MAX} is the most"
    );
    println!("{count} damaged expressions: no abort, no panic, worst {ratio} of the deadline");
    Ok(())
}

/// The test program as cargo built it.
fn built() -> Result<PathBuf> {
    let what = "test --quiet --release --package tramline-expr --test mutations --no-run";
    let what: Vec<&str> = what.split(' ').collect();
    let mut command = shell::cargo(&what);
    let output = command
        .args(["--message-format", "json"])
        .output()
        .context("starting cargo")?;
    ensure!(
        output.status.success(),
        "cargo: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    messages
        .filter(|message| message["target"]["name"] == "mutations")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo did not say where the mutation test is")
}

fn ratio(line: &str) -> Option<f64> {
    let rest = line.split_once(SLOWEST)?.1;
    rest.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn the_worst_ratio_is_read() {
        assert_eq!(
            ratio("the slowest took 1.04 of its deadline: \"x\""),
            Some(1.04)
        );
        assert_eq!(ratio("3 do not compile"), None);
    }
}
