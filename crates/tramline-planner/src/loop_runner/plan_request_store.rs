//! Plan requests, stored until the calling agent answers.
//!
//! A plan request is a document of the store, so that any process can accept the answer.

use super::CallerContext;
use super::state::LoopState;
use crate::planning::Planner;
use tramline_engine::Fault;
use tramline_engine::clock;
use tramline_engine::ports::DocumentTable;
use tramline_expr::{Map, Value};
use tramline_workflow::ids::RunId;
use tramline_workflow::text::display_name;

/// The kind of these documents in the store.
const KIND: &str = "plan_requests";
/// Most plan requests that are stored, open and used ones. The oldest are deleted first.
const PLAN_REQUESTS_MAX: usize = 1_000;
/// How long a plan request stays open, in milliseconds. An agent that has not answered in a day will not.
const OPEN_MS: i64 = 24 * 60 * 60 * 1_000;
/// The prefix of handles.
const PREFIX: &str = "plan_";
/// What a handle requests a plan for.
#[derive(Debug)]
pub enum PendingPlan {
    /// A loop.
    Loop(Box<LoopState>),
    /// Another front end, with its own data.
    External(Value),
    /// Nothing any more: a plan was submitted, and this run executes it.
    Used(RunId),
}

/// The right of one caller to execute its plan for a handle. The handle now names the run of that plan.
#[derive(Debug)]
pub struct PlanClaim {
    /// The run that executes the plan.
    pub run: RunId,
    handle: String,
    /// The document while the request was open.
    open: Vec<u8>,
    /// The document that replaced it.
    used: Vec<u8>,
}

impl PlanClaim {
    /// The handle that was claimed.
    pub fn handle(&self) -> &str {
        &self.handle
    }
}

/// Stores a plan request and returns its handle.
pub(super) async fn store_request(
    planner: &Planner,
    asked: PendingPlan,
    terms: &CallerContext,
) -> Result<String, Fault> {
    let at_ms = clock::now_ms();
    let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
    let id = RunId::new(at_ms, chance);
    let handle = id.as_str().replacen("run_", PREFIX, 1);
    let mut body = Map::new();
    body.insert("at_ms", at_ms.into());
    let owner = terms.owner.clone().map_or(Value::Null, Value::from);
    body.insert("owner", owner);
    match asked {
        PendingPlan::Loop(course) => body.insert("course", course.to_value()),
        PendingPlan::External(about) => body.insert("about", about),
        PendingPlan::Used(run) => body.insert("run", run.as_str().into()),
    };
    let body = Value::from(body).to_json().into_bytes();
    let documents = planner.documents(KIND);
    documents.put(&handle, body).await?;
    trim(&documents).await?;
    Ok(handle)
}

/// Deletes the oldest plan requests beyond the limit. Handles sort by creation time.
async fn trim(documents: &DocumentTable) -> Result<(), Fault> {
    let mut keys = documents.list().await?;
    keys.truncate(keys.len().saturating_sub(PLAN_REQUESTS_MAX));
    if !keys.is_empty() {
        documents.delete(&keys).await?;
    }
    Ok(())
}

/// The plan request with a handle. A handle of another owner counts as unknown.
pub(super) async fn load_request(
    planner: &Planner,
    handle: &str,
    terms: &CallerContext,
) -> Result<PendingPlan, Fault> {
    let none = || {
        let handle = display_name(handle);
        let message = format!("unknown or expired plan handle `{handle}`; request a new plan");
        Fault::Rejected(message)
    };
    if !handle.starts_with(PREFIX) || handle.len() > 64 {
        return Err(none());
    }
    let body = planner
        .documents(KIND)
        .get(handle)
        .await?
        .ok_or_else(none)?;
    let text = String::from_utf8(body).map_err(|_| none())?;
    let value = Value::from_json(&text).map_err(|_| none())?;
    let at_ms = value.get("at_ms").and_then(Value::as_i64).unwrap_or(0);
    let owner = value.get("owner").and_then(Value::as_str);
    if owner != terms.owner.as_deref() || clock::now_ms() - at_ms > OPEN_MS {
        return Err(none());
    }
    if let Some(run) = value.get("run").and_then(Value::as_str) {
        return Ok(PendingPlan::Used(run.parse().map_err(|_| none())?));
    }
    match (value.get("course"), value.get("about")) {
        (Some(course), _) => {
            let course = LoopState::from_value(course).ok_or_else(none)?;
            Ok(PendingPlan::Loop(Box::new(course)))
        }
        (None, Some(about)) => Ok(PendingPlan::External(about.clone())),
        (None, None) => Err(none()),
    }
}

/// Claims a plan request for the run that will execute its plan. `None` if it is used already, or gone: of several
/// claims, in any process, one succeeds.
pub(super) async fn claim_request(
    planner: &Planner,
    handle: &str,
    run: RunId,
) -> Result<Option<PlanClaim>, Fault> {
    let Some(open) = planner.documents(KIND).get(handle).await? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&open);
    let value = Value::from_json(&text).unwrap_or_default();
    if value.get("run").is_some() {
        return Ok(None);
    }
    let mut used = Map::new();
    for key in ["at_ms", "owner"] {
        used.insert(key, value.get(key).cloned().unwrap_or_default());
    }
    used.insert("run", run.as_str().into());
    let used = Value::from(used).to_json().into_bytes();
    let seen = Some(open.clone());
    let is_first = planner
        .documents(KIND)
        .swap(handle, seen, used.clone())
        .await?;
    Ok(is_first.then(|| PlanClaim {
        run,
        handle: handle.to_owned(),
        open,
        used,
    }))
}

/// Opens a claimed plan request again, because its plan was not executed.
pub(super) async fn release_request(planner: &Planner, claim: PlanClaim) -> Result<(), Fault> {
    let PlanClaim {
        handle, open, used, ..
    } = claim;
    // If it has been deleted in the meantime, it stays deleted.
    let documents = planner.documents(KIND);
    documents.swap(&handle, Some(used), open).await?;
    Ok(())
}

/// Why a used handle is rejected.
pub(super) fn used_message(handle: &str, run: &RunId) -> String {
    let handle = display_name(handle);
    format!("plan handle `{handle}` was already used: its plan belongs to {run}")
}
