//! `cargo xtask counts`: the instructions of the engine's hot path, held to bounds.
//!
//! Times on machines that do other things say little; instructions say the same everywhere. Callgrind counts those of
//! fixed work. More than a bound allows fails; much less asks for the bound to be lowered, so that
//! what was gained is not lost again unseen.

use crate::{paths, shell};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How far a count may be from its bound, in percent.
const TOLERANCE_PERCENT: u64 = 10;

/// The work that is counted.
const WORK: [&str; 3] = ["expressions", "fold", "steps"];

/// Work that is not held to a bound: the start of the process, which is taken off every count.
const START: &str = "nothing";

/// Counts everything; `--write` writes the counts as the new bounds.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let write = crate::only_flag(arguments, "--write")?;
    ensure!(
        shell::find("valgrind", None).is_some(),
        "valgrind is not there; `cargo xtask setup` installs it"
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
    let bounds = paths::read(&path).context("no bounds yet; `cargo xtask counts --write`")?;
    let bounds = bounds_of(&bounds)?;
    let mut wrong = Vec::new();
    for (work, count) in &counts {
        let bound = bounds.iter().find(|(bounded, _)| bounded == work);
        let (_, bound) = bound.with_context(|| format!("{work} has no bound"))?;
        let (line, fault) = judge(work, *bound, *count);
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

/// The instructions of one piece of work, its process included.
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

/// A line to show, and what is wrong with the count.
fn judge(work: &str, bound: u64, count: u64) -> (String, Option<String>) {
    let percent = (count as f64 / bound as f64 - 1.0) * 100.0;
    let line = format!("{work:<12} {count:>12} instructions, bound {bound:>12}, {percent:+.1} %");
    let wrong = if count * 100 > bound * (100 + TOLERANCE_PERCENT) {
        Some(format!(
            "{work} takes {percent:.1} % more instructions than its bound: find what made it longer"
        ))
    } else if count * 100 < bound * (100 - TOLERANCE_PERCENT) {
        Some(format!(
            "{work} takes {:.1} % fewer instructions than its bound: lower the bound with `cargo xtask counts --write`",
            -percent
        ))
    } else {
        None
    };
    (line, wrong)
}

fn bounds_of(text: &str) -> Result<Vec<(String, u64)>> {
    let table: toml::Table = text.parse()?;
    let bound = |(work, value): (String, toml::Value)| {
        let bound = value
            .as_integer()
            .and_then(|bound| u64::try_from(bound).ok());
        let bound = bound.filter(|bound| *bound > 0);
        Ok((
            work.clone(),
            bound.with_context(|| format!("{work}: no count"))?,
        ))
    };
    table.into_iter().map(bound).collect()
}

fn text(counts: &[(String, u64)]) -> String {
    let mut text = String::from(
        "# Instructions of fixed work, the start of the process taken off. `cargo xtask counts` holds them to this within\n\
         # 10 %, and `cargo xtask counts --write` writes them anew.\n",
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
        assert!(judge("steps", 1_000, 1_101).1.unwrap().contains("more"));
        assert!(judge("steps", 1_000, 899).1.unwrap().contains("lower"));
        for near in [900, 1_000, 1_100] {
            assert_eq!(judge("steps", 1_000, near).1, None, "{near}");
        }
    }

    #[test]
    fn bounds_are_read_as_they_are_written() {
        let counts = vec![("fold".to_owned(), 12), ("steps".to_owned(), 34)];
        assert_eq!(bounds_of(&text(&counts)).unwrap(), counts);
        assert!(bounds_of("steps = 'many'").is_err());
        assert!(bounds_of("steps = 0").is_err());
    }
}
