//! Our side: layered runs over the store on disk, resumed layer by layer.

use super::{LAYERS, TASKS};
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tramline::engine::ports::{Exchange, ServerTools, Tool, ToolCallRequest, ToolHints, Tools};
use tramline::engine::{DriveOutcome, Engine, EngineOptions, PauseAnswer, Respondent, RunStart};
use tramline::expr::Value;
use tramline::formats::{KnownServers, ReadOptions, json_dag};
use tramline::store::Sqlite;
use tramline::workflow::failure::Failure;
use tramline::workflow::graph::Graph;
use tramline::workflow::ids::ToolName;
use tramline::workflow::journal::{Answer, SchedulePolicy};

/// Milliseconds per checkpoint with this many concurrent workflows.
pub(crate) fn checkpoint_ms(dir: &Path, workflows: usize) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let engine = engine(dir)?;
        let graph = dag()?;
        // Warm-up, as in a running server: opens files and starts every thread.
        let threads = std::thread::available_parallelism()?.get();
        run_concurrently(threads, &engine, &graph).await?;
        let began = Instant::now();
        run_concurrently(workflows, &engine, &graph).await?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        engine.close().await;
        Ok(took / (workflows * LAYERS) as f64)
    })
}

fn engine(dir: &Path) -> Result<Engine> {
    let store = Arc::new(Sqlite::open(&dir.join("data"))?);
    Ok(Engine::new(
        store,
        Arc::new(NoopTools::new()),
        EngineOptions::default(),
    ))
}

/// A tool that does nothing, like the functions given to the other engines.
struct NoopTools(Arc<Tool>);

impl NoopTools {
    fn new() -> Self {
        let hints = ToolHints {
            read_only: Some(true),
            ..ToolHints::default()
        };
        Self(Arc::new(Tool {
            name: ToolName::new("bench", "nothing"),
            title: None,
            description: None,
            input_schema: Value::from(json!({"type": "object"})),
            output_schema: None,
            hints,
        }))
    }
}

#[async_trait]
impl Tools for NoopTools {
    fn known(&self, _: &ToolName) -> Option<Arc<Tool>> {
        Some(Arc::clone(&self.0))
    }

    async fn find(&self, _: &ToolName) -> Result<Arc<Tool>, Failure> {
        Ok(Arc::clone(&self.0))
    }

    async fn list(&self) -> Vec<ServerTools> {
        Vec::new()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
        Ok(call.arguments)
    }
}

/// Layers of tasks, each of which waits for the whole previous layer.
fn dag() -> Result<Arc<Graph>> {
    let id = |layer: usize, task: usize| format!("t{layer}_{task}");
    let mut tasks = Vec::new();
    for layer in 0..LAYERS {
        for task in 0..TASKS {
            let before: Vec<_> = match layer {
                0 => Vec::new(),
                _ => (0..TASKS).map(|task| id(layer - 1, task)).collect(),
            };
            tasks.push(json!({"id": id(layer, task), "tool": "bench:nothing",
                "arguments": {"task": task}, "depends_on": before}));
        }
    }
    let hint = ReadOptions {
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    let document = json_dag::read_value(&Value::from(json!({"tasks": tasks})), hint);
    let document = document.map_err(|flaws| anyhow::anyhow!("{flaws:?}"))?;
    document.workflows.first().cloned().context("a workflow")
}

/// Runs this many workflows concurrently.
async fn run_concurrently(count: usize, engine: &Engine, graph: &Arc<Graph>) -> Result<()> {
    let all: Vec<_> = (0..count)
        .map(|_| tokio::spawn(run_layers(engine.clone(), Arc::clone(graph))))
        .collect();
    for one in all {
        one.await??;
    }
    Ok(())
}

/// Runs a workflow to its end, resuming after each layer.
async fn run_layers(engine: Engine, graph: Arc<Graph>) -> Result<()> {
    let mut start = RunStart::new(graph, Value::from(json!({})));
    start.policy = SchedulePolicy::Layered;
    let mut handle = engine.start(start).await?;
    loop {
        let run = handle.run.clone();
        let pauses = match handle.wait().await? {
            DriveOutcome::Finished(_) => return Ok(()),
            DriveOutcome::Paused(pauses) => pauses,
            DriveOutcome::Stopped => bail!("the run was stopped"),
        };
        let said = pauses.iter().map(|(pause, _)| PauseAnswer {
            pause: *pause,
            answer: Answer::Proceed,
            by: Respondent::program("bench"),
            why: None,
        });
        let gone_on = engine.answer_and_resume(&run, said.collect()).await?;
        handle = gone_on.context("another process drives the run")?;
    }
}
