//! The JSON Schema of YAML graphs, by which editors complete and check while one writes.
//!
//! It is for people at work, so it is made of `if`/`then` by node type: an editor then complains of
//! the one field that is wrong, and not of every type that the node is not.

use super::nodes::{EVERYWHERE, KINDS, Kind};
use super::{care, limits, tools};
use serde_json::{Map, Value as Json, json};
use tramline_expr::Value;

/// The schema of a YAML-graph document, in the dialect that editors know best.
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
            "server": server(),
            "mcpServers": {"$ref": "#/definitions/servers"},
            "servers": {
                "$ref": "#/definitions/servers",
                "description": "An older name of `mcpServers`."
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
                "description": "Nodes of all tools, as older files have them."
            }
        },
        "additionalProperties": false,
        "definitions": {
            "servers": servers(),
            "limits": bounds(),
            "tool": tool(),
            "nodes": {"type": "array", "items": {"$ref": "#/definitions/node"}},
            "node": node(),
            "condition": condition(),
        }
    });
    Value::from(schema)
}

fn text(description: &str) -> Json {
    json!({"type": "string", "minLength": 1, "description": description})
}

fn server() -> Json {
    json!({
        "type": "object",
        "description": "What this document says of itself as an MCP server.",
        "required": ["name", "version"],
        "properties": {
            "name": text("The server's name."),
            "version": text("The server's version, in quotes."),
            "title": text("A name for people; the name, if there is none."),
            "instructions": text("How agents should use the server.")
        },
        "additionalProperties": false
    })
}

fn servers() -> Json {
    let strings = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "description": "The downstream MCP servers by name, as MCP clients have them.",
        "additionalProperties": {
            "type": "object",
            "properties": {
                "type": {
                    "enum": ["stdio", "http", "streamableHttp", "streamable-http", "sse"],
                    "description": "How it is reached; by `command` or `url` if not given."
                },
                "command": text("The program that starts it."),
                "args": {"type": "array", "items": {"type": "string"}},
                "env": strings,
                "cwd": text("The directory it is started in."),
                "url": text("Where it is reached."),
                "headers": strings
            },
            "anyOf": [{"required": ["command"]}, {"required": ["url"]}]
        }
    })
}

pub(in crate::formats) fn bounds() -> Json {
    let words = [
        "How many steps a run may take; 1000 if not given.",
        "How long a run may be at work, in milliseconds; 300000 if not given.",
        "How many calls a run may make.",
    ];
    let properties: Map<String, Json> = limits::NAMES
        .iter()
        .zip(words)
        .map(|(name, words)| {
            let limit = json!({"type": "integer", "minimum": 1, "description": words});
            ((*name).to_owned(), limit)
        })
        .collect();
    json!({
        "type": "object",
        "description": "The bounds of each run.",
        "properties": properties,
        "additionalProperties": false
    })
}

