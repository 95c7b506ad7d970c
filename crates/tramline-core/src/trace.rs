//! A journal rendered for reading: every step with what went in, what it did and what came out.

use crate::authority::AnswerChannel;
use crate::failure::Failure;
use crate::graph::Graph;
use crate::ids::{NodeIx, RunId, Seq, StepNo};
use crate::journal::{Entry, Event, Item, Outcome};
use crate::workflow::Action;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;
use tramline_expr::{Map, Str, Value};

mod write;

/// The version of what a trace looks like. Fields are added under it; none is changed or taken away.
pub const VERSION: u32 = 1;

/// What the handle of a trace begins and ends with; between them is the run's id.
const HANDLE: (&str, &str) = ("tramline://runs/", "/trace");

/// The handle by which a run's trace can be asked for.
pub fn handle(run: &RunId) -> String {
    format!("{}{run}{}", HANDLE.0, HANDLE.1)
}

/// The run that a text names: by its id, or by the handle of its trace.
pub fn run_of(text: &str) -> Option<RunId> {
    let inside = text.strip_prefix(HANDLE.0);
    let id = inside.and_then(|rest| rest.strip_suffix(HANDLE.1));
    id.unwrap_or(text).parse().ok()
}

/// A run as it can be read afterwards.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Trace {
    /// The version of this document: 1. Fields may be added under it.
    pub trace_version: u32,
    /// Which run.
    pub run_id: String,
    /// How it stands: running, paused, completed, failed, rejected, aborted or expired.
    pub status: &'static str,
    /// Of which workflow.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub workflow: Str,
    /// The caller's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub session: Option<Str>,
    /// The run that it branched off from, if it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When its last event happened.
    pub updated_ms: i64,
    /// How many events its journal holds.
    pub events: Seq,
    /// What it was given.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub input: Value,
    /// Its steps, in the order they were decided.
    pub steps: Vec<Step>,
    /// What it asked and what was answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Asked>,
    /// Who took it over, and when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Note>,
    /// How it ended: status, and result or error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub outcome: Option<Value>,
}

/// Where a fork branched off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ForkPoint {
    /// From which run.
    pub run_id: String,
    /// After which of its events.
    pub seq: Seq,
}

/// One step.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Step {
    /// Its number.
    pub step: StepNo,
    /// Where.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub node: Str,
    /// What kind of node that is.
    pub kind: &'static str,
    /// How it stands: `open`, `succeeded` or `failed`.
    pub status: &'static str,
    /// How many attempts it took.
    pub attempts: u32,
    /// When it began.
    pub started_ms: i64,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The tool it called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The item it was for, if its node is spread: the step that is, and the item's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// What it worked on: a call's arguments, the items it is spread over, the run's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub input: Option<Value>,
    /// The expression or the rules it evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub expression: Option<Value>,
    /// The label it picked, if not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub label: Option<Str>,
    /// What it gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The failures of earlier attempts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<Failure>,
    /// Whether its call may have happened although no answer tells so: it failed after it had left,
    /// it is asked about, or the run ended while it was out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_have_happened: bool,
}

/// A question and its answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Asked {
    /// Where in the journal, as a caller names it.
    pub checkpoint: String,
    /// When.
    pub at_ms: i64,
    /// What kind of question: `layer`, `approval` or `in-doubt`.
    pub kind: &'static str,
    /// About which node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub node: Option<Str>,
    /// About which step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNo>,
    /// Which layer is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_index: Option<u32>,
    /// Why it is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub reason: Option<Str>,
    /// Who demands an answer: `policy`, `confirm`, `destructive` or `document` for an approval,
    /// `operator` or `caller` for a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// The call that waited for an answer, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub call: Option<Value>,
    /// The arguments that the person who answered put in place of those that were asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub edited_arguments: Option<Value>,
    /// What was said: `proceed`, `reject`, `retry` or `skip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'static str>,
    /// By whom, when and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Note>,
}

