//! The state of a run: a fold over its journal.
//!
//! Applying an event costs the same at the end of a run as at its start. An event that cannot
//! follow its predecessors is an error value; it never panics and is never partly applied.

use crate::graph::{Graph, Problem};
use crate::ids::{NodeIx, RunId, Seq, StepNo};
use crate::journal::{
    Budget, Entry, Event, FanOutItem, InvalidEvent, Outcome, Pause, ProposedCall, RunEvent,
    RunStarted, SettingVersions,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

mod active_time;
mod breakpoints;
mod event_check;
mod external_events;
mod fan_out;
mod history;
mod step_events;
mod task_records;
mod tokens;

use active_time::ActiveTime;
pub(crate) use breakpoints::{BreakCondition, CompiledBreakpoints};
pub(crate) use fan_out::FanOut;
use history::VisitHistory;
pub use step_events::failure_value;
pub(crate) use task_records::TaskEnd;
use task_records::TaskRecords;
use tokens::TokenFlow;
pub use tokens::{Approval, Token};

/// One execution of a graph, as recorded in its journal.
#[derive(Clone, Debug)]
pub struct Run {
    /// The id.
    pub id: RunId,
    /// The graph, with all patches so far.
    pub graph: Arc<Graph>,
    /// How it started.
    pub started: Arc<RunStarted>,
    /// When it started.
    pub started_ms: i64,
    /// The position of the last event applied.
    pub seq: Seq,
    /// When that event happened.
    pub updated_ms: i64,
    /// How it ended, if it has.
    pub outcome: Option<Outcome>,
    /// Steps that have started and not ended.
    pub open_steps: BTreeMap<StepNo, OpenStep>,
    /// The nodes whose calls were still without a result when the run ended, and may have happened.
    pub unconfirmed_calls: Vec<NodeIx>,
    /// Open pauses, by their position in the journal.
    pub pauses: BTreeMap<Seq, Pause>,
    /// The number of steps decided, including those of fan-out items.
    pub step_count: StepNo,
    /// The number of steps for fan-out items.
    pub item_count: StepNo,
    /// The number of calls sent, including retries.
    pub call_count: u64,
    /// The number of model tokens used.
    pub model_tokens: u64,
    /// What it may use before it pauses, with all extensions so far: the smaller of the caller's
    /// and the operator's budget.
    pub budget: Budget,
    /// The caller's budget, with all extensions so far.
    caller_budget: Budget,
    /// The operator's budget, with all extensions so far.
    operator_budget: Budget,
    pub(crate) scope: Value,
    pub(crate) history: VisitHistory,
    pub(crate) flow: TokenFlow,
    pub(crate) layer: LayerState,
    pub(crate) pending_outcome: Option<Outcome>,
    /// The open fan-out steps.
    pub(crate) fan_outs: BTreeMap<StepNo, FanOut>,
    /// The breakpoints, if any are set.
    pub(crate) breakpoints: Option<Box<CompiledBreakpoints>>,
    /// Outputs given in answers for visits that are about to start, by the position of the pause.
    pub(crate) given_outputs: BTreeMap<Seq, GivenOutput>,
    /// Approved calls that are about to be made, by the position of the pause.
    pub(crate) approved_calls: BTreeMap<Seq, Box<ProposedCall>>,
    /// Tokens held back by a pause, by the position of the pause.
    held_tokens: BTreeMap<Seq, Token>,
    /// The open budget pause: nothing starts until it is answered.
    pub(crate) budget_pause: Option<Seq>,
    active_time: ActiveTime,
    /// When the event that is being applied happened.
    event_ms: i64,
    pub(crate) records: TaskRecords,
    /// The node and label of every visit, for rebuilding the flow when the graph is extended.
    visit_trail: Vec<(NodeIx, Str, Option<u32>)>,
}

/// The output that an answer gave for a visit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenOutput {
    /// The label, if not the default one.
    pub(crate) label: Option<Str>,
    /// The output.
    pub(crate) output: Value,
}

/// A step that has started and not ended.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenStep {
    /// The node.
    pub node: NodeIx,
    /// The latest attempt, from 1.
    pub attempt: u32,
    /// The arguments of the call.
    pub arguments: Value,
    /// Whether the call may be repeated when it is unknown whether it happened.
    pub repeatable: bool,
    /// The item it is made for, if the call fans out.
    pub item: Option<FanOutItem>,
    /// The number of failed attempts.
    pub failed_attempts: u32,
    /// The approval given before it started.
    pub approval: Approval,
    /// The versions of the settings that its call was approved with, if it was approved.
    pub approved_settings: Option<SettingVersions>,
    /// Whether an agent, and not a person, decided to repeat it while it was in doubt.
    pub is_relayed_retry: bool,
    /// The stage of the step.
    pub stage: StepStage,
}

