//! A workflow as plain data: what readers produce, what a journal stores, what a patch extends.
//!
//! Edges have labels, and nodes pick labels. Nothing here is checked or compiled;
//! [`Graph::build`](crate::graph::Graph::build) does that.

use crate::authority::ApprovalSource;
use crate::form::FormSpec;
use crate::ids::ToolName;
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

/// The label a node finishes with unless it picks another.
pub const DEFAULT_LABEL: &str = "default";
/// The label a node finishes with when it fails.
pub const ERROR_LABEL: &str = "error";

/// The server whose tools are workflows: those of the loaded documents, and saved ones.
pub const WORKFLOW_SERVER: &str = "workflow";

/// A named graph with the schemas of its input and result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// The name that callers use.
    pub name: Str,
    /// A human-readable title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Str>,
    /// What it does, for agents and people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Str>,
    /// The JSON Schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// The JSON Schema of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// The nodes, in document order.
    pub nodes: Vec<Node>,
    /// The edges, in document order.
    pub edges: Vec<Edge>,
    /// What an unhandled failure does.
    #[serde(default)]
    pub unhandled: UnhandledFailure,
    /// The limits of each run.
    #[serde(default)]
    pub limits: WorkflowLimits,
    /// Whether calls of tools annotated as destructive need approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cautious: bool,
    /// The default retry policy for nodes without `retry`: for calls whose server could not be
    /// reached or sent no response, if they may be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<RetryPolicy>,
}

/// A node of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The id, unique in the graph.
    pub id: Str,
    /// Its purpose, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Str>,
    /// What the node does.
    pub action: Action,
    /// How many incoming edges must have been taken.
    #[serde(default)]
    pub join: Join,
    /// The timeout of one attempt, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How failed attempts are retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// Why a person must approve before the node is entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Str>,
    /// Who requires the approval, if not the document. No document format can set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_source: Option<ApprovalSource>,
    /// The author's statement whether the call may be repeated when it is unknown whether it
    /// happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeatable: Option<bool>,
    /// The fan-out, if the call is made once for each of several items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Box<FanOutSpec>>,
}

impl Node {
    /// A node with this action and default properties.
    pub fn new(id: impl Into<Str>, action: Action) -> Self {
        Self {
            id: id.into(),
            purpose: None,
            action,
            join: Join::Any,
            timeout_ms: None,
            retry: None,
            approval: None,
            approval_source: None,
            repeatable: None,
            each: None,
        }
    }
}

/// A fan-out: a call that is made once for each of several items, in parallel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FanOutSpec {
    /// The items: an array, or a single value.
    pub items: Template,
    /// The variable for the item, without its `$`; the index is `$index`.
    pub name: Str,
    /// How many of the calls may run at once.
    pub width: u32,
    /// What a failed item does.
    #[serde(default)]
    pub failures: ItemFailures,
}

/// What a failed item does to its step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemFailures {
    /// The step fails, and running items are cancelled.
    #[default]
    Stop,
    /// The failure becomes the item's result; the others continue.
    Keep,
}

/// What a node does. Closed: a new kind must be handled everywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Outputs the run's input.
    Entry,
    /// Calls a tool.
    Call {
        /// The tool.
        tool: ToolName,
        /// The arguments.
        arguments: Template,
    },
    /// Evaluates a JSONata expression.
    Compute {
        /// The source of the expression.
        expression: Str,
    },
    /// Picks a label by the first rule that matches; its output is that label.
    Choose {
        /// The rules, in order.
        rules: Vec<SwitchRule>,
        /// The label if no rule matches. Without it, that is a failure.
        otherwise: Option<Str>,
    },
    /// Waits, and passes on the output of the previous node.
    Wait(WaitTime),
    /// Asks a person to fill in a form; its output is the content of the answer.
    Ask(Box<FormSpec>),
    /// Ends the run with the output of the previous node.
    Exit,
}

/// The duration of an [`Action::Wait`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitTime {
    /// For this long: milliseconds, or text such as `5s`.
    For(Template),
    /// Until this time: milliseconds since 1970, or a timestamp as text.
    Until(Template),
}

/// One rule of an [`Action::Choose`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwitchRule {
    /// A JSON Logic rule.
    pub rule: Value,
    /// The label it picks.
    pub label: Str,
}

/// A value in which some parts are expressions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// A plain value.
    Literal(Value),
    /// A JSONata expression.
    Expr(Str),
    /// An object of templates.
    Object(Vec<(Str, Template)>),
    /// An array of templates.
    Array(Vec<Template>),
}

/// An edge from one node to another. It is taken when its label is the one its source node finished
/// with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The source node.
    pub from: Str,
    /// The target node.
    pub to: Str,
    /// Its label.
    pub label: Str,
}

impl Edge {
    /// An edge with the default label.
    pub fn new(from: impl Into<Str>, to: impl Into<Str>) -> Self {
        Self::labelled(from, to, DEFAULT_LABEL)
    }

    /// An edge with this label.
    pub fn labelled(from: impl Into<Str>, to: impl Into<Str>, label: impl Into<Str>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            label: label.into(),
        }
    }
}

/// How many incoming edges must have been taken before a node is entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// Each arriving edge enters it.
    #[default]
    Any,
    /// It is entered once all incoming edges have arrived.
    All,
}

/// How failed attempts are retried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// The number of attempts after the first.
    pub max: u32,
    /// The backoff before the first retry, in milliseconds.
    pub wait_ms: u64,
    /// The factor by which the backoff grows after each retry.
    pub backoff: f64,
}

/// Milliseconds between two attempts, whatever the backoff factor: an hour.
const RETRY_WAIT_MS_MAX: f64 = 3_600_000.0;

impl RetryPolicy {
    /// The backoff after the failed attempt with this number (from 1), if another one follows.
    pub fn wait_ms(&self, attempt: u32) -> Option<u64> {
        if attempt > self.max {
            return None;
        }
        let factor = self
            .backoff
            .max(1.0)
            .powi(attempt.saturating_sub(1).min(1024) as i32);
        Some((self.wait_ms as f64 * factor).min(RETRY_WAIT_MS_MAX) as u64)
    }
}

/// What a failure without an `error` edge does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnhandledFailure {
    /// It ends the run.
    #[default]
    EndsRun,
    /// It skips only the nodes that depend on the failed one.
    SkipsDependents,
}

/// The limits of a run, checked before each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowLimits {
    /// The number of steps.
    pub steps_max: u64,
    /// The active time in milliseconds, excluding time spent waiting for people.
    pub active_ms_max: u64,
    /// The number of calls.
    pub calls_max: u64,
    /// The size of the journal in bytes.
    pub bytes_max: u64,
}

impl Default for WorkflowLimits {
    fn default() -> Self {
        Self {
            // The defaults that users of YAML graphs know.
            steps_max: 1_000,
            active_ms_max: 300_000,
            // Ten per step; retries and fan-out items count too.
            calls_max: 10_000,
            // Far above what a normal run writes, far below what fills a disk.
            bytes_max: 1 << 30,
        }
    }
}
