//! The library toolset: workflows checked and run from what an agent has written, nothing saved.
//!
//! A document that an agent brings may use the servers that are configured here and no others:
//! what is started on this machine is the operator's to say.

use super::reply;
use super::toolset::{ACTS, LOOKS, Means, Own, plain};
use rmcp::model::CallToolResult;
use tramline_core::{Map, Value};
use tramline_engine::seams::Hints;

mod bring;
mod execute;
mod settings;
mod trace;
mod validate;

pub(super) use bring::{check_calls, told};

/// The tools of this front end.
pub(super) const TOOLS: &[Own] = &[
    Own {
        name: "workflow_validate",
        title: "Check a workflow",
        description: "Checks a workflow without running it: a name, or a document as text or object \
                      (YAML graph, DAG or IR). Gives valid, and every error at once with line, \
                      column and what to write instead. Run it before workflow_execute.",
        input: r#"{
            "type": "object",
            "properties": {
                "workflow": { "type": ["string", "object"], "description": "Name or document" }
            },
            "required": ["workflow"],
            "additionalProperties": false
        }"#,
        hints: LOOKS,
        answer: |means, arguments| plain(validate::answer(means, arguments)),
    },
    Own {
        name: "workflow_execute",
        title: "Run a workflow",
        description: "Runs a workflow once, without saving it: a name, or a document as text or \
                      object. Gives its outputs, or where it failed and why. trace_path is the run.",
        input: r#"{
            "type": "object",
            "properties": {
                "workflow": { "type": ["string", "object"], "description": "Name or document" },
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
        name: "settings_set",
        title: "Set a setting",
        description: "Sets a key or credential that workflows and servers name as \
                      ${settings.KEY}. It is a secret unless secret is false: kept encrypted and \
                      never shown again. Gives it masked.",
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
        description: "Tells whether a setting is there, and what names it. Secrets are masked: \
                      name them as ${settings.KEY} where they are needed.",
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

/// Of a tool that changes what we keep, and nothing else.
const SETS: Hints = Hints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(true),
    open_world: Some(false),
};

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

    fn into_reply(self) -> CallToolResult {
        let mut error = Map::new();
        error.insert("type", self.kind.into());
        error.insert("message", self.message.into());
        if !self.details.is_null() {
            error.insert("details", self.details);
        }
        let suggestions = self.suggestions.into_iter().map(Value::from);
        error.insert("suggestions", Value::array(suggestions));
        let mut told = Map::new();
        told.insert("success", false.into());
        told.insert("error", error.into());
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
