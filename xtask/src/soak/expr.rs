//! `cargo xtask soak expr`: generated expressions must end here as they end in the reference, and
//! damaged ones must end in bounded time and memory.

use crate::{paths, shell};
use anyhow::{Context, Result, bail, ensure};
use compare::{Outcome, Tally};
use generate::{Case, Dice};
use serde_json::json;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

mod compare;
mod damage;
mod generate;
mod templates;

/// How many expressions are compared.
const EXPRESSIONS: u64 = 20_000;
/// How many damaged expressions are run.
const MUTATIONS: u64 = 100_000;
/// The seed when none is given, so that a run can be compared with the one before.
const SEED: u64 = 1;
/// The share of generated expressions that must end as in the reference.
const SHARE_MIN: f64 = 0.995;
/// What is printed of each group of differences.
const SHOWN_PER_GROUP: usize = 3;
/// What is printed of the differences that nobody has explained.
const SHOWN_UNEXPLAINED: usize = 40;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    expressions: u64,
    mutations: u64,
    seed: u64,
}

/// Compares, then damages.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let wish = wish(arguments)?;
    let begun = Instant::now();
    let shares = compared(&wish);
    let damaged = damage::run(wish.mutations, wish.seed);
    println!("{:>6} seconds", begun.elapsed().as_secs());
    shares.and(damaged)
}

fn wish(arguments: &[String]) -> Result<Wish> {
    let mut wish = Wish {
        expressions: EXPRESSIONS,
        mutations: MUTATIONS,
        seed: SEED,
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let number = match argument.as_str() {
            "--expressions" => &mut wish.expressions,
            "--mutations" => &mut wish.mutations,
            "--seed" => &mut wish.seed,
            _ => bail!("`{argument}` is not known here; --expressions, --mutations, --seed are"),
        };
        let text = arguments
            .next()
            .with_context(|| format!("{argument} needs a number"))?;
        *number = text
            .parse()
            .with_context(|| format!("{argument} {text}: not a number"))?;
    }
    Ok(wish)
}

fn compared(wish: &Wish) -> Result<()> {
    if wish.expressions == 0 {
        return Ok(());
    }
    let mut build = shell::cargo(&["build", "--quiet", "--release", "--package"]);
    shell::run(build.args(["tramline-expr", "--example", "outcomes"]))?;
    let modules = paths::tools().join("node_modules");
    ensure!(
        modules.join("jsonata").is_dir(),
        "the npm package jsonata is not in {}; `cargo xtask setup` brings it",
        modules.display()
    );
    let dir = paths::target().join("soak/expr");
    fs::create_dir_all(&dir).with_context(|| format!("making {}", dir.display()))?;
    let mut dice = Dice(wish.seed);
    let cases: Vec<Case> = (0..wish.expressions).map(|_| dice.case()).collect();
    let lines: Vec<String> = cases
        .iter()
        .map(|case| json!({ "expr": case.source, "input": case.input }).to_string())
        .collect();
    let asked = dir.join("cases.jsonl");
    fs::write(&asked, lines.join("\n") + "\n")?;
    let mut ours = Command::new(paths::target().join("release/examples/outcomes"));
    let ours = outcomes(&mut ours, &asked, &dir.join("ours.jsonl"))?;
    let mut reference = Command::new("node");
    reference
        .arg(paths::root().join("xtask/assets/jsonata-outcomes.js"))
        .env("NODE_PATH", &modules);
    let reference = outcomes(&mut reference, &asked, &dir.join("reference.jsonl"))?;
    ensure!(
        ours.len() == cases.len() && reference.len() == cases.len(),
        "{} cases, {} outcomes of ours, {} of the reference",
        cases.len(),
        ours.len(),
        reference.len()
    );
    let mut tally = Tally::default();
    for ((case, ours), reference) in cases.iter().zip(ours).zip(reference) {
        tally.add(case, ours, reference);
    }
    println!("seed {}", wish.seed);
    tally.print(SHOWN_PER_GROUP, SHOWN_UNEXPLAINED);
    ensure!(
        tally.share() >= SHARE_MIN,
        "{:.3} % end as in the reference, {} % should",
        tally.share() * 100.0,
        SHARE_MIN * 100.0
    );
    Ok(())
}

/// Runs a program that reads cases from one file and writes their outcomes to another.
fn outcomes(command: &mut Command, asked: &Path, answered: &PathBuf) -> Result<Vec<Outcome>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .stdin(File::open(asked)?)
        .stdout(File::create(answered)?)
        .stderr(Stdio::inherit())
        .status()
        .with_context(|| format!("starting {program}"))?;
    ensure!(status.success(), "{program} ended with {status}");
    let text = paths::read(answered)?;
    text.lines().map(Outcome::read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = wish(&words("--expressions 5 --seed 7")).unwrap();
        assert_eq!((given.expressions, given.seed), (5, 7));
        assert_eq!(wish(&[]).unwrap().mutations, MUTATIONS);
        for bad in ["--expressions", "--seed x", "--slow"] {
            assert!(wish(&words(bad)).is_err(), "{bad}");
        }
    }
}
