//! The library toolset: workflows found, tried, checked, run and saved by agents.
//!
//! A document that an agent brings may use the servers that are configured here and no others:
//! what is started on this machine is the operator's to say.

use super::codes::Code;
use super::reply;
use super::toolset::{ACTS, LOOKS, Means, Own, plain};
use rmcp::model::CallToolResult;
use tramline_core::schema::Faults;
use tramline_core::{Map, Str, Value};
use tramline_engine::seams::Hints;

mod bring;
mod describe;
mod discover;
mod execute;
mod fields;
mod run;
mod save;
mod settings;
mod trace;
mod trial;
mod validate;

pub(super) use bring::{check_calls, told};

/// Of a tool that adds to what we keep and takes nothing away.
const KEEPS: Hints = Hints {
    read_only: Some(false),
    destructive: Some(false),
    idempotent: Some(true),
    open_world: Some(false),
};

/// Of a tool that changes what we keep, and nothing else.
const SETS: Hints = Hints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(true),
    open_world: Some(false),
};

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[
    Own {
        name: "workflow_discover",
        title: "Find a workflow",
        description: "Finds saved workflows for a task. Call it first. Gives matches with confidence \
                      (0.95 and up: run it as it is), reasons, inputs and outputs.",
        input: r#"{
            "type": "object",
            "properties": { "query": { "type": "string", "description": "The task" } },
            "required": ["query"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(discover::workflows(means, arguments)),
    },
    Own {
        name: "registry_discover",
        title: "Find nodes",
        description: "Finds nodes (tools, built-ins, workflows) to build a workflow from. Gives each \
                      node_type with its whole interface.",
        input: r#"{
            "type": "object",
            "properties": { "task": { "type": "string", "description": "What is to be built" } },
            "required": ["task"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(discover::nodes(means, arguments)),
    },
    Own {
        name: "registry_run",
        title: "Try a node",
        description: "Runs one node by itself: server:tool, mcp-server-tool, a built-in or a workflow. \
                      Gives its real output and every path in it with type and example. Use it before \
                      you refer to a node's output.",
        input: r#"{
            "type": "object",
            "properties": {
                "node_type": { "type": "string" },
                "parameters": { "type": "object", "default": {} }
            },
            "required": ["node_type"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| plain(trial::answer(means, arguments)),
    },
    Own {
        name: "workflow_execute",
        title: "Run a workflow",
        description: "Runs a workflow once. Gives its outputs, or where it failed, why and what to \
                      change. trace_path is the run.",
        input: r#"{
            "type": "object",
            "properties": {
                "workflow": { "type": ["string", "object"], "description": "Name, path or document" },
                "parameters": { "type": "object", "default": {} },
                "tool": { "type": "string", "description": "Which one, where a document has several" }
            },
            "required": ["workflow"],
            "additionalProperties": false
        }"#,
        hints: ACTS,
        answer: |means, arguments| plain(execute::answer(means, arguments)),
    },
    Own {
        name: "workflow_validate",
        title: "Check a workflow",
        description: "Checks a workflow without running it. Gives valid, and every error at once with \
                      line, column and what to write instead.",
        input: r#"{
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
        hints: LOOKS,
        answer: |means, arguments| plain(validate::answer(means, arguments)),
    },
    Own {
        name: "workflow_save",
        title: "Save a workflow",
        description: "Saves a workflow that works, so that it is found and called by name. Another \
                      one of that name stays unless force makes this its next version.",
        input: r#"{
            "type": "object",
            "properties": {
                "workflow_file": { "type": ["string", "object"], "description": "Path or document" },
                "name": { "type": "string", "description": "lowercase-with-hyphens, at most 50" },
                "description": { "type": "string", "description": "What it does: it is found by this" },
                "tool": { "type": "string", "description": "Which one, where a document has several" },
                "force": { "type": "boolean", "default": false },
                "allow_recursion": { "type": "boolean", "default": false, "description": "It may call itself" }
            },
            "required": ["workflow_file", "name", "description"],
            "additionalProperties": false
        }"#,
        hints: KEEPS,
        answer: |means, arguments| plain(save::answer(means, arguments)),
    },
    Own {
        name: "registry_describe",
        title: "Describe nodes",
        description: "Gives the whole interface of nodes that you know by node_type.",
        input: r#"{
            "type": "object",
            "properties": { "nodes": { "type": "array", "items": { "type": "string" } } },
            "required": ["nodes"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(describe::nodes(means, arguments)),
    },
    Own {
        name: "registry_search",
        title: "Search nodes",
        description: "Lists nodes whose node_type or description has a text, or fits a pattern with *.",
        input: r#"{
            "type": "object",
            "properties": { "pattern": { "type": "string" } },
            "required": ["pattern"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(describe::search(means, arguments)),
    },
    Own {
        name: "workflow_list",
        title: "List workflows",
        description: "Lists saved workflows with inputs, version and use.",
        input: r#"{
            "type": "object",
            "properties": {
                "filter": { "type": "string", "description": "Words of name or description" }
            },
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(save::list(means, arguments)),
    },
    Own {
        name: "registry_list",
        title: "List all nodes",
        description: "Lists every node_type with a short description: possibly hundreds. Rather use \
                      registry_discover.",
        input: r#"{ "type": "object", "properties": {}, "additionalProperties": false }"#,
        hints: LOOKS,
        answer: |means, _| plain(describe::all(means)),
    },
    Own {
        name: "settings_set",
        title: "Set a setting",
        description: "Sets a key or credential that workflows and servers name as \
                      ${settings.KEY}. It is a secret unless secret is false: kept encrypted and \
                      never shown again. A secret needs 12 bytes or more and no words, like an \
                      API key. What the operator has set cannot be changed.",
        input: r#"{
            "type": "object",
            "properties": {
                "key": { "type": "string" },
                "value": { "type": "string" },
                "secret": { "type": "boolean", "default": true }
            },
            "required": ["key", "value"],
            "additionalProperties": false
        }"#,
        hints: SETS,
        answer: |means, arguments| plain(settings::set(means, arguments)),
    },
    Own {
        name: "settings_get",
        title: "Look at a setting",
        description: "Tells whether a setting is there, and what names it. Values of secrets are not \
                      shown: name them as ${settings.KEY} where they are needed.",
        input: r#"{
            "type": "object",
            "properties": { "key": { "type": "string" } },
            "required": ["key"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(settings::get(means, arguments)),
    },
    Own {
        name: "trace_read",
        title: "Read a trace",
        description: "Reads what a run did, step by step: its id, the trace_path of a reply, latest, \
                      or the path of a trace that was written into a file. Gives up to limit steps \
                      from from_step on.",
        input: r#"{
            "type": "object",
            "properties": {
                "trace_file": { "type": "string", "default": "latest", "description": "Run, trace_path, path or latest" },
                "from_step": { "type": "integer", "minimum": 1, "default": 1 },
                "limit": { "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 }
            },
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(trace::read(means, arguments)),
    },
];

/// What was asked for, in the shape of this toolset.
fn success(data: Value, trace: Option<&str>) -> CallToolResult {
    let mut told = Map::new();
    told.insert("success", true.into());
    told.insert("data", data);
    if let Some(trace) = trace {
        told.insert("trace_path", trace_path(trace).into());
    }
    reply::success(&told.into())
}

/// What went wrong, in the shape of this toolset.
struct Wrong {
    /// Of which kind: `validation`, `not_found`, `execution`.
    kind: &'static str,
    message: String,
    details: Value,
    suggestions: Vec<String>,
    /// The run in which it did.
    trace: Option<String>,
}

impl Wrong {
    fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: Value::Null,
            suggestions: Vec::new(),
            trace: None,
        }
    }

    fn suggesting(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestions.push(suggestion.into());
        self
    }

    /// What goes under `error`.
    fn error(&self) -> Value {
        let mut error = Map::new();
        error.insert("type", self.kind.into());
        let code = match self.kind {
            "not_found" => Code::NotFound,
            "execution" => Code::Internal,
            _ => Code::InvalidParams,
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
        told.insert("error", self.error());
        if let Some(trace) = self.trace {
            told.insert("trace_path", trace_path(&trace).into());
        }
        let mut reply = reply::success(&told.into());
        reply.is_error = Some(true);
        reply
    }
}

/// Where a run's trace is to be had: a handle, since nothing is written unasked.
fn trace_path(run: &str) -> String {
    match run.parse() {
        Ok(run) => tramline_core::trace::handle(&run),
        Err(_) => run.to_owned(),
    }
}

/// Answers with what was made, or with what went wrong.
fn made(made: Result<CallToolResult, Wrong>) -> CallToolResult {
    made.unwrap_or_else(Wrong::into_reply)
}

/// The workflow that the arguments bring.
fn workflow(arguments: &Value) -> &Value {
    static NOTHING: Value = Value::Null;
    arguments.get("workflow").unwrap_or(&NOTHING)
}

/// Whom to ask.
type With<'a> = &'a Means;

/// Arguments that do not fit, told in the shape of this toolset; nothing for other tools.
pub(super) fn misread(tool: &str, arguments: &Value, faults: &Faults) -> Option<CallToolResult> {
    let own = TOOLS.iter().find(|own| own.name == tool)?;
    let schema = Value::from_json(own.input).unwrap_or_default();
    let mut wrong = Wrong::new("validation", reply::misread(tool, faults));
    wrong.suggestions = fields::mending(&schema, arguments);
    Some(wrong.into_reply())
}

/// A text among the arguments.
fn text<'a>(arguments: &'a Value, key: &str) -> &'a str {
    arguments
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Whose wishes are whose: the caller's name, or nobody's.
fn caller_key(means: &Means) -> Str {
    means.caller().name.unwrap_or_default()
}

/// What the store, or something under it, could not do.
fn fault(error: &impl std::fmt::Display) -> Wrong {
    Wrong::new("execution", error.to_string())
}
