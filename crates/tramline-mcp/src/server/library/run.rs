//! One run for a caller who waits for it, and what came of it in the shape of this toolset.

use super::Wrong;
use super::fields;
use crate::server::toolset::Means;
use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Outcome, Pause};
use tramline_core::workflow::Action;
use tramline_core::{Map, Value, question, trace};
use tramline_engine::{Ended, Fault, Handle, Start};

/// What a run came to.
pub(super) enum End {
    /// Its result.
    Result(Value),
    /// It waits for answers, which are told here.
    Waits(Value),
}

/// Runs something to its end or to a question.
pub(super) async fn run(means: &Means, mut start: Start) -> Result<(RunId, End), Wrong> {
    if start.origin.is_null() {
        start.origin = means.shared.conduct.origin.clone();
    }
    start.owner = means.caller().name;
    start.upstream = means.upstream();
    let graph = Arc::clone(&start.graph);
    let input = start.input.clone();
    let started = means.engine.start(start).await;
    let handle = started.map_err(|fault| refused(&graph, &input, &fault))?;
    let run = handle.run.clone();
    match wait(means, handle).await {
        Ok(Ended::Finished(Outcome::Completed { result })) => Ok((run, End::Result(result))),
        Ok(Ended::Finished(outcome)) => Err(failed(means, &graph, &run, &outcome)),
        Ok(Ended::Paused(pauses)) => {
            let waits = waits(&graph, &run, &pauses);
            Ok((run, End::Waits(waits)))
        }
        Ok(Ended::Stopped) => Err(Wrong::new("execution", "the server is stopping")),
        Err(fault) => Err(refused(&graph, &input, &fault)),
    }
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

fn refused(graph: &Graph, input: &Value, fault: &Fault) -> Wrong {
    let is_input = matches!(fault, Fault::BadInput { .. });
    let kind = if is_input { "validation" } else { "execution" };
    let mut wrong = Wrong::new(kind, fault.to_string());
    if let (true, Some(schema)) = (is_input, &graph.workflow.input_schema) {
        wrong.suggestions = fields::mending(schema, input);
    }
    wrong
}

fn failed(means: &Means, graph: &Graph, run: &RunId, outcome: &Outcome) -> Wrong {
    let how = trace::outcome(graph, outcome);
    let error = how.get("error").cloned().unwrap_or_default();
    let part = |key: &str| error.get(key).and_then(Value::as_str);
    let mut wrong = Wrong::new("execution", part("message").unwrap_or_default());
    let node = part("node").and_then(|id| graph.find(id));
    if let Some(at) = node
        && let Action::Call { tool, .. } = &graph.node(at).action
    {
        let known = means.engine.tools().known(tool);
        if let Some(told) = known.and_then(|known| fields::told(&known.input_schema)) {
            wrong = wrong.suggesting(format!("node `{}` calls {tool}: {told}", graph.node(at).id));
        }
        wrong = wrong.suggesting(format!("try {tool} by itself with registry_run"));
    }
    if let Some(code) = part("code") {
        let says = format!("`tramline explain {code}` tells what to do about {code}");
        wrong = wrong.suggesting(says);
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
