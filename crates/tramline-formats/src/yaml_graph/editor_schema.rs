//! The JSON Schema of YAML graphs, used by editors for completion and validation.
//!
//! It uses `if`/`then` per node type, so that an editor reports the one wrong field instead of every
//! type that does not match.

use super::nodes::{COMMON_FIELDS, KINDS, NodeType};
use super::{limits, node_options, tools};
use crate::ask_form;
use serde_json::{Map, Value as Json, json};
use tramline_expr::Value;

/// The schema of a YAML graph document, in the JSON Schema version that editors support best.
pub fn json_schema() -> Value {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tramline YAML graph",
        "description": "A server whose tools are graphs of nodes.",
        "type": "object",
        "required": ["server", "tools"],
        "properties": {
            "version": {
                "type": ["string", "number"],
                "description": "The version of this format: \"1.0\"."
            },
            "server": server_schema(),
            "mcpServers": {"$ref": "#/definitions/servers"},
            "servers": {
                "$ref": "#/definitions/servers",
                "description": "Legacy name of `mcpServers`."
            },
            "executionLimits": {"$ref": "#/definitions/limits"},
            "tools": {
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/definitions/tool"},
                "description": "Each tool is one graph."
            },
            "nodes": {
                "$ref": "#/definitions/nodes",
                "description": "Nodes of all tools (legacy)."
            },
            "resources": {
                "type": "array",
                "items": {"$ref": "#/definitions/resource"},
                "description": "Resources under URIs of your own, next to the tools."
            },
            "prompts": {
                "type": "array",
                "items": {"$ref": "#/definitions/prompt"},
                "description": "Prompts that clients offer their users."
            }
        },
        "additionalProperties": false,
        "definitions": {
            "servers": servers_schema(),
            "limits": limits_schema(),
            "tool": tool_schema(),
            "nodes": {"type": "array", "items": {"$ref": "#/definitions/node"}},
            "node": node_schema(),
            "condition": condition_schema(),
            "resource": resource_schema(),
            "prompt": prompt_schema(),
        }
    });
    Value::from(schema)
}

fn string_schema(description: &str) -> Json {
    json!({"type": "string", "minLength": 1, "description": description})
}

fn server_schema() -> Json {
    json!({
        "type": "object",
        "description": "The MCP server that this document describes.",
        "required": ["name", "version"],
        "properties": {
            "name": string_schema("The server's name."),
            "version": string_schema("The server's version, in quotes."),
            "title": string_schema("The display name. Default: the name."),
            "instructions": string_schema("How agents should use the server.")
        },
        "additionalProperties": false
    })
}

fn servers_schema() -> Json {
    let strings = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "description": "The downstream MCP servers by name, in MCP client configuration format.",
        "additionalProperties": {
            "type": "object",
            "properties": {
                "type": {
                    "enum": ["stdio", "http", "streamableHttp", "streamable-http", "sse"],
                    "description": "The transport. Default: derived from `command` or `url`."
                },
                "command": string_schema("The command that starts it."),
                "args": {"type": "array", "items": {"type": "string"}},
                "env": strings,
                "cwd": string_schema("The working directory."),
                "url": string_schema("The URL of the server."),
                "headers": strings
            },
            "anyOf": [{"required": ["command"]}, {"required": ["url"]}]
        }
    })
}

pub(crate) fn limits_schema() -> Json {
    let words = [
        "Most steps of a run. Default: 1000.",
        "Longest active time of a run, in milliseconds. Default: 300000.",
        "Most tool calls of a run.",
    ];
    let properties: Map<String, Json> = limits::LIMIT_FIELDS
        .iter()
        .zip(words)
        .map(|(name, words)| {
            let limit = json!({"type": "integer", "minimum": 1, "description": words});
            ((*name).to_owned(), limit)
        })
        .collect();
    json!({
        "type": "object",
        "description": "The limits of each run.",
        "properties": properties,
        "additionalProperties": false
    })
}

fn resource_schema() -> Json {
    json!({
        "type": "object",
        "required": ["uri"],
        "properties": {
            "uri": string_schema("The URI, or a template with variables like `notes://{day}`."),
            "name": string_schema("The name. Default: the URI."),
            "title": string_schema("The display name."),
            "description": string_schema("What it contains."),
            "mimeType": string_schema("The MIME type. Default: text/plain."),
            "text": {"type": "string", "description": "The content; {variable} is replaced."},
            "blob": string_schema("The content in base64.")
        },
        "oneOf": [{"required": ["text"]}, {"required": ["blob"]}],
        "additionalProperties": false
    })
}

