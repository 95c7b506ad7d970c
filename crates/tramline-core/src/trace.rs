//! A journal rendered for reading: every step with what went in, what it did and what came out.

use crate::failure::Failure;
use crate::graph::Graph;
use crate::ids::{Checkpoint, NodeIx, RunId, Seq, StepNo};
use crate::journal::{Answer, Entry, Event, Outcome, Pause};
use crate::workflow::Action;
use serde::Serialize;
use std::collections::BTreeMap;
use tramline_expr::{Map, Str, Value};

/// A run as it can be read afterwards.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Trace {
    /// Which run.
    pub run_id: String,
    /// Of which workflow.
    pub workflow: Str,
    /// The caller's label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Str>,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When its last event happened.
    pub updated_ms: i64,
    /// How many events its journal holds.
    pub events: Seq,
    /// What it was given.
    pub input: Value,
    /// Its steps, in the order they were decided.
    pub steps: Vec<Step>,
    /// What it asked and what was answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Asked>,
    /// Who took it over, and when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Note>,
    /// How it ended: `status`, and `result` or `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Value>,
}

/// One step.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Step {
    /// Its number.
    pub step: StepNo,
    /// Where.
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
    /// What it worked on: a call's arguments, the output before an exit, the run's input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The expression or the rules it evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<Value>,
    /// The label it picked, if not the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Str>,
    /// What it gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// The failures of earlier attempts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retried: Vec<Failure>,
}

/// A question and its answer.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// Where in the journal, as a caller names it.
    pub checkpoint: String,
    /// When.
    pub at_ms: i64,
    /// What kind of question: `layer`, `approval` or `in-doubt`.
    pub kind: &'static str,
    /// About which node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<Str>,
    /// About which step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNo>,
    /// Which layer is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_index: Option<u32>,
    /// Why it is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Str>,
    /// What was said: `proceed`, `reject`, `retry` or `skip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'static str>,
    /// By whom, when and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Note>,
}

/// Who, when and why.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// Who.
    pub by: Str,
    /// When.
    pub at_ms: i64,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Trace {
    /// Renders a journal. `graph` is the run's graph with all its patches.
    pub fn of(run: &RunId, graph: &Graph, entries: &[Entry]) -> Self {
        let mut writer = Writer {
            graph,
            run,
            places: BTreeMap::new(),
            trace: Self {
                run_id: run.to_string(),
                ..Self::default()
            },
            before_ms: entries.first().map_or(0, |entry| entry.at_ms),
        };
        for entry in entries {
            writer.add(entry);
            writer.before_ms = entry.at_ms;
        }
        writer.trace
    }
}

struct Writer<'a> {
    graph: &'a Graph,
    run: &'a RunId,
    /// Where each open step stands in the list.
    places: BTreeMap<StepNo, usize>,
    trace: Trace,
    before_ms: i64,
}

