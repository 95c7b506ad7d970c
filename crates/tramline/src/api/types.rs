//! Plain data in and out: questions and answers, steps, outcomes.

use super::Error;
use serde::Serialize;
use serde_json::Value as Json;
use tramline_expr::{Str, Value};
use tramline_views::pause_view::Extent;
use tramline_views::{pause_view, trace};
use tramline_workflow::failure;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, StepNo};
use tramline_workflow::journal::{self, Outcome, Pause};
use tramline_workflow::run::Run;

/// The state of a run after waiting for it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutcome {
    /// Which run.
    pub run: RunId,
    /// How it ended, or why it is not running.
    pub kind: OutcomeKind,
}

/// How a run ended, or why it is not running.
#[derive(Clone, Debug, PartialEq)]
pub enum OutcomeKind {
    /// It completed with this result.
    Completed(Json),
    /// It failed.
    Failed {
        /// The failure.
        failure: Failure,
        /// The node that failed, if the failure belongs to one.
        node: Option<String>,
    },
    /// A person or policy rejected it.
    Rejected {
        /// The rejected node, if the question was about one.
        node: Option<String>,
        /// The reason given.
        why: Option<String>,
    },
    /// It was aborted from outside.
    Aborted {
        /// Who aborted it.
        by: String,
        /// The reason given.
        why: Option<String>,
    },
    /// It was not answered before its time limit.
    Expired {
        /// Which time limit.
        why: Option<String>,
    },
    /// It waits for answers to these questions.
    Paused(Vec<Question>),
    /// No process drives it: its process ended or is shutting down. It can be resumed.
    Stopped,
}

impl RunOutcome {
    /// The result of a completed run; any other outcome is an error that describes it.
    pub fn result(self) -> Result<Json, Error> {
        match self.kind {
            OutcomeKind::Completed(result) => Ok(result),
            OutcomeKind::Failed { .. }
            | OutcomeKind::Rejected { .. }
            | OutcomeKind::Aborted { .. }
            | OutcomeKind::Expired { .. }
            | OutcomeKind::Paused(_)
            | OutcomeKind::Stopped => Err(Error::NotCompleted(Box::new(self))),
        }
    }

    /// The questions that the run waits on; empty if it does not wait.
    pub fn questions(&self) -> &[Question] {
        match &self.kind {
            OutcomeKind::Paused(questions) => questions,
            OutcomeKind::Completed(_)
            | OutcomeKind::Failed { .. }
            | OutcomeKind::Rejected { .. }
            | OutcomeKind::Aborted { .. }
            | OutcomeKind::Expired { .. }
            | OutcomeKind::Stopped => &[],
        }
    }

    pub(super) fn finished(graph: &Graph, run: &RunId, outcome: &Outcome) -> Self {
        let id = |node: &Option<_>| node.map(|at| graph.node(at).id.to_string());
        let kind = match outcome {
            Outcome::Completed { result } => OutcomeKind::Completed(result.into()),
            Outcome::Failed { failure, node } => OutcomeKind::Failed {
                failure: failure.into(),
                node: id(node),
            },
            Outcome::Rejected { node, why } => OutcomeKind::Rejected {
                node: id(node),
                why: why.clone(),
            },
            Outcome::Aborted { why, .. } if outcome.is_expired() => {
                OutcomeKind::Expired { why: why.clone() }
            }
            Outcome::Aborted { by, why } => OutcomeKind::Aborted {
                by: by.to_string(),
                why: why.clone(),
            },
        };
        let run = run.clone();
        Self { run, kind }
    }

    /// The state of a run, if it is over or waiting.
    pub(super) fn of(run: &Run) -> Option<Self> {
        if let Some(outcome) = &run.outcome {
            return Some(Self::finished(&run.graph, &run.id, outcome));
        }
        let asked = |(seq, pause): (&Seq, &Pause)| Question::of(&run.graph, &run.id, *seq, pause);
        run.is_paused().then(|| Self {
            run: run.id.clone(),
            kind: OutcomeKind::Paused(run.pauses.iter().map(asked).collect()),
        })
    }
}

/// A question that a run asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The checkpoint an answer refers to.
    pub checkpoint: Checkpoint,
    /// Its kind: `approval`, `break`, `in-doubt`, `effect`, `child`, `layer` or `budget`.
    pub kind: &'static str,
    /// The node it is about, if it is about one.
    pub node: Option<String>,
    /// The question in a sentence.
    pub message: String,
    /// The call that waits for the answer: `tool`, `server`, `arguments`, `annotations`, `editable`.
    pub call: Option<Json>,
    /// The answers it accepts: `proceed`, `reject`, `retry`, `skip`, `extend`.
    pub options: &'static [&'static str],
}

impl Question {
    pub(super) fn of(graph: &Graph, run: &RunId, seq: Seq, pause: &Pause) -> Self {
        Self {
            checkpoint: Checkpoint {
                run: run.clone(),
                seq,
            },
            kind: pause.kind(),
            node: pause.node().map(|node| graph.node(node).id.to_string()),
            message: pause_view::message(graph, pause),
            call: pause_view::call_value(pause, Extent::Whole).map(|call| (&call).into()),
            options: pause.options(),
        }
    }
}

