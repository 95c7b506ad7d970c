//! A run's state: nothing but the fold of its journal.
//!
//! Applying an event costs the same at a run's end as at its beginning. An event that cannot
//! follow what came before is an error value, never a panic and never half applied.

use crate::graph::{Graph, Problem};
use crate::ids::{NodeIx, RunId, Seq, StepNo};
use crate::journal::{Budget, Entry, Event, Item, Outcome, Pause, ProposedCall, Started};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

mod exact;
mod flow;
mod history;
mod items;
mod rest;
mod steps;
mod watch;
mod words;

use flow::Flow;
pub use flow::{Approval, Token};
use history::History;
pub(crate) use items::Spread;
use rest::Active;
pub(crate) use steps::failure_value;
pub(crate) use watch::{Condition, Watching};

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
    /// How many steps were decided, those of single items among them.
    pub steps: StepNo,
    /// How many of them were for single items.
    pub items: StepNo,
    /// How many calls left, repetitions among them.
    pub calls: u64,
    /// How many tokens models have read and written for it.
    pub tokens: u64,
    /// What it may use before it asks, with all extensions so far: the smaller of its caller's
    /// budget and the operator's.
    pub budget: Budget,
    /// The budget that its caller gave it, with all extensions so far.
    caller_budget: Budget,
    /// The budget that the operator gave it, with all extensions so far.
    operator_budget: Budget,
    pub(crate) scope: Value,
    pub(crate) history: History,
    pub(crate) flow: Flow,
    pub(crate) layer: Layer,
    pub(crate) verdict: Option<Outcome>,
    /// Steps whose call is made for each of several items.
    pub(crate) spreads: BTreeMap<StepNo, Spread>,
    /// Where it is to halt, if anybody said so.
    pub(crate) watching: Option<Box<Watching>>,
    /// Outputs that somebody gave for visits that are about to begin.
    pub(crate) given: Vec<(NodeIx, Value)>,
    /// Calls that somebody agreed to and that are about to be made, by the place of the question.
    pub(crate) agreed: BTreeMap<Seq, Box<ProposedCall>>,
    /// Tokens that somebody was asked about, by the place of the question.
    asked: BTreeMap<Seq, Token>,
    /// The question about its budget that stands: until it is answered nothing begins.
    pub(crate) stalled: Option<Seq>,
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
    /// The item it is made for, if the call is spread over several.
    pub of: Option<Item>,
    /// How many of its attempts have failed.
    pub failed: u32,
    /// What was agreed to before it began.
    pub approval: Approval,
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
    /// The process that had it is gone, or its server was lost after the call had left: the call may
    /// have happened.
    Adrift,
    /// Somebody must say what to do about it.
    Doubted,
    /// It is to be called again now.
    Again,
    /// It lets time pass until then, in milliseconds since 1970.
    Sleeping(i64),
}