fn prompt_schema() -> Json {
    let argument = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": string_schema("The name."),
            "description": string_schema("What it means."),
            "required": {"type": "boolean", "description": "Whether it must be given. Default: false."},
            "values": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Values that clients suggest."
            }
        },
        "additionalProperties": false
    });
    let message = json!({
        "type": "object",
        "required": ["content"],
        "properties": {
            "role": {"enum": ["user", "assistant"], "description": "Who says it. Default: user."},
            "content": {
                "type": ["string", "object"],
                "description": "Text, or a content block of the protocol; {argument} is replaced."
            }
        },
        "additionalProperties": false
    });
    json!({
        "type": "object",
        "required": ["name", "messages"],
        "properties": {
            "name": string_schema("The prompt's name."),
            "title": string_schema("The display name."),
            "description": string_schema("When to use it."),
            "arguments": {"type": "array", "items": argument},
            "ask": {
                "type": "object",
                "required": ["message", "schema"],
                "properties": {
                    "message": string_schema("The question to the user."),
                    "schema": {"type": "object", "description": "The JSON Schema of the answer; its fields are arguments."}
                },
                "additionalProperties": false
            },
            "messages": {"type": "array", "minItems": 1, "items": message}
        },
        "additionalProperties": false
    })
}

fn tool_schema() -> Json {
    let field = |name: &&str| {
        let schema = match *name {
            "name" => json!({
                "type": "string",
                "pattern": "^[A-Za-z0-9_.-]{1,128}$",
                "description": "The tool's name."
            }),
            "title" => string_schema("The display name."),
            "description" => string_schema("What the tool does; agents choose by this text."),
            "inputSchema" => json!({
                "type": "object",
                "description": "The JSON Schema of its arguments, which form an object.",
                "properties": {"type": {"const": "object"}}
            }),
            "outputSchema" => json!({
                "type": "object",
                "description": "The JSON Schema of its result."
            }),
            "nodes" => json!({"$ref": "#/definitions/nodes"}),
            "executionLimits" => json!({"$ref": "#/definitions/limits"}),
            _ => string_schema("The id of the first or last node (legacy)."),
        };
        ((*name).to_owned(), schema)
    };
    json!({
        "type": "object",
        "required": ["name", "description", "inputSchema"],
        "properties": tools::FIELDS.iter().map(field).collect::<Map<_, _>>(),
        "additionalProperties": false
    })
}

fn node_schema() -> Json {
    let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "required": ["id", "type"],
        "properties": {
            "id": string_schema("The node's id, unique in the graph; expressions refer to its output by it."),
            "type": {"enum": names, "description": "The node type."}
        },
        "allOf": NodeType::ALL.map(node_type_schema)
    })
}

/// The JSON Schema of the fields of a node type.
pub(crate) fn node_fields(kind: NodeType) -> Value {
    Value::from(node_type_schema(kind)["then"].take())
}

fn node_type_schema(kind: NodeType) -> Json {
    let names: Vec<_> = KINDS
        .iter()
        .filter(|(_, known)| *known == kind)
        .map(|(name, _)| *name)
        .collect();
    let mut properties = Map::new();
    let fields = COMMON_FIELDS.iter().chain(kind.fields());
    for name in fields.chain(node_options::option_fields(kind)) {
        properties.insert((*name).to_owned(), node_field_schema(name, kind));
    }
    let required: &[&str] = match kind {
        NodeType::Entry => &["next"],
        NodeType::Mcp => &["server", "tool"],
        NodeType::Workflow => &["workflow"],
        NodeType::Wait => &[],
        NodeType::Ask => &["message", "schema"],
        NodeType::Transform => &["transform"],
        NodeType::Switch => &["conditions"],
        NodeType::Exit => &[],
    };
    json!({
        "if": {"required": ["type"], "properties": {"type": {"enum": names}}},
        "then": {
            "required": required,
            "properties": properties,
            "additionalProperties": false
        }
    })
}

