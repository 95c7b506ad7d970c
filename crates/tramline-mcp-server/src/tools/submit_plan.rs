//! `submit_plan`: receives the plans that the control toolset and the planner loop request from an agent.

use super::control;
use super::planner_loop::LoopContext;
use crate::tool::{CallContext, RUNS_TOOLS, ToolDef};
use rmcp::model::CallToolResponse;
use tramline_engine::Fault;
use tramline_expr::Value;
use tramline_planner::loop_runner::PendingPlan;

/// Instructions for servers that accept intents in words.
pub(super) const INSTRUCTIONS: &str = "An intent in words (execute_dag, replan, run_loop) runs only if a model plans it or it \
                     certainly only reads. Otherwise the reply has plan_request: tools with schemas, open \
                     points and an example. Write the plan and pass it to submit_plan with the handle.";

/// The tool that receives requested plans. It is part of every toolset that requests plans.
pub(super) const SUBMIT_PLAN: ToolDef = ToolDef {
    name: "submit_plan",
    title: "Submit a plan",
    description: "Submits the plan that a reply requested in plan_request, by its handle. The plan runs \
                  as if passed to that tool, with the same config, budget and session, and the reply \
                  has that tool's shape. Steps {tool, args, id?} run in sequence, or in the order of \
                  depends_on if any step has it. Returns all problems of an invalid plan at once; fix \
                  it and submit it again.",
    input_schema: r#"{
        "type": "object",
        "properties": {
            "handle": { "type": "string", "maxLength": 64 },
            "plan": { "type": ["array", "object"], "description": "[{tool, args, id?, depends_on?}]" },
            "session_id": { "type": "string", "maxLength": 256 }
        },
        "required": ["handle", "plan"],
        "additionalProperties": false
    }"#,
    hints: RUNS_TOOLS,
    rules: control::RULES,
    call: |means, arguments| Box::pin(submit_plan(means, arguments)),
};

async fn submit_plan(means: CallContext, arguments: Value) -> CallToolResponse {
    let handle = arguments.get("handle").and_then(Value::as_str);
    let handle = handle.unwrap_or_default();
    let plan = arguments.get("plan").cloned().unwrap_or_default();
    let context = LoopContext::new(&means, "submit_plan");
    let brought = match &means.client_answers {
        Some((state, _)) if context.runner.is_loop(&state.run).await => {
            context.resume_with_answer().await
        }
        Some(_) => control::resume_submitted_plan(&means).await,
        None => None,
    };
    if let Some(response) = brought {
        return response;
    }
    match context.runner.plan_request(handle, &context.terms).await {
        Ok(PendingPlan::Loop(_)) => {
            let response = context.runner.submit(handle, &plan, &context.terms).await;
            if let Err(Fault::Rejected(_)) = &response
                && let Ok(PendingPlan::Used(run)) =
                    context.runner.plan_request(handle, &context.terms).await
            {
                // Another submission came first.
                return control::used_handle(handle, &run);
            }
            context.reply(response).await
        }
        Ok(PendingPlan::Used(run)) => control::used_handle(handle, &run),
        Ok(PendingPlan::External(about)) => {
            control::run_submitted_plan(&means, &arguments, &about).await
        }
        Err(fault) => control::unknown_handle(&arguments, fault),
    }
}