fn tool() -> Json {
    let field = |name: &&str| {
        let schema = match *name {
            "name" => json!({
                "type": "string",
                "pattern": "^[A-Za-z0-9_.-]{1,128}$",
                "description": "What callers call it."
            }),
            "title" => text("A title for people."),
            "description" => text("What it does: agents choose by it."),
            "inputSchema" => json!({
                "type": "object",
                "description": "The JSON Schema of its arguments: an object's.",
                "properties": {"type": {"const": "object"}}
            }),
            "outputSchema" => json!({
                "type": "object",
                "description": "The JSON Schema of its result."
            }),
            "nodes" => json!({"$ref": "#/definitions/nodes"}),
            "executionLimits" => json!({"$ref": "#/definitions/limits"}),
            _ => text("The id of the node the graph begins or ends with, as older files have it."),
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

fn node() -> Json {
    let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "required": ["id", "type"],
        "properties": {
            "id": text("Its name, unique in the graph; expressions see its output under it."),
            "type": {"enum": names, "description": "What it does."}
        },
        "allOf": Kind::ALL.map(by_kind)
    })
}

fn by_kind(kind: Kind) -> Json {
    let names: Vec<_> = KINDS
        .iter()
        .filter(|(_, known)| *known == kind)
        .map(|(name, _)| *name)
        .collect();
    let mut properties = Map::new();
    let fields = EVERYWHERE.iter().chain(kind.fields());
    for name in fields.chain(care::fields(kind)) {
        properties.insert((*name).to_owned(), node_field(name, kind));
    }
    let required: &[&str] = match kind {
        Kind::Entry => &["next"],
        Kind::Mcp => &["server", "tool"],
        Kind::Workflow => &["workflow"],
        Kind::Wait => &[],
        Kind::Transform => &["transform"],
        Kind::Switch => &["conditions"],
        Kind::Exit => &[],
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

/// One field of a node. Those that say nothing here are described for every type.
fn node_field(name: &str, kind: Kind) -> Json {
    match (name, kind) {
        ("next", Kind::Switch) => text("The node it leads to when no rule holds."),
        ("next", _) => json!({
            "type": ["string", "array"],
            "minLength": 1,
            "items": {"type": "string"},
            "description": "The node that comes next, or several that run side by side."
        }),
        ("description", _) => json!({"description": "What it is for."}),
        ("tool", Kind::Mcp) => text("The tool, as its server lists it."),
        ("tool", _) => text("Whose node it is, where nodes stand at top level."),
        ("server", _) => text("A server of `mcpServers`, or `builtin`."),
        ("workflow", _) => text("A tool of this document, or a saved workflow."),
        ("map", _) => spread(),
        ("for", _) => json!({
            "type": ["number", "string", "object"],
            "description": "How long to wait: milliseconds, text like 5s, or an expression."
        }),
        ("until", _) => json!({
            "type": ["number", "string", "object"],
            "description": "When to go on: a time like 2030-01-31T12:00:00Z, or an expression."
        }),
        ("args", _) => json!({
            "type": ["object", "string"],
            "description": "The arguments. Text that starts with `$` and `{expr: …}` are JSONata; \
                `{value: \"$…\"}` is text that starts with `$`; all else is literal."
        }),
        ("transform", _) => json!({
            "type": "object",
            "required": ["expr"],
            "properties": {"expr": text("A JSONata expression; its value is the output.")},
            "additionalProperties": false
        }),
        ("conditions", _) => json!({
            "type": "array",
            "minItems": 1,
            "items": {"$ref": "#/definitions/condition"},
            "description": "The first whose rule holds picks the way."
        }),
        ("join", _) => json!({
            "enum": ["any", "all"],
            "description": "Whether each way in enters it, or all together once."
        }),
        _ => careful(name),
    }
}

fn spread() -> Json {
    json!({
        "type": ["string", "array", "object"],
        "description": "Calls once for each item, which `args` see as `$item`: \
            an expression, a list, or `over` with more about it.",
        "properties": {
            "over": {"description": "The items: an expression or a list."},
            "as": {"type": "string", "pattern": "^[A-Za-z0-9_]+$",
                "description": "What the item is called; `item` if not given."},
            "width": {"type": "integer", "minimum": 1, "maximum": 64,
                "description": "How many calls may be under way at once; 8 if not given."},
            "on-failure": {"enum": ["stop", "keep"],
                "description": "Whether a failed item fails the node or stands at its place."},
            "onFailure": {"enum": ["stop", "keep"]}
        }
    })
}

/// The fields that say how carefully a call is carried out, in every format.
pub(in crate::formats) const CAREFUL: [&str; 5] =
    ["timeout", "retry", "approval", "idempotent", "readOnly"];

pub(in crate::formats) fn careful(name: &str) -> Json {
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
            "description": "How often a failed attempt is repeated, and after what wait."
        }),
        "approval" => json!({
            "type": ["boolean", "string"],
            "minLength": 1,
            "description": "Whether a person must agree first, or why."
        }),
        "on-error" | "onError" => text("The node a failure leads to."),
        "idempotent" | "readOnly" => json!({
            "type": "boolean",
            "description": "Whether the call may be repeated when nobody knows if it happened."
        }),
        _ => json!({}),
    }
}

fn condition() -> Json {
    json!({
        "type": "object",
        "properties": {
            "rule": {"description": "A JSON Logic rule."},
            "next": text("The node it leads to."),
            "target": text("An older name of `next`.")
        },
        "anyOf": [{"required": ["next"]}, {"required": ["target"]}],
        "additionalProperties": false
    })
}
