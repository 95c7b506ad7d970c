//! Our side: layered runs over the store on disk, answered layer by layer.

use super::{LAYERS, TASKS};
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tramline::core::Value;
use tramline::core::failure::Failure;
use tramline::core::formats::{Elsewhere, Hint, json_dag};
use tramline::core::graph::Graph;
use tramline::core::ids::ToolName;
use tramline::core::journal::{Answer, Policy};
use tramline::engine::seams::{Call, Exchange, Hints, Listing, Tool, Tools};
use tramline::engine::{Ended, Engine, Options, Respondent, Said, Start};
use tramline::store::Sqlite;

/// Milliseconds per checkpoint when so many workflows run side by side.
pub(crate) fn checkpoint_ms(dir: &Path, workflows: usize) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let engine = engine(dir)?;
        let graph = dag()?;
        // The first ones open files and warm up what is warm in a server that runs: every thread.
        let threads = std::thread::available_parallelism()?.get();
        walks(threads, &engine, &graph).await?;
        let began = Instant::now();
        walks(workflows, &engine, &graph).await?;
        let took = began.elapsed().as_secs_f64() * 1e3;
        engine.close().await;
        Ok(took / (workflows * LAYERS) as f64)
    })
}

fn engine(dir: &Path) -> Result<Engine> {
    let store = Arc::new(Sqlite::open(&dir.join("data"))?);
    Ok(Engine::new(
        store,
        Arc::new(Nothing::new()),
        Options::default(),
    ))
}

/// A tool that does nothing, as the functions do that the other engines are given.
struct Nothing(Arc<Tool>);

impl Nothing {
    fn new() -> Self {
        let hints = Hints {
            read_only: Some(true),
            ..Hints::default()
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
impl Tools for Nothing {
    fn known(&self, _: &ToolName) -> Option<Arc<Tool>> {
        Some(Arc::clone(&self.0))
    }

    async fn find(&self, _: &ToolName) -> Result<Arc<Tool>, Failure> {
        Ok(Arc::clone(&self.0))
    }

    async fn list(&self) -> Vec<Listing> {
        Vec::new()
    }

    fn exchange(&self, _: &ToolName, _: &str) -> Option<Exchange> {
        None
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        Ok(call.arguments)
    }
}

/// Layers of tasks, each of which waits for all of the layer before.
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
    let hint = Hint {
        elsewhere: Elsewhere::Any,
        ..Hint::default()
    };
    let document = json_dag::read_value(&Value::from(json!({"tasks": tasks})), hint);
    let document = document.map_err(|flaws| anyhow::anyhow!("{flaws:?}"))?;
    document.workflows.first().cloned().context("a workflow")
}

/// Runs so many workflows side by side.
async fn walks(count: usize, engine: &Engine, graph: &Arc<Graph>) -> Result<()> {
    let all: Vec<_> = (0..count)
        .map(|_| tokio::spawn(walk(engine.clone(), Arc::clone(graph))))
        .collect();
    for one in all {
        one.await??;
    }
    Ok(())
}

/// Runs a workflow to its end, going on after each layer.
async fn walk(engine: Engine, graph: Arc<Graph>) -> Result<()> {
    let mut start = Start::new(graph, Value::from(json!({})));
    start.policy = Policy::Layered;
    let mut handle = engine.start(start).await?;
    loop {
        let run = handle.run.clone();
        let pauses = match handle.ended().await? {
            Ended::Finished(_) => return Ok(()),
            Ended::Paused(pauses) => pauses,
            Ended::Stopped => bail!("it was stopped"),
        };
        let said = pauses.iter().map(|(pause, _)| Said {
            pause: *pause,
            answer: Answer::Proceed,
            by: Respondent::program("bench"),
            why: None,
        });
        let gone_on = engine.go_on_with(&run, said.collect()).await?;
        handle = gone_on.context("nobody else drives it")?;
    }
}
