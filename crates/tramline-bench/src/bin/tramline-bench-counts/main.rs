//! Fixed work whose instructions are counted: the engine's hot path, without clock, disk or threads.
//!
//! `cargo xtask counts` runs it under callgrind and holds the counts to `crates/tramline-bench/counts.toml`. A count
//! says on any machine whether a change made the path longer; a time does not.

#![allow(
    clippy::print_stdout,
    reason = "a measuring tool speaks on its standard streams"
)]

use anyhow::{Context, Result, anyhow, bail};
use std::hint::black_box;
use std::sync::Arc;
use tramline_core::formats::yaml_graph;
use tramline_core::graph::Graph;
use tramline_core::journal::Outcome;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Ended, Engine, Options, Start};
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

/// How many turns the loop takes: each is a choice and a transform.
const TURNS: u64 = 500;
/// How often a run is folded anew.
const FOLDS: usize = 5;
/// How often each expression is evaluated.
const EVALUATIONS: usize = 2_000;

const LOOP: &str = r#"
version: '1.0'
server: {name: counted, version: '1.0.0'}
executionLimits: {maxNodeExecutions: 100000, maxExecutionTimeMs: 3600000}
tools:
  - name: counted
    description: Is counted.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: more}
      - id: more
        type: switch
        conditions:
          - {rule: {'<': [{var: "$executionCount('add')"}, {var: entry.n}]}, next: add}
        next: exit
      - id: add
        type: transform
        next: more
        transform:
          expr: '($turn := $executionCount("add") + 1; { "turn": $turn, "sum": ($turn = 1 ? 0 : add.sum) + $turn })'
      - {id: exit, type: exit}
"#;

const EXPRESSIONS: [&str; 4] = [
    "order.total * 1.2",
    "order.lines[price > 10].name",
    "$sum(order.lines.(price * amount))",
    "{ \"who\": customer.name, \"lines\": $count(order.lines), \"dear\": order.total > 100 }",
];

const DATA: &str = r#"{"customer": {"name": "Ada"}, "order": {"total": 120, "lines": [
    {"name": "tea", "price": 4, "amount": 5}, {"name": "pot", "price": 30, "amount": 1},
    {"name": "cup", "price": 12, "amount": 4}, {"name": "tin", "price": 22, "amount": 1}]}}"#;

fn main() -> Result<()> {
    let work = std::env::args().nth(1).context("name what is counted")?;
    match work.as_str() {
        // Nothing but the start: what every other count holds too.
        "nothing" => Ok(()),
        "steps" => steps(0),
        "fold" => steps(FOLDS),
        "expressions" => expressions(),
        other => bail!("`{other}` is not counted; there are nothing, steps, fold and expressions"),
    }
}

/// A loop driven to its end over a store in memory, and folded from its journal so often.
fn steps(folds: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::new(store, Arc::new(FakeTools::new()), Options::default());
        let input = Value::object([("n", TURNS.into())]);
        let handle = engine.start(Start::new(graph()?, input)).await?;
        let run = handle.run.clone();
        match handle.ended().await? {
            Ended::Finished(Outcome::Completed { .. }) => {}
            other => bail!("the run did not come out well: {other:?}"),
        }
        for _ in 0..folds {
            black_box(engine.load(&run).await?);
        }
        Ok(())
    })
}

fn graph() -> Result<Arc<Graph>> {
    let document = yaml_graph::read(LOOP.as_bytes()).map_err(|flaws| anyhow!("{flaws:?}"))?;
    document.workflows.first().cloned().context("a graph")
}

fn expressions() -> Result<()> {
    let (data, limits) = (Value::from_json(DATA)?, Limits::default());
    for source in EXPRESSIONS {
        let expression = Expression::compile(source, &HostFunctions::none())?;
        for _ in 0..EVALUATIONS {
            black_box(expression.evaluate(black_box(&data), &NoHost, &limits))?;
        }
    }
    Ok(())
}
