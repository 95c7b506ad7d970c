//! `trace_read`: a run's steps, from its journal or from a saved trace file.

use super::{LibraryReplyError, reply_or_error, success};
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_engine::Fault;
use tramline_engine::ports::{RunFilter, ToolCallRequest};
use tramline_expr::{Map, Value};
use tramline_views::trace::{VERSION, parse_run};
use tramline_workflow::ids::{RunId, ToolName};

/// Default number of steps returned: an agent reads all of them.
const STEPS_DEFAULT: u64 = 100;
/// Number of runs per page while searching for the caller's latest run.
const PAGE_ROWS: usize = 50;
/// Maximum number of pages searched for the caller's latest run.
const PAGES_MAX: usize = 20;
/// How long reading a file may take.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(try_read(&means, &arguments).await)
}

async fn try_read(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let named = arguments.get("trace_file").and_then(Value::as_str);
    let run = match named.unwrap_or("latest") {
        "latest" => latest_run(means).await?,
        named => match parse_run(named) {
            Some(run) => run,
            None => {
                let trace = read_trace_file(means, named).await?;
                return Ok(success(trace_page(trace, arguments), None));
            }
        },
    };
    let seen = means.caller().load_run(&means.engine, &run, None).await;
    seen.map_err(|fault| trace_error(&fault))?;
    let trace = means
        .engine
        .trace(&run)
        .await
        .map_err(|fault| trace_error(&fault))?;
    let trace = Value::from(serde_json::to_value(&trace).unwrap_or_default());
    Ok(success(trace_page(trace, arguments), Some(run.as_str())))
}

fn trace_error(fault: &Fault) -> LibraryReplyError {
    let kind = match fault {
        Fault::NotFound(_) => "not_found",
        _ => "execution",
    };
    LibraryReplyError::new(kind, fault.to_string())
        .suggesting("trace_read with latest reads your latest run")
}

/// The latest run that the caller may see.
async fn latest_run(means: &CallContext) -> Result<RunId, LibraryReplyError> {
    let caller = means.caller();
    let mut filter = RunFilter {
        limit: PAGE_ROWS,
        ..RunFilter::default()
    };
    for _ in 0..PAGES_MAX {
        let page = means.engine.runs(filter.clone()).await;
        let page = page.map_err(|fault| trace_error(&fault))?;
        for row in &page.rows {
            if row.index_row.session.is_some() {
                continue;
            }
            if caller.load_run(&means.engine, &row.run, None).await.is_ok() {
                return Ok(row.run.clone());
            }
        }
        filter.after = page.rows.last().map(|row| row.run.clone());
        if !page.more {
            break;
        }
    }
    Err(LibraryReplyError::new("not_found", "there is no run yet")
        .suggesting("workflow_execute starts one"))
}

/// Reads a trace from a file like any workflow reads files: inside the allowed roots.
async fn read_trace_file(means: &CallContext, path: &str) -> Result<Value, LibraryReplyError> {
    let tool = ToolName::new("builtin", "read-file");
    if let Some(why) = means.engine.own_use_denial(&tool) {
        let message = format!("files may not be read here: {why}; pass a run id instead");
        return Err(LibraryReplyError::new("forbidden", message));
    }
    let call = ToolCallRequest {
        tool,
        arguments: Value::object([("path", path.into())]),
        key: "trace_read".into(),
        timeout: READ_TIMEOUT,
        cancel: CancellationToken::new(),
        progress: None,
        upstream: None,
    };
    let read = means.engine.tools().call(call).await;
    let read = read.map_err(|failure| {
        LibraryReplyError::new("not_found", failure.to_string()).suggesting(
            "pass a run id, the trace_path of a reply, latest, or a file in an allowed root",
        )
    })?;
    let text = read.get("content").and_then(Value::as_str);
    let trace = text.and_then(|text| Value::from_json(text).ok());
    let is_trace = |trace: &Value| {
        let version = trace.get("trace_version").and_then(Value::as_u64);
        version == Some(VERSION.into()) && trace.get("steps").is_some()
    };
    trace.filter(is_trace).ok_or_else(|| {
        LibraryReplyError::new(
            "validation",
            format!("`{path}` is not a trace of this version"),
        )
        .suggesting("pass a run id or the trace_path of a reply instead")
    })
}

/// A trace with the requested steps.
fn trace_page(trace: Value, arguments: &Value) -> Value {
    let number = |key: &str, or: u64| arguments.get(key).and_then(Value::as_u64).unwrap_or(or);
    let (from, most) = (number("from_step", 1), number("limit", STEPS_DEFAULT));
    let Value::Object(fields) = trace else {
        return trace;
    };
    let mut told = Map::clone(&fields);
    let steps = told
        .get("steps")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let count = steps.len() as u64;
    let skipped = usize::try_from(from - 1).unwrap_or(usize::MAX);
    let shown = steps.iter().skip(skipped).take(most as usize);
    let shown: Vec<Value> = shown.cloned().collect();
    let next = from + shown.len() as u64;
    told.insert("steps", shown.into());
    told.insert("step_count", count.into());
    if next <= count {
        told.insert("next_from_step", next.into());
    }
    told.into()
}
