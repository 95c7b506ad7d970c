//! The JSON Schema of IRs, by which editors complete and check while one writes.

use super::nodes::{self, END, SWITCH, TRANSFORM};
use super::types::BUILTINS;
use crate::formats::yaml_graph::editor;
use crate::workflow::WORKFLOW_SERVER as WORKFLOWS;
use serde_json::json;
use tramline_expr::Value;

/// `retry`, in the words of this format and in those of YAML graphs.
fn retry() -> serde_json::Value {
    let mut retry = editor::careful("retry");
    let properties = &mut retry["properties"];
    properties["max"]["description"] =
        "Attempts in all; beside the first, with `wait_ms` or a number as `backoff`.".into();
    properties["wait"] = json!({"type": "number", "minimum": 0, "description": "Seconds."});
    let number = properties["backoff"].take();
    properties["backoff"] = json!({"anyOf": [number, {"enum": ["fixed", "exponential"]}]});
    retry
}

/// The schema of an IR document.
pub fn json_schema() -> Value {
    let own = [TRANSFORM, SWITCH, END, WORKFLOWS];
    let known: Vec<_> = BUILTINS.into_iter().chain(own).collect();
    let mut node = json!({
        "type": "object",
        "required": ["id", "type"],
        "properties": {
            "id": {"type": "string", "minLength": 1, "description": "Its name, unique in the document."},
            "type": {
                "anyOf": [{"enum": known}, {"type": "string", "pattern": "^(mcp-.+-.+|[^:]+:.+)$"}],
                "description": "A built-in tool, server:tool or mcp-server-tool."
            },
            "purpose": {"type": "string", "description": "What it is for."},
            "description": {"type": "string"},
            "params": {"type": "object", "description": "The arguments; `${node.key}` takes what comes from elsewhere."},
            "batch": {
                "type": "object",
                "required": ["items"],
                "description": "Calls once for each item, which `params` see as `${item}`.",
                "properties": {
                    "items": {"type": ["array", "string"]},
                    "as": {"type": "string"},
                    "parallel": {"type": "boolean"},
                    "max_concurrent": {"type": "integer", "minimum": 1},
                    "max_retries": {"type": "integer", "minimum": 0},
                    "retry_wait": {"type": "number", "minimum": 0},
                    "error_handling": {"enum": ["fail_fast", "continue"]}
                }
            },
            "inputs": {"type": ["object", "string"], "description": "Values by name: the inputs of a workflow, or what `params` see as `${name}`."},
            "next": {"type": ["string", "array"], "description": "The node after it, or `end`; the next one in the document, if not given."},
            "loop": {
                "type": "object",
                "description": "Does it again while a condition holds, at least once.",
                "properties": {
                    "while": {"type": "string", "description": "Again while this is true: a single `${node.key}`."},
                    "until": {"type": "string", "description": "Again until this is true: a single `${node.key}`."},
                    "carry": {"type": "object", "description": "The inputs that the next round has other than the first."},
                    "max_iterations": {"type": ["integer", "string"], "minimum": 1}
                },
                "additionalProperties": false
            },
            "join": {"enum": ["any", "all"]}
        },
        "additionalProperties": false
    });
    for name in editor::CAREFUL {
        node["properties"][name] = editor::careful(name);
    }
    node["properties"]["retry"] = retry();
    for name in ["on-error", "on_error", "onError"] {
        let error = json!({"type": "string", "description": "The node to which a failure leads, or `end`."});
        node["properties"][name] = error;
    }
    for name in nodes::CACHES {
        node["properties"][name] = json!({"description": "Understood, and without effect."});
    }
    let edge = json!({
        "type": "object",
        "required": ["from", "to"],
        "properties": {
            "from": {"type": "string"},
            "to": {"type": "string"},
            "action": {"type": "string", "description": "`default`, `error`, or what a switch picks."}
        },
        "additionalProperties": false
    });
    let input = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "description": {"type": "string"},
            "required": {"type": "boolean", "description": "True unless there is a default."},
            "default": {}
        }
    });
    let output = json!({
        "type": ["object", "string"],
        "required": ["source"],
        "properties": {"source": {"type": "string", "description": "Where it comes from: `${node.key}`."}}
    });
    Value::from(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tramline IR",
        "description": "Nodes of named types, edges with actions, declared inputs and outputs.",
        "type": "object",
        "required": ["nodes"],
        "properties": {
            "$schema": {"type": "string"},
            "ir_version": {"type": "string"},
            "version": {"type": ["string", "number"]},
            "name": {"type": "string", "description": "What callers call it."},
            "title": {"type": "string", "description": "A name for people."},
            "description": {"type": "string", "description": "What it does: agents choose by it."},
            "metadata": {"type": "object"},
            "mappings": {"type": "object"},
            "template_resolution_mode": {"type": "string"},
            "nodes": {"type": "array", "minItems": 1, "items": node},
            "edges": {"type": "array", "items": edge, "description": "In the order of the nodes, if there are none."},
            "start_node": {"type": "string", "description": "Where a run begins; the first node, if not given."},
            "inputs": {"type": "object", "additionalProperties": input},
            "outputs": {"type": "object", "additionalProperties": output},
            "mcpServers": {"type": "object", "description": "The servers, as MCP clients have them."},
            "servers": {"type": "object"},
            "executionLimits": editor::bounds()
        },
        "additionalProperties": false
    }))
}
