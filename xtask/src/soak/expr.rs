//! `cargo xtask soak expr`: generated expressions must have the same outcome as in the reference,
//! and damaged ones must end in bounded time and memory.

use crate::{paths, shell};
use anyhow::{Context, Result, bail, ensure};
use compare::{ComparisonTally, EvalOutcome};
use generate::{ExprCase, ExprGenerator};
use serde_json::json;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use supervise::{CaseAnswer, Timeouts};

mod compare;
mod damage;
mod generate;
mod supervise;
mod templates;

/// Number of expressions that are compared.
const EXPRESSIONS: u64 = 20_000;
/// Number of damaged expressions that are run.
const MUTATIONS: u64 = 100_000;
/// The default seed, so that a run can be compared with the one before.
const SEED: u64 = 1;
/// The share of generated expressions that must have the same outcome as in the reference.
const SHARE_MIN: f64 = 0.995;
/// How long one case may take before its program is killed. Both programs stop by themselves after
/// two seconds, if they can.
const PER_CASE: Duration = Duration::from_secs(10);
/// How long the whole comparison may take.
const IN_ALL: Duration = Duration::from_mins(10);
/// Examples printed per group of differences.
const SHOWN_PER_GROUP: usize = 3;
/// Examples printed of the unexplained differences.
const SHOWN_UNEXPLAINED: usize = 40;

/// The parsed options.
#[derive(Debug, PartialEq, Eq)]
struct ExprSoakOptions {
    expressions: u64,
    mutations: u64,
    seed: u64,
}

/// Compares, then runs damaged expressions.
pub(super) fn run(arguments: &[String]) -> Result<()> {
    let wish = parse_options(arguments)?;
    let begun = Instant::now();
    let shares = compare_all(&wish);
    let damaged = damage::run(wish.mutations, wish.seed);
    println!("{:>6} seconds", begun.elapsed().as_secs());
    shares.and(damaged)
}

fn parse_options(arguments: &[String]) -> Result<ExprSoakOptions> {
    let mut wish = ExprSoakOptions {
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
            _ => bail!("unknown argument `{argument}`; use --expressions, --mutations or --seed"),
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

fn compare_all(wish: &ExprSoakOptions) -> Result<()> {
    if wish.expressions == 0 {
        return Ok(());
    }
    let mut build = shell::cargo(&["build", "--quiet", "--release", "--package"]);
    shell::run(build.args(["tramline-expr", "--example", "outcomes"]))?;
    let modules = paths::tools().join("node_modules");
    ensure!(
        modules.join("jsonata").is_dir(),
        "the npm package jsonata is not in {}; `cargo xtask setup` installs it",
        modules.display()
    );
    let dir = paths::target().join("soak/expr");
    fs::create_dir_all(&dir).with_context(|| format!("creating {}", dir.display()))?;
    let mut dice = ExprGenerator(wish.seed);
    let cases: Vec<ExprCase> = (0..wish.expressions).map(|_| dice.case()).collect();
    let lines: Vec<String> = cases
        .iter()
        .map(|case| json!({ "expr": case.source, "input": case.input }).to_string())
        .collect();
    let asked = dir.join("cases.jsonl");
    fs::write(&asked, lines.join("\n") + "\n")?;
    let patience = Timeouts {
        per_case: PER_CASE,
        until: Instant::now() + IN_ALL,
    };
    let ours = |skip: usize| {
        let mut command = Command::new(paths::target().join("release/examples/outcomes"));
        command.arg(skip.to_string());
        command
    };
    let ours = supervise::answers(ours, &asked, cases.len(), patience)?;
    let reference = |skip: usize| {
        let mut command = Command::new("node");
        command
            .arg(paths::root().join("xtask/assets/jsonata-outcomes.js"))
            .arg(skip.to_string())
            .env("NODE_PATH", &modules);
        command
    };
    let reference = supervise::answers(reference, &asked, cases.len(), patience)?;
    let mut tally = ComparisonTally::default();
    let mut violations = 0;
    for ((case, ours), reference) in cases.iter().zip(&ours).zip(&reference) {
        let why = match ours {
            CaseAnswer::Line(_) => None,
            CaseAnswer::TimedOut => Some("takes too long here"),
            CaseAnswer::Exited => Some("crashes our program"),
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
        "{:.3} % have the outcome of the reference, {} % are required",
        tally.share() * 100.0,
        SHARE_MIN * 100.0
    );
    Ok(())
}

fn outcome(answer: &CaseAnswer) -> Result<EvalOutcome> {
    match answer {
        CaseAnswer::Line(line) => EvalOutcome::read(line),
        CaseAnswer::TimedOut | CaseAnswer::Exited => Ok(EvalOutcome::GaveUp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = parse_options(&words("--expressions 5 --seed 7")).unwrap();
        assert_eq!((given.expressions, given.seed), (5, 7));
        assert_eq!(parse_options(&[]).unwrap().mutations, MUTATIONS);
        for bad in ["--expressions", "--seed x", "--slow"] {
            assert!(parse_options(&words(bad)).is_err(), "{bad}");
        }
    }
}
