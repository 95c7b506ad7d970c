//! `trace_read`: what a run did, from its journal or from a file that a trace was written into.

use super::{Wrong, made, success};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_core::ids::{RunId, ToolName};
use tramline_core::trace::{VERSION, run_of};
use tramline_core::{Map, Value};
use tramline_engine::Fault;
use tramline_engine::seams::{Call, RunFilter};

/// So many steps are told when nobody says how many: an agent reads them all.
const STEPS_TOLD: u64 = 100;
/// So many runs are listed at once while the latest of the caller's own is looked for.
const PAGE_ROWS: usize = 50;
/// After so many pages the caller is taken to have none.
const PAGES_MAX: usize = 20;
/// Reading a file takes no longer.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn read(means: Means, arguments: Value) -> CallToolResult {
    made(try_read(&means, &arguments).await)
}

async fn try_read(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let named = arguments.get("trace_file").and_then(Value::as_str);
    let run = match named.unwrap_or("latest") {
        "latest" => latest(means).await?,
        named => match run_of(named) {
            Some(run) => run,
            None => {
                let trace = written(means, named).await?;
                return Ok(success(part(trace, arguments), None));
            }
        },
    };
    let seen = means.caller().load(&means.engine, &run, None).await;
    seen.map_err(|fault| lost(&fault))?;
    let trace = means
        .engine
        .trace(&run)
        .await
        .map_err(|fault| lost(&fault))?;
    let trace = Value::from(serde_json::to_value(&trace).unwrap_or_default());
    Ok(success(part(trace, arguments), Some(run.as_str())))
}

fn lost(fault: &Fault) -> Wrong {
    let kind = match fault {
        Fault::NotFound(_) => "not_found",
        _ => "execution",
    };
    Wrong::new(kind, fault.to_string()).suggesting("trace_read with latest reads your latest run")
}

/// The latest run that the caller may see.
async fn latest(means: &Means) -> Result<RunId, Wrong> {
    let caller = means.caller();
    let mut filter = RunFilter {
        most: PAGE_ROWS,
        ..RunFilter::default()
    };
    for _ in 0..PAGES_MAX {
        let page = means.engine.runs(filter.clone()).await;
        let page = page.map_err(|fault| lost(&fault))?;
        for row in &page.rows {
            if row.head.session.is_some() {
                continue;
            }
            if caller.load(&means.engine, &row.run, None).await.is_ok() {
                return Ok(row.run.clone());
            }
        }
        filter.after = page.rows.last().map(|row| row.run.clone());
        if !page.more {
            break;
        }
    }
    Err(Wrong::new("not_found", "there is no run yet").suggesting("workflow_execute makes one"))
}

/// A trace from a file, read as any workflow reads files: inside the allowed roots.
async fn written(means: &Means, path: &str) -> Result<Value, Wrong> {
    let tool = ToolName::new("builtin", "read-file");
    if let Some(why) = means.engine.refuses_own_use(&tool) {
        let message = format!("files may not be read here: {why}; name a run instead");
        return Err(Wrong::new("forbidden", message));
    }
    let call = Call {
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
        Wrong::new("not_found", failure.to_string()).suggesting(
            "name a run, the trace_path of a reply, latest, or a file in an allowed root",
        )
    })?;
    let text = read.get("content").and_then(Value::as_str);
    let trace = text.and_then(|text| Value::from_json(text).ok());
    let is_trace = |trace: &Value| {
        let version = trace.get("trace_version").and_then(Value::as_u64);
        version == Some(VERSION.into()) && trace.get("steps").is_some()
    };
    trace.filter(is_trace).ok_or_else(|| {
        Wrong::new(
            "validation",
            format!("`{path}` holds no trace of this version"),
        )
        .suggesting("tramline trace RUN --out FILE writes one")
    })
}

/// A trace with as many of its steps as were asked for.
fn part(trace: Value, arguments: &Value) -> Value {
    let number = |key: &str, or: u64| arguments.get(key).and_then(Value::as_u64).unwrap_or(or);
    let (from, most) = (number("from_step", 1), number("limit", STEPS_TOLD));
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
