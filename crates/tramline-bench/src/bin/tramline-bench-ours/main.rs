//! Our side of the measurements inside a process, like the peers' scripts.
//!
//! Takes one piece of work and prints its figures as one line of JSON; `tramline-bench-peers` runs
//! it.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;
use tramline::catalog::search::{DocumentKind, SearchDocument, SearchIndex};
use tramline_expr::{Expression, HostFunctions, Limits, NoHost};

#[path = "../tramline-bench-control/ours.rs"]
mod checkpoints;

/// Layers of a workflow.
pub(crate) const LAYERS: usize = 20;
/// Tasks per layer.
pub(crate) const TASKS: usize = 5;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let figures = match arguments.as_slice() {
        ["layers", dir, workflows] => {
            json!({ "layer_ms": checkpoints::checkpoint_ms(Path::new(dir), workflows.parse()?)? })
        }
        ["search", file] => search(Path::new(file))?,
        ["expression"] => expression()?,
        ["turns", count] => turns(count.parse()?)?,
        other => {
            bail!(
                "unknown arguments {other:?}; use `layers DIR WORKFLOWS`, `search FILE`, `turns COUNT` or `expression`"
            )
        }
    };
    println!("{figures}");
    Ok(())
}

/// The median of many searches, and of as many scans of all names.
fn search(file: &Path) -> Result<Value> {
    let given: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let mut index = SearchIndex::new();
    let mut names = Vec::new();
    for tool in given["tools"].as_array().context("tools")? {
        let name = tool["name"].as_str().context("a name")?;
        let description = tool["description"].as_str().context("a description")?;
        index.put(
            SearchDocument::new(DocumentKind::Tool, format!("bench:{name}"), description),
            None,
        )?;
        names.push(name.to_owned());
    }
    let queries = given["queries"].as_array().context("queries")?;
    let queries: Vec<&str> = queries.iter().filter_map(Value::as_str).collect();
    ensure!(
        !index.search(queries[0], None, 10).is_empty(),
        "nothing found"
    );
    let searched = median(&queries, |query| {
        black_box(index.search(query, None, 10));
    });
    let looked = median(&queries, |query| {
        black_box(names.iter().filter(|name| name.contains(query)).count());
    });
    Ok(json!({ "search_us": searched, "look_us": looked }))
}

fn median(queries: &[&str], mut each: impl FnMut(&str)) -> f64 {
    let mut times: Vec<f64> = Vec::new();
    for query in queries {
        let began = Instant::now();
        each(query);
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The cost of a node's expression, without the node.
fn expression() -> Result<Value> {
    const TIMES: u32 = 10_000;
    let expression = Expression::compile(r#"{ "n": $.t0.n + 1 }"#, &HostFunctions::none())?;
    let input = tramline_expr::Value::from(json!({"t0": {"n": 1}}));
    let limits = Limits::default();
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let began = Instant::now();
        for _ in 0..TIMES {
            black_box(expression.evaluate(black_box(&input), &NoHost, &limits))?;
        }
        best = best.min(began.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES));
    }
    Ok(json!({ "node_us": best }))
}

/// A loop that adds up with an expression alone: the output of a turn is the input of the next.
fn turns(count: u64) -> Result<Value> {
    let source = r#"{ "add": { "n": add.n + 1, "sum": add.sum + add.n + 1 } }"#;
    let expression = Expression::compile(source, &HostFunctions::none())?;
    let limits = Limits::default();
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let mut now = tramline_expr::Value::from(json!({"add": {"n": 0, "sum": 0}}));
        let began = Instant::now();
        for _ in 0..count {
            now = expression
                .evaluate(black_box(&now), &NoHost, &limits)?
                .context("a result")?;
        }
        best = best.min(began.elapsed().as_secs_f64() * 1e6 / count as f64);
        let sum = Value::from(&now)["add"]["sum"].as_f64();
        ensure!(sum == Some((count * (count + 1) / 2) as f64), "wrong sum");
    }
    Ok(json!({ "turn_us": best }))
}
