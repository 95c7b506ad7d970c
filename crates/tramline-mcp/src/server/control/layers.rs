//! Which layer each task of a run belongs to, and what became of each.
//!
//! A run that pauses after each layer tells by its journal in which layer a task ran. In one that
//! does not, and for tasks that have not run, the layer follows from the dependencies.

use std::collections::HashMap;
use tramline_core::failure::Failure;
use tramline_core::graph::Graph;
use tramline_core::ids::{NodeIx, Seq, StepNo};
use tramline_core::journal::{Answer, Entry, Event, Pause, Policy};
use tramline_core::trace::Trace;
use tramline_core::workflow::{Action, Join, Unhandled};
use tramline_core::{Str, Value};
use tramline_engine::Loaded;

/// What became of a task.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// It gave this.
    Success(Value),
    /// It failed.
    Error(Failure),
    /// It cannot run any more: this one, on which it depends, has failed or was skipped itself.
    Skipped(NodeIx),
}

/// A task with what became of it.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) node: NodeIx,
    pub(super) layer: u32,
    pub(super) end: Option<End>,
    pub(super) duration_ms: i64,
    /// What a person put in the place of its arguments before they agreed, and who.
    pub(super) edit: Option<(Value, Str)>,
}

impl Task {
    pub(super) fn is_failed(&self) -> bool {
        matches!(self.end, Some(End::Error(_)))
    }

    pub(super) fn is_skipped(&self) -> bool {
        matches!(self.end, Some(End::Skipped(_)))
    }
}

/// The tasks of a run, in document order.
pub(super) struct Layers {
    pub(super) tasks: Vec<Task>,
    /// How many layers there are, as far as is known now.
    pub(super) total: u32,
    /// How many of them are done.
    pub(super) completed: u32,
}

impl Layers {
    pub(super) fn of(loaded: &Loaded) -> Self {
        let graph = &loaded.run.graph;
        let (order, before) = order(graph);
        let mut tasks = ended(loaded);
        let layered = loaded.run.started.policy == Policy::Layered;
        let passed = if layered { passed(&loaded.entries) } else { 0 };
        for at in order {
            let deeper = before[at].iter().map(|dep| tasks[dep.at()].layer + 1).max();
            if tasks[at].end.is_none() {
                tasks[at].end = skipped(graph, &before[at], &tasks, at);
                let least = if tasks[at].end.is_none() { passed } else { 0 };
                tasks[at].layer = deeper.unwrap_or(0).max(least);
            } else if !layered {
                tasks[at].layer = deeper.unwrap_or(0);
            }
        }
        let is_entry = |task: &Task| matches!(graph.node(task.node).action, Action::Entry);
        tasks.retain(|task| !is_entry(task));
        let total = tasks.iter().map(|task| task.layer + 1).max().unwrap_or(0);
        let open = tasks.iter().filter(|task| task.end.is_none());
        let completed = open.map(|task| task.layer).min().unwrap_or(total);
        Self {
            tasks,
            total,
            completed,
        }
    }
}

/// The nodes with each after those it depends on, and what each depends on. Parameters are there
/// from the beginning: nothing waits for them.
fn order(graph: &Graph) -> (Vec<usize>, Vec<Vec<NodeIx>>) {
    let mut before = vec![Vec::new(); graph.len()];
    let mut after = vec![Vec::new(); graph.len()];
    for edge in &graph.workflow.edges {
        if let (Some(from), Some(to)) = (graph.find(&edge.from), graph.find(&edge.to))
            && !matches!(graph.node(from).action, Action::Entry)
        {
            before[to.at()].push(from);
            after[from.at()].push(to.at());
        }
    }
    let mut missing: Vec<_> = before.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..graph.len()).filter(|at| missing[*at] == 0).collect();
    let mut done = 0;
    while let Some(&at) = order.get(done) {
        done += 1;
        for &next in &after[at] {
            missing[next] -= 1;
            if missing[next] == 0 {
                order.push(next);
            }
        }
    }
    (order, before)
}

