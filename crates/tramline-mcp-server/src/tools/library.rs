//! The library toolset: agents find, test, check, run and save workflows.
//!
//! A document from an agent may only use the servers that are configured here: the operator decides what is
//! started on this machine.

use crate::error_codes::ReplyCode;
use crate::reply;
use crate::tool::{
    CallContext, CallRules, PLAIN_RULES, READS_ONLY, RUNS_TOOLS, ToolDef, without_elicitation,
};
use rmcp::model::CallToolResult;
use std::sync::Arc;
use tramline_engine::ports::ToolHints;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::schema::SchemaErrors;

mod argument_help;
mod describe;
mod discover;
mod registry_run;
mod run;
mod save;
mod settings;
mod source;
mod trace_read;
mod workflow_execute;
mod workflow_validate;

/// Hints of a tool that adds to our store and removes nothing.
const ADDS_TO_STORE: ToolHints = ToolHints {
    read_only: Some(false),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

/// Hints of a tool that changes our store and nothing else.
const CHANGES_STORE: ToolHints = ToolHints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(true),
    open_world: Some(false),
};

/// How calls of this toolset are checked.
const RULES: CallRules = CallRules {
    invalid_arguments,
    ..PLAIN_RULES
};

/// The tools of this toolset.
pub(crate) const TOOLS: &[ToolDef] = &[
    ToolDef {
        name: "workflow_discover",
        title: "Find a workflow",
        description: "Finds saved workflows for a task. Call it first. Returns matches with confidence, \
                      reasons, inputs and outputs. 0.95 and up: it covers every word of the query and is \
                      usually right; check its description before you run it. Below: read the reasons.",
        input_schema: r#"{
            "type": "object",
            "properties": { "query": { "type": "string", "description": "The task" } },
            "required": ["query"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(discover::workflow_discover(means, arguments)),
    },
    ToolDef {
        name: "registry_discover",
        title: "Find nodes",
        description: "Finds nodes (tools, built-ins, workflows) to build a workflow from. Returns each \
                      node_type with its full interface, and servers that could not be asked.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "task": { "type": "string", "description": "What to build" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 50, "default": 8 }
            },
            "required": ["task"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(discover::registry_discover(means, arguments)),
    },
    ToolDef {
        name: "registry_run",
        title: "Run a node",
        description: "Runs one node by itself: server:tool, mcp-server-tool, a built-in or a workflow. \
                      Returns its actual output and every path in it with type and example. Use it \
                      before you refer to a node's output.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "node_type": { "type": "string" },
                "parameters": { "type": "object", "default": {} }
            },
            "required": ["node_type"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: RULES,
        call: |means, arguments| without_elicitation(registry_run::call(means, arguments)),
    },
    ToolDef {
        name: "workflow_execute",
        title: "Run a workflow",
        description: "Runs a workflow once. Returns its outputs, or where it failed, why and what to \
                      change. trace_path names the run for trace_read.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow": { "type": ["string", "object"], "description": "Name, path or document" },
                "parameters": { "type": "object", "default": {} },
                "tool": { "type": "string", "description": "Which one, if the document has several" }
            },
            "required": ["workflow"],
            "additionalProperties": false
        }"#,
        hints: RUNS_TOOLS,
        rules: RULES,
        call: |means, arguments| without_elicitation(workflow_execute::call(means, arguments)),
    },
    ToolDef {
        name: "workflow_validate",
        title: "Check a workflow",
        description: "Checks a workflow without running it. Returns valid, and all errors with \
                      line, column and suggested fix.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow": {
                    "type": ["string", "object"],
                    "description": "Name, path or document (YAML graph, DAG, IR or .pflow.md)"
                }
            },
            "required": ["workflow"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(workflow_validate::call(means, arguments)),
    },
    ToolDef {
        name: "workflow_save",
        title: "Save a workflow",
        description: "Saves a tested workflow so that it can be found and called by name. If the name \
                      is taken, fails unless force saves it as the next version.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "workflow_file": { "type": ["string", "object"], "description": "Path or document" },
                "name": { "type": "string", "description": "lowercase-with-hyphens, at most 50" },
                "description": { "type": "string", "description": "What it does; used by search" },
                "tool": { "type": "string", "description": "Which one, if the document has several" },
                "force": { "type": "boolean", "default": false },
                "allow_recursion": { "type": "boolean", "default": false, "description": "It may call itself" }
            },
            "required": ["workflow_file", "name", "description"],
            "additionalProperties": false
        }"#,
        hints: ADDS_TO_STORE,
        rules: RULES,
        call: |means, arguments| without_elicitation(save::workflow_save(means, arguments)),
    },
    ToolDef {
        name: "registry_describe",
        title: "Describe nodes",
        description: "Returns the full interface of nodes by node_type: tools as server:tool, and the control \
                      nodes switch, transform, map, wait, workflow, entry, exit and on-error with \
                      their fields and an example for each format.",
        input_schema: r#"{
            "type": "object",
            "properties": { "nodes": { "type": "array", "items": { "type": "string" } } },
            "required": ["nodes"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(describe::registry_describe(means, arguments)),
    },
    ToolDef {
        name: "registry_search",
        title: "Search nodes",
        description: "Lists nodes whose node_type or description contains a text or matches a pattern with *.",
        input_schema: r#"{
            "type": "object",
            "properties": { "pattern": { "type": "string" } },
            "required": ["pattern"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(describe::registry_search(means, arguments)),
    },
    ToolDef {
        name: "workflow_list",
        title: "List workflows",
        description: "Lists saved workflows with inputs, version and usage.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "filter": { "type": "string", "description": "Words in name or description" }
            },
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(save::workflow_list(means, arguments)),
    },
    ToolDef {
        name: "registry_list",
        title: "List all nodes",
        description: "Lists every node_type with a short description, possibly hundreds, and the control \
                      nodes (switch, map, …). Prefer registry_discover.",
        input_schema: r#"{ "type": "object", "properties": {}, "additionalProperties": false }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, _| without_elicitation(describe::registry_list(means)),
    },
    ToolDef {
        name: "settings_set",
        title: "Set a setting",
        description: "Sets a key or credential that workflows and servers use as \
                      ${settings.KEY}. It is a secret unless secret is false: stored encrypted and \
                      never shown again. A secret needs 12 bytes or more and no words, like an \
                      API key. Settings of the operator cannot be changed.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "key": { "type": "string" },
                "value": { "type": "string" },
                "secret": { "type": "boolean", "default": true }
            },
            "required": ["key", "value"],
            "additionalProperties": false
        }"#,
        hints: CHANGES_STORE,
        rules: CallRules {
            secret_arguments: &["value"],
            ..RULES
        },
        call: |means, arguments| without_elicitation(settings::settings_set(means, arguments)),
    },
    ToolDef {
        name: "settings_get",
        title: "Get a setting",
        description: "Returns whether a setting exists and what uses it. Secret values are not \
                      shown: use ${settings.KEY} where you need them.",
        input_schema: r#"{
            "type": "object",
            "properties": { "key": { "type": "string" } },
            "required": ["key"],
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(settings::settings_get(means, arguments)),
    },
    ToolDef {
        name: "trace_read",
        title: "Read a trace",
        description: "Reads a run step by step, by run id, the trace_path of a reply, latest, or the \
                      path of a saved trace file. Returns up to limit steps starting at from_step.",
        input_schema: r#"{
            "type": "object",
            "properties": {
                "trace_file": {
                    "type": "string", "default": "latest",
                    "description": "Run id, trace_path, path or latest"
                },
                "from_step": { "type": "integer", "minimum": 1, "default": 1 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 }
            },
            "additionalProperties": false
        }"#,
        hints: READS_ONLY,
        rules: RULES,
        call: |means, arguments| without_elicitation(trace_read::call(means, arguments)),
    },
];

