//! Measures expressions next to other implementations; `cargo xtask bench expr` builds and runs it.
//!
//! Other load on the machine only ever adds time: every figure is the best of many short rounds,
//! and all are taken in one run.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Result, bail};
use shapes::{DataSize, RULES, SHAPES};

mod agreement;
mod jsonata_core_side;
mod npm;
mod ours;
mod report;
mod shapes;

/// The times of one expression, in nanoseconds.
struct ShapeTimes {
    name: &'static str,
    ours: f64,
    core: f64,
    core_converting: f64,
    npm: f64,
}

/// The times of one rule, in nanoseconds.
struct RuleTimes {
    name: &'static str,
    ours: f64,
    /// Rules with JSONata in them exist only here.
    npm: Option<f64>,
    in_jsonata: bool,
}

/// All measurements.
struct ExprFigures {
    shapes: Vec<ShapeTimes>,
    rules: Vec<RuleTimes>,
    by_hand: f64,
}

fn main() -> Result<()> {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other => bail!("unknown argument `{other}`; use --json"),
        }
    }
    let figures = measure()?;
    if json {
        println!("{}", report::json(&figures));
    } else {
        report::print(&figures);
    }
    Ok(())
}

fn measure() -> Result<ExprFigures> {
    let order = shapes::order();
    let npm = npm::measure(&order)?;
    let read = |value: &serde_json::Value| tramline_expr::Value::from_json(&value.to_string());
    let small = read(&shapes::input(DataSize::Small))?;
    let large = read(&shapes::input(DataSize::Large))?;
    let mut shapes = Vec::new();
    for (at, (name, source, data)) in SHAPES.iter().enumerate() {
        let input = match data {
            DataSize::Small => &small,
            DataSize::Large => &large,
        };
        // Only equal results are worth timing.
        let value = ours::value(source, input)?;
        agreement::check(source, "npm jsonata", &value, npm.value(at))?;
        agreement::check(
            source,
            "jsonata-core",
            &value,
            &jsonata_core_side::value(source, input)?,
        )?;
        let (core, core_converting) = jsonata_core_side::shape(source, input)?;
        shapes.push(ShapeTimes {
            name,
            ours: ours::shape(source, input)?,
            core,
            core_converting,
            npm: npm.shape(at)?,
        });
    }
    let data = read(&order)?;
    let mut rules = Vec::new();
    for (at, (name, rule, in_jsonata)) in RULES.iter().enumerate() {
        if let Some(truth) = npm.truth(at) {
            agreement::check(
                rule,
                "json-logic-js",
                &ours::truth(rule, &data)?.into(),
                &truth,
            )?;
        }
        rules.push(RuleTimes {
            name,
            ours: ours::rule(rule, &data)?,
            npm: npm.rule(at),
            in_jsonata: *in_jsonata,
        });
    }
    Ok(ExprFigures {
        shapes,
        rules,
        by_hand: ours::by_hand(&large),
    })
}
