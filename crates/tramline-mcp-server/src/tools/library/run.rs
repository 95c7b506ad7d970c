//! Runs a workflow for a waiting caller, and returns its result in the shape of this toolset.

use super::argument_help;
use super::{LibraryReplyError, store_error};
use crate::caller::Caller;
use crate::tool::CallContext;
use std::sync::Arc;
use tramline_engine::{DriveOutcome, Fault, RunHandle, RunStart};
use tramline_expr::{Map, Value};
use tramline_views::trace;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{Outcome, Pause};
use tramline_workflow::task_layers::{TaskLayers, TaskResult};
use tramline_workflow::workflow::{Action, UnhandledFailure};

/// Result of a run.
pub(super) enum RunResult {
    /// Its result.
    Result(Value),
    /// It waits for answers, described here.
    Paused(Value),
}

/// Runs a workflow until it ends or pauses.
pub(super) async fn run(
    means: &CallContext,
    mut start: RunStart,
) -> Result<(RunId, RunResult), LibraryReplyError> {
    if start.origin.is_null() {
        start.origin = means.shared.options.origin.clone();
    }
    Caller::sign(&mut start, &means.request);
    let graph = Arc::clone(&start.graph);
    let input = start.input.clone();
    let started = means.engine.start(start).await;
    let handle = started.map_err(|fault| start_error(&graph, &input, &fault))?;
    let run = handle.run.clone();
    match wait_for_run(means, handle).await {
        Ok(DriveOutcome::Finished(Outcome::Completed { result })) => {
            match failed_tasks_error(means, &graph, &run, &result).await? {
                Some(wrong) => Err(wrong),
                None => Ok((run, RunResult::Result(result))),
            }
        }
        Ok(DriveOutcome::Finished(outcome)) => Err(run_error(means, &graph, &run, &outcome)),
        Ok(DriveOutcome::Paused(pauses)) => {
            let waits = paused_value(means, &run, &pauses).await?;
            Ok((run, RunResult::Paused(waits)))
        }
        Ok(DriveOutcome::Stopped) => Err(LibraryReplyError::new(
            "execution",
            "the server is stopping",
        )),
        Err(fault) => Err(start_error(&graph, &input, &fault)),
    }
}

/// Waits until the run ends; aborts it if the caller cancels.
async fn wait_for_run(means: &CallContext, handle: RunHandle) -> Result<DriveOutcome, Fault> {
    let run = handle.run.clone();
    let ended = handle.wait();
    tokio::pin!(ended);
    tokio::select! {
        ended = &mut ended => ended,
        () = means.request.ct.cancelled() => {
            let why = Some("the caller cancelled".to_owned());
            // If it has just ended by itself, that outcome counts.
            let _ = means.engine.abort(&run, "caller".into(), why).await;
            ended.await
        }
    }
}

fn start_error(graph: &Graph, input: &Value, fault: &Fault) -> LibraryReplyError {
    let is_input = matches!(fault, Fault::InvalidInput { .. });
    let kind = if is_input { "validation" } else { "execution" };
    let mut wrong = LibraryReplyError::new(kind, fault.to_string());
    if let (true, Some(schema)) = (is_input, &graph.workflow.input_schema) {
        wrong.suggestions = argument_help::suggest_fixes(schema, input);
    }
    wrong
}

fn run_error(
    means: &CallContext,
    graph: &Graph,
    run: &RunId,
    outcome: &Outcome,
) -> LibraryReplyError {
    let how = trace::outcome_value(graph, outcome);
    let error = how.get("error").cloned().unwrap_or_default();
    let part = |key: &str| error.get(key).and_then(Value::as_str);
    let mut wrong = LibraryReplyError::new("execution", part("message").unwrap_or_default());
    let node = part("node").and_then(|id| graph.find(id));
    if let Some(at) = node
        && let Action::Call { tool, .. } = &graph.node(at).action
    {
        let known = means.engine.tools().known(tool);
        if let Some(told) =
            known.and_then(|known| argument_help::describe_fields(&known.input_schema))
        {
            wrong = wrong.suggesting(format!("node `{}` calls {tool}; {told}", graph.node(at).id));
        }
        wrong = wrong.suggesting(format!("test {tool} on its own with registry_run"));
    }
    wrong = wrong.suggesting("trace_read shows what each step got and returned");
    wrong.details = error;
    wrong.trace = Some(run.to_string());
    wrong
}

/// The error of a DAG that completed although tasks failed: their dependents were skipped.
async fn failed_tasks_error(
    means: &CallContext,
    graph: &Graph,
    run: &RunId,
    result: &Value,
) -> Result<Option<LibraryReplyError>, LibraryReplyError> {
    match graph.workflow.unhandled {
        UnhandledFailure::EndsRun => return Ok(None),
        UnhandledFailure::SkipsDependents => {}
    }
    let loaded = means.engine.load(run).await;
    let run_state = loaded.map_err(|fault| store_error(&fault))?.run;
    let graph = &run_state.graph;
    let (mut failed, mut skipped, mut says) = (Vec::new(), Vec::new(), Vec::new());
    for task in TaskLayers::of(&run_state).tasks {
        let node = graph.node(task.node);
        match &task.result {
            Some(TaskResult::Error(failure)) => {
                let mut told = Map::new();
                told.insert("task_id", node.id.clone().into());
                if let Action::Call { tool, .. } = &node.action {
                    told.insert("tool", tool.to_string().into());
                }
                told.insert("error", failure.message.as_str().into());
                told.insert("error_code", failure.kind.code().into());
                failed.push(Value::from(told));
                says.push(format!("`{}`: {}", node.id, failure.message));
            }
            Some(TaskResult::Skipped(_)) => skipped.push(Value::from(node.id.clone())),
            Some(TaskResult::Success(_)) | None => {}
        }
    }
    if failed.is_empty() {
        return Ok(None);
    }
    let mut data = Map::new();
    data.insert("status", "completed_with_failures".into());
    data.insert("outputs", result.clone());
    let count = match failed.len() {
        1 => "1 task failed".to_owned(),
        many => format!("{many} tasks failed"),
    };
    let message = format!("{count}: {}", says.join("; "));
    let mut wrong = LibraryReplyError::new("execution", message);
    wrong.details = Value::object([
        ("failed_tasks", Value::array(failed)),
        ("skipped_tasks", Value::array(skipped)),
    ]);
    wrong.data = data.into();
    wrong.trace = Some(run.to_string());
    Ok(Some(wrong))
}

async fn paused_value(
    means: &CallContext,
    run: &RunId,
    pauses: &[(Seq, Pause)],
) -> Result<Value, LibraryReplyError> {
    let loaded = means.engine.load(run).await;
    let loaded = loaded.map_err(|fault| store_error(&fault))?;
    let mut waiting = Vec::new();
    for (seq, pause) in pauses {
        waiting.push(means.engine.pause_summary(&loaded.run, *seq, pause).await);
    }
    let mut data = Map::new();
    data.insert("status", "paused".into());
    data.insert("run_id", run.as_str().into());
    data.insert("waiting", Value::array(waiting));
    Ok(data.into())
}
