//! Our side: layered runs over the store on disk, answered layer by layer.

use super::{LAYERS, TASKS};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tramline::builtin::{Allowed, Builtin, SERVER};
use tramline::core::Value;
use tramline::core::formats::{Elsewhere, Hint, json_dag};
use tramline::core::graph::Graph;
use tramline::core::ids::Checkpoint;
use tramline::core::journal::{Answer, Policy};
use tramline::engine::{Ended, Engine, Options, Start, Toolbox};
use tramline::store::Sqlite;

/// Milliseconds per checkpoint when so many workflows run side by side.
pub(crate) fn checkpoint_ms(dir: &Path, workflows: usize) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let engine = engine(dir)?;
        let graph = dag()?;
        // The first one opens files and warms up what is warm in a server that runs.
        walk(engine.clone(), Arc::clone(&graph)).await?;
        let began = Instant::now();
        let all: Vec<_> = (0..workflows)
            .map(|_| tokio::spawn(walk(engine.clone(), Arc::clone(&graph))))
            .collect();
        for one in all {
            one.await??;
        }
        let took = began.elapsed().as_secs_f64() * 1e3;
        engine.close().await;
        Ok(took / (workflows * LAYERS) as f64)
    })
}

fn engine(dir: &Path) -> Result<Engine> {
    let allowed = Allowed {
        roots: vec![dir.to_owned()],
        hosts: Vec::new(),
    };
    let builtin = Arc::new(Builtin::new(allowed)?);
    let tools = Toolbox::new(Arc::clone(&builtin) as _).with(SERVER, builtin);
    std::fs::write(dir.join("small.txt"), "x")?;
    let store = Arc::new(Sqlite::open(&dir.join("data"))?);
    Ok(Engine::new(store, Arc::new(tools), Options::default()))
}

/// Layers of tasks, each of which waits for all of the layer before and reads a small file.
fn dag() -> Result<Arc<Graph>> {
    let id = |layer: usize, task: usize| format!("t{layer}_{task}");
    let mut tasks = Vec::new();
    for layer in 0..LAYERS {
        for task in 0..TASKS {
            let before: Vec<_> = match layer {
                0 => Vec::new(),
                _ => (0..TASKS).map(|task| id(layer - 1, task)).collect(),
            };
            tasks.push(json!({"id": id(layer, task), "tool": "builtin:read-file",
                "arguments": {"path": "small.txt"}, "depends_on": before}));
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
        for (seq, _) in pauses {
            let asked = Checkpoint {
                run: run.clone(),
                seq,
            };
            engine
                .answer(&asked, Answer::Proceed, "bench".into(), None)
                .await?;
        }
        handle = engine.resume(&run).await?;
    }
}