impl Writer<'_> {
    fn add(&mut self, entry: &Entry) {
        let at_ms = entry.at_ms;
        self.trace.updated_ms = at_ms;
        self.trace.events = entry.seq;
        match &entry.event {
            Event::Started(started) => {
                self.trace.workflow = started.workflow.name.clone();
                self.trace.session = started.session.clone();
                self.trace.started_ms = at_ms;
                self.trace.input = started.input.clone();
            }
            Event::Resumed { by } => {
                self.trace.resumed.push(Note {
                    by: by.clone(),
                    at_ms,
                    why: None,
                });
            }
            Event::StepStarted {
                step,
                node,
                attempt,
                arguments,
                ..
            } => {
                let line = self.line(*step, *node, at_ms);
                line.attempts = *attempt;
                if !arguments.is_null() {
                    line.input = Some(arguments.clone());
                }
            }
            Event::AttemptFailed { step, failure, .. } => {
                if let Some(&place) = self.places.get(step) {
                    self.trace.steps[place].retried.push(failure.clone());
                }
            }
            Event::StepFinished {
                step,
                node,
                label,
                output,
            } => {
                self.end(*step, *node, at_ms, |line| {
                    line.status = "succeeded";
                    line.label.clone_from(label);
                    line.output = Some(output.clone());
                });
            }
            Event::StepFailed {
                step,
                node,
                failure,
            } => {
                self.end(*step, *node, at_ms, |line| {
                    line.status = "failed";
                    line.error = Some(failure.clone());
                });
            }
            Event::Paused { pause } => self.asked(entry.seq, at_ms, pause),
            Event::Answered {
                pause,
                answer,
                by,
                why,
            } => {
                self.answered(
                    *pause,
                    answer,
                    Note {
                        by: by.clone(),
                        at_ms,
                        why: why.clone(),
                    },
                );
            }
            Event::Amended { .. } => {}
            Event::Finished { outcome: how } => self.trace.outcome = Some(outcome(self.graph, how)),
        }
    }

    fn end(&mut self, step: StepNo, node: NodeIx, at_ms: i64, change: impl FnOnce(&mut Step)) {
        // A step that only computes has no start of its own: it began when the one before ended.
        let began = self.before_ms;
        let line = self.line(step, node, began);
        line.duration_ms = Some((at_ms - line.started_ms).max(0));
        change(line);
        self.places.remove(&step);
    }

    fn line(&mut self, step: StepNo, node: NodeIx, at_ms: i64) -> &mut Step {
        let place = *self.places.entry(step).or_insert_with(|| {
            let line = new_line(self.graph, step, node, at_ms, &self.trace);
            self.trace.steps.push(line);
            self.trace.steps.len() - 1
        });
        &mut self.trace.steps[place]
    }

    fn asked(&mut self, seq: Seq, at_ms: i64, pause: &Pause) {
        let mut asked = Asked {
            checkpoint: Checkpoint {
                run: self.run.clone(),
                seq,
            }
            .to_string(),
            at_ms,
            kind: "layer",
            node: None,
            step: None,
            layer_index: None,
            reason: None,
            answer: None,
            by: None,
        };
        let id = |node: &NodeIx| Some(self.graph.node(*node).id.clone());
        match pause {
            Pause::Layer { index } => asked.layer_index = Some(*index),
            Pause::Approval { node, reason } => {
                asked.kind = "approval";
                asked.node = id(node);
                asked.reason = Some(reason.clone());
            }
            Pause::InDoubt { step, node } => {
                asked.kind = "in-doubt";
                asked.node = id(node);
                asked.step = Some(*step);
            }
        }
        self.trace.pauses.push(asked);
    }

    fn answered(&mut self, seq: Seq, answer: &Answer, note: Note) {
        let checkpoint = Checkpoint {
            run: self.run.clone(),
            seq,
        }
        .to_string();
        let at_ms = note.at_ms;
        let Some(asked) = self
            .trace
            .pauses
            .iter_mut()
            .find(|asked| asked.checkpoint == checkpoint)
        else {
            return;
        };
        asked.by = Some(note);
        asked.answer = Some(match answer {
            Answer::Proceed => "proceed",
            Answer::Reject => "reject",
            Answer::Retry => "retry",
            Answer::Skip { .. } => "skip",
        });
        let about = asked
            .step
            .zip(asked.node.as_deref().and_then(|id| self.graph.find(id)));
        if let (Answer::Skip { output }, Some((step, node))) = (answer, about) {
            self.end(step, node, at_ms, |line| {
                line.status = "succeeded";
                line.output = Some(output.clone());
            });
        }
    }
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
            "failed"
        }
        Outcome::Rejected { node, why } => {
            at(node);
            error.insert("message", said("a person said no", why.as_deref()));
            "rejected"
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

fn new_line(graph: &Graph, step: StepNo, at: NodeIx, started_ms: i64, trace: &Trace) -> Step {
    let node = graph.node(at);
    let mut line = Step {
        step,
        node: node.id.clone(),
        status: "open",
        attempts: 1,
        started_ms,
        ..Step::default()
    };
    match &node.action {
        Action::Entry => {
            line.kind = "entry";
            line.input = Some(trace.input.clone());
        }
        Action::Exit => line.kind = "exit",
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