/// The schema of one field of a node. Fields that are the same for every type are in [`careful`].
fn node_field_schema(name: &str, kind: NodeType) -> Json {
    match (name, kind) {
        (name, NodeType::Ask) if ask_form::field_schema(name).is_some() => {
            ask_form::field_schema(name).unwrap_or_default()
        }
        ("next", NodeType::Switch) => string_schema("The next node if no rule matches."),
        ("next", _) => json!({
            "type": ["string", "array"],
            "minLength": 1,
            "items": {"type": "string"},
            "description": "The next node, or several that run in parallel."
        }),
        ("description", _) => json!({"description": "The purpose of the node."}),
        ("tool", NodeType::Mcp) => string_schema("The tool's name on its server."),
        ("tool", _) => string_schema("The tool that owns this node, if nodes are at top level."),
        ("server", _) => string_schema("A server of `mcpServers`, or `builtin`."),
        ("workflow", _) => string_schema("A tool of this document, or a saved workflow."),
        ("map", _) => map_schema(),
        ("for", _) => json!({
            "type": ["number", "string", "object"],
            "description": "How long to wait: milliseconds, text like 5s, or an expression."
        }),
        ("until", _) => json!({
            "type": ["number", "string", "object"],
            "description": "When to continue: a time like 2030-01-31T12:00:00Z, or an expression."
        }),
        ("args", _) => json!({
            "type": ["object", "string"],
            "description": "The arguments. Text that starts with `$` and `{expr: …}` are JSONata; \
                `{value: \"$…\"}` is text that starts with `$`; everything else is literal."
        }),
        ("transform", _) => json!({
            "type": "object",
            "required": ["expr"],
            "properties": {"expr": string_schema("A JSONata expression; its value is the output.")},
            "additionalProperties": false
        }),
        ("conditions", _) => json!({
            "type": "array",
            "minItems": 1,
            "items": {"$ref": "#/definitions/condition"},
            "description": "The first condition whose rule matches selects the next node."
        }),
        ("join", _) => json!({
            "enum": ["any", "all"],
            "description": "`any` runs the node for each incoming edge, `all` waits for every incoming edge."
        }),
        _ => option_schema(name),
    }
}

fn map_schema() -> Json {
    json!({
        "type": ["string", "array", "object"],
        "description": "Makes one call per item, which `args` refer to as `$item`: \
            an expression, a list, or an object with `over`.",
        "properties": {
            "over": {"description": "The items: an expression or a list."},
            "as": {"type": "string", "pattern": "^[A-Za-z0-9_]+$",
                "description": "The name of the item. Default: `item`."},
            "width": {"type": "integer", "minimum": 1, "maximum": 64,
                "description": "Most parallel calls. Default: 8."},
            "on-failure": {"enum": ["stop", "keep"],
                "description": "`stop` fails the node, `keep` records the failure as the item's result."},
            "onFailure": {"enum": ["stop", "keep"]}
        }
    })
}

/// The execution options of a call that all formats share.
pub(crate) const OPTION_FIELDS: [&str; 5] =
    ["timeout", "retry", "approval", "idempotent", "readOnly"];

pub(crate) fn option_schema(name: &str) -> Json {
    match name {
        "timeout" => json!({
            "type": ["integer", "string"],
            "minimum": 1,
            "pattern": "^\\s*[0-9.]+\\s*(ms|s|m|min|h)\\s*$",
            "description": "How long one attempt may take: milliseconds, or text like 5s."
        }),
        "retry" => json!({
            "type": ["integer", "object"],
            "minimum": 0,
            "maximum": 100,
            "required": ["max"],
            "properties": {
                "max": {"type": "integer", "minimum": 0, "maximum": 100},
                "wait_ms": {"type": "integer", "minimum": 0},
                "backoff": {"type": "number", "minimum": 1, "maximum": 100}
            },
            "additionalProperties": false,
            "description": "Retries of a failed attempt, and the wait between them."
        }),
        "approval" => json!({
            "type": ["boolean", "string"],
            "minLength": 1,
            "description": "Whether a person must approve the call first, or the reason."
        }),
        "on-error" | "onError" => string_schema("The next node after a failure."),
        "idempotent" | "readOnly" => json!({
            "type": "boolean",
            "description": "Whether the call may be retried if its outcome is unknown."
        }),
        _ => json!({}),
    }
}

fn condition_schema() -> Json {
    json!({
        "type": "object",
        "properties": {
            "rule": {"description": "A JSON Logic rule."},
            "next": string_schema("The next node."),
            "target": string_schema("Legacy name of `next`.")
        },
        "anyOf": [{"required": ["next"]}, {"required": ["target"]}],
        "additionalProperties": false
    })
}