/// Who, when and why.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Note {
    /// Who.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub by: Str,
    /// By which channel an answer came: `agent` and `http` are relayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub via: Option<AnswerChannel>,
    /// When.
    pub at_ms: i64,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Trace {
    /// The JSON Schema of traces.
    #[cfg(feature = "schema")]
    pub fn json_schema() -> Value {
        let mut schema = serde_json::Value::from(
            schemars::generate::SchemaSettings::draft2020_12()
                // What is left out where there is nothing is not required.
                .for_serialize()
                .into_generator()
                .into_root_schema_for::<Self>(),
        );
        if let Some(root) = schema.as_object_mut() {
            root.insert("title".into(), "Tramline trace".into());
        }
        schema.into()
    }

    /// Renders a journal. `graph` is the run's graph with all its patches.
    pub fn of(run: &RunId, graph: &Graph, entries: &[Entry]) -> Self {
        write::trace(run, graph, entries)
    }
}

impl Step {
    /// A step that has begun, with what its node says of it.
    pub fn begin(graph: &Graph, step: StepNo, at: NodeIx, started_ms: i64) -> Self {
        let node = graph.node(at);
        let mut line = Self {
            step,
            node: node.id.clone(),
            status: "open",
            attempts: 1,
            started_ms,
            ..Self::default()
        };
        match &node.action {
            Action::Entry => line.kind = "entry",
            Action::Exit => line.kind = "exit",
            Action::Wait(_) => line.kind = "wait",
            Action::Call { tool, .. } => {
                line.kind = "call";
                line.tool = Some(tool.to_string());
            }
            Action::Compute { expression } => {
                line.kind = "compute";
                line.expression = Some(expression.clone().into());
            }
            Action::Choose { rules, otherwise } => {
                line.kind = "choose";
                let rules = rules.iter().map(|choice| {
                    Value::object([
                        ("rule", choice.rule.clone()),
                        ("label", choice.label.clone().into()),
                    ])
                });
                let mut shown = Map::new();
                shown.insert("rules", Value::array(rules));
                if let Some(label) = otherwise {
                    shown.insert("otherwise", label.clone().into());
                }
                line.expression = Some(shown.into());
            }
        }
        line
    }
}

/// The first and the last event of a step, as far as there are such.
pub fn seqs(entries: &[Entry], step: StepNo) -> (Option<Seq>, Option<Seq>) {
    let (mut first, mut last) = (None, None);
    for entry in entries {
        match &entry.event {
            Event::StepStarted { step: it, .. }
            | Event::Spread { step: it, .. }
            | Event::Waiting { step: it, .. }
                if *it == step =>
            {
                first = first.or(Some(entry.seq));
            }
            Event::StepFinished { step: it, .. }
            | Event::StepFailed { step: it, .. }
            | Event::Gathered { step: it, .. }
                if *it == step =>
            {
                last = Some(entry.seq);
            }
            _ => {}
        }
    }
    (first, last)
}

/// How a run ended, with its nodes by name: `status`, and `result` or `error`.
pub fn outcome(graph: &Graph, outcome: &Outcome) -> Value {
    let mut error = Map::new();
    let mut at = |node: &Option<NodeIx>| {
        if let Some(node) = node {
            error.insert("node", graph.node(*node).id.clone().into());
        }
    };
    let status = match outcome {
        Outcome::Completed { result } => {
            return Value::object([("status", "completed".into()), ("result", result.clone())]);
        }
        Outcome::Failed { failure, node } => {
            at(node);
            error.insert("code", failure.kind.code().into());
            error.insert("message", failure.message.as_str().into());
            if let Some(data) = &failure.data {
                error.insert("data", data.clone());
            }
            if failure.may_have_happened {
                error.insert("may_have_happened", true.into());
            }
            "failed"
        }
        Outcome::Rejected { node, why } => {
            at(node);
            error.insert("message", said("a person said no", why.as_deref()));
            "rejected"
        }
        Outcome::Aborted { why, .. } if outcome.is_expired() => {
            error.insert("message", said("expired", why.as_deref()));
            outcome.word()
        }
        Outcome::Aborted { by, why } => {
            error.insert("message", said(&format!("aborted by {by}"), why.as_deref()));
            "aborted"
        }
    };
    Value::object([("status", status.into()), ("error", error.into())])
}

fn said(what: &str, why: Option<&str>) -> Value {
    why.map_or_else(|| what.into(), |why| format!("{what}: {why}").into())
}
