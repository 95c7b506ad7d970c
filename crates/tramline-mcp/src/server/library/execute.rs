//! `workflow_execute`: one run of what was brought, and what came of it.

use super::bring::{Brought, bring, check_calls, fatal, unusable};
use super::{Wrong, made, success, workflow};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use std::sync::Arc;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Outcome, Pause};
use tramline_core::{Map, Str, Value, question, trace};
use tramline_engine::{Ended, Fault, Handle, Start};

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResult {
    made(execute(&means, &arguments).await)
}

async fn execute(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let (graph, origin) = match bring(means, workflow(arguments))? {
        Brought::Known(graph, origin) => (graph, origin),
        Brought::Flawed(flaws) => return Err(unusable(&flaws)),
        Brought::Document(document) => {
            let flaws = check_calls(means, &document).await;
            if fatal(&flaws) {
                return Err(unusable(&flaws));
            }
            let tool = arguments.get("tool").and_then(Value::as_str);
            (choose(&document, tool)?, Value::Null)
        }
    };
    let input = arguments.get("parameters").cloned();
    let input = input.unwrap_or_else(|| Value::object::<Str>([]));
    let mut start = Start::new(Arc::clone(&graph), input);
    start.origin = origin;
    start.owner = means.caller().name;
    let handle = means.engine.start(start).await.map_err(refused)?;
    let run = handle.run.clone();
    match wait(means, handle).await {
        Ok(Ended::Finished(Outcome::Completed { result })) => {
            let mut data = Map::new();
            data.insert("status", "completed".into());
            data.insert("outputs", result);
            Ok(success(data.into(), Some(run.as_str())))
        }
        Ok(Ended::Finished(outcome)) => Err(failed(&graph, &run, &outcome)),
        Ok(Ended::Paused(pauses)) => Ok(success(waits(&graph, &run, &pauses), Some(run.as_str()))),
        Ok(Ended::Stopped) => Err(refused(Fault::Refused("the server is stopping".into()))),
        Err(fault) => Err(refused(fault)),
    }
}

fn choose(document: &Document, tool: Option<&str>) -> Result<Arc<Graph>, Wrong> {
    let named = || {
        document
            .workflows
            .iter()
            .map(|graph| graph.workflow.name.as_str())
    };
    let found = match (tool, document.workflows.as_slice()) {
        (Some(name), _) => document.workflow(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    found.cloned().ok_or_else(|| {
        let names: Vec<_> = named().collect();
        Wrong::new("validation", "which tool of the document is to run?")
            .suggesting(format!("set `tool` to one of {}", names.join(", ")))
    })
}

/// Waits for the run's end; a caller that cancels ends it.
async fn wait(means: &Means, handle: Handle) -> Result<Ended, Fault> {
    let run = handle.run.clone();
    let ended = handle.ended();
    tokio::pin!(ended);
    tokio::select! {
        ended = &mut ended => ended,
        () = means.context.ct.cancelled() => {
            let why = Some("the caller cancelled".to_owned());
            // It may have ended by itself in this moment; then that stands.
            let _ = means.engine.abort(&run, "caller".into(), why).await;
            ended.await
        }
    }
}

fn refused(fault: Fault) -> Wrong {
    let kind = match &fault {
        Fault::BadInput { .. } => "validation",
        _ => "execution",
    };
    Wrong::new(kind, fault.to_string())
}

fn failed(graph: &Graph, run: &RunId, outcome: &Outcome) -> Wrong {
    let how = trace::outcome(graph, outcome);
    let error = how.get("error").cloned().unwrap_or_default();
    let says = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut wrong = Wrong::new("execution", says);
    if let Some(code) = error.get("code").and_then(Value::as_str) {
        wrong = wrong.suggesting(format!(
            "`tramline explain {code}` tells what to do about {code}"
        ));
    }
    wrong.details = error;
    wrong.trace = Some(run.to_string());
    wrong
}

fn waits(graph: &Graph, run: &RunId, pauses: &[(Seq, Pause)]) -> Value {
    let waiting = pauses
        .iter()
        .map(|(seq, pause)| question::value(graph, run, *seq, pause));
    let mut data = Map::new();
    data.insert("status", "paused".into());
    data.insert("run_id", run.as_str().into());
    data.insert("waiting", Value::array(waiting));
    data.into()
}