/// What became of each node so far, with the layer it ran in if the run has layers.
fn ended(loaded: &Loaded) -> Vec<Task> {
    let graph = &loaded.run.graph;
    let ran = ran_in(&loaded.entries);
    let task = |at: u32| Task {
        node: NodeIx(at),
        layer: 0,
        end: None,
        duration_ms: 0,
        edit: None,
    };
    let mut tasks: Vec<_> = (0..graph.len() as u32).map(task).collect();
    let trace = Trace::of(&loaded.run.id, graph, &loaded.entries);
    for step in trace.steps.into_iter().filter(|step| step.item.is_none()) {
        let Some(task) = graph.find(&step.node).map(|at| &mut tasks[at.at()]) else {
            continue;
        };
        task.end = match (step.status, step.error) {
            ("open", _) => continue,
            (_, Some(failure)) => Some(End::Error(failure)),
            (_, None) => Some(End::Success(step.output.unwrap_or_default())),
        };
        task.duration_ms = step.duration_ms.unwrap_or(0);
        task.layer = ran.get(&step.step).copied().unwrap_or(0);
    }
    for (node, edit) in edits(&loaded.entries) {
        tasks[node.at()].edit = Some(edit);
    }
    tasks
}

/// The arguments that persons changed before they agreed: which node's, to what, by whom.
fn edits(entries: &[Entry]) -> impl Iterator<Item = (NodeIx, (Value, Str))> + '_ {
    let mut asked: HashMap<Seq, NodeIx> = HashMap::new();
    entries.iter().filter_map(move |entry| match &entry.event {
        Event::Paused { pause } => {
            asked.extend(pause.node().map(|node| (entry.seq, node)));
            None
        }
        Event::Answered {
            pause,
            answer: Answer::ProceedWith { arguments },
            by,
            ..
        } => Some((*asked.get(pause)?, (arguments.clone(), by.clone()))),
        _ => None,
    })
}

/// How many pauses after layers there were before each step began.
fn ran_in(entries: &[Entry]) -> HashMap<StepNo, u32> {
    let mut layer = 0;
    let mut ran = HashMap::new();
    for entry in entries {
        match &entry.event {
            Event::Paused {
                pause: Pause::Layer { .. },
            } => layer += 1,
            Event::StepStarted { step, .. }
            | Event::Spread { step, .. }
            | Event::Waiting { step, .. }
            | Event::StepFinished { step, .. }
            | Event::StepFailed { step, .. } => {
                ran.entry(*step).or_insert(layer);
            }
            Event::Started(_)
            | Event::Resumed { .. }
            | Event::Gathered { .. }
            | Event::AttemptFailed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Watched { .. }
            | Event::Amended { .. }
            | Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_)
            | Event::Finished { .. } => {}
        }
    }
    ran
}

/// How many layers have ended with a pause.
fn passed(entries: &[Entry]) -> u32 {
    let is_layer = |entry: &&Entry| {
        matches!(
            entry.event,
            Event::Paused {
                pause: Pause::Layer { .. }
            }
        )
    };
    entries.iter().filter(is_layer).count() as u32
}

/// Why a task that has not run never will, if that is so.
fn skipped(graph: &Graph, before: &[NodeIx], tasks: &[Task], at: usize) -> Option<End> {
    if graph.workflow.unhandled != Unhandled::SkipsDependents {
        return None;
    }
    let lost = |dep: &&NodeIx| matches!(tasks[dep.at()].end, Some(End::Error(_) | End::Skipped(_)));
    let first = before.iter().find(lost)?;
    let all = before.iter().all(|dep| lost(&dep));
    let starved = match graph.workflow.nodes[at].join {
        Join::All => true,
        Join::Any => all,
    };
    starved.then_some(End::Skipped(*first))
}
