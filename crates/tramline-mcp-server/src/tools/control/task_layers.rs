//! The layer and the result of each task of a run.
//!
//! For a run that pauses after each layer, the journal shows in which layer a task ran. Otherwise, and for
//! tasks that have not run, the layer follows from the dependencies.

use std::collections::HashMap;
use tramline_engine::LoadedRun;
use tramline_expr::{Str, Value};
use tramline_views::trace::Trace;
use tramline_workflow::failure::Failure;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{NodeIx, Seq, StepNo};
use tramline_workflow::journal::{Answer, Entry, Event, Pause, SchedulePolicy};
use tramline_workflow::workflow::{Action, Join, UnhandledFailure};

/// Result of a task.
#[derive(Clone, Debug)]
pub(super) enum TaskResult {
    /// It succeeded with this output.
    Success(Value),
    /// It failed.
    Error(Failure),
    /// It can no longer run: this dependency failed or was skipped.
    Skipped(NodeIx),
}

/// A task and its result.
#[derive(Clone, Debug)]
pub(super) struct DagTask {
    pub(super) node: NodeIx,
    pub(super) layer: u32,
    pub(super) result: Option<TaskResult>,
    pub(super) duration_ms: i64,
    /// Arguments that a person edited before approving, and the person's name.
    pub(super) edit: Option<(Value, Str)>,
}

impl DagTask {
    pub(super) fn is_failed(&self) -> bool {
        matches!(self.result, Some(TaskResult::Error(_)))
    }

    pub(super) fn is_skipped(&self) -> bool {
        matches!(self.result, Some(TaskResult::Skipped(_)))
    }
}

/// The tasks of a run, in document order.
pub(super) struct TaskLayers {
    pub(super) tasks: Vec<DagTask>,
    /// Number of layers known so far.
    pub(super) total: u32,
    /// Number of completed layers.
    pub(super) completed: u32,
}

impl TaskLayers {
    pub(super) fn of(loaded: &LoadedRun) -> Self {
        let graph = &loaded.run.graph;
        let (order, before) = topological_order(graph);
        let mut tasks = task_results(loaded);
        let layered = loaded.run.started.policy == SchedulePolicy::Layered;
        let passed = if layered {
            passed_layers(&loaded.entries)
        } else {
            0
        };
        for at in order {
            let deeper = before[at]
                .iter()
                .map(|dep| tasks[dep.index()].layer + 1)
                .max();
            if tasks[at].result.is_none() {
                tasks[at].result = skip_reason(graph, &before[at], &tasks, at);
                let least = if tasks[at].result.is_none() {
                    passed
                } else {
                    0
                };
                tasks[at].layer = deeper.unwrap_or(0).max(least);
            } else if !layered {
                tasks[at].layer = deeper.unwrap_or(0);
            }
        }
        let is_entry = |task: &DagTask| matches!(graph.node(task.node).action, Action::Entry);
        tasks.retain(|task| !is_entry(task));
        let total = tasks.iter().map(|task| task.layer + 1).max().unwrap_or(0);
        let open = tasks.iter().filter(|task| task.result.is_none());
        let completed = open.map(|task| task.layer).min().unwrap_or(total);
        Self {
            tasks,
            total,
            completed,
        }
    }
}

/// The nodes in topological order, and the dependencies of each. Parameters are available from the start, so
/// nothing depends on them.
fn topological_order(graph: &Graph) -> (Vec<usize>, Vec<Vec<NodeIx>>) {
    let mut before = vec![Vec::new(); graph.len()];
    let mut after = vec![Vec::new(); graph.len()];
    for edge in &graph.workflow.edges {
        if let (Some(from), Some(to)) = (graph.find(&edge.from), graph.find(&edge.to))
            && !matches!(graph.node(from).action, Action::Entry)
        {
            before[to.index()].push(from);
            after[from.index()].push(to.index());
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

/// The result of each node so far, with the layer it ran in if the run has layers.
fn task_results(loaded: &LoadedRun) -> Vec<DagTask> {
    let graph = &loaded.run.graph;
    let ran = step_layers(&loaded.entries);
    let task = |at: u32| DagTask {
        node: NodeIx(at),
        layer: 0,
        result: None,
        duration_ms: 0,
        edit: None,
    };
    let mut tasks: Vec<_> = (0..graph.len() as u32).map(task).collect();
    let trace = Trace::of(&loaded.run.id, graph, &loaded.entries);
    for step in trace.steps.into_iter().filter(|step| step.item.is_none()) {
        let Some(task) = graph.find(&step.node).map(|at| &mut tasks[at.index()]) else {
            continue;
        };
        task.result = match (step.status, step.error) {
            ("open", _) => continue,
            (_, Some(failure)) => Some(TaskResult::Error(failure)),
            (_, None) => Some(TaskResult::Success(step.output.unwrap_or_default())),
        };
        task.duration_ms = step.duration_ms.unwrap_or(0);
        task.layer = ran.get(&step.step).copied().unwrap_or(0);
    }
    for (node, edit) in edited_arguments(&loaded.entries) {
        tasks[node.index()].edit = Some(edit);
    }
    tasks
}

/// Arguments that people edited before approving: node, new arguments, person.
fn edited_arguments(entries: &[Entry]) -> impl Iterator<Item = (NodeIx, (Value, Str))> + '_ {
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

/// Number of layer pauses before each step started.
fn step_layers(entries: &[Entry]) -> HashMap<StepNo, u32> {
    let mut layer = 0;
    let mut ran = HashMap::new();
    for entry in entries {
        match &entry.event {
            Event::Paused {
                pause: Pause::Layer { .. },
            } => layer += 1,
            Event::StepStarted { step, .. }
            | Event::FannedOut { step, .. }
            | Event::Waiting { step, .. }
            | Event::StepFinished { step, .. }
            | Event::StepFailed { step, .. } => {
                ran.entry(*step).or_insert(layer);
            }
            Event::Started(_)
            | Event::Resumed { .. }
            | Event::FannedIn { .. }
            | Event::AttemptFailed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::BreakpointsSet { .. }
            | Event::GraphExtended { .. }
            | Event::SopStarted(_)
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

/// Number of layers that ended with a pause.
fn passed_layers(entries: &[Entry]) -> u32 {
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

/// Why a task that has not run never will, if so.
fn skip_reason(
    graph: &Graph,
    before: &[NodeIx],
    tasks: &[DagTask],
    at: usize,
) -> Option<TaskResult> {
    if graph.workflow.unhandled != UnhandledFailure::SkipsDependents {
        return None;
    }
    let lost = |dep: &&NodeIx| {
        matches!(
            tasks[dep.index()].result,
            Some(TaskResult::Error(_) | TaskResult::Skipped(_))
        )
    };
    let first = before.iter().find(lost)?;
    let all = before.iter().all(|dep| lost(&dep));
    let starved = match graph.workflow.nodes[at].join {
        Join::All => true,
        Join::Any => all,
    };
    starved.then_some(TaskResult::Skipped(*first))
}
