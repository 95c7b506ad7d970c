//! A workflow as plain data: what readers produce, what a journal keeps, what a patch extends.
//!
//! Edges carry labels and nodes choose labels. Nothing here is checked or compiled yet: that is
//! [`Graph::build`](crate::graph::Graph::build).

use crate::authority::ApprovalSource;
use crate::ids::ToolName;
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

/// The label a node finishes with unless it says otherwise.
pub const DEFAULT_LABEL: &str = "default";
/// The label a node finishes with when it failed.
pub const ERROR_LABEL: &str = "error";

/// The server whose tools are workflows: those of the documents at hand, and saved ones.
pub const WORKFLOW_SERVER: &str = "workflow";

/// A named graph with the schemas of what goes in and what comes out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// What callers call it.
    pub name: Str,
    /// A title for people.
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
    /// What a failure does that no `error` edge takes.
    #[serde(default)]
    pub unhandled: Unhandled,
    /// The bounds of each run.
    #[serde(default)]
    pub limits: Limits,
    /// Whether a call of a tool that is annotated as destructive asks first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cautious: bool,
    /// How calls of nodes without a `retry` are repeated when their server could not be reached or
    /// gave no answer, as far as they may be repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<Retry>,
}

/// One place in a graph where something is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its name, unique in the graph.
    pub id: Str,
    /// What it is for, in the author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Str>,
    /// What is done there.
    pub action: Action,
    /// How many of the ways in must have been taken.
    #[serde(default)]
    pub join: Join,
    /// How long one attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How failed attempts are repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Why a person must agree before the node is entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Str>,
    /// Who demands that, where it is not the document. No format of documents can say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_source: Option<ApprovalSource>,
    /// The author's word on whether the call may be repeated when nobody knows if it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeatable: Option<bool>,
    /// Over what the call is spread, if it is made once for each of several items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Box<Each>>,
}

impl Node {
    /// A node that does `action` and has nothing special about it.
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

/// A call that is made once for each of several items, side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Each {
    /// The items: an array, or one value that stands for itself.
    pub items: Template,
    /// The variable that holds the item, without its `$`; its place is `$index`.
    pub name: Str,
    /// How many of the calls may be under way at once.
    pub width: u32,
    /// What a failed item does.
    #[serde(default)]
    pub failures: ItemFailures,
}

/// What a failed item does to the step it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemFailures {
    /// The step fails with it, and what is still under way is cancelled.
    #[default]
    Stop,
    /// It stands in the results at the item's place; the others go on.
    Keep,
}

/// What a node does. Closed: a new kind must be thought through everywhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Gives the run's input.
    Entry,
    /// Calls a tool.
    Call {
        /// Which one.
        tool: ToolName,
        /// With what.
        arguments: Template,
    },
    /// Evaluates a JSONata expression.
    Compute {
        /// Its source.
        expression: Str,
    },
    /// Picks a way by the first rule that holds; its output is the label it picked.
    Choose {
        /// The rules, in order.
        rules: Vec<Choice>,
        /// The label when none holds. Without it, that is a failure.
        otherwise: Option<Str>,
    },
    /// Lets time pass, and hands on the output of the node before.
    Wait(Time),
    /// Ends the run with the output of the node before.
    Exit,
}

/// How long a [`Action::Wait`] lasts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// So long: milliseconds, or text such as `5s`.
    For(Template),
    /// Until then: milliseconds since 1970, or a timestamp as text.
    Until(Template),
}

/// One rule of a [`Action::Choose`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// A JSON Logic rule.
    pub rule: Value,
    /// The label it picks.
    pub label: Str,
}

/// A value with expressions at some of its places.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// A value as it stands.
    Literal(Value),
    /// A JSONata expression.
    Expr(Str),
    /// An object of templates.
    Object(Vec<(Str, Template)>),
    /// An array of templates.
    Array(Vec<Template>),
}

/// A way from one node to another, taken when its label is the one its node finished with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The node it leaves.
    pub from: Str,
    /// The node it enters.
    pub to: Str,
    /// Its label.
    pub label: Str,
}

impl Edge {
    /// An edge with the default label.
    pub fn new(from: impl Into<Str>, to: impl Into<Str>) -> Self {
        Self::labelled(from, to, DEFAULT_LABEL)
    }

    /// An edge with a label of its own.
    pub fn labelled(from: impl Into<Str>, to: impl Into<Str>, label: impl Into<Str>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            label: label.into(),
        }
    }
}

/// How many of the ways into a node must have been taken before it is entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Join {
    /// Each way in enters it.
    #[default]
    Any,
    /// All ways in together enter it once.
    All,
}

/// How failed attempts are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Retry {
    /// How many attempts there are beside the first.
    pub max: u32,
    /// How long to wait before the first repetition.
    pub wait_ms: u64,
    /// By what the wait is multiplied after each repetition.
    pub backoff: f64,
}

/// No wait between attempts is longer than this, whatever the backoff: an hour.
const RETRY_WAIT_MS_MAX: f64 = 3_600_000.0;

impl Retry {
    /// How long to wait after the failed attempt of this number (from 1), if there is another.
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

/// What a failure does that no `error` edge takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unhandled {
    /// The run ends with it.
    #[default]
    EndsRun,
    /// Only what depends on the failed node is skipped.
    SkipsDependents,
}

/// The bounds of a run, checked before each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How many steps a run may take.
    pub steps_max: u64,
    /// How long it may be at work, waiting for people not counted.
    pub active_ms_max: u64,
    /// How many calls may leave.
    pub calls_max: u64,
    /// How many bytes its journal may hold.
    pub bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // The first two are what users of YAML graphs know as their defaults.
            steps_max: 1_000,
            active_ms_max: 300_000,
            // A thousand steps cannot make more calls; retries are calls too.
            calls_max: 10_000,
            // Far above what a sound run writes, far below what fills a disk unseen.
            bytes_max: 1 << 30,
        }
    }
}
