//! `cargo xtask soak expr`: generated expressions must end here as they end in the reference, and
//! damaged ones must end in bounded time and memory.

use crate::{paths, shell};
use anyhow::{Context, Result, bail, ensure};
use compare::{Outcome, Tally};
use generate::{Case, Dice};
use serde_json::json;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use watch::{Answer, Patience};

mod compare;
mod damage;
mod generate;
mod templates;
mod watch;

/// How many expressions are compared.
const EXPRESSIONS: u64 = 20_000;
/// How many damaged expressions are run.
const MUTATIONS: u64 = 100_000;
/// The seed when none is given, so that a run can be compared with the one before.
const SEED: u64 = 1;
/// The share of generated expressions that must end as in the reference.
const SHARE_MIN: f64 = 0.995;
/// How long one case may take before its program is ended. Both stop by themselves after two
/// seconds, where they can.
const PER_CASE: Duration = Duration::from_secs(10);
/// How long the comparison may take in all.
const IN_ALL: Duration = Duration::from_mins(10);
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
    let patience = Patience {
        per_case: PER_CASE,
        until: Instant::now() + IN_ALL,
    };
    let ours = |skip: usize| {
        let mut command = Command::new(paths::target().join("release/examples/outcomes"));
        command.arg(skip.to_string());
        command
    };
    let ours = watch::answers(ours, &asked, cases.len(), patience)?;
    let reference = |skip: usize| {
        let mut command = Command::new("node");
        command
            .arg(paths::root().join("xtask/assets/jsonata-outcomes.js"))
            .arg(skip.to_string())
            .env("NODE_PATH", &modules);
        command
    };
    let reference = watch::answers(reference, &asked, cases.len(), patience)?;
    let mut tally = Tally::default();
    let mut violations = 0;
    for ((case, ours), reference) in cases.iter().zip(&ours).zip(&reference) {
        let why = match ours {
            Answer::Line(_) => None,
            Answer::Late => Some("takes too long here"),
            Answer::Died => Some("brings our program down"),
        };
        if let Some(why) = why {
            violations += 1;
            println!("VIOLATION: {why}: {}\n      on {}", case.source, case.input);
        }
        tally.add(case, outcome(ours)?, outcome(reference)?);
    }
    println!("seed {}", wish.seed);
    tally.print(SHOWN_PER_GROUP, SHOWN_UNEXPLAINED);
    ensure!(violations == 0, "{violations} cases did not end here");
    ensure!(
        tally.share() >= SHARE_MIN,
        "{:.3} % end as in the reference, {} % should",
        tally.share() * 100.0,
        SHARE_MIN * 100.0
    );
    Ok(())
}

fn outcome(answer: &Answer) -> Result<Outcome> {
    match answer {
        Answer::Line(line) => Outcome::read(line),
        Answer::Late | Answer::Died => Ok(Outcome::GaveUp),
    }
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
