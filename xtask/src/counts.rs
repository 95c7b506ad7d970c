//! `cargo xtask counts`: checks the instruction counts of the engine's hot path against recorded
//! values.
//!
//! Times on a shared machine vary; instruction counts are the same everywhere. Callgrind counts
//! those of fixed work. A count far above its recorded value fails. A count far below it also
//! fails, so that the recorded value is lowered and a later regression is noticed.

use crate::{paths, shell};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How far a count may be from its recorded value, in percent.
const TOLERANCE_PERCENT: u64 = 10;

/// The work that is counted.
const WORK: [&str; 3] = ["expressions", "fold", "steps"];

/// The start of the process, which is subtracted from every count.
const START: &str = "nothing";

/// Counts all work; `--write` records the counts.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let write = crate::only_flag(arguments, "--write")?;
    ensure!(
        shell::find("valgrind", None).is_some(),
        "valgrind is missing; `cargo xtask setup` installs it"
    );
    let program = build()?;
    let start = count(&program, START)?;
    let mut counts = Vec::new();
    for work in WORK {
        counts.push((
            work.to_owned(),
            count(&program, work)?.saturating_sub(start),
        ));
    }
    let path = paths::root().join("crates/tramline-bench/counts.toml");
    if write {
        std::fs::write(&path, text(&counts))?;
        return Ok(());
    }
    let bounds =
        paths::read(&path).context("no counts are recorded; run `cargo xtask counts --write`")?;
    let bounds = parse_counts(&bounds)?;
    let mut wrong = Vec::new();
    for (work, count) in &counts {
        let bound = bounds.iter().find(|(bounded, _)| bounded == work);
        let (_, bound) = bound.with_context(|| format!("{work} has no recorded count"))?;
        let (line, fault) = compare_count(work, *bound, *count);
        println!("{line}");
        wrong.extend(fault);
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => bail!("{}", wrong.join("\n")),
    }
}

fn build() -> Result<PathBuf> {
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features counts --bin tramline-bench-counts";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    Ok(paths::target().join("release/tramline-bench-counts"))
}

/// The instructions of one piece of work, including its process.
fn count(program: &Path, work: &str) -> Result<u64> {
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg(work)
        .stdin(Stdio::null())
        .output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{work}: {said}");
    let line = said.lines().find_map(|line| line.split_once("Collected :"));
    let number = line.and_then(|(_, rest)| rest.split_whitespace().next());
    let number = number.with_context(|| format!("callgrind gave no count: {said}"))?;
    Ok(number.parse()?)
}

/// A line to print, and the problem with the count, if any.
fn compare_count(work: &str, bound: u64, count: u64) -> (String, Option<String>) {
    let percent = (count as f64 / bound as f64 - 1.0) * 100.0;
    let line =
        format!("{work:<12} {count:>12} instructions, recorded {bound:>12}, {percent:+.1} %");
    let wrong = if count * 100 > bound * (100 + TOLERANCE_PERCENT) {
        Some(format!(
            "{work} takes {percent:.1} % more instructions than recorded: find the regression"
        ))
    } else if count * 100 < bound * (100 - TOLERANCE_PERCENT) {
        Some(format!(
            "{work} takes {:.1} % fewer instructions than recorded: lower the record with `cargo xtask counts --write`",
            -percent
        ))
    } else {
        None
    };
    (line, wrong)
}

fn parse_counts(text: &str) -> Result<Vec<(String, u64)>> {
    let table: toml::Table = text.parse()?;
    let bound = |(work, value): (String, toml::Value)| {
        let bound = value
            .as_integer()
            .and_then(|bound| u64::try_from(bound).ok());
        let bound = bound.filter(|bound| *bound > 0);
        Ok((
            work.clone(),
            bound.with_context(|| format!("{work}: not a positive number"))?,
        ))
    };
    table.into_iter().map(bound).collect()
}

fn text(counts: &[(String, u64)]) -> String {
    let mut text = String::from(
        "# Instructions of fixed work, without the start of the process. `cargo xtask counts` fails if a count differs by\n\
         # more than 10 %, and `cargo xtask counts --write` records new counts.\n",
    );
    for (work, count) in counts {
        text.push_str(&format!("{work} = {count}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_and_an_unseen_gain_are_wrong() {
        assert!(
            compare_count("steps", 1_000, 1_101)
                .1
                .unwrap()
                .contains("more")
        );
        assert!(
            compare_count("steps", 1_000, 899)
                .1
                .unwrap()
                .contains("lower")
        );
        for near in [900, 1_000, 1_100] {
            assert_eq!(compare_count("steps", 1_000, near).1, None, "{near}");
        }
    }

    #[test]
    fn bounds_are_read_as_they_are_written() {
        let counts = vec![("fold".to_owned(), 12), ("steps".to_owned(), 34)];
        assert_eq!(parse_counts(&text(&counts)).unwrap(), counts);
        assert!(parse_counts("steps = 'many'").is_err());
        assert!(parse_counts("steps = 0").is_err());
    }
}
