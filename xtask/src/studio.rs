//! `cargo xtask studio`: builds the studio's page into the crate that serves it, and tests it.
//!
//! The built page is committed, so that `cargo build` needs no node. `cargo xtask test` builds it
//! anew and refuses a page that is not what its source gives.

use crate::shell::{self, Printed};
use crate::{paths, setup};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Builds the page; `--pictures` takes the pictures of the documentation from it instead.
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

/// What the tests of the page printed: its pure parts, then in a browser against the binary.
pub(crate) fn test() -> Result<Vec<Printed>> {
    packages()?;
    let pure = shell::run_and_keep(&mut script("test"))?;
    let browser = shell::run_and_keep(&mut script("browser"))?;
    Ok(vec![pure, browser])
}

/// Builds the page elsewhere and refuses the committed one if it differs.
pub(crate) fn compare() -> Result<()> {
    packages()?;
    shell::run(&mut script("compare"))
}

/// Installs the packages that the page is built with, exactly those of the lock file.
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

/// What vitest counted, by its closing line: `Tests  2 failed | 9 passed | 1 skipped (12)`.
pub(crate) fn closing(line: &str) -> Option<Vec<(u64, String)>> {
    let plain = uncoloured(line);
    let counts = plain.trim().strip_prefix("Tests ")?.rsplit_once('(')?.0;
    let part = |part: &str| {
        let (number, word) = part.trim().split_once(' ')?;
        Some((number.parse().ok()?, word.trim().to_owned()))
    };
    Some(counts.split('|').filter_map(part).collect())
}

/// The line without what colours it.
fn uncoloured(line: &str) -> String {
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

/// Fails where one of the runs of a test runner did.
pub(crate) fn passed(all: &[Printed]) -> Result<()> {
    match all.iter().all(|printed| printed.success) {
        true => Ok(()),
        false => bail!("some tests of the page did not pass"),
    }
}

#[cfg(test)]
mod tests {
    use super::closing;

    #[test]
    fn the_closing_line_of_vitest_is_read() {
        let line = "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[31m2 failed\u{1b}[39m | 9 passed | 1 skipped (12)";
        let counted = closing(line).unwrap();
        let words: Vec<_> = counted
            .iter()
            .map(|(n, word)| format!("{n} {word}"))
            .collect();
        assert_eq!(words, ["2 failed", "9 passed", "1 skipped"]);
        assert_eq!(closing("Test Files  3 passed (3)"), None);
    }
}
