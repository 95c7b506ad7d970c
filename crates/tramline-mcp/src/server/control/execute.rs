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
use tramline_core::journal::{Budget, Policy, Spent};
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
    // What cannot be used is refused before anybody plans for it.
    budget(arguments)?;
    let mut plan = None;
    let mut origin = Origin::Caller;
    let document = match (arguments.get("workflow"), read::text(arguments, "intent")) {
        (Some(given), _) => read::dag(means, given).await?,
        (None, Some(wish)) => match intent::suggest(means, wish, arguments).await? {
            Ok((document, told, tokens)) => {
                plan = Some(told);
                origin = Origin::Here { tokens };
                *document
            }
            Err(told) => return Ok(Came::Stands(told)),
        },
        (None, None) => {
            return Err(Wrong::params(
                "give `workflow`, or `intent` to have one suggested",
            ));
        }
    };
    let mut came = run(means, tool, arguments, &document, origin).await?;
    if let (Came::Stands(told), Some(plan)) = (&mut came, plan) {
        told.insert("plan", plan.into());
    }
    Ok(came)
}

/// Whose a plan is.
#[derive(Clone, Copy)]
enum Origin {
    /// The caller's, who gave or submitted it: the next plan may learn from it.
    Caller,
    /// Made here from an intent, by words or by a model. Nothing is learnt from our own guesses.
    Here {
        /// What planning took.
        tokens: u64,
    },
}

async fn run(
    means: &Means,
    tool: &str,
    arguments: &Value,
    document: &Document,
    origin: Origin,
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
    start.intent = match origin {
        Origin::Caller => read::text(arguments, "intent").map(Into::into),
        Origin::Here { .. } => None,
    };
    start.ttl_ms = means.shared.conduct.ttl_ms();
    start.budget = budget(arguments)?;
    if let (Some(budget), Origin::Here { tokens }) = (&mut start.budget, origin) {
        budget.spend(Spent::Tokens, tokens);
    }
    let mut underway = Underway::start(&means.engine, start).await?;
    if layered {
        // Its caller comes back to it; without layers, it was made for this call.
        underway.cancelled = Cancelled::GoesOn;
    }
    attend(means, tool, underway).await
}

/// What the run may use before it asks.
fn budget(arguments: &Value) -> Result<Option<Budget>, Wrong> {
    let given = arguments.get("budget").map(Budget::read);
    given.transpose().map_err(Wrong::params)
}
