//! `execute_dag`: runs a DAG given by the caller, or one planned from an intent.

use super::error::ControlError;
use super::wait::{self, ControlReply, resume_with_answer, wait_for_run};
use super::{intent, plan_request, read};
use crate::caller::Caller;
use crate::run_wait::{AwaitedRun, OnCancel};
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use std::sync::Arc;
use tramline_engine::RunStart;
use tramline_expr::Value;
use tramline_formats::yaml_graph::GraphDocument;
use tramline_workflow::journal::{Budget, BudgetPart, SchedulePolicy};

const TOOL: &str = "execute_dag";

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResponse {
    let came = execute_dag(&means, TOOL, &arguments, None).await;
    wait::tool_response(came)
}

/// Runs a DAG for a call of this tool, or of another tool that received the DAG for a plan handle.
pub(super) async fn execute_dag(
    means: &CallContext,
    tool: &str,
    arguments: &Value,
    handle: Option<&str>,
) -> Result<ControlReply, ControlError> {
    if let Some(came) = resume_with_answer(means, tool).await? {
        return Ok(came);
    }
    // An invalid budget is rejected before anything is planned.
    read_budget(arguments)?;
    let mut plan = None;
    let mut origin = PlanOrigin::Caller;
    let document = match (arguments.get("workflow"), read::text(arguments, "intent")) {
        (Some(given), _) => read::read_dag(means, given).await?,
        (None, Some(wish)) => match intent::plan_dag(means, wish, arguments).await? {
            Ok((document, told, tokens)) => {
                plan = Some(told);
                origin = PlanOrigin::Planned { tokens };
                *document
            }
            Err(told) => return Ok(ControlReply::Status(told)),
        },
        (None, None) => {
            return Err(ControlError::invalid_params(
                "`workflow` or `intent` is required",
            ));
        }
    };
    let came = run_dag(means, (tool, handle), arguments, &document, origin).await;
    let mut came = read::add_warnings(came, &document.warnings)?;
    if let (ControlReply::Status(told), Some(plan)) = (&mut came, plan) {
        told.insert("plan", plan.into());
    }
    Ok(came)
}

/// Where a plan comes from.
#[derive(Clone, Copy)]
enum PlanOrigin {
    /// Given or submitted by the caller: later plans may learn from it.
    Caller,
    /// Planned here from an intent, from words or by a model. The planner does not learn from its own guesses.
    Planned {
        /// Model tokens used for planning.
        tokens: u64,
    },
}

async fn run_dag(
    means: &CallContext,
    (tool, handle): (&str, Option<&str>),
    arguments: &Value,
    document: &GraphDocument,
    origin: PlanOrigin,
) -> Result<ControlReply, ControlError> {
    let [graph] = document.workflows.as_slice() else {
        return Err(ControlError::invalid_params(
            "a DAG must contain exactly one workflow",
        ));
    };
    let layered = is_layered(arguments)?;
    let mut start = RunStart::new(
        Arc::clone(graph),
        read::object_or_empty(arguments.get("parameters")),
    );
    start.policy = if layered {
        SchedulePolicy::Layered
    } else {
        SchedulePolicy::Eager
    };
    start.session = read::text(arguments, "session_id").map(Into::into);
    start.origin = means.shared.options.origin.clone();
    Caller::sign(&mut start, &means.request);
    start.intent = match origin {
        PlanOrigin::Caller => read::text(arguments, "intent").map(Into::into),
        PlanOrigin::Planned { .. } => None,
    };
    start.ttl_ms = means.shared.options.ttl_ms();
    start.budget = read_budget(arguments)?;
    if let (Some(budget), PlanOrigin::Planned { tokens }) = (&mut start.budget, origin) {
        budget.subtract(BudgetPart::Tokens, tokens);
    }
    let id = means.engine.new_run_id();
    start.id = Some(id.clone());
    let claim = plan_request::claim_handle(means, handle, id).await?;
    let mut underway = match AwaitedRun::start(&means.engine, start).await {
        Ok(underway) => underway,
        Err(fault) => {
            plan_request::release_handle(means, claim).await?;
            return Err(fault.into());
        }
    };
    if layered {
        // Its caller returns to it. A run without layers belongs to this call only.
        underway.on_cancel = OnCancel::Continue;
    }
    wait_for_run(means, tool, underway).await
}

/// Whether the run pauses after each layer. The `config` of the request counts, then the one written inside
/// the workflow: ignoring it would run everything at once.
fn is_layered(arguments: &Value) -> Result<bool, ControlError> {
    const FIELD: &str = "per_layer_validation";
    let request = arguments.get("config").and_then(|config| config.get(FIELD));
    let workflow = arguments.get("workflow");
    let parsed = workflow.and_then(Value::as_str).map(Value::from_json);
    let parsed = parsed.and_then(Result::ok);
    let workflow = parsed.as_ref().or(workflow);
    let inner = workflow.and_then(|workflow| workflow.get("workflow"));
    let mut written = [workflow, inner].into_iter().flatten();
    let written = written.find_map(|at| at.get("config")?.get(FIELD));
    match request.or(written) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(layered)) => Ok(*layered),
        Some(_) => {
            let message = format!("`config.{FIELD}` must be true or false");
            Err(ControlError::invalid_params(message))
        }
    }
}

/// The budget of the run.
fn read_budget(arguments: &Value) -> Result<Option<Budget>, ControlError> {
    let given = arguments.get("budget").map(Budget::parse);
    given.transpose().map_err(ControlError::invalid_params)
}
