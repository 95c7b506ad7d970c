//! The SOP toolset: an agent follows a written procedure and calls tools through its gate.

use crate::tool::{CallRules, PLAIN_RULES, RUNS_TOOLS, ToolDef, without_elicitation};
use rmcp::model::Tool;
use tramline_engine::ports::ToolHints;

mod annotation_warnings;
mod call;
mod gated_tool;
mod load_graph;
mod navigation;
mod pinned;
mod prompts;
mod session;
mod sop_reply;

pub(crate) use gated_tool::GatedTool;
pub use pinned::{PinOptions, PinnedProcedure};
pub(crate) use prompts::{get_prompt, procedure_names, prompts, read_resource, resources, skills};
pub(crate) use session::{SopState, names_session, session_fault_reply, session_of_request};

/// Hints of a tool that only writes to the session's journal.
const WRITES_JOURNAL: ToolHints = ToolHints {
    read_only: Some(false),
    destructive: Some(false),
    idempotent: Some(false),
    open_world: Some(false),
};

/// Calls of these tools, including rejected ones, are events of their session and have no other effects.
const JOURNALED: CallRules = CallRules {
    is_journaled: true,
    ..PLAIN_RULES
};

/// The tools of this toolset.
pub(crate) const TOOLS: &[ToolDef] = &[
    ToolDef {
        name: "load_graph",
        title: "Load a procedure",
        description: "Parse an agent SOP markdown file and start a session. Call it once, first. \
                      Returns the rules with the flowchart (system_prompt), the next step, and \
                      session_id for the other tools.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "sop_file": {
                    "type": "string",
                    "description": "Path or https URL of the agent SOP markdown file"
                }
            },
            "additionalProperties": false
        }"#,
        hints: WRITES_JOURNAL,
        rules: JOURNALED,
        call: |means, arguments| without_elicitation(load_graph::load_graph(means, arguments)),
    },
    ToolDef {
        name: "todo",
        title: "Write the task list",
        description: "Create and manage a structured task list for the current conversation. Write the \
                      full updated list on each call. Tasks are internal to the agent and not shown to \
                      the user.",
        input_schema: r#"{
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
        hints: WRITES_JOURNAL,
        rules: JOURNALED,
        call: |means, arguments| without_elicitation(navigation::todo(means, arguments)),
    },
    ToolDef {
        name: "goto_node",
        title: "Move to a node",
        description: "Move to a node in the SOP graph. Returns the node description, prompt, tools, \
                      examples, and valid next edges. Validates that the transition is legal from the \
                      current position. slots sets collected values.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "node_id": { "type": "string", "description": "Target node ID to move to" },
                "slots": { "type": "object", "description": "Collected values by name" },
                "reason": { "type": "string" },
                "evidence": { "description": "Facts that justify the move" },
                "session_id": { "type": "string" }
            },
            "required": ["node_id"],
            "additionalProperties": false
        }"#,
        hints: WRITES_JOURNAL,
        rules: JOURNALED,
        call: |means, arguments| without_elicitation(navigation::goto_node(means, arguments)),
    },
    ToolDef {
        name: "advance",
        title: "Advance",
        description: "Move along single edges and decisions that the data settles, to the next node that \
                      needs you or the user. Returns the instructions of all nodes passed. Use it \
                      instead of one goto_node per node. node_id picks an edge first; slots sets \
                      collected values.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "node_id": { "type": "string", "description": "Node to move to first, at a decision" },
                "slots": { "type": "object", "description": "Collected values by name" },
                "reason": { "type": "string" },
                "evidence": { "description": "Facts that justify the move" },
                "session_id": { "type": "string" }
            },
            "additionalProperties": false
        }"#,
        hints: WRITES_JOURNAL,
        rules: JOURNALED,
        call: |means, arguments| without_elicitation(navigation::advance(means, arguments)),
    },
    ToolDef {
        name: "sop_call",
        title: "Call a tool at this node",
        description: "Call a downstream tool at the current node. If the node does not allow it, the error \
                      names the nodes that do and the path there. If the node requires approval, a \
                      person is asked first: with status approval_required, repeat the same call \
                      once they have approved.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "tool": { "type": "string", "description": "Its name, or server:name" },
                "arguments": { "type": "object" },
                "confirm": { "type": "string", "description": "How the user agreed; shown to the approver" },
                "again": {
                    "type": "boolean",
                    "description": "Repeat a call in doubt"
                },
                "session_id": { "type": "string" }
            },
            "required": ["tool"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: PLAIN_RULES,
        call: |means, arguments| Box::pin(call::sop_call(means, arguments)),
    },
];

/// Instructions of the toolset, for agents that get no prompt.
const INSTRUCTIONS: &str = "Follow a written procedure: call load_graph first and follow the \
                            system_prompt, flowchart and next step in its reply. Move with goto_node \
                            or advance, call only tools that the node allows, and track the user's \
                            requests with todo.";

/// Instructions for agents on a server with this toolset.
pub(crate) fn instructions(pinned: Option<&[PinnedProcedure]>) -> String {
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
        "{INSTRUCTIONS} {which} Every other tool here, and every call of a workflow, must be allowed by the \
         session's current node."
    )
}

/// `load_graph` as it is listed: its description and schema depend on the pinned procedures.
pub(crate) fn describe_load_graph(mut tool: Tool, pinned: Option<&[PinnedProcedure]>) -> Tool {
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
