//! The JSON Schema of IRs, used by editors for completion and validation.

use super::node_types::BUILTINS;
use super::nodes::{self, END, SWITCH, TRANSFORM};
use crate::ask_form::{self, ASK};
use crate::yaml_graph::editor_schema;
use serde_json::json;
use tramline_expr::Value;
use tramline_workflow::workflow::WORKFLOW_SERVER as WORKFLOWS;

/// `retry`, with the fields of this format and of YAML graphs.
fn retry_schema() -> serde_json::Value {
    let mut retry = editor_schema::option_schema("retry");
    let properties = &mut retry["properties"];
    properties["max"]["description"] =
        "Total attempts; with `wait_ms` or a numeric `backoff`, retries after the first attempt."
            .into();
    properties["wait"] =
        json!({"type": "number", "minimum": 0, "description": "Seconds between attempts."});
    let number = properties["backoff"].take();
    properties["backoff"] = json!({"anyOf": [number, {"enum": ["fixed", "exponential"]}]});
    retry
}

/// The schema of an IR document.
pub fn json_schema() -> Value {
    let own = [TRANSFORM, SWITCH, END, WORKFLOWS, ASK];
    let known: Vec<_> = BUILTINS.into_iter().chain(own).collect();
    let mut node = json!({
        "type": "object",
        "required": ["id", "type"],
        "properties": {
            "id": {"type": "string", "minLength": 1, "description": "The node's id, unique in the document."},
            "type": {
                "anyOf": [{"enum": known}, {"type": "string", "pattern": "^(mcp-.+-.+|[^:]+:.+)$"}],
                "description": "A built-in tool, server:tool or mcp-server-tool."
            },
            "purpose": {"type": "string", "description": "The purpose of the node."},
            "description": {"type": "string"},
            "params": {"type": "object", "description": "The arguments; `${node.key}` refers to other values."},
            "batch": {
                "type": "object",
                "required": ["items"],
                "description": "Makes one call per item, which `params` refer to as `${item}`.",
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
            "inputs": {"type": ["object", "string"], "description": "Values by name: the inputs of a workflow, or values for `${name}` in `params`."},
            "next": {"type": ["string", "array"], "description": "The next node, or `end`. Default: the next one in the document."},
            "loop": {
                "type": "object",
                "description": "Repeats the node while a condition holds, at least once.",
                "properties": {
                    "while": {"type": "string", "description": "Repeats while this is true: a single `${node.key}`."},
                    "until": {"type": "string", "description": "Repeats until this is true: a single `${node.key}`."},
                    "carry": {"type": "object", "description": "Inputs that change from round to round."},
                    "max_iterations": {"type": ["integer", "string"], "minimum": 1}
                },
                "additionalProperties": false
            },
            "join": {"enum": ["any", "all"]}
        },
        "additionalProperties": false
    });
    for name in editor_schema::OPTION_FIELDS {
        node["properties"][name] = editor_schema::option_schema(name);
    }
    node["properties"]["retry"] = retry_schema();
    for name in ["on-error", "on_error", "onError"] {
        let error =
            json!({"type": "string", "description": "The next node after a failure, or `end`."});
        node["properties"][name] = error;
    }
    for (name, _) in ask_form::ASK_EDGES {
        node["properties"][name] = ask_form::field_schema(name).unwrap_or_default();
    }
    for name in nodes::CACHE_FIELDS {
        node["properties"][name] = json!({"description": "Accepted, but has no effect."});
    }
    let edge = json!({
        "type": "object",
        "required": ["from", "to"],
        "properties": {
            "from": {"type": "string"},
            "to": {"type": "string"},
            "action": {"type": "string", "description": "`default`, `error`, a branch of a switch, or `decline`, `cancel` or `timeout` of a form."}
        },
        "additionalProperties": false
    });
    let input = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "description": {"type": "string"},
            "required": {"type": "boolean", "description": "Default: true, unless `default` is set."},
            "default": {}
        }
    });
    let output = json!({
        "type": ["object", "string"],
        "required": ["source"],
        "properties": {"source": {"type": "string", "description": "The value: `${node.key}`."}}
    });
    Value::from(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tramline IR",
        "description": "Typed nodes, edges with actions, declared inputs and outputs.",
        "type": "object",
        "required": ["nodes"],
        "properties": {
            "$schema": {"type": "string"},
            "ir_version": {"type": "string"},
            "version": {"type": ["string", "number"]},
            "name": {"type": "string", "description": "The name of the workflow."},
            "title": {"type": "string", "description": "The display name."},
            "description": {"type": "string", "description": "What the workflow does; agents choose by this text."},
            "metadata": {"type": "object"},
            "mappings": {"type": "object"},
            "template_resolution_mode": {"type": "string"},
            "nodes": {"type": "array", "minItems": 1, "items": node},
            "edges": {"type": "array", "items": edge, "description": "Default: edges follow the order of the nodes."},
            "start_node": {"type": "string", "description": "The node where a run starts. Default: the first node."},
            "inputs": {"type": "object", "additionalProperties": input},
            "outputs": {"type": "object", "additionalProperties": output},
            "mcpServers": {"type": "object", "description": "The MCP servers, in MCP client configuration format."},
            "servers": {"type": "object"},
            "executionLimits": editor_schema::limits_schema()
        },
        "additionalProperties": false
    }))
}