/// The workflow that the arguments of another toolset name, ready to start, with its origin.
pub(super) async fn startable_workflow(
    means: ContextRef<'_>,
    arguments: &Value,
) -> Result<(Arc<Graph>, Value), Box<CallToolResult>> {
    let found = workflow_execute::startable(means, arguments).await;
    found.map_err(|wrong| Box::new(wrong.into_reply()))
}

/// A success reply of this toolset.
fn success(data: Value, trace: Option<&str>) -> CallToolResult {
    let mut told = Map::new();
    told.insert("success", true.into());
    told.insert("data", data);
    if let Some(trace) = trace {
        told.insert("trace_path", trace_path(trace).into());
    }
    reply::success(&told.into())
}

/// An error reply of this toolset.
struct LibraryReplyError {
    /// Kind of error: `validation`, `not_found`, `execution`, `forbidden`, `quota`.
    kind: &'static str,
    message: String,
    details: Value,
    suggestions: Vec<String>,
    /// The run that failed.
    trace: Option<String>,
    /// What it produced although it failed; `null` for nothing.
    data: Value,
}

impl LibraryReplyError {
    fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: Value::Null,
            suggestions: Vec::new(),
            trace: None,
            data: Value::Null,
        }
    }

    fn suggesting(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestions.push(suggestion.into());
        self
    }

    /// The `error` field.
    fn error_value(&self) -> Value {
        let mut error = Map::new();
        error.insert("type", self.kind.into());
        let code = match self.kind {
            "not_found" => ReplyCode::NotFound,
            "execution" => ReplyCode::Internal,
            "quota" => ReplyCode::RateLimited,
            _ => ReplyCode::InvalidParams,
        };
        error.insert("code", code.number().into());
        error.insert("message", self.message.as_str().into());
        let details = match &self.details {
            Value::Null => Value::object::<Str>([]),
            details => details.clone(),
        };
        error.insert("details", details);
        let suggestions = self.suggestions.iter().map(|one| one.as_str().into());
        error.insert("suggestions", Value::array(suggestions));
        error.into()
    }

    fn into_reply(self) -> CallToolResult {
        let mut told = Map::new();
        told.insert("success", false.into());
        told.insert("error", self.error_value());
        if !self.data.is_null() {
            told.insert("data", self.data);
        }
        if let Some(trace) = self.trace {
            told.insert("trace_path", trace_path(&trace).into());
        }
        let mut reply = reply::success(&told.into());
        reply.is_error = Some(true);
        reply
    }
}

