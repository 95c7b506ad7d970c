//! A run's state: nothing but the fold of its journal.
//!
//! Applying an event costs the same at a run's end as at its beginning. An event that cannot
//! follow what came before is an error value, never a panic and never half applied.

use crate::failure::Failure;
use crate::graph::{Graph, Patch, Problem};
use crate::ids::{NodeIx, RunId, Seq, StepNo};
use crate::journal::{Answer, Entry, Event, Outcome, Pause, Policy, Started};
use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, Unhandled};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

mod flow;
mod history;

use flow::Flow;
pub use flow::Token;
use history::History;

/// One execution of a graph, as its journal tells it.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// What it runs, with all patches so far.
    pub graph: Arc<Graph>,
    /// How it began.
    pub started: Arc<Started>,
    /// When it began.
    pub started_ms: i64,
    /// The last event applied.
    pub seq: Seq,
    /// When that happened.
    pub updated_ms: i64,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// Steps that have begun and not ended.
    pub open: BTreeMap<StepNo, Open>,
    /// Questions that wait for an answer, by their place in the journal.
    pub pauses: BTreeMap<Seq, Pause>,
    /// How many steps were decided.
    pub steps: StepNo,
    /// How many calls left, repetitions among them.
    pub calls: u64,
    pub(crate) scope: Value,
    pub(crate) history: History,
    pub(crate) flow: Flow,
    pub(crate) layer: Layer,
    pub(crate) verdict: Option<Outcome>,
    /// Tokens whose approval was asked for, by the place of the question.
    asked: BTreeMap<Seq, Token>,
    active: Active,
    /// Every visit's node and label, for rebuilding the flow when the graph grows.
    trail: Vec<(NodeIx, Str, Option<u32>)>,
}

/// A step that has begun and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    /// Where.
    pub node: NodeIx,
    /// Its latest attempt, from 1.
    pub attempt: u32,
    /// What it is called with.
    pub arguments: Value,
    /// Whether it may be repeated when nobody knows if it happened.
    pub repeatable: bool,
    /// How it stands.
    pub stage: Stage,
}

/// How an open step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The process that drives the run has it in hand.
    Calling,
    /// The last attempt failed and the next one is due after a wait.
    Resting,
    /// The process that had it is gone: the call may have happened.
    Adrift,
    /// A person was asked what to do about it.
    Doubted,
    /// It is to be called again now.
    Again,
}

/// Where a layered run stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) index: u32,
    /// How many of the ready tokens belong to the current layer.
    pub(crate) left: usize,
}

/// How long a run has been at work: time spent waiting for people does not count.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    before_ms: u64,
    since_ms: Option<i64>,
}

/// An event that cannot follow what came before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Illegal {
    /// Which event.
    pub seq: Seq,
    /// Why it cannot.
    pub message: String,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "event {} cannot follow the journal before it: {}",
            self.seq, self.message
        )
    }
}

impl std::error::Error for Illegal {}

impl Run {
    /// A run at its first event.
    pub fn begin(id: RunId, graph: Arc<Graph>, started: Started, at_ms: i64) -> Self {
        let flow = Flow::begin(&graph);
        Self {
            id,
            started_ms: at_ms,
            seq: 1,
            updated_ms: at_ms,
            outcome: None,
            open: BTreeMap::new(),
            pauses: BTreeMap::new(),
            steps: 0,
            calls: 0,
            scope: Map::with_capacity(graph.len().min(1024)).into(),
            history: History::new(graph.len()),
            layer: Layer {
                index: 0,
                left: flow.ready.len(),
            },
            flow,
            verdict: None,
            asked: BTreeMap::new(),
            active: Active {
                before_ms: 0,
                since_ms: Some(at_ms),
            },
            trail: Vec::new(),
            graph,
            started: Arc::new(started),
        }
    }

