//! Measures what expressions cost next to other implementations; `cargo xtask bench expr` builds
//! and runs it.
//!
//! Machines that measure are busy with other things, and what disturbs only ever adds: every
//! figure is the best of many short rounds, and all are taken in one run.

#![allow(
    clippy::print_stdout,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Result, bail};
use shapes::{Data, RULES, SHAPES};

mod agree;
mod node;
mod ours;
mod report;
mod shapes;
mod theirs;

/// What one expression costs, in nanoseconds.
struct Shape {
    name: &'static str,
    ours: f64,
    core: f64,
    core_converting: f64,
    npm: f64,
}

/// What one rule costs, in nanoseconds.
struct Rule {
    name: &'static str,
    ours: f64,
    /// Rules with JSONata in them exist only here.
    npm: Option<f64>,
    in_jsonata: bool,
}

/// All that was measured.
struct Figures {
    shapes: Vec<Shape>,
    rules: Vec<Rule>,
    by_hand: f64,
}

fn main() -> Result<()> {
    let mut json = false;
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => json = true,
            other => bail!("`{other}` is not known; there is --json"),
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

fn measure() -> Result<Figures> {
    let order = shapes::order();
    let npm = node::measure(&order)?;
    let read = |value: &serde_json::Value| tramline_expr::Value::from_json(&value.to_string());
    let small = read(&shapes::input(Data::Small))?;
    let large = read(&shapes::input(Data::Large))?;
    let mut shapes = Vec::new();
    for (at, (name, source, data)) in SHAPES.iter().enumerate() {
        let input = match data {
            Data::Small => &small,
            Data::Large => &large,
        };
        // What is not the same work is not worth timing.
        let value = ours::value(source, input)?;
        agree::check(source, "npm jsonata", &value, npm.value(at))?;
        agree::check(
            source,
            "jsonata-core",
            &value,
            &theirs::value(source, input)?,
        )?;
        let (core, core_converting) = theirs::shape(source, input)?;
        shapes.push(Shape {
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
            agree::check(
                rule,
                "json-logic-js",
                &ours::truth(rule, &data)?.into(),
                &truth,
            )?;
        }
        rules.push(Rule {
            name,
            ours: ours::rule(rule, &data)?,
            npm: npm.rule(at),
            in_jsonata: *in_jsonata,
        });
    }
    Ok(Figures {
        shapes,
        rules,
        by_hand: ours::by_hand(&large),
    })
}
