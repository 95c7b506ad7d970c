//! The runs toolset: starts workflows that outlast a call, and waits for them.
//!
//! A start returns at once, a wait returns within the time that clients give a call. The run belongs to no call: it
//! continues when its caller disconnects, and any process with the same store answers for it.

use super::debugging::RUN_ANSWER;
use crate::tool::{PLAIN_RULES, READS_ONLY, RUNS_TOOLS, ToolDef, without_elicitation};
use tramline_engine::ports::ToolHints;

mod run_await;
mod run_cancel;
mod run_start;

pub(crate) use run_await::running_reply;

/// The order of work, for agents.
pub(crate) const INSTRUCTIONS: &str = "Work that may last longer than a call: run_start, then run_await until status is not \
                                       running. Give run_start a key, so that repeating a start whose reply was lost returns the \
                                       same run. A paused run names its question.";

/// Hints of a tool that waits for a run and may drive it.
const WAITS: ToolHints = ToolHints {
    read_only: Some(true),
    idempotent: Some(true),
    ..READS_ONLY
};

/// The tools of this toolset.
pub(crate) const TOOLS: &[ToolDef] = &[
    ToolDef {
        name: "run_start",
        title: "Start a run",
        description: "Starts a workflow and returns its run_id at once; the run continues without you. With key, \
                      the same start is made only once: repeated, it returns the same run.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow": { "type": ["string", "object"], "description": "Name of a workflow or its tool; path or document where those are allowed" },
                "arguments": { "type": "object", "default": {} },
                "key": { "type": "string", "minLength": 1, "maxLength": 256 },
                "tool": { "type": "string", "description": "Which one, if a document has several" },
                "session_id": { "type": "string", "maxLength": 256 }
            },
            "required": ["workflow"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(run_start::call(means, arguments)),
    },
    ToolDef {
        name: "run_await",
        title: "Wait for a run",
        description: "Waits until a run ends or asks, at most wait_seconds. Returns status: completed (with result), \
                      failed (with error), paused (with the questions under waiting), or running: call it again. \
                      With checkpoint_id, waits for the answer to that question.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "run_id": { "type": "string" },
                "wait_seconds": { "type": "number", "minimum": 0, "maximum": 55, "default": 45 },
                "checkpoint_id": { "type": "string" },
                "session_id": { "type": "string" }
            },
            "required": ["run_id"],
            "additionalProperties": false
        }"#,
        hints: WAITS,
        rules: PLAIN_RULES,
        call: |means, arguments| Box::pin(run_await::call(means, arguments)),
    },
    RUN_ANSWER,
    ToolDef {
        name: "run_cancel",
        title: "Cancel a run",
        description: "Ends a run for good; its calls in flight are cancelled.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "run_id": { "type": "string" },
                "why": { "type": "string", "maxLength": 10000 },
                "session_id": { "type": "string" }
            },
            "required": ["run_id"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: PLAIN_RULES,
        call: |means, arguments| without_elicitation(run_cancel::call(means, arguments)),
    },
];
