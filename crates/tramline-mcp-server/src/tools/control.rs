//! The control toolset: DAGs of tasks that an agent runs layer by layer, inspects, extends and ends.
//!
//! A workflow of this toolset is a run, and its `workflow_id` is the run's id. All state is in the journal, so
//! any process with the same store gives the same answers.

use super::submit_plan::SUBMIT_PLAN;
use crate::reply;
use crate::tool::{CallRules, PLAIN_RULES, RUNS_TOOLS, ToolDef};
use rmcp::model::CallToolResult;
use tramline_expr::Value;
use tramline_workflow::schema::SchemaErrors;

mod abort;
mod approval_response;
mod arrivals;
mod continue_run;
mod control_state;
mod error;
mod execute_dag;
mod intent;
mod plan_explanation;
mod plan_request;
mod rate_limit;
mod read;
mod replan;
mod seen_checkpoint;
mod status;
mod wait;

pub(crate) use control_state::ControlState;
use error::ControlError;
pub(crate) use plan_request::{
    resume_submitted_plan, run_submitted_plan, unknown_handle, used_handle,
};

/// How calls of this toolset are checked. Its errors have a shape of their own, also those about runs of others.
pub(super) const RULES: CallRules = CallRules {
    invalid_arguments,
    checks_caller: true,
    ..PLAIN_RULES
};

/// The tools of this toolset.
pub(crate) const TOOLS: &[ToolDef] = &[
    ToolDef {
        name: "execute_dag",
        title: "Run a DAG",
        description: "Runs a DAG of tool calls. Give workflow ({tasks: [{id, tool: 'server:tool', \
                      arguments, depends_on}]}; arguments may use $OUTPUT[id].path), or intent in \
                      words: a configured model plans it, otherwise the reply is status suggestion and \
                      nothing runs until you pass the plan to submit_plan. With \
                      config.per_layer_validation it pauses after each layer: status layer_complete, \
                      then continue, replan or abort; if checkpoint_type is approval_required, \
                      approval_response. Otherwise returns status complete and all results.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "intent": { "type": "string", "maxLength": 10000 },
                "workflow": { "type": ["object", "array", "string"] },
                "config": {
                    "type": "object",
                    "properties": { "per_layer_validation": { "type": "boolean", "default": false } },
                    "additionalProperties": false
                },
                "parameters": { "type": "object", "description": "Values that tasks refer to" },
                "budget": {
                    "type": "object",
                    "description": "Limits: calls, active_ms, bytes, tokens; asks before exceeding one"
                },
                "session_id": { "type": "string", "maxLength": 256 }
            },
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: RULES,
        call: |means, arguments| Box::pin(execute_dag::call(means, arguments)),
    },
    ToolDef {
        name: "continue",
        title: "Run the next layer",
        description: "Runs the next layer of a workflow that paused after one. Returns \
                      layer_complete, complete, or what it waits for. With checkpoint_id, \
                      only if it waits there.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow_id": { "type": "string" },
                "reason": { "type": "string", "maxLength": 10000 },
                "checkpoint_id": { "type": "string" },
                "session_id": { "type": "string" }
            },
            "required": ["workflow_id"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: RULES,
        call: |means, arguments| Box::pin(continue_run::call(means, arguments)),
    },
    ToolDef {
        name: "replan",
        title: "Add tasks to a workflow",
        description: "Adds tasks to a workflow that paused after a layer; finished tasks stay. \
                      new_tasks are used unchanged and may depend on and refer to existing \
                      tasks; without them a configured model plans new_requirement, otherwise \
                      status suggestion: pass the plan to submit_plan. Then continue.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow_id": { "type": "string" },
                "new_requirement": { "type": "string", "maxLength": 10000 },
                "available_context": { "type": "object" },
                "new_tasks": { "type": "array" },
                "checkpoint_id": { "type": "string", "description": "Only if it waits there" },
                "session_id": { "type": "string" }
            },
            "required": ["workflow_id", "new_requirement"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: RULES,
        call: |means, arguments| Box::pin(replan::call(means, arguments)),
    },
    ToolDef {
        name: "abort",
        title: "End a workflow",
        description: "Ends a workflow for good; running calls are cancelled. Returns the \
                      results so far.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow_id": { "type": "string" },
                "reason": { "type": "string", "minLength": 1, "maxLength": 10000 },
                "session_id": { "type": "string" }
            },
            "required": ["workflow_id", "reason"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: RULES,
        call: |means, arguments| Box::pin(abort::call(means, arguments)),
    },
    ToolDef {
        name: "approval_response",
        title: "Answer a workflow",
        description: "Answers a workflow that waits for a decision (approval_required, in_doubt, \
                      budget_exceeded, form) at checkpoint_id. approved: false ends it. in_doubt \
                      takes answer: retry, or skip with the output to use. form takes content. With child_waiting, answer the \
                      question under child, with its run_id as workflow_id. Approvals required by \
                      the operator must come from a person; wait_seconds waits for that.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow_id": { "type": "string" },
                "checkpoint_id": { "type": "string" },
                "approved": { "type": "boolean" },
                "feedback": { "type": "string", "maxLength": 10000 },
                "answer": { "enum": ["approve", "proceed", "retry", "skip", "extend", "reject", "submit", "decline", "cancel"] },
                "content": { "type": "object", "description": "The fields of a form" },
                "output": { "description": "With skip" },
                "budget": { "type": "object", "description": "With extend: how much more" },
                "wait_seconds": {
                    "type": "integer", "minimum": 0, "maximum": 600,
                    "description": "How long to wait for a person's answer"
                },
                "session_id": { "type": "string" }
            },
            "required": ["workflow_id", "checkpoint_id", "approved"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: RULES,
        call: |means, arguments| Box::pin(approval_response::call(means, arguments)),
    },
    SUBMIT_PLAN,
];

/// The reply for arguments that the schema rejects.
fn invalid_arguments(tool: &ToolDef, _: &Value, errors: &SchemaErrors) -> CallToolResult {
    let message = reply::invalid_arguments_message(tool.name, errors);
    ControlError::invalid_params(message).into_reply()
}
