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
use tramline_core::formats::{Elsewhere, Hint, json_dag, yaml_graph};
use tramline_core::graph::Graph;
use tramline_core::journal::{Answer, Outcome, Policy};
use tramline_engine::seams::Hints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Ended, Engine, Options, Respondent, Said, Start};
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};

/// How many turns the loop takes: each is a choice and a transform.
const TURNS: u64 = 500;
/// How often a run is folded anew.
const FOLDS: usize = 5;
/// How many DAGs are run, of so many layers with so many tasks each.
const DAGS: usize = 20;
const LAYERS: usize = 4;
const LAYER_TASKS: usize = 4;
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
        "layers" => layers(),
        other => bail!(
            "`{other}` is not counted; there are nothing, steps, fold, expressions and layers"
        ),
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

/// DAGs as agents bring them, each another one, read and run layer by layer. Not held to a bound: it is
/// for looking at where the instructions go.
fn layers() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let echo = |given: Value| async { Ok(given) };
        let looks = Hints {
            read_only: Some(true),
            ..Hints::default()
        };
        let tools = FakeTools::new().tool("t", "look", looks, echo);
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::new(store, Arc::new(tools), Options::default());
        for number in 0..DAGS {
            layered(&engine, number).await?;
        }
        Ok(())
    })
}

async fn layered(engine: &Engine, number: usize) -> Result<()> {
    let task = |at: usize| {
        let before = match at.checked_sub(LAYER_TASKS) {
            None => String::new(),
            Some(before) => format!(r#""task-{before}""#),
        };
        format!(
            r#"{{"id": "task-{at}", "tool": "t:look", "arguments": {{"path": "reports/{number}/{at}.json", "limit": 25}}, "depends_on": [{before}]}}"#
        )
    };
    let tasks: Vec<String> = (0..LAYERS * LAYER_TASKS).map(task).collect();
    let text = format!(r#"{{"tasks": [{}]}}"#, tasks.join(","));
    let hint = Hint {
        elsewhere: Elsewhere::Configured(&["t".into()]),
        ..Hint::default()
    };
    let read = json_dag::read_value(&Value::from_json(&text)?, hint);
    let read = read.map_err(|flaws| anyhow!("{flaws:?}"))?;
    let graph = read.workflows.first().cloned().context("a graph")?;
    let mut start = Start::new(graph, Value::object::<&str>([]));
    start.policy = Policy::Layered;
    let handle = engine.start(start).await?;
    let run = handle.run.clone();
    let mut ended = handle.ended().await?;
    while let Ended::Paused(pauses) = &ended {
        let said = pauses.iter().map(|(pause, _)| Said {
            pause: *pause,
            answer: Answer::Proceed,
            by: Respondent::program("counts"),
            why: None,
        });
        let handle = engine.go_on_with(&run, said.collect()).await?;
        ended = handle.context("another drives it")?.ended().await?;
    }
    match ended {
        Ended::Finished(Outcome::Completed { .. }) => Ok(()),
        other => bail!("the run did not come out well: {other:?}"),
    }
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
