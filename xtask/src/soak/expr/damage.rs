//! Runs damaged expressions in a process with little memory: the mutation test of `tramline-expr`,
//! with more rounds and a hard limit on its address space.

use crate::{paths, shell};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use std::process::Command;

/// The address space of the child, in KiB, for `ulimit -v`: 1 GB.
const ADDRESS_SPACE_KIB: u32 = 1_000_000_000 / 1024;
/// The CPU time of the child, in seconds, for `ulimit -t`, so that an endless run is killed.
const CPU_SECONDS: u32 = 900;
/// Ratio of an evaluation's time to its deadline that is tolerated.
const RATIO_MAX: f64 = 2.0;
/// The text that the test prints before the worst ratio.
const SLOWEST: &str = "the slowest took ";

/// Runs `count` damaged expressions. The test itself gives them a stack of 2 MiB.
pub(super) fn run(count: u64, seed: u64) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    ensure!(
        paths::shared().join("data/jsonata-suite").is_dir(),
        "there is no JSONata suite in {}; set TRAMLINE_SHARED to its directory",
        paths::shared().display()
    );
    let program = build_test()?;
    // The shell sets the limits for itself and then execs the program.
    let script = format!(
        "ulimit -v {ADDRESS_SPACE_KIB} && ulimit -t {CPU_SECONDS} && exec \"$0\" --nocapture"
    );
    let printed = shell::run_and_capture(
        Command::new("sh")
            .args(["-c", &script])
            .arg(program)
            .env("TRAMLINE_MUTATIONS", count.to_string())
            .env("TRAMLINE_SEED", seed.to_string())
            .env("TRAMLINE_SHARED", paths::shared()),
    )?;
    ensure!(printed.success, "a damaged expression crashed the process");
    let Some(ratio) = printed.lines.iter().find_map(|line| ratio(line)) else {
        bail!("the test did not print the time of the slowest");
    };
    ensure!(
        ratio <= RATIO_MAX,
        "the slowest took {ratio} of its deadline, at most {RATIO_MAX} is allowed"
    );
    println!("{count} damaged expressions: no abort, no panic, worst {ratio} of the deadline");
    Ok(())
}

/// The test program as cargo built it.
fn build_test() -> Result<PathBuf> {
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
        .context("cargo did not print the path of the mutation test")
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
