//! A snapshot of a run after one of its events: the state of each node, and the edges taken.

use crate::event_summary::{EventSummarizer, EventSummary};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tramline_expr::Str;
use tramline_workflow::ids::{NodeIx, StepNo};
use tramline_workflow::journal::{Answer, Entry, Event, RunEvent, SopEvent};
use tramline_workflow::run::Run;
use tramline_workflow::sop::Sop;
use tramline_workflow::workflow::{DEFAULT_LABEL, ERROR_LABEL};

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodeState {
    /// `idle`, `running`, `succeeded`, `failed`, `skipped`, `waiting` or `retrying`.
    pub status: &'static str,
    /// The number of visits.
    pub visits: u64,
}

/// The state of a run after an event.
#[derive(Clone, Debug, Serialize)]
pub struct RunSnapshot {
    /// The summary of the event.
    #[serde(flatten)]
    pub event: EventSummary,
    /// Every node, by its id.
    pub nodes: BTreeMap<Str, NodeState>,
    /// The edges taken, each once.
    pub taken: Vec<(Str, Str)>,
    /// The nodes whose outputs expressions could access.
    pub scope_keys: Vec<Str>,
}

#[derive(Default)]
struct SnapshotFold {
    states: HashMap<Str, &'static str>,
    /// The status of each node before its pause.
    before: HashMap<Str, &'static str>,
    open: HashMap<StepNo, Str>,
    /// The labels that nodes finished with.
    ended: HashSet<(NodeIx, Str)>,
}

impl RunSnapshot {
    /// The snapshot of a run. `run` is the fold over the same entries.
    pub fn of(run: &Run, entries: &[Entry]) -> Self {
        let (mut teller, mut fold) = (EventSummarizer::default(), SnapshotFold::default());
        let mut last = EventSummary::default();
        for entry in entries {
            last = teller.summarize(entry);
            fold.add(entry, &last);
        }
        let graph = &run.graph;
        let over = run.outcome.is_some();
        let nodes = graph.workflow.nodes.iter().zip((0..).map(NodeIx));
        let nodes = nodes.map(|(node, at)| {
            let status = match fold.states.get(&node.id).copied() {
                // Steps still open at the end of the run were dropped.
                Some("running" | "waiting" | "retrying") | None if over => "skipped",
                Some(status) => status,
                None => "idle",
            };
            let visits = run.visits(at);
            (node.id.clone(), NodeState { status, visits })
        });
        let mut taken = BTreeSet::new();
        for (node, label) in &fold.ended {
            for out in graph
                .out_edges(*node)
                .iter()
                .filter(|out| out.label == *label)
            {
                taken.insert((*node, out.to));
            }
        }
        let id = |at: NodeIx| graph.node(at).id.clone();
        let keys = run.outputs().as_object();
        Self {
            event: last,
            nodes: nodes.collect(),
            taken: taken.into_iter().map(|(a, b)| (id(a), id(b))).collect(),
            scope_keys: keys
                .into_iter()
                .flat_map(|map| map.keys())
                .cloned()
                .collect(),
        }
    }
}

impl RunSnapshot {
    /// The snapshot of an SOP session: the current node and the visited ones.
    pub fn of_sop(sop: &Sop, entries: &[Entry]) -> Self {
        let mut teller = EventSummarizer::default();
        let mut last = EventSummary::default();
        let (mut visits, mut path) = (HashMap::<Str, u64>::new(), Vec::<Str>::new());
        for entry in entries {
            last = teller.summarize(entry);
            if let (Event::Sop(SopEvent::Moved(_)), Some(node)) = (&entry.event, &last.node) {
                *visits.entry(node.clone()).or_default() += 1;
                path.push(node.clone());
            }
        }
        let nodes = sop.nodes.iter().map(|node| {
            let count = visits.get(&node.id).copied().unwrap_or_default();
            let status = match path.last() {
                Some(here) if *here == node.id => "running",
                Some(_) | None if count > 0 => "succeeded",
                Some(_) | None => "idle",
            };
            let stood = NodeState {
                status,
                visits: count,
            };
            (node.id.clone(), stood)
        });
        let steps = path.windows(2).filter_map(|two| match two {
            [from, to] => Some((from.clone(), to.clone())),
            _ => None,
        });
        Self {
            event: last,
            nodes: nodes.collect(),
            taken: steps.collect::<BTreeSet<_>>().into_iter().collect(),
            scope_keys: Vec::new(),
        }
    }
}

impl SnapshotFold {
    fn add(&mut self, entry: &Entry, line: &EventSummary) {
        if let Event::Run(RunEvent::Answered { answer, .. }) = &entry.event {
            self.answered(line, answer);
        }
        if let Some((_, node)) = entry.event.ended_step()
            && line.item.is_none()
        {
            let label = match (&line.label, line.status) {
                (Some(label), _) => label.clone(),
                (None, Some("failed")) => ERROR_LABEL.into(),
                (None, _) => DEFAULT_LABEL.into(),
            };
            self.ended.insert((node, label));
        }
        if let (Some(step), Some(node)) = (line.step, &line.node) {
            self.open.insert(step, node.clone());
        }
        let node = line
            .node
            .clone()
            .or_else(|| self.open.get(&line.step?).cloned());
        let (Some(node), Some(status)) = (node, line.status) else {
            return;
        };
        // A fan-out step ends when all its items have.
        let is_item_end = line.item.is_some() && matches!(status, "succeeded" | "failed");
        if is_item_end {
            return;
        }
        if line.event == "paused"
            && let Some(before) = self.states.get(&node)
        {
            self.before.insert(node.clone(), before);
        }
        self.states.insert(node, status);
    }

    /// After an answer a node has the status from before the pause, unless it was skipped.
    fn answered(&mut self, line: &EventSummary, answer: &Answer) {
        let Some(node) = &line.node else {
            return;
        };
        let before = self.before.remove(node);
        match (answer, before) {
            (Answer::Skip { .. }, Some("running" | "retrying")) => {
                self.states.insert(node.clone(), "succeeded");
            }
            (_, Some(before)) => {
                self.states.insert(node.clone(), before);
            }
            (_, None) => {
                self.states.remove(node);
            }
        }
    }
}
