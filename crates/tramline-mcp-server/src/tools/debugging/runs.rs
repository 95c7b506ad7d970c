//! Lists runs and reads one.

use super::{current_state, position, run_id, run_state};
use crate::caller::Caller;
use crate::reply;
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_engine::ports::{RunFilter, RunPage, RunRow, RunStatus};
use tramline_engine::{Engine, Fault, JournalPoint};
use tramline_expr::{Map, Value};
use tramline_views::trace::Trace;

/// Default number of runs listed: one screen.
const RUNS_DEFAULT: u64 = 20;

pub(super) async fn runs_list(means: CallContext, arguments: Value) -> CallToolResult {
    let text = |key| arguments.get(key).and_then(Value::as_str);
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let most = limit.unwrap_or(RUNS_DEFAULT) as usize;
    let filter = RunFilter {
        status: text("status")
            .and_then(RunStatus::parse)
            .into_iter()
            .collect(),
        workflow: text("workflow").map(Into::into),
        session: text("session_id").map(Into::into),
        limit: most,
        ..RunFilter::default()
    };
    let seen = visible_runs(&means.engine, &means.caller(), filter, most).await;
    reply::reply_or_fault(seen.map(|page| page_value(&page)), None)
}

/// Maximum number of pages searched for a caller's runs; what was found by then is returned.
const PAGES_MAX: usize = 50;

/// The matching runs that this caller may see.
pub(crate) async fn visible_runs(
    engine: &Engine,
    caller: &Caller,
    mut filter: RunFilter,
    most: usize,
) -> Result<RunPage, Fault> {
    let mut found = RunPage::default();
    for _ in 0..PAGES_MAX {
        let page = engine.runs(filter.clone()).await?;
        filter.after = page.rows.last().map(|row| row.run.clone());
        found.more = page.more;
        for row in page.rows {
            // Runs of a session are only listed if the session is named.
            if row.index_row.session != filter.session {
                continue;
            }
            // The first event names the owner; the rest of the journal can be large.
            let header = match engine.run_header(&row.run).await {
                Ok(header) => header,
                // Deleted in the meantime, or damaged: nobody can be shown to own it.
                Err(Fault::NotFound(_)) => continue,
                Err(fault) => return Err(fault),
            };
            // An SOP session has no steps to show.
            if !header.is_sop_session && header.owner.0 == caller.name {
                found.rows.push(row);
            }
            if found.rows.len() == most {
                return Ok(found);
            }
        }
        if !page.more {
            break;
        }
    }
    Ok(found)
}

fn page_value(page: &RunPage) -> Value {
    let rows = page.rows.iter().map(row_value);
    Value::object([
        ("runs", Value::array(rows)),
        ("more", Value::from(page.more)),
    ])
}

fn row_value(row: &RunRow) -> Value {
    let mut shown = Map::new();
    shown.insert("run_id", row.run.as_str().into());
    shown.insert("workflow", row.index_row.workflow.clone().into());
    shown.insert("status", row.index_row.status.as_str().into());
    shown.insert("started", reply::timestamp(row.index_row.started_ms).into());
    shown.insert("updated", reply::timestamp(row.index_row.updated_ms).into());
    shown.into()
}

/// Default number of steps returned: an agent reads all of them.
const STEPS_DEFAULT: u64 = 50;

pub(super) async fn run_read(means: CallContext, arguments: Value) -> CallToolResult {
    let id = match run_id(&arguments, "run_id") {
        Ok(id) => id,
        Err(fault) => return reply::fault_reply(&fault, None),
    };
    let told = match position(&arguments) {
        Some(at) => state_at(&means, &id, at).await,
        None => steps_from(&means, &id, &arguments).await,
    };
    reply::reply_or_fault(told, Some(&id))
}

/// The run at an earlier position.
async fn state_at(
    means: &CallContext,
    id: &tramline_workflow::ids::RunId,
    at: JournalPoint,
) -> Result<Value, Fault> {
    let then = means.engine.load_at(id, at).await?;
    let mut told = run_state(&then);
    told.insert("outputs", then.run.outputs().clone());
    Ok(told.into())
}

/// The run step by step, from `from_step` on.
async fn steps_from(
    means: &CallContext,
    id: &tramline_workflow::ids::RunId,
    arguments: &Value,
) -> Result<Value, Fault> {
    let loaded = means.engine.load(id).await?;
    let number = |key: &str, or: u64| arguments.get(key).and_then(Value::as_u64).unwrap_or(or);
    let (from, most) = (
        number("from_step", 1),
        number("limit", STEPS_DEFAULT) as usize,
    );
    let trace = Trace::of(id, &loaded.run.graph, &loaded.entries);
    let count = trace.steps.len();
    let shown: Vec<Value> = trace
        .steps
        .iter()
        .filter(|step| u64::from(step.step) >= from)
        .take(most)
        .map(|step| serde_json::to_value(step).unwrap_or_default().into())
        .collect();
    let mut told = current_state(&means.engine, &loaded).await;
    told.insert("input", trace.input);
    let next = from + shown.len() as u64;
    told.insert("steps", Value::array(shown));
    told.insert("step_count", (count as u64).into());
    if next <= count as u64 {
        told.insert("next_from_step", next.into());
    }
    Ok(told.into())
}
