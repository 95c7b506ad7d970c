//! `cargo xtask studio`: builds the studio into the crate that serves it, and tests it.
//!
//! The built page is committed, so that `cargo build` needs no node. `cargo xtask test` builds it
//! again and rejects a page that differs from its source.

use crate::shell::{self, CommandOutput};
use crate::{paths, setup};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Builds the page; `--pictures` takes the screenshots of the documentation instead.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let pictures = crate::only_flag(arguments, "--pictures")?;
    packages()?;
    if pictures {
        setup::browser()?;
        shell::run(shell::cargo(&["build", "--quiet"]).args(["-p", "tramline", "--bins"]))?;
        return shell::run(&mut script("pictures"));
    }
    shell::run(&mut script("build"))
}

/// Runs the tests of the page and returns their output: unit tests, then browser tests against the
/// binary.
pub(crate) fn test() -> Result<Vec<CommandOutput>> {
    packages()?;
    let pure = shell::run_and_capture(&mut script("test"))?;
    let browser = shell::run_and_capture(&mut script("browser"))?;
    Ok(vec![pure, browser])
}

/// Builds the page in another directory and rejects the committed one if it differs.
pub(crate) fn compare() -> Result<()> {
    packages()?;
    shell::run(&mut script("compare"))
}

/// Installs the page's build dependencies, exactly those of the lock file.
fn packages() -> Result<()> {
    let lock = paths::read(&folder().join("package-lock.json"))?;
    let stamp = folder().join("node_modules/.stamp");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == lock) {
        return Ok(());
    }
    let quiet = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
    shell::run(Command::new("npm").args(quiet).current_dir(folder()))?;
    fs::write(&stamp, &lock).with_context(|| format!("writing {}", stamp.display()))
}

/// A script of the page's `package.json`.
fn script(name: &str) -> Command {
    let mut command = Command::new("npm");
    command
        .args(["run", "--silent", name])
        .current_dir(folder())
        .env("TRAMLINE_BIN", paths::target().join("debug/tramline"));
    command
}

fn folder() -> PathBuf {
    paths::root().join("studio")
}

/// The counts of vitest's closing line: `Tests  2 failed | 9 passed | 1 skipped (12)`.
pub(crate) fn parse_summary(line: &str) -> Option<Vec<(u64, String)>> {
    let plain = strip_colours(line);
    let counts = plain.trim().strip_prefix("Tests ")?.rsplit_once('(')?.0;
    let part = |part: &str| {
        let (number, word) = part.trim().split_once(' ')?;
        Some((number.parse().ok()?, word.trim().to_owned()))
    };
    Some(counts.split('|').filter_map(part).collect())
}

/// The line without terminal colours.
fn strip_colours(line: &str) -> String {
    let mut inside = false;
    line.chars()
        .filter(|letter| match (inside, letter) {
            (false, '\u{1b}') => {
                inside = true;
                false
            }
            (true, letter) => {
                inside = !letter.is_ascii_alphabetic();
                false
            }
            (false, _) => true,
        })
        .collect()
}

/// Fails if one of the test runs failed.
pub(crate) fn check_success(all: &[CommandOutput]) -> Result<()> {
    match all.iter().all(|printed| printed.success) {
        true => Ok(()),
        false => bail!("some tests of the studio failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_summary;

    #[test]
    fn the_closing_line_of_vitest_is_read() {
        let line = "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[31m2 failed\u{1b}[39m | 9 passed | 1 skipped (12)";
        let counted = parse_summary(line).unwrap();
        let words: Vec<_> = counted
            .iter()
            .map(|(n, word)| format!("{n} {word}"))
            .collect();
        assert_eq!(words, ["2 failed", "9 passed", "1 skipped"]);
        assert_eq!(parse_summary("Test Files  3 passed (3)"), None);
    }
}
