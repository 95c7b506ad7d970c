//! `run_debug`: start with breakpoints, step, continue, pause, stop.

use super::{current_state, run_id};
use crate::caller::Caller;
use crate::reply;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use std::time::Duration;
use tramline_engine::ports::RunStatus;
use tramline_engine::{Fault, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{BreakpointSet, NodeBreakpoint};
use tramline_workflow::text::nearest;

/// How long to wait for a run to halt or end before its current state is returned.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Our name in the journal.
const JOURNAL_NAME: &str = "debug tools";

pub(super) async fn run_debug(means: CallContext, arguments: Value) -> CallToolResult {
    let command = arguments
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or("start");
    let id = match command {
        "start" => start(&means, &arguments).await,
        _ => match run_id(&arguments, "run_id") {
            Ok(id) => control_run(&means, &id, command, &arguments)
                .await
                .map(|()| id),
            Err(fault) => Err(fault),
        },
    };
    match id {
        Ok(id) => reply::reply_or_fault(state_when_settled(&means, &id).await, Some(&id)),
        Err(fault) => reply::fault_reply(&fault, None),
    }
}

async fn start(means: &CallContext, arguments: &Value) -> Result<RunId, Fault> {
    let workflows = means.engine.workflows();
    let Some(name) = arguments.get("workflow").and_then(Value::as_str) else {
        return Err(Fault::Rejected("`start` requires `workflow`".into()));
    };
    let callable = workflows.find(name).ok_or_else(|| {
        let names = workflows.names();
        let near = nearest(name, names.iter().map(Str::as_str))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        Fault::Rejected(format!("unknown workflow `{name}`{near}"))
    })?;
    let input = arguments.get("input").cloned();
    let mut start = RunStart::new(
        callable.graph,
        input.unwrap_or_else(|| Value::object::<Str>([])),
    );
    start.origin = callable.origin;
    Caller::sign(&mut start, &means.request);
    start.watch = Some(read_breakpoints(arguments));
    Ok(means.engine.start(start).await?.run)
}

/// The breakpoints in the arguments.
pub(super) fn read_breakpoints(arguments: &Value) -> BreakpointSet {
    let breaks = arguments
        .get("breakpoints")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let place = |value: &Value| match value {
        Value::String(node) => Some(NodeBreakpoint::new(node.clone(), None)),
        other => Some(NodeBreakpoint::new(
            other.get("node").and_then(Value::as_str)?,
            other.get("condition").cloned(),
        )),
    };
    let stepping = arguments.get("step").and_then(Value::as_bool);
    BreakpointSet {
        breaks: breaks.iter().filter_map(place).collect(),
        stepping: stepping.unwrap_or(false),
    }
}

async fn control_run(
    means: &CallContext,
    id: &RunId,
    command: &str,
    arguments: &Value,
) -> Result<(), Fault> {
    let engine = &means.engine;
    let said = |stepping: bool| BreakpointSet {
        stepping,
        ..read_breakpoints(arguments)
    };
    match command {
        "stop" => {
            let why = arguments
                .get("why")
                .and_then(Value::as_str)
                .map(str::to_owned);
            engine.abort(id, JOURNAL_NAME.into(), why).await
        }
        "pause" => {
            engine
                .set_breakpoints(id, said(true), JOURNAL_NAME.into())
                .await
        }
        "watch" => {
            engine
                .set_breakpoints(id, read_breakpoints(arguments), JOURNAL_NAME.into())
                .await
        }
        "step" => {
            engine
                .set_breakpoints(id, said(true), JOURNAL_NAME.into())
                .await?;
            resume(means, id).await
        }
        _ => {
            engine
                .set_breakpoints(id, said(false), JOURNAL_NAME.into())
                .await?;
            resume(means, id).await
        }
    }
}

/// Resumes the run and drives it here, unless another process does.
async fn resume(means: &CallContext, id: &RunId) -> Result<(), Fault> {
    means
        .engine
        .continue_from_halt(id, means.respondent())
        .await?;
    ensure_driven(means, id).await
}

/// Drives a run here, unless another process does.
pub(super) async fn ensure_driven(means: &CallContext, id: &RunId) -> Result<(), Fault> {
    match means.engine.resume_or_hand_over(id).await {
        Ok(_) | Err(Fault::Elsewhere { .. }) => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// The state of the run once it has halted or ended, or after a timeout.
pub(super) async fn state_when_settled(means: &CallContext, id: &RunId) -> Result<Value, Fault> {
    let engine = &means.engine;
    let mut rows = engine.watch_row(id);
    let waited = tokio::time::timeout(WAIT_MAX, async {
        loop {
            let row = rows.next().await?;
            if row.is_some_and(|row| row.index_row.status != RunStatus::Running) {
                return Ok::<(), Fault>(());
            }
        }
    });
    if let Ok(done) = waited.await {
        done?;
    }
    let loaded = engine.load(id).await?;
    let mut told = current_state(engine, &loaded).await;
    told.insert("outputs", loaded.run.outputs().clone());
    Ok(told.into())
}
