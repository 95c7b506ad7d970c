//! The control toolset: DAGs of tasks that an agent runs layer by layer, looks at, extends and ends.
//!
//! A workflow of this toolset is a run, and its `workflow_id` is the run's id. Nothing is kept
//! beside the journal, so that any process over the same store answers the same.

use super::loop_tools::SUBMIT_PLAN;
use super::reply;
use super::toolset::{ACTS, Own};
use rmcp::model::CallToolResult;
use tramline_core::schema::Faults;

mod abort;
mod amend;
mod answer;
mod arrivals;
mod attend;
mod desk;
mod execute;
mod go_on;
mod intent;
mod layers;
mod pace;
mod read;
mod seen;
mod submitted;
mod told;
mod why;
mod wrong;

pub(super) use desk::Desk;
pub(super) use submitted::{brought_back, no_question, runner, submitted, terms};
pub(super) use told::{answers, checkpoint_type};
use wrong::Wrong;

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[
    Own {
        name: "execute_dag",
        title: "Run a DAG",
        description: "Runs a DAG of tool calls. Give workflow ({tasks: [{id, tool: 'server:tool', \
                      arguments, depends_on}]}; arguments may use $OUTPUT[id].path), or intent in \
                      words: a configured model plans it, otherwise the reply is status suggestion and \
                      nothing runs until you give the plan to submit_plan. With config.per_layer_validation it pauses after each \
                      layer: status layer_complete, then continue, replan or abort; if \
                      checkpoint_type is approval_required, approval_response. Otherwise status \
                      complete and all results.",
        input: r#"{
            "type": "object",
            "properties": {
                "intent": { "type": "string", "maxLength": 10000 },
                "workflow": { "type": ["object", "array", "string"] },
                "config": {
                    "type": "object",
                    "properties": { "per_layer_validation": { "type": "boolean", "default": false } },
                    "additionalProperties": false
                },
                "parameters": { "type": "object", "description": "For tasks that refer to them" },
                "budget": {
                    "type": "object",
                    "description": "calls, active_ms, bytes, tokens: asks before it uses more"
                },
                "session_id": { "type": "string", "maxLength": 256 }
            },
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| Box::pin(execute::answer(means, arguments)),
    },
    Own {
        name: "continue",
        title: "Run the next layer",
        description: "Runs the next layer of a workflow that waits after one. Gives \
                      layer_complete, complete, or what else it waits for. With checkpoint_id, \
                      only if that is where it waits.",
        input: r#"{
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
        hints: ACTS,
        answer: |means, arguments| Box::pin(go_on::answer(means, arguments)),
    },
    Own {
        name: "replan",
        title: "Add tasks to a workflow",
        description: "Adds tasks to a workflow that waits after a layer; what is done stays done. \
                      new_tasks are taken as they are and may depend on and refer to tasks that \
                      are there; without them a configured model plans new_requirement, otherwise \
                      status suggestion: give the plan to submit_plan. Then continue.",
        input: r#"{
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
        hints: ACTS,
        answer: |means, arguments| Box::pin(amend::answer(means, arguments)),
    },
    Own {
        name: "abort",
        title: "End a workflow",
        description: "Ends a workflow; calls under way are cancelled. Gives the results so far. It \
                      cannot go on afterwards.",
        input: r#"{
            "type": "object",
            "properties": {
                "workflow_id": { "type": "string" },
                "reason": { "type": "string", "minLength": 1, "maxLength": 10000 },
                "session_id": { "type": "string" }
            },
            "required": ["workflow_id", "reason"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| Box::pin(abort::answer(means, arguments)),
    },
    Own {
        name: "approval_response",
        title: "Answer a workflow",
        description: "Answers a workflow that waits for a decision (approval_required, in_doubt, \
                      budget_exceeded), by its checkpoint_id. approved: false ends it. in_doubt \
                      takes answer: retry, or skip with the output to use. What the operator demands \
                      a person must answer; wait_seconds waits for that.",
        input: r#"{
            "type": "object",
            "properties": {
                "workflow_id": { "type": "string" },
                "checkpoint_id": { "type": "string" },
                "approved": { "type": "boolean" },
                "feedback": { "type": "string", "maxLength": 10000 },
                "answer": { "enum": ["approve", "proceed", "retry", "skip", "extend", "reject"] },
                "output": { "description": "With skip" },
                "budget": { "type": "object", "description": "With extend: how much more" },
                "wait_seconds": { "type": "integer", "minimum": 0, "maximum": 600, "description": "If a person must answer: wait so long for it" },
                "session_id": { "type": "string" }
            },
            "required": ["workflow_id", "checkpoint_id", "approved"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| Box::pin(answer::answer(means, arguments)),
    },
    SUBMIT_PLAN,
];

/// Refuses arguments of a tool of this set that its schema does not allow.
pub(super) fn misread(tool: &str, faults: &Faults) -> Option<CallToolResult> {
    TOOLS.iter().find(|own| own.name == tool)?;
    Some(Wrong::params(reply::misread(tool, faults)).into_reply())
}