/// Handle of a run's trace. It is not a file: traces are written only on request.
fn trace_path(run: &str) -> String {
    match run.parse() {
        Ok(run) => tramline_views::trace::handle(&run),
        Err(_) => run.to_owned(),
    }
}

/// The reply for a result or an error.
fn reply_or_error(made: Result<CallToolResult, LibraryReplyError>) -> CallToolResult {
    made.unwrap_or_else(LibraryReplyError::into_reply)
}

/// The `workflow` argument.
fn workflow_argument(arguments: &Value) -> &Value {
    static NOTHING: Value = Value::Null;
    arguments.get("workflow").unwrap_or(&NOTHING)
}

/// Call context of this toolset.
type ContextRef<'a> = &'a CallContext;

/// The reply for arguments that the schema rejects.
fn invalid_arguments(tool: &ToolDef, arguments: &Value, errors: &SchemaErrors) -> CallToolResult {
    let schema = Value::from_json(tool.input_schema).unwrap_or_default();
    let message = reply::invalid_arguments_message(tool.name, errors);
    let mut wrong = LibraryReplyError::new("validation", message);
    wrong.suggestions = argument_help::suggest_fixes(&schema, arguments);
    wrong.into_reply()
}

/// A string argument, or an empty string.
fn text_argument<'a>(arguments: &'a Value, key: &str) -> &'a str {
    arguments
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Key for usage statistics: the caller's name, or empty.
fn caller_key(means: &CallContext) -> Str {
    means.caller().name.unwrap_or_default()
}

/// An error of the store or a layer below.
fn store_error(error: &impl std::fmt::Display) -> LibraryReplyError {
    LibraryReplyError::new("execution", error.to_string())
}