/// The stage of an open step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStage {
    /// The driving process is performing it.
    Calling,
    /// The last attempt failed; the next one follows after the backoff.
    Backoff,
    /// The process that performed it is gone, or its server was lost after the call was sent: the
    /// call may have happened.
    Orphaned,
    /// A person must decide what to do about it.
    AwaitingDecision,
    /// It is due to be called again.
    RetryDue,
    /// It waits until this time, in milliseconds since 1970.
    Sleeping(i64),
}

/// The nodes of calls that may have happened although they have no result.
fn unconfirmed_calls(open_steps: &BTreeMap<StepNo, OpenStep>) -> Vec<NodeIx> {
    let open = open_steps.values().filter(|open| !open.repeatable);
    let sent = open.filter(|open| match open.stage {
        StepStage::Calling
        | StepStage::Orphaned
        | StepStage::AwaitingDecision
        | StepStage::RetryDue => true,
        StepStage::Backoff | StepStage::Sleeping(_) => false,
    });
    let mut nodes: Vec<_> = sent.map(|open| open.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The current layer of a layered run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LayerState {
    pub(crate) index: u32,
    /// How many ready tokens belong to the current layer.
    pub(crate) left: usize,
    /// Whether a task of the current layer failed without an error edge.
    pub(crate) failed: bool,
}

impl Run {
    /// A run at its first event.
    ///
    /// Fails only if the breakpoints are invalid: the graph has already been checked.
    pub fn start(
        id: RunId,
        graph: Arc<Graph>,
        started: RunStarted,
        at_ms: i64,
    ) -> Result<Self, InvalidEvent> {
        let watching = match &started.watch {
            None => None,
            Some(watch) => CompiledBreakpoints::compile(&graph, watch)
                .map_err(|message| InvalidEvent { seq: 1, message })?,
        };
        let flow = TokenFlow::start(&graph);
        let caller_budget = started.budget.unwrap_or_default();
        let operator_budget = started.operator_budget.unwrap_or_default();
        Ok(Self {
            id,
            started_ms: at_ms,
            seq: 1,
            updated_ms: at_ms,
            outcome: None,
            open_steps: BTreeMap::new(),
            unconfirmed_calls: Vec::new(),
            pauses: BTreeMap::new(),
            step_count: 0,
            item_count: 0,
            call_count: 0,
            model_tokens: 0,
            budget: caller_budget.min(&operator_budget),
            caller_budget,
            operator_budget,
            scope: Map::with_capacity(graph.len().min(1024)).into(),
            history: VisitHistory::new(graph.len()),
            layer: LayerState {
                index: 0,
                left: flow.ready.len(),
                failed: false,
            },
            flow,
            pending_outcome: None,
            fan_outs: BTreeMap::new(),
            breakpoints: watching,
            given_outputs: BTreeMap::new(),
            approved_calls: BTreeMap::new(),
            held_tokens: BTreeMap::new(),
            budget_pause: None,
            active_time: ActiveTime::since(at_ms),
            event_ms: at_ms,
            records: TaskRecords::default(),
            visit_trail: Vec::new(),
            graph,
            started: Arc::new(started),
        })
    }

    /// Folds a whole journal. `graphs` builds or finds the graph for the first event's workflow.
    pub fn fold(
        id: RunId,
        entries: impl IntoIterator<Item = Entry>,
        graphs: impl FnOnce(&RunStarted) -> Result<Arc<Graph>, Vec<Problem>>,
    ) -> Result<Self, InvalidEvent> {
        let mut entries = entries.into_iter();
        let Some(Entry {
            seq: 1,
            at_ms,
            event: Event::Run(RunEvent::Started(started)),
        }) = entries.next()
        else {
            let message = "a journal must begin with Started".to_owned();
            return Err(InvalidEvent { seq: 1, message });
        };
        let graph = graphs(&started).map_err(|problems| InvalidEvent {
            seq: 1,
            message: problems
                .first()
                .map_or_else(String::new, |first| first.message.clone()),
        })?;
        let mut run = Self::start(id, graph, *started, at_ms)?;
        for entry in entries {
            run.apply(&entry)?;
        }
        Ok(run)
    }

    /// Applies the next event.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), InvalidEvent> {
        let illegal = |message: String| InvalidEvent {
            seq: entry.seq,
            message,
        };
        if entry.seq != self.seq + 1 {
            return Err(illegal(format!("event {} was expected", self.seq + 1)));
        }
        if self.outcome.is_some() {
            return Err(illegal("the run has ended".into()));
        }
        let Event::Run(event) = &entry.event else {
            return Err(illegal("it belongs to an SOP session".into()));
        };
        self.event_ms = entry.at_ms;
        self.apply_event(entry, event).map_err(illegal)?;
        self.update_clock(entry.at_ms);
        self.seq = entry.seq;
        self.updated_ms = entry.at_ms;
        Ok(())
    }

    fn apply_event(&mut self, entry: &Entry, event: &RunEvent) -> Result<(), String> {
        match event {
            RunEvent::Started(_) => return Err("the run has already started".into()),
            RunEvent::Resumed { .. } => self.apply_take_over(),
            RunEvent::StepStarted { .. } => self.step_started(event)?,
            RunEvent::FannedOut { step, node, items } => self.start_fan_out(*step, *node, items)?,
            RunEvent::FannedIn { step, node } => self.finish_fan_out(*step, *node)?,
            RunEvent::Waiting {
                step,
                node,
                until_ms,
            } => self.waiting(*step, *node, *until_ms)?,
            RunEvent::AttemptFailed { step, in_doubt, .. } => {
                let open = self.open_step(*step)?;
                open.stage = match in_doubt {
                    true => StepStage::Orphaned,
                    false => StepStage::Backoff,
                };
                // A process that takes over the run must ask too.
                open.repeatable &= !in_doubt;
                open.failed_attempts += 1;
            }
            RunEvent::StepFinished {
                step,
                node,
                label,
                output,
            } => {
                self.count_tokens(*node, output);
                match self.take_step(*step, *node)? {
                    Some(item) => self.finish_item(item, output.clone())?,
                    None => self.step_ended(*node, label.as_ref(), output.clone()),
                }
            }
            RunEvent::StepFailed {
                step,
                node,
                failure,
            } => match self.take_step(*step, *node)? {
                Some(item) => self.fail_item(item, failure)?,
                None => self.step_failed(*node, failure),
            },
            RunEvent::Paused { pause } => self.apply_pause(entry, pause)?,
            RunEvent::Answered { .. } => self.apply_answer(entry)?,
            RunEvent::BreakpointsSet { watch, .. } => {
                self.breakpoints = CompiledBreakpoints::compile(&self.graph, watch)?
            }
            RunEvent::GraphExtended { patch, .. } => self.apply_patch(patch)?,
            RunEvent::Finished { outcome } => {
                self.outcome = Some(outcome.clone());
                self.unconfirmed_calls = unconfirmed_calls(&self.open_steps);
                self.open_steps.clear();
                self.pauses.clear();
                self.fan_outs.clear();
            }
        }
        Ok(())
    }

    /// The latest output of every node, by id.
    pub fn outputs(&self) -> &Value {
        &self.scope
    }

    /// The last finished visit.
    pub(crate) fn last_visit(&self) -> Option<u32> {
        self.history.last()
    }

    /// The pause that was answered with a rejection.
    pub fn rejected_at(&self) -> Option<Seq> {
        self.records.rejected_at
    }

    /// How often a node was visited.
    pub fn visits(&self, node: NodeIx) -> u64 {
        self.history.count(Some(node))
    }

    /// The nodes that are about to be entered.
    pub fn ready(&self) -> impl Iterator<Item = NodeIx> + '_ {
        self.flow.ready.iter().map(|token| token.node)
    }

    /// The approved call that a visit is about to make, if it was approved.
    pub fn approved_call(&self, token: &Token) -> Option<&ProposedCall> {
        let call = self.approved_calls.get(&token.clearance.approved_pause);
        call.map(Box::as_ref)
    }

    /// The approved call of the next visit of a node.
    pub(crate) fn next_approved_call(&self, node: NodeIx) -> Option<&ProposedCall> {
        let next = self.flow.ready.iter().find(|token| token.node == node);
        self.approved_call(next?)
    }

    /// The next visit of a node that has no approval yet, if one is about to start.
    pub fn unapproved(&self, node: NodeIx) -> Option<Token> {
        let mut ready = self.flow.ready.iter();
        ready
            .find(|token| token.node == node && token.clearance.approval == Approval::None)
            .copied()
    }

    /// The visit before the one that is paused, or else that comes next.
    pub(crate) fn seen_from(&self) -> Option<u32> {
        let token = self.held_tokens.values().next().or(self.flow.ready.front());
        token.map_or_else(|| self.last_visit(), |token| token.from)
    }
}
