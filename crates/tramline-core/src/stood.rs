//! A run as it stood after one of its events: how each node stood, which ways were taken.

use crate::headline::{Headline, Teller};
use crate::ids::{NodeIx, StepNo};
use crate::journal::{Answer, Entry, Event};
use crate::run::Run;
use crate::sop::Sop;
use crate::workflow::{DEFAULT_LABEL, ERROR_LABEL};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tramline_expr::Str;

/// How a node stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodeStood {
    /// `idle`, `running`, `succeeded`, `failed`, `skipped`, `waiting` or `retrying`.
    pub status: &'static str,
    /// How often it was visited.
    pub visits: u64,
}

/// A run as it stood.
#[derive(Clone, Debug, Serialize)]
pub struct Stood {
    /// The event, in one line.
    #[serde(flatten)]
    pub event: Headline,
    /// Every node, by its id.
    pub nodes: BTreeMap<Str, NodeStood>,
    /// The ways that were taken, each once.
    pub taken: Vec<(Str, Str)>,
    /// The nodes whose output expressions could see.
    pub scope_keys: Vec<Str>,
}

#[derive(Default)]
struct Fold {
    states: HashMap<Str, &'static str>,
    /// What each node stood at before somebody was asked about it.
    before: HashMap<Str, &'static str>,
    open: HashMap<StepNo, Str>,
    /// The labels that nodes ended with.
    ended: HashSet<(NodeIx, Str)>,
}

impl Stood {
    /// How a run stood. `run` is the fold of these very entries.
    pub fn of(run: &Run, entries: &[Entry]) -> Self {
        let (mut teller, mut fold) = (Teller::default(), Fold::default());
        let mut last = Headline::default();
        for entry in entries {
            last = teller.tell(entry);
            fold.add(entry, &last);
        }
        let graph = &run.graph;
        let over = run.outcome.is_some();
        let nodes = graph.workflow.nodes.iter().zip((0..).map(NodeIx));
        let nodes = nodes.map(|(node, at)| {
            let status = match fold.states.get(&node.id).copied() {
                // What was under way at the end was let go of.
                Some("running" | "waiting" | "retrying") | None if over => "skipped",
                Some(status) => status,
                None => "idle",
            };
            let visits = run.visits(at);
            (node.id.clone(), NodeStood { status, visits })
        });
        let mut taken = BTreeSet::new();
        for (node, label) in &fold.ended {
            for out in graph.outs(*node).iter().filter(|out| out.label == *label) {
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

impl Stood {
    /// How a guided run stood: where it was and where it had been.
    pub fn guided(sop: &Sop, entries: &[Entry]) -> Self {
        let mut teller = Teller::default();
        let mut last = Headline::default();
        let (mut visits, mut path) = (HashMap::<Str, u64>::new(), Vec::<Str>::new());
        for entry in entries {
            last = teller.tell(entry);
            if let (Event::Moved(_), Some(node)) = (&entry.event, &last.node) {
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
            let stood = NodeStood {
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

impl Fold {
    fn add(&mut self, entry: &Entry, line: &Headline) {
        match &entry.event {
            Event::Answered { answer, .. } => self.answered(line, answer),
            Event::StepFinished { node, label, .. } if line.item.is_none() => {
                let label = label.clone().unwrap_or_else(|| DEFAULT_LABEL.into());
                self.ended.insert((*node, label));
            }
            Event::Gathered { node, .. } => {
                self.ended.insert((*node, DEFAULT_LABEL.into()));
            }
            Event::StepFailed { node, .. } if line.item.is_none() => {
                self.ended.insert((*node, ERROR_LABEL.into()));
            }
            _ => {}
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
        // The step that is spread ends when all its items have.
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

    /// After an answer a node stands as it did before the question, unless it was skipped.
    fn answered(&mut self, line: &Headline, answer: &Answer) {
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
