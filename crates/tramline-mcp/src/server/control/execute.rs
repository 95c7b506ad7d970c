//! `execute_dag`: a DAG that the caller brings, or one suggested for what it intends.

use super::super::toolset::Means;
use super::super::underway::{Cancelled, Underway};
use super::attend::{self, Came, attend, brought};
use super::wrong::Wrong;
use super::{intent, read};
use rmcp::model::CallToolResponse;
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::journal::{Budget, Policy};
use tramline_engine::Start;

const TOOL: &str = "execute_dag";

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let came = execute(&means, TOOL, &arguments).await;
    attend::reply(came)
}

/// Runs a DAG for a call of a tool: this one, or another that was given the DAG.
pub(super) async fn execute(means: &Means, tool: &str, arguments: &Value) -> Result<Came, Wrong> {
    if let Some(came) = brought(means, tool).await? {
        return Ok(came);
    }
    let mut plan = None;
    let document = match (arguments.get("workflow"), read::text(arguments, "intent")) {
        (Some(given), _) => read::dag(means, given).await?,
        (None, Some(wish)) => match intent::suggest(means, wish, arguments).await? {
            intent::Suggested::Ready(document, told) => {
                plan = Some(told);
                *document
            }
            intent::Suggested::Told(told) => return Ok(Came::Stands(told)),
        },
        (None, None) => {
            return Err(Wrong::params(
                "give `workflow`, or `intent` to have one suggested",
            ));
        }
    };
    let mut came = run(means, tool, arguments, &document).await?;
    if let (Came::Stands(told), Some(plan)) = (&mut came, plan) {
        told.insert("plan", plan.into());
    }
    Ok(came)
}

async fn run(
    means: &Means,
    tool: &str,
    arguments: &Value,
    document: &Document,
) -> Result<Came, Wrong> {
    let [graph] = document.workflows.as_slice() else {
        return Err(Wrong::params("a DAG is one workflow"));
    };
    let config = arguments.get("config");
    let layered = config.and_then(|config| config.get("per_layer_validation"));
    let layered = layered.and_then(Value::as_bool).unwrap_or(false);
    let mut start = Start::new(Arc::clone(graph), read::object(arguments.get("parameters")));
    start.policy = if layered {
        Policy::Layered
    } else {
        Policy::Eager
    };
    start.session = read::text(arguments, "session_id").map(Into::into);
    start.origin = means.shared.conduct.origin.clone();
    start.owner = means.caller().name;
    start.upstream = means.upstream();
    start.intent = read::text(arguments, "intent").map(Into::into);
    start.ttl_ms = means.shared.conduct.ttl_ms();
    start.budget = match arguments.get("budget") {
        None => None,
        Some(budget) => Some(Budget::read(budget).map_err(Wrong::params)?),
    };
    let mut underway = Underway::start(&means.engine, start).await?;
    if layered {
        // Its caller comes back to it; without layers, it was made for this call.
        underway.cancelled = Cancelled::GoesOn;
    }
    attend(means, tool, underway).await
}
