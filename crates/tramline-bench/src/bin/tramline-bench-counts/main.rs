//! Fixed work for counting instructions: the engine's hot path, without clock, disk or threads.
//!
//! `cargo xtask counts` runs it under callgrind and compares the counts with
//! `crates/tramline-bench/counts.toml`. A count shows on any machine whether a change made the path
//! longer; a time does not.

#![allow(
    clippy::print_stdout,
    reason = "a command-line program prints to its standard streams"
)]

use anyhow::{Context, Result, anyhow, bail};
use std::hint::black_box;
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, EngineOptions, PauseAnswer, Respondent, RunStart};
use tramline_expr::{Expression, HostFunctions, Limits, NoHost, Value};
use tramline_formats::{KnownServers, ReadOptions, json_dag, yaml_graph};
use tramline_workflow::graph::Graph;
use tramline_workflow::journal::{Answer, Outcome, SchedulePolicy};

/// Turns of the loop: each is a switch and a transform.
const TURNS: u64 = 500;
/// How often a run is folded from its journal.
const FOLDS: usize = 5;
/// Number of DAGs, with this many layers and tasks per layer.
const DAGS: usize = 20;
const LAYERS: usize = 4;
const LAYER_TASKS: usize = 4;
/// Evaluations of each expression.
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
    let work = std::env::args().nth(1).context("name the work to count")?;
    match work.as_str() {
        // Only the start of the process, which every other count includes.
        "nothing" => Ok(()),
        "steps" => steps(0),
        "fold" => steps(FOLDS),
        "expressions" => expressions(),
        "layers" => layers(),
        other => bail!("unknown work `{other}`; use nothing, steps, fold, expressions or layers"),
    }
}

/// Drives a loop to its end over a store in memory, and folds its journal `folds` times.
fn steps(folds: usize) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::new(store, Arc::new(FakeTools::new()), EngineOptions::default());
        let input = Value::object([("n", TURNS.into())]);
        let handle = engine.start(RunStart::new(graph()?, input)).await?;
        let run = handle.run.clone();
        match handle.wait().await? {
            DriveOutcome::Finished(Outcome::Completed { .. }) => {}
            other => bail!("the run did not complete: {other:?}"),
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

/// Reads DAGs like those of agents, all different, and runs them layer by layer. Its count is not
/// recorded: it is for profiling.
fn layers() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    runtime.block_on(async {
        let echo = |given: Value| async { Ok(given) };
        let looks = ToolHints {
            read_only: Some(true),
            ..ToolHints::default()
        };
        let tools = FakeTools::new().tool("t", "look", looks, echo);
        let store = Arc::new(MemoryStore::new());
        let engine = Engine::new(store, Arc::new(tools), EngineOptions::default());
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
    let hint = ReadOptions {
        known_servers: KnownServers::Configured(&["t".into()]),
        ..ReadOptions::default()
    };
    let read = json_dag::read_value(&Value::from_json(&text)?, hint);
    let read = read.map_err(|flaws| anyhow!("{flaws:?}"))?;
    let graph = read.workflows.first().cloned().context("a graph")?;
    let mut start = RunStart::new(graph, Value::object::<&str>([]));
    start.policy = SchedulePolicy::Layered;
    let handle = engine.start(start).await?;
    let run = handle.run.clone();
    let mut ended = handle.wait().await?;
    while let DriveOutcome::Paused(pauses) = &ended {
        let said = pauses.iter().map(|(pause, _)| PauseAnswer {
            pause: *pause,
            answer: Answer::Proceed,
            by: Respondent::program("counts"),
            why: None,
        });
        let handle = engine.answer_and_resume(&run, said.collect()).await?;
        ended = handle
            .context("another process drives the run")?
            .wait()
            .await?;
    }
    match ended {
        DriveOutcome::Finished(Outcome::Completed { .. }) => Ok(()),
        other => bail!("the run did not complete: {other:?}"),
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