/// An answer to a question, with who gave it and the reason.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) answer: journal::Answer,
    pub(super) by: Option<Str>,
    pub(super) reason: Option<String>,
}

impl Answer {
    /// Continue.
    pub fn proceed() -> Self {
        journal::Answer::Proceed.into()
    }

    /// Continue, but call with these arguments instead of the proposed ones. They are checked
    /// against the tool's schema and the policy.
    pub fn proceed_with(arguments: impl Into<Json>) -> Self {
        let arguments = Value::from(arguments.into());
        journal::Answer::ProceedWith { arguments }.into()
    }

    /// Reject: the run ends as rejected.
    pub fn reject() -> Self {
        journal::Answer::Reject.into()
    }

    /// Make the call again, accepting that it may already have happened.
    pub fn retry() -> Self {
        journal::Answer::Retry.into()
    }

    /// Skip the call and use this as its output.
    pub fn skip(output: impl Into<Json>) -> Self {
        let output = Value::from(output.into());
        journal::Answer::Skip { output }.into()
    }

    /// Continue with this much additional budget.
    pub fn extend(budget: journal::Budget) -> Self {
        journal::Answer::Extend { budget }.into()
    }

    /// Fill in a form: an object with its fields. It is checked against the form's schema.
    pub fn submit(content: impl Into<Json>) -> Self {
        let content = Value::from(content.into());
        journal::Answer::Submit { content }.into()
    }

    /// Decline a form: the run continues at its `decline` edge, or ends as rejected.
    pub fn decline() -> Self {
        journal::Answer::Decline.into()
    }

    /// Dismiss a form that has a `cancel` edge.
    pub fn cancel() -> Self {
        journal::Answer::Cancel.into()
    }

    /// Who answers; the program itself by default.
    #[must_use]
    pub fn by(mut self, who: impl Into<Str>) -> Self {
        self.by = Some(who.into());
        self
    }

    /// The reason, recorded in the journal.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.reason = Some(why.into());
        self
    }
}

impl From<journal::Answer> for Answer {
    fn from(what: journal::Answer) -> Self {
        Self {
            answer: what,
            by: None,
            reason: None,
        }
    }
}

/// Why a step failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// Its code; `tramline explain T0501` shows the page for it.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What the tool or the evaluator returned besides the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
}

impl From<&failure::Failure> for Failure {
    fn from(failure: &failure::Failure) -> Self {
        Self {
            code: failure.kind.code(),
            message: failure.message.clone(),
            data: failure.data.as_ref().map(Json::from),
        }
    }
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// Its number.
    pub step: StepNo,
    /// Its node.
    pub node: String,
    /// The kind of node: `entry`, `call`, `compute`, `choose`, `wait` or `exit`.
    pub kind: &'static str,
    /// Its state: `open`, `succeeded` or `failed`.
    pub status: &'static str,
    /// The tool it calls, as `server:tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The number of attempts.
    pub attempts: u32,
    /// The index of its item, for a node that calls once per item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// When it started, in milliseconds since 1970.
    pub started_ms: i64,
    /// How long it took in milliseconds, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// Its input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// The expression or rules it evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<Json>,
    /// The edge it took, unless that is the default edge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The failures of earlier attempts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<Failure>,
}

impl From<&trace::TraceStep> for Step {
    fn from(step: &trace::TraceStep) -> Self {
        Self {
            step: step.step,
            node: step.node.to_string(),
            kind: step.kind,
            status: step.status,
            tool: step.tool.clone(),
            attempts: step.attempts,
            item: step.item.map(|item| item.index),
            started_ms: step.started_ms,
            duration_ms: step.duration_ms,
            input: step.input.as_ref().map(Json::from),
            expression: step.expression.as_ref().map(Json::from),
            label: step.label.as_ref().map(ToString::to_string),
            output: step.output.as_ref().map(Json::from),
            error: step.error.as_ref().map(Failure::from),
            retried: step.retried.iter().map(Failure::from).collect(),
        }
    }
}

/// A run as read from its journal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// Which run.
    pub run: RunId,
    /// Of which workflow.
    pub workflow: String,
    /// The caller's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it started, in milliseconds since 1970.
    pub started_ms: i64,
    /// When its last event was appended, in milliseconds since 1970.
    pub updated_ms: i64,
    /// Its input.
    pub input: Json,
    /// Its steps, in the order they were decided.
    pub steps: Vec<Step>,
    /// What it asked, and who answered what.
    pub pauses: Vec<Json>,
    /// How it ended: `status`, and `result` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Json>,
}

impl Trace {
    /// The latest step at a node.
    pub fn step_at(&self, node: &str) -> Option<&Step> {
        self.steps.iter().rev().find(|step| step.node == node)
    }

    pub(super) fn of(run: &RunId, trace: &trace::Trace) -> Self {
        let json = |asked| serde_json::to_value(asked).unwrap_or_default();
        Self {
            run: run.clone(),
            workflow: trace.workflow.to_string(),
            session: trace.session.as_ref().map(ToString::to_string),
            started_ms: trace.started_ms,
            updated_ms: trace.updated_ms,
            input: Json::from(&trace.input),
            steps: trace.steps.iter().map(Step::from).collect(),
            pauses: trace.pauses.iter().map(json).collect(),
            outcome: trace.outcome.as_ref().map(Json::from),
        }
    }
}
