//! A journal rendered for reading: every step with its input, action and output.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::failure::Failure;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{NodeIx, RunId, Seq, StepNo};
use tramline_workflow::journal::{Entry, EventRole, FanOutItem, Outcome};
use tramline_workflow::workflow::Action;

mod builder;

/// The version of the trace format. Fields may be added within a version; none is changed or
/// removed.
pub const VERSION: u32 = 1;

/// The prefix and suffix of a trace handle; the run id is between them.
const HANDLE: (&str, &str) = ("tramline://runs/", "/trace");

/// The handle of a run's trace.
pub fn handle(run: &RunId) -> String {
    format!("{}{run}{}", HANDLE.0, HANDLE.1)
}

/// Parses a run id or the handle of its trace.
pub fn parse_run(text: &str) -> Option<RunId> {
    let inside = text.strip_prefix(HANDLE.0);
    let id = inside.and_then(|rest| rest.strip_suffix(HANDLE.1));
    id.unwrap_or(text).parse().ok()
}

/// The readable record of a run.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Trace {
    /// The version of this document: 1. Fields may be added within it.
    pub trace_version: u32,
    /// The id of the run.
    pub run_id: String,
    /// The status: running, paused, completed, failed, rejected, aborted or expired.
    pub status: &'static str,
    /// The name of the workflow.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub workflow: Str,
    /// The caller's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub session: Option<Str>,
    /// The run it was forked from, if it is a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkPoint>,
    /// When it started, in milliseconds since 1970.
    pub started_ms: i64,
    /// When its last event happened.
    pub updated_ms: i64,
    /// The number of events in its journal.
    pub events: Seq,
    /// The input.
    #[cfg_attr(feature = "schema", schemars(with = "serde_json::Value"))]
    pub input: Value,
    /// The steps, in the order they were decided.
    pub steps: Vec<TraceStep>,
    /// The pauses with their answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<TracePause>,
    /// Which processes took it over, and when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<TraceNote>,
    /// How it ended: status, and result or error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub outcome: Option<Value>,
}

/// Where a fork starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ForkPoint {
    /// The original run.
    pub run_id: String,
    /// The event of the original run after which the fork starts.
    pub seq: Seq,
}

/// One step.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TraceStep {
    /// The step number.
    pub step: StepNo,
    /// The node.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub node: Str,
    /// The kind of the node.
    pub kind: &'static str,
    /// The status: `open`, `succeeded` or `failed`.
    pub status: &'static str,
    /// The number of attempts.
    pub attempts: u32,
    /// When it started, in milliseconds since 1970.
    pub started_ms: i64,
    /// The duration in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The tool it called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The item, if the step is part of a fan-out: the fan-out step and the index of the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<FanOutItem>,
    /// The input: a call's arguments, the items of a fan-out, or the run's input.
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
    /// The output.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The failures of earlier attempts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<Failure>,
    /// Whether its call may have happened although no result confirms it: it failed after it was
    /// sent, it is in doubt, or the run ended while it was running.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub may_have_happened: bool,
}

/// A pause and its answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TracePause {
    /// The checkpoint id of the pause.
    pub checkpoint: String,
    /// When it was appended, in milliseconds since 1970.
    pub at_ms: i64,
    /// The kind: `layer`, `approval`, `in-doubt`, `break`, `effect`, `child` or `budget`.
    pub kind: &'static str,
    /// The node it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub node: Option<Str>,
    /// The step it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNo>,
    /// The finished layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_index: Option<u32>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub reason: Option<Str>,
    /// Who requires an answer: `policy`, `confirm`, `destructive` or `document` for an approval,
    /// `operator` or `caller` for a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    /// The complete call that waited for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub call: Option<Value>,
    /// The arguments with which the answer replaced the proposed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<serde_json::Value>"))]
    pub edited_arguments: Option<Value>,
    /// The answer: `proceed`, `reject`, `retry`, `skip` or `extend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'static str>,
    /// Who answered, when and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<TraceNote>,
}

/// Who did something, when and why.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TraceNote {
    /// The name of the person or process.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub by: Str,
    /// The channel of an answer: `agent` and `http` are relayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub via: Option<AnswerChannel>,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: i64,
    /// The reason given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Trace {
    /// The JSON Schema of traces.
    #[cfg(feature = "schema")]
    pub fn json_schema() -> Value {
        let mut schema = serde_json::Value::from(
            schemars::generate::SchemaSettings::draft2020_12()
                // Fields that are omitted when empty are not required.
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
        builder::build_trace(run, graph, entries)
    }
}

impl TraceStep {
    /// A step that has started, with the properties of its node.
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
        line.kind = node.action.kind().name;
        line.tool = node.action.tool().map(ToString::to_string);
        if let Action::Compute { expression } = &node.action {
            line.expression = Some(expression.clone().into());
        }
        if let Some((rules, otherwise)) = node.action.choice() {
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
        line
    }
}

/// The positions of the first and last event of a step, if present.
pub fn step_seqs(entries: &[Entry], step: StepNo) -> (Option<Seq>, Option<Seq>) {
    let (mut first, mut last) = (None, None);
    for entry in entries {
        if let Some(EventRole::StepStart { step: it, .. }) = entry.event.role()
            && it == step
        {
            first = first.or(Some(entry.seq));
        }
        if entry.event.ended_step().is_some_and(|(it, _)| it == step) {
            last = Some(entry.seq);
        }
    }
    (first, last)
}

/// How a run ended, with node ids: `status`, and `result` or `error`.
pub fn outcome_value(graph: &Graph, outcome: &Outcome) -> Value {
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
            error.insert(
                "message",
                with_reason("rejected by a person", why.as_deref()),
            );
            "rejected"
        }
        Outcome::Aborted { why, .. } if outcome.is_expired() => {
            error.insert("message", with_reason("expired", why.as_deref()));
            outcome.status()
        }
        Outcome::Aborted { by, why } => {
            error.insert(
                "message",
                with_reason(&format!("aborted by {by}"), why.as_deref()),
            );
            "aborted"
        }
    };
    Value::object([("status", status.into()), ("error", error.into())])
}

fn with_reason(what: &str, why: Option<&str>) -> Value {
    why.map_or_else(|| what.into(), |why| format!("{what}: {why}").into())
}
