//! The JSON Schema of DAGs, by which editors complete and check while one writes.

use crate::formats::yaml_graph::editor;
use serde_json::json;
use tramline_expr::Value;

/// The schema of a DAG document.
pub fn json_schema() -> Value {
    let tasks = json!({
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/definitions/task"},
        "description": "The tasks. Each runs when all it depends on has."
    });
    let plan = json!({
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/definitions/task"},
        "description": "The tasks of a plan, in place of `tasks`. Each runs when the one before it has."
    });
    let schema = json!({"type": "object", "description": "The JSON Schema of the input."});
    let list = json!({"type": "array", "items": {"type": "string"}, "description": "The tasks that come before."});
    let arguments = json!({
        "type": "object",
        "description": "The arguments. `$OUTPUT[task].key` and `{\"expr\": …}` take what other tasks gave."
    });
    let mut task = json!({
        "type": "object",
        "required": ["id"],
        "anyOf": [{"required": ["tool"]}, {"required": ["expr"]}],
        "properties": {
            "id": {"type": "string", "minLength": 1, "description": "Its name, unique in the document."},
            "tool": {"type": "string", "pattern": "^[^:]+:.+$", "description": "What it calls, as server:tool."},
            "expr": {"type": "string", "description": "A JSONata expression, for a task that calls nothing."},
            "arguments": arguments,
            "args": arguments,
            "depends_on": list,
            "dependsOn": list,
            "description": {"type": "string", "description": "What it is for."},
            "join": {"enum": ["any", "all"]}
        },
        "additionalProperties": false
    });
    for name in editor::CAREFUL {
        task["properties"][name] = editor::careful(name);
    }
    Value::from(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tramline DAG",
        "description": "Tasks that call tools, and what each depends on.",
        "type": "object",
        "anyOf": [{"required": ["tasks"]}, {"required": ["plan"]}, {"required": ["workflow"]}],
        "properties": {
            "$schema": {"type": "string"},
            "version": {"type": ["string", "number"]},
            "name": {"type": "string", "description": "What callers call it."},
            "title": {"type": "string", "description": "A name for people."},
            "description": {"type": "string", "description": "What it does: agents choose by it."},
            "intent": {"type": "string"},
            "config": {"type": "object"},
            "entry": {"type": "string", "description": "The name under which expressions see the input."},
            "inputSchema": schema,
            "parameters": schema,
            "outputSchema": {"type": "object", "description": "The JSON Schema of the result."},
            "mcpServers": {"type": "object", "description": "The servers, as MCP clients have them."},
            "servers": {"type": "object"},
            "executionLimits": editor::bounds(),
            "workflow": {"type": "object", "required": ["tasks"], "properties": {"tasks": tasks}},
            "tasks": tasks,
            "plan": plan
        },
        "additionalProperties": false,
        "definitions": {"task": task}
    }))
}
