//! Reading runs: which there are, and what happened in one.

use super::super::reply;
use super::super::toolset::Means;
use super::{at, run_id, standing};
use rmcp::model::CallToolResult;
use tramline_core::trace::Trace;
use tramline_core::{Map, Value};
use tramline_engine::seams::{Page, RunFilter, RunRow, Status};
use tramline_engine::{At, Fault};

/// So many runs are listed when nobody says how many: a screenful.
const LISTED: u64 = 20;

pub(super) async fn list(means: Means, arguments: Value) -> CallToolResult {
    let text = |key| arguments.get(key).and_then(Value::as_str);
    let limit = arguments.get("limit").and_then(Value::as_u64);
    let most = limit.unwrap_or(LISTED) as usize;
    let filter = RunFilter {
        status: text("status").and_then(Status::parse).into_iter().collect(),
        workflow: text("workflow").map(Into::into),
        session: text("session_id").map(Into::into),
        most,
        ..RunFilter::default()
    };
    let seen = seen(&means, filter, most).await;
    reply::made(seen.map(|page| listed(&page)), None)
}

/// A caller that has to look through so many pages for its runs gets what was found by then.
const PAGES_MAX: usize = 50;

/// The runs that fit and that this caller may see.
async fn seen(means: &Means, mut filter: RunFilter, most: usize) -> Result<Page, Fault> {
    let caller = means.caller();
    let mut found = Page::default();
    for _ in 0..PAGES_MAX {
        let page = means.engine.runs(filter.clone()).await?;
        filter.after = page.rows.last().map(|row| row.run.clone());
        found.more = page.more;
        for row in page.rows {
            // Without being named, runs of sessions are not there.
            if row.head.session != filter.session {
                continue;
            }
            let run = match means.engine.load(&row.run).await {
                Ok(loaded) => loaded.run,
                // A conversation along a procedure has no steps to show.
                Err(Fault::Refused(_)) => continue,
                Err(fault) => return Err(fault),
            };
            if caller.sees(&run, filter.session.as_deref()) {
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

fn listed(page: &Page) -> Value {
    let rows = page.rows.iter().map(row);
    Value::object([
        ("runs", Value::array(rows)),
        ("more", Value::from(page.more)),
    ])
}

fn row(row: &RunRow) -> Value {
    let mut shown = Map::new();
    shown.insert("run_id", row.run.as_str().into());
    shown.insert("workflow", row.head.workflow.clone().into());
    shown.insert("status", row.head.status.as_str().into());
    shown.insert("started", reply::moment(row.head.started_ms).into());
    shown.insert("updated", reply::moment(row.head.updated_ms).into());
    shown.into()
}

/// So many steps are told when nobody says how many: an agent reads them all.
const STEPS_TOLD: u64 = 50;

pub(super) async fn read(means: Means, arguments: Value) -> CallToolResult {
    let id = match run_id(&arguments, "run_id") {
        Ok(id) => id,
        Err(fault) => return reply::fault(&fault, None),
    };
    let told = match at(&arguments) {
        Some(at) => stood(&means, &id, at).await,
        None => whole(&means, &id, &arguments).await,
    };
    reply::made(told, Some(&id))
}

/// The run as it stood at a moment.
async fn stood(means: &Means, id: &tramline_core::ids::RunId, at: At) -> Result<Value, Fault> {
    let then = means.engine.load_at(id, at).await?;
    let mut told = standing(&then);
    told.insert("outputs", then.run.outputs().clone());
    Ok(told.into())
}

/// The run step by step, from `from_step` on.
async fn whole(
    means: &Means,
    id: &tramline_core::ids::RunId,
    arguments: &Value,
) -> Result<Value, Fault> {
    let loaded = means.engine.load(id).await?;
    let number = |key: &str, or: u64| arguments.get(key).and_then(Value::as_u64).unwrap_or(or);
    let (from, most) = (number("from_step", 1), number("limit", STEPS_TOLD) as usize);
    let trace = Trace::of(id, &loaded.run.graph, &loaded.entries);
    let count = trace.steps.len();
    let shown: Vec<Value> = trace
        .steps
        .iter()
        .filter(|step| u64::from(step.step) >= from)
        .take(most)
        .map(|step| serde_json::to_value(step).unwrap_or_default().into())
        .collect();
    let mut told = standing(&loaded);
    told.insert("input", trace.input);
    let next = from + shown.len() as u64;
    told.insert("steps", Value::array(shown));
    told.insert("step_count", (count as u64).into());
    if next <= count as u64 {
        told.insert("next_from_step", next.into());
    }
    Ok(told.into())
}
