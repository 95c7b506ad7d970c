//! The SOP toolset: an agent is walked through a written procedure, and calls tools through its gate.

use super::toolset::{ACTS, Own, plain};
use rmcp::model::Tool;
use tramline_engine::seams::Hints;

mod annotated;
mod call;
mod gated;
mod load;
mod moves;
mod pinned;
mod prompts;
mod seat;
mod told;

pub(super) use gated::Gated;
pub(super) use load::read_procedure;
pub use pinned::{PinTerms, PinnedProcedure};
pub(super) use prompts::{get, list, list_resources, read};
pub(super) use seat::{Seats, fault, is_named, named};

/// Of a tool that only writes into the conversation's own journal.
const NOTES: Hints = Hints {
    read_only: Some(false),
    destructive: Some(false),
    idempotent: Some(false),
    open_world: Some(false),
};

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[
    Own {
        name: "load_graph",
        title: "Load a procedure",
        description: "Parse an agent SOP markdown file and begin a conversation along it. Call it once, \
                      first. Gives the rules with the flowchart (system_prompt), the next step, and \
                      session_id for the other tools.",
        input: r#"{
            "type": "object",
            "properties": {
                "sop_file": {
                    "type": "string",
                    "description": "Path or https URL of the agent SOP markdown file"
                }
            },
            "additionalProperties": false
        }"#,
        hints: NOTES,
        answer: |means, arguments| plain(load::load_graph(means, arguments)),
    },
    Own {
        name: "todo",
        title: "Write the task list",
        description: "Create and manage a structured task list for the current conversation. Write the \
                      full updated list on each call. Tasks are internal to the agent and not shown to \
                      the user.",
        input: r#"{
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "description": "The updated todo list",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": { "type": "string", "minLength": 1 },
                            "note": { "type": "string", "description": "Context or findings" },
                            "status": { "enum": ["pending", "in_progress", "completed"] },
                            "completion_node": {
                                "type": "string",
                                "description": "Terminal node that marks this task as done"
                            }
                        },
                        "required": ["content", "status"]
                    }
                },
                "session_id": { "type": "string" }
            },
            "required": ["todos"],
            "additionalProperties": false
        }"#,
        hints: NOTES,
        answer: |means, arguments| plain(moves::todo(means, arguments)),
    },
    Own {
        name: "goto_node",
        title: "Move to a node",
        description: "Move to a node in the SOP graph. Returns the node description, prompt, tools, \
                      examples, and valid next edges. Validates that the transition is legal from the \
                      current position. slots sets what was collected.",
        input: r#"{
            "type": "object",
            "properties": {
                "node_id": { "type": "string", "description": "Target node ID to move to" },
                "slots": { "type": "object", "description": "Collected values by name" },
                "reason": { "type": "string" },
                "evidence": { "description": "What the move rests on" },
                "session_id": { "type": "string" }
            },
            "required": ["node_id"],
            "additionalProperties": false
        }"#,
        hints: NOTES,
        answer: |means, arguments| plain(moves::goto_node(means, arguments)),
    },
    Own {
        name: "advance",
        title: "Walk on",
        description: "Walk on along single ways and decisions that the data settles, up to the next node \
                      where you or the user are needed; gives the instructions of all nodes passed. Use \
                      it instead of one goto_node per node. node_id picks a way first; slots sets what \
                      was collected.",
        input: r#"{
            "type": "object",
            "properties": {
                "node_id": { "type": "string", "description": "The way to take, at a decision" },
                "slots": { "type": "object", "description": "Collected values by name" },
                "reason": { "type": "string" },
                "evidence": { "description": "What the move rests on" },
                "session_id": { "type": "string" }
            },
            "additionalProperties": false
        }"#,
        hints: NOTES,
        answer: |means, arguments| plain(moves::advance(means, arguments)),
    },
    Own {
        name: "sop_call",
        title: "Call a tool at this node",
        description: "Call a downstream tool from where the conversation stands. Refused where the node \
                      does not allow the tool; the refusal names the nodes that do and the path there. \
                      Where the node wants a person's agreement, that person is asked first: with \
                      status approval_required, repeat the same call once they have agreed.",
        input: r#"{
            "type": "object",
            "properties": {
                "tool": { "type": "string", "description": "Its name, or server:name" },
                "arguments": { "type": "object" },
                "confirm": { "type": "string", "description": "How the user agreed, for the person who is asked" },
                "again": {
                    "type": "boolean",
                    "description": "Repeat a call of which nobody knows whether it happened"
                },
                "session_id": { "type": "string" }
            },
            "required": ["tool"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| Box::pin(call::sop_call(means, arguments)),
    },
];

/// What an agent reads first of the toolset, where no prompt reaches it.
const INSTRUCTIONS: &str = "Work along a written procedure: call load_graph first and follow the system_prompt, flowchart and next \
                            step in its reply. Move with goto_node or advance, call tools as the node allows, keep a \
                            list of the user's wishes with todo.";

/// How to use a server with this toolset, for agents.
pub(super) fn instructions(pinned: Option<&[PinnedProcedure]>) -> String {
    let Some(pinned) = pinned else {
        return INSTRUCTIONS.to_owned();
    };
    let names: Vec<&str> = pinned.iter().map(|it| it.name().as_str()).collect();
    let which = match names.as_slice() {
        [only] => format!("The procedure is {only}; load_graph needs no arguments."),
        names => format!(
            "load_graph takes one of these as sop_file: {}.",
            names.join(", ")
        ),
    };
    format!(
        "{INSTRUCTIONS} {which} Every other tool here, and every call that a workflow makes, is held to the node where the \
         conversation stands."
    )
}

/// `load_graph` as it is listed: what has to be said depends on what is pinned.
pub(super) fn listed(mut tool: Tool, pinned: Option<&[PinnedProcedure]>) -> Tool {
    if tool.name != "load_graph" {
        return tool;
    }
    let mut input = (*tool.input_schema).clone();
    match pinned {
        Some([_]) => {}
        Some(_) | None => {
            input.insert("required".into(), serde_json::json!(["sop_file"]));
        }
    }
    if let (Some(pinned), Some(properties)) = (pinned, input.get_mut("properties")) {
        let names: Vec<&str> = pinned.iter().map(|it| it.name().as_str()).collect();
        properties["sop_file"] = serde_json::json!({
            "type": "string",
            "description": format!("One of the pinned procedures: {}", names.join(", ")),
        });
    }
    tool.input_schema = std::sync::Arc::new(input);
    tool
}