    /// Folds a whole journal. `graphs` builds (or finds) the graph of the first event's workflow.
    pub fn fold(
        id: RunId,
        entries: impl IntoIterator<Item = Entry>,
        graphs: impl FnOnce(&Started) -> Result<Arc<Graph>, Vec<Problem>>,
    ) -> Result<Self, Illegal> {
        let mut entries = entries.into_iter();
        let Some(Entry {
            seq: 1,
            at_ms,
            event: Event::Started(started),
        }) = entries.next()
        else {
            let message = "a journal begins with Started".to_owned();
            return Err(Illegal { seq: 1, message });
        };
        let graph = graphs(&started).map_err(|problems| Illegal {
            seq: 1,
            message: problems
                .first()
                .map_or_else(String::new, |first| first.message.clone()),
        })?;
        let mut run = Self::begin(id, graph, *started, at_ms);
        for entry in entries {
            run.apply(&entry)?;
        }
        Ok(run)
    }

    /// Applies the next event.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Illegal> {
        let illegal = |message: String| Illegal {
            seq: entry.seq,
            message,
        };
        if entry.seq != self.seq + 1 {
            return Err(illegal(format!("event {} was expected", self.seq + 1)));
        }
        if self.outcome.is_some() {
            return Err(illegal("the run has ended".into()));
        }
        self.change(entry).map_err(illegal)?;
        self.seq = entry.seq;
        self.updated_ms = entry.at_ms;
        Ok(())
    }

    fn change(&mut self, entry: &Entry) -> Result<(), String> {
        match &entry.event {
            Event::Started(_) => return Err("a run begins once".into()),
            Event::Resumed { .. } => self.taken_over(entry.at_ms),
            Event::StepStarted {
                step,
                node,
                attempt,
                arguments,
                repeatable,
            } => {
                self.step_started(*step, *node, *attempt, arguments, *repeatable)?;
            }
            Event::AttemptFailed { step, .. } => {
                self.open_step(*step)?.stage = Stage::Resting;
            }
            Event::StepFinished {
                step,
                node,
                label,
                output,
            } => {
                self.enter(*step, *node)?;
                self.step_ended(*node, label.as_ref(), output.clone());
            }
            Event::StepFailed {
                step,
                node,
                failure,
            } => {
                self.enter(*step, *node)?;
                self.step_failed(*node, failure);
            }
            Event::Paused { pause } => self.paused(entry, pause)?,
            Event::Answered {
                pause, answer, why, ..
            } => {
                self.answered(*pause, answer, why, entry.at_ms)?;
            }
            Event::Amended { patch, .. } => self.amended(patch)?,
            Event::Finished { outcome } => {
                self.outcome = Some(outcome.clone());
                self.open.clear();
                self.pauses.clear();
            }
        }
        Ok(())
    }

    /// Whether it waits for answers only.
    pub fn is_paused(&self) -> bool {
        self.outcome.is_none() && !self.pauses.is_empty() && self.verdict.is_none() && self.idle()
    }

    /// What every node gave last, by its id.
    pub fn outputs(&self) -> &Value {
        &self.scope
    }

    /// How long it has been at work until `now_ms`.
    pub fn active_ms(&self, now_ms: i64) -> u64 {
        let running = self
            .active
            .since_ms
            .map_or(0, |since| now_ms.saturating_sub(since).max(0));
        self.active.before_ms + running as u64
    }

    /// How often a node was visited.
    pub fn visits(&self, node: NodeIx) -> u64 {
        self.history.count(Some(node))
    }

    /// Whether no step is under way and none could start without an answer.
    fn idle(&self) -> bool {
        let waits_for_answer = self.started.policy == Policy::Layered && self.layer.left == 0;
        self.open.values().all(|open| open.stage == Stage::Doubted)
            && (self.flow.ready.is_empty() || waits_for_answer)
    }

    fn open_step(&mut self, step: StepNo) -> Result<&mut Open, String> {
        self.open
            .get_mut(&step)
            .ok_or_else(|| format!("step {step} is not open"))
    }

    /// Takes the token for a step, unless its start already did.
    fn enter(&mut self, step: StepNo, node: NodeIx) -> Result<(), String> {
        if self.open.remove(&step).is_some() {
            return Ok(());
        }
        if node.at() >= self.graph.len() || step != self.steps + 1 {
            return Err(format!(
                "step {step} at node {} is not the next one",
                node.0
            ));
        }
        self.flow
            .take(node)
            .ok_or_else(|| format!("nothing is about to enter `{}`", self.graph.node(node).id))?;
        self.steps = step;
        self.layer.left = self.layer.left.saturating_sub(1);
        Ok(())
    }

    fn step_started(
        &mut self,
        step: StepNo,
        node: NodeIx,
        attempt: u32,
        arguments: &Value,
        repeatable: bool,
    ) -> Result<(), String> {
        self.calls += 1;
        if let Some(open) = self.open.get_mut(&step) {
            open.attempt = attempt;
            open.stage = Stage::Calling;
            return Ok(());
        }
        self.enter(step, node)?;
        let arguments = arguments.clone();
        let stage = Stage::Calling;
        self.open.insert(
            step,
            Open {
                node,
                attempt,
                arguments,
                repeatable,
                stage,
            },
        );
        Ok(())
    }

    fn step_ended(&mut self, node: NodeIx, label: Option<&Str>, output: Value) {
        let graph = Arc::clone(&self.graph);
        if let Value::Object(scope) = &mut self.scope {
            Arc::make_mut(scope).insert(graph.node(node).id.clone(), output.clone());
        }
        let visit = self.history.add(node, output, &graph.memory);
        let label = label.map_or(DEFAULT_LABEL, Str::as_str);
        self.leave(&graph, node, label, Some(visit));
    }

    fn step_failed(&mut self, node: NodeIx, failure: &Failure) {
        let graph = Arc::clone(&self.graph);
        let handled = graph.outs(node).iter().any(|out| out.label == ERROR_LABEL);
        let visit = handled.then(|| {
            let output = failure_value(failure);
            if let Value::Object(scope) = &mut self.scope {
                Arc::make_mut(scope).insert(graph.node(node).id.clone(), output.clone());
            }
            self.history.add(node, output, &graph.memory)
        });
        if !handled && graph.workflow.unhandled == Unhandled::EndsRun && self.verdict.is_none() {
            let failure = failure.clone();
            self.verdict = Some(Outcome::Failed {
                failure,
                node: Some(node),
            });
        }
        self.leave(&graph, node, ERROR_LABEL, visit);
    }

    fn leave(&mut self, graph: &Graph, node: NodeIx, label: &str, visit: Option<u32>) {
        self.flow.leave(graph, node, label, visit);
        if graph.can_grow() {
            self.trail.push((node, label.into(), visit));
        }
        if let (Action::Exit, None) = (&graph.node(node).action, &self.verdict) {
            let result = visit
                .and_then(|at| self.history.before(Some(at), 1))
                .unwrap_or_default();
            self.verdict = Some(Outcome::Completed { result });
        }
    }

    fn taken_over(&mut self, at_ms: i64) {
        self.rest(self.updated_ms);
        for open in self.open.values_mut() {
            open.stage = match open.stage {
                Stage::Calling | Stage::Adrift if open.repeatable => Stage::Again,
                Stage::Calling | Stage::Adrift => Stage::Adrift,
                // The failed attempt is known to be over, so the next one may just go.
                Stage::Resting | Stage::Again => Stage::Again,
                Stage::Doubted => Stage::Doubted,
            };
        }
        // Who takes over a run that waits for an answer only waits too.
        self.active.since_ms = (!self.is_paused()).then_some(at_ms);
    }

    /// Stops the clock of work.
    fn rest(&mut self, at_ms: i64) {
        if let Some(since) = self.active.since_ms.take() {
            self.active.before_ms += at_ms.saturating_sub(since).max(0) as u64;
        }
    }

    fn paused(&mut self, entry: &Entry, pause: &Pause) -> Result<(), String> {
        match pause {
            Pause::Layer { .. } => {}
            Pause::Approval { node, .. } => {
                let token = self
                    .flow
                    .take(*node)
                    .ok_or("nothing is about to enter that node")?;
                self.layer.left = self.layer.left.saturating_sub(1);
                self.asked.insert(entry.seq, token);
            }
            Pause::InDoubt { step, .. } => self.open_step(*step)?.stage = Stage::Doubted,
        }
        self.pauses.insert(entry.seq, pause.clone());
        if self.is_paused() {
            self.rest(entry.at_ms);
        }
        Ok(())
    }

    fn answered(
        &mut self,
        pause: Seq,
        answer: &Answer,
        why: &Option<String>,
        at_ms: i64,
    ) -> Result<(), String> {
        let Some(asked) = self.pauses.remove(&pause) else {
            return Err(format!("no question stands at {pause}"));
        };
        self.active.since_ms.get_or_insert(at_ms);
        match (&asked, answer) {
            (Pause::Layer { index }, Answer::Proceed) => {
                self.layer = Layer {
                    index: index + 1,
                    left: self.flow.ready.len(),
                };
            }
            (Pause::Approval { .. }, Answer::Proceed) => {
                if let Some(token) = self.asked.remove(&pause) {
                    self.flow.ready.push_front(Token {
                        approved: true,
                        ..token
                    });
                    self.layer.left += 1;
                }
            }
            (Pause::InDoubt { step, .. }, Answer::Retry) => {
                self.open_step(*step)?.stage = Stage::Again;
            }
            (Pause::InDoubt { step, node }, Answer::Skip { output }) => {
                self.open.remove(step);
                self.step_ended(*node, None, output.clone());
            }
            (Pause::Layer { .. }, Answer::Reject) => {
                self.verdict = Some(Outcome::Rejected {
                    node: None,
                    why: why.clone(),
                });
            }
            (Pause::Approval { node, .. } | Pause::InDoubt { node, .. }, Answer::Reject) => {
                self.verdict = Some(Outcome::Rejected {
                    node: Some(*node),
                    why: why.clone(),
                });
            }
            (Pause::Layer { .. } | Pause::Approval { .. }, Answer::Retry | Answer::Skip { .. })
            | (Pause::InDoubt { .. }, Answer::Proceed) => {
                self.pauses.insert(pause, asked);
                return Err("that is no answer to this question".into());
            }
        }
        Ok(())
    }

    /// Puts the patch in and lets the trail so far flow through the larger graph.
    fn amended(&mut self, patch: &Patch) -> Result<(), String> {
        if !self.graph.can_grow() {
            return Err("this graph has an entry and exits; only graphs of tasks grow".into());
        }
        let graph = Arc::new(patch.apply(&self.graph).map_err(|problems| {
            problems
                .first()
                .map_or_else(String::new, |first| first.message.clone())
        })?);
        let mut flow = Flow::begin(&graph);
        for (node, label, visit) in &self.trail {
            flow.take(*node).ok_or("the patch changes what was done")?;
            flow.leave(&graph, *node, label, *visit);
        }
        for node in self
            .open
            .values()
            .map(|open| open.node)
            .chain(self.asked.values().map(|t| t.node))
        {
            flow.take(node)
                .ok_or("the patch changes what is being done")?;
        }
        self.history.grow(graph.len());
        self.flow = flow;
        self.graph = graph;
        Ok(())
    }
}

/// What an `error` edge's target sees as the failed node's output.
fn failure_value(failure: &Failure) -> Value {
    let mut error = Map::new();
    error.insert("code", failure.kind.code().into());
    error.insert("message", failure.message.as_str().into());
    if let Some(data) = &failure.data {
        error.insert("data", data.clone());
    }
    Value::object([("error", error.into())])
}
