//! What goes in and comes out, as plain data: questions and answers, steps, ends.

use super::Error;
use serde::Serialize;
use serde_json::Value as Json;
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId, Seq, StepNo};
use tramline_core::journal::{self, Outcome, Pause};
use tramline_core::question::Extent;
use tramline_core::run::Run;
use tramline_core::{Str, Value, failure, question, trace};

/// How a run stands after it was waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Which run.
    pub run: RunId,
    /// How it ended, or why it does not go on.
    pub how: How,
}

/// How a run ended, or why it does not go on.
#[derive(Clone, Debug, PartialEq)]
pub enum How {
    /// With this result.
    Completed(Json),
    /// With a failure.
    Failed {
        /// Which one.
        failure: Failure,
        /// At which node, if at one.
        node: Option<String>,
    },
    /// By somebody's no.
    Rejected {
        /// To what node, if the question was about one.
        node: Option<String>,
        /// Why.
        why: Option<String>,
    },
    /// From outside.
    Aborted {
        /// By whom.
        by: String,
        /// Why.
        why: Option<String>,
    },
    /// Nobody answered in the time it was given.
    Expired {
        /// What it was given the time for.
        why: Option<String>,
    },
    /// It waits for answers to these questions.
    Paused(Vec<Question>),
    /// Nobody drives it: its process ended or is about to. It can be resumed.
    Stopped,
}

impl Ended {
    /// The result of a run that completed; everything else is an error that says what happened.
    pub fn result(self) -> Result<Json, Error> {
        match self.how {
            How::Completed(result) => Ok(result),
            How::Failed { .. }
            | How::Rejected { .. }
            | How::Aborted { .. }
            | How::Expired { .. }
            | How::Paused(_)
            | How::Stopped => Err(Error::NotCompleted(Box::new(self))),
        }
    }

    /// What a run waits to be answered; nothing if it does not.
    pub fn questions(&self) -> &[Question] {
        match &self.how {
            How::Paused(questions) => questions,
            How::Completed(_)
            | How::Failed { .. }
            | How::Rejected { .. }
            | How::Aborted { .. }
            | How::Expired { .. }
            | How::Stopped => &[],
        }
    }

    pub(super) fn over(graph: &Graph, run: &RunId, outcome: &Outcome) -> Self {
        let id = |node: &Option<_>| node.map(|at| graph.node(at).id.to_string());
        let how = match outcome {
            Outcome::Completed { result } => How::Completed(result.into()),
            Outcome::Failed { failure, node } => How::Failed {
                failure: failure.into(),
                node: id(node),
            },
            Outcome::Rejected { node, why } => How::Rejected {
                node: id(node),
                why: why.clone(),
            },
            Outcome::Aborted { why, .. } if outcome.is_expired() => {
                How::Expired { why: why.clone() }
            }
            Outcome::Aborted { by, why } => How::Aborted {
                by: by.to_string(),
                why: why.clone(),
            },
        };
        let run = run.clone();
        Self { run, how }
    }

    /// How a run stands, if it is over or waits.
    pub(super) fn of(run: &Run) -> Option<Self> {
        if let Some(outcome) = &run.outcome {
            return Some(Self::over(&run.graph, &run.id, outcome));
        }
        let asked = |(seq, pause): (&Seq, &Pause)| Question::of(&run.graph, &run.id, *seq, pause);
        run.is_paused().then(|| Self {
            run: run.id.clone(),
            how: How::Paused(run.pauses.iter().map(asked).collect()),
        })
    }
}

/// Something that a run asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What an answer refers to.
    pub checkpoint: Checkpoint,
    /// What kind: `approval`, `break`, `in-doubt`, `effect`, `child`, `layer` or `budget`.
    pub kind: &'static str,
    /// The node it is about, if it is about one.
    pub node: Option<String>,
    /// The question in a sentence.
    pub message: String,
    /// The call that waits for the answer: `tool`, `server`, `arguments`, `annotations`, `editable`.
    pub call: Option<Json>,
    /// The answers it takes: `proceed`, `reject`, `retry`, `skip`, `extend`.
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
            message: question::says(graph, pause),
            call: question::call(pause, Extent::Whole).map(|call| (&call).into()),
            options: question::options(pause),
        }
    }
}

/// An answer to a question, with who gave it and why.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) what: journal::Answer,
    pub(super) by: Option<Str>,
    pub(super) why: Option<String>,
}

impl Answer {
    /// Go on.
    pub fn proceed() -> Self {
        journal::Answer::Proceed.into()
    }

    /// Go on, but call with these arguments instead of those that were asked about. They are checked
    /// against the tool's schema and the policy.
    pub fn proceed_with(arguments: impl Into<Json>) -> Self {
        let arguments = Value::from(arguments.into());
        journal::Answer::ProceedWith { arguments }.into()
    }

    /// No: the run ends as rejected.
    pub fn reject() -> Self {
        journal::Answer::Reject.into()
    }

    /// Make the call again, knowing that it may be the second time.
    pub fn retry() -> Self {
        journal::Answer::Retry.into()
    }

    /// Do not make the call; this is its output.
    pub fn skip(output: impl Into<Json>) -> Self {
        let output = Value::from(output.into());
        journal::Answer::Skip { output }.into()
    }

    /// Go on, with so much more budget.
    pub fn extend(budget: journal::Budget) -> Self {
        journal::Answer::Extend { budget }.into()
    }

    /// Who answers; the program itself unless it says so.
    #[must_use]
    pub fn by(mut self, who: impl Into<Str>) -> Self {
        self.by = Some(who.into());
        self
    }

    /// Why, for whoever reads the run later.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }
}

impl From<journal::Answer> for Answer {
    fn from(what: journal::Answer) -> Self {
        Self {
            what,
            by: None,
            why: None,
        }
    }
}

/// Why a step did not succeed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Failure {
    /// Its kind, with a page that explains it: `tramline explain T0501`.
    pub code: &'static str,
    /// What happened.
    pub message: String,
    /// What the tool or the evaluator gave beside the message.
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
    /// What kind of node that is: `entry`, `call`, `compute`, `choose`, `wait` or `exit`.
    pub kind: &'static str,
    /// How it stands: `open`, `succeeded` or `failed`.
    pub status: &'static str,
    /// The tool it calls, as `server:tool`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How many attempts it took.
    pub attempts: u32,
    /// The item it was for, where its node calls once for each of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// How long it took, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// What it worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// The expression or the rules it evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<Json>,
    /// The way it picked, if not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The failures of earlier attempts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<Failure>,
}

impl From<&trace::Step> for Step {
    fn from(step: &trace::Step) -> Self {
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

/// A run as it can be read afterwards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// Which run.
    pub run: RunId,
    /// Of which workflow.
    pub workflow: String,
    /// The caller's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When its last event happened.
    pub updated_ms: i64,
    /// What it was given.
    pub input: Json,
    /// Its steps, in the order they were decided.
    pub steps: Vec<Step>,
    /// What it asked, and what was answered by whom.
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