/// Where a layered run stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) index: u32,
    /// How many of the ready tokens belong to the current layer.
    pub(crate) left: usize,
    /// Whether a task of the current layer failed and no edge handles it.
    pub(crate) failed: bool,
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
    ///
    /// Fails only over what it says of halting: the graph was checked before.
    pub fn begin(
        id: RunId,
        graph: Arc<Graph>,
        started: Started,
        at_ms: i64,
    ) -> Result<Self, Illegal> {
        let watching = match &started.watch {
            None => None,
            Some(watch) => {
                Watching::over(&graph, watch).map_err(|message| Illegal { seq: 1, message })?
            }
        };
        let flow = Flow::begin(&graph);
        let caller_budget = started.budget.unwrap_or_default();
        let operator_budget = started.operator_budget.unwrap_or_default();
        Ok(Self {
            id,
            started_ms: at_ms,
            seq: 1,
            updated_ms: at_ms,
            outcome: None,
            open: BTreeMap::new(),
            pauses: BTreeMap::new(),
            steps: 0,
            items: 0,
            calls: 0,
            tokens: 0,
            budget: caller_budget.lesser(&operator_budget),
            caller_budget,
            operator_budget,
            scope: Map::with_capacity(graph.len().min(1024)).into(),
            history: History::new(graph.len()),
            layer: Layer {
                index: 0,
                left: flow.ready.len(),
                failed: false,
            },
            flow,
            verdict: None,
            spreads: BTreeMap::new(),
            watching,
            given: Vec::new(),
            agreed: BTreeMap::new(),
            asked: BTreeMap::new(),
            stalled: None,
            active: Active::since(at_ms),
            trail: Vec::new(),
            graph,
            started: Arc::new(started),
        })
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
        let mut run = Self::begin(id, graph, *started, at_ms)?;
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
        self.tick(entry.at_ms);
        self.seq = entry.seq;
        self.updated_ms = entry.at_ms;
        Ok(())
    }

    fn change(&mut self, entry: &Entry) -> Result<(), String> {
        match &entry.event {
            Event::Started(_) => return Err("a run begins once".into()),
            Event::Resumed { .. } => self.taken_over(),
            Event::StepStarted { .. } => self.step_started(&entry.event)?,
            Event::Spread { step, node, items } => self.spread(*step, *node, items)?,
            Event::Gathered { step, node } => self.gathered(*step, *node)?,
            Event::Waiting {
                step,
                node,
                until_ms,
            } => self.waiting(*step, *node, *until_ms)?,
            Event::AttemptFailed { step, in_doubt, .. } => {
                let open = self.open_step(*step)?;
                open.stage = match in_doubt {
                    true => Stage::Adrift,
                    false => Stage::Resting,
                };
                // Whoever takes the run over must ask too.
                open.repeatable &= !in_doubt;
                open.failed += 1;
            }
            Event::StepFinished {
                step,
                node,
                label,
                output,
            } => {
                self.count_tokens(*node, output);
                match self.enter(*step, *node)? {
                    Some(item) => self.item_done(item, output.clone())?,
                    None => self.step_ended(*node, label.as_ref(), output.clone()),
                }
            }
            Event::StepFailed {
                step,
                node,
                failure,
            } => match self.enter(*step, *node)? {
                Some(item) => self.item_failed(item, failure)?,
                None => self.step_failed(*node, failure),
            },
            Event::Paused { pause } => self.paused(entry, pause)?,
            Event::Answered { .. } => self.answered(entry)?,
            Event::Watched { watch, .. } => self.watching = Watching::over(&self.graph, watch)?,
            Event::Amended { patch, .. } => self.amended(patch)?,
            Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_) => return Err("it belongs to a guided run".to_owned()),
            Event::Finished { outcome } => {
                self.outcome = Some(outcome.clone());
                self.open.clear();
                self.pauses.clear();
                self.spreads.clear();
            }
        }
        Ok(())
    }

    /// What every node gave last, by its id.
    pub fn outputs(&self) -> &Value {
        &self.scope
    }

    /// The visit that ended last.
    pub(crate) fn last_visit(&self) -> Option<u32> {
        self.history.last()
    }

    /// How often a node was visited.
    pub fn visits(&self, node: NodeIx) -> u64 {
        self.history.count(Some(node))
    }

    /// The nodes that are about to be entered.
    pub fn ready(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.flow.ready.iter().map(|token| token.node)
    }

    /// The visit of a node that nobody has agreed to yet, if one is about to begin.
    pub fn unapproved(&self, node: NodeIx) -> Option<Token> {
        let mut ready = self.flow.ready.iter();
        ready
            .find(|token| token.node == node && token.leave.approval == Approval::None)
            .copied()
    }

    /// The visit before the one that is asked about, that comes next, or that would.
    pub(crate) fn seen_from(&self) -> Option<u32> {
        let token = self.asked.values().next().or(self.flow.ready.front());
        token.map_or_else(|| self.last_visit(), |token| token.from)
    }
}
