//! The JSON Schema of DAGs, used by editors for completion and validation.

use crate::yaml_graph::editor_schema;
use serde_json::json;
use tramline_expr::Value;

/// The schema of a DAG document.
pub fn json_schema() -> Value {
    let tasks = json!({
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/definitions/task"},
        "description": "The tasks. Each runs once all of its dependencies have succeeded."
    });
    let plan = json!({
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/definitions/task"},
        "description": "The tasks of a plan, instead of `tasks`. They run one after another."
    });
    let schema = json!({"type": "object", "description": "The JSON Schema of the input."});
    let list = json!({"type": "array", "items": {"type": "string"}, "description": "The tasks it depends on."});
    let arguments = json!({
        "type": "object",
        "description": "The arguments. `$OUTPUT[task].key` and `{\"expr\": …}` refer to the outputs of other tasks."
    });
    let mut task = json!({
        "type": "object",
        "required": ["id"],
        "anyOf": [{"required": ["tool"]}, {"required": ["expr"]}],
        "properties": {
            "id": {"type": "string", "minLength": 1, "description": "The task's id, unique in the document."},
            "tool": {"type": "string", "pattern": "^[^:]+:.+$", "description": "The tool to call, as server:tool."},
            "expr": {"type": "string", "description": "A JSONata expression, for a task that does not call a tool."},
            "arguments": arguments,
            "args": arguments,
            "depends_on": list,
            "dependsOn": list,
            "description": {"type": "string", "description": "The purpose of the task."},
            "join": {"enum": ["any", "all"]}
        },
        "additionalProperties": false
    });
    for name in editor_schema::OPTION_FIELDS {
        task["properties"][name] = editor_schema::option_schema(name);
    }
    Value::from(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Tramline DAG",
        "description": "Tasks that call tools, with their dependencies.",
        "type": "object",
        "anyOf": [{"required": ["tasks"]}, {"required": ["plan"]}, {"required": ["workflow"]}],
        "properties": {
            "$schema": {"type": "string"},
            "version": {"type": ["string", "number"]},
            "name": {"type": "string", "description": "The name of the workflow."},
            "title": {"type": "string", "description": "The display name."},
            "description": {"type": "string", "description": "What the workflow does; agents choose by this text."},
            "intent": {"type": "string"},
            "config": {"type": "object"},
            "entry": {"type": "string", "description": "The name under which expressions see the input."},
            "inputSchema": schema,
            "parameters": schema,
            "outputSchema": {"type": "object", "description": "The JSON Schema of the result."},
            "mcpServers": {"type": "object", "description": "The MCP servers, in MCP client configuration format."},
            "servers": {"type": "object"},
            "executionLimits": editor_schema::limits_schema(),
            "workflow": {"type": "object", "required": ["tasks"], "properties": {"tasks": tasks}},
            "tasks": tasks,
            "plan": plan
        },
        "additionalProperties": false,
        "definitions": {"task": task}
    }))
}
