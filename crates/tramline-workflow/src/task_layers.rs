//! The layer and the result of each task of a run.
//!
//! For a run that pauses after each layer, the journal shows in which layer a task ran. Otherwise, and for
//! tasks that have not run, the layer follows from the dependencies.

use crate::failure::Failure;
use crate::graph::Graph;
use crate::ids::NodeIx;
use crate::journal::SchedulePolicy;
use crate::run::{Run, TaskEnd};
use crate::workflow::{Action, Join, UnhandledFailure};
use tramline_expr::{Str, Value};

/// The result of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskResult {
    /// It succeeded with this output.
    Success(Value),
    /// It failed.
    Error(Failure),
    /// It can no longer run: this dependency failed or was skipped.
    Skipped(NodeIx),
}

/// A task and its result.
#[derive(Clone, Debug)]
pub struct DagTask {
    /// The node.
    pub node: NodeIx,
    /// The layer that it ran in or will run in, from 0.
    pub layer: u32,
    /// The result, if there is one.
    pub result: Option<TaskResult>,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// The arguments that a person edited before approving, and the person's name.
    pub edit: Option<(Value, Str)>,
}

impl DagTask {
    /// Whether it failed.
    pub fn is_failed(&self) -> bool {
        matches!(self.result, Some(TaskResult::Error(_)))
    }

    /// Whether it can no longer run.
    pub fn is_skipped(&self) -> bool {
        matches!(self.result, Some(TaskResult::Skipped(_)))
    }
}

/// The tasks of a run, in document order.
#[derive(Clone, Debug)]
pub struct TaskLayers {
    /// The tasks, without the entry.
    pub tasks: Vec<DagTask>,
    /// The number of layers known so far.
    pub total: u32,
    /// The number of completed layers.
    pub completed: u32,
}

impl TaskLayers {
    /// The tasks of a run so far.
    pub fn of(run: &Run) -> Self {
        let graph = run.graph.as_ref();
        let (order, before) = topological_order(graph);
        let mut tasks = task_results(run);
        let layered = run.started.policy == SchedulePolicy::Layered;
        let passed = if layered {
            run.records.passed_layers
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
fn task_results(run: &Run) -> Vec<DagTask> {
    let graph = run.graph.as_ref();
    let task = |at: u32| {
        let node = NodeIx(at);
        let record = run.records.get(node);
        let output = || run.outputs().get(&graph.node(node).id).cloned();
        DagTask {
            node,
            layer: record.map_or(0, |it| it.layer),
            result: record.and_then(|it| it.end.as_ref()).map(|end| match end {
                TaskEnd::Succeeded => TaskResult::Success(output().unwrap_or_default()),
                TaskEnd::Failed(failure) => TaskResult::Error((**failure).clone()),
            }),
            duration_ms: record.map_or(0, |it| it.duration_ms),
            edit: record.and_then(|it| it.edit.as_deref().cloned()),
        }
    };
    (0..graph.len() as u32).map(task).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;
    use crate::ids::RunId;
    use crate::journal::{Entry, Event, Pause, RunEvent, RunStarted};
    use crate::workflow::{Edge, Node, Workflow};
    use std::sync::Arc;

    /// `a` and `b` run first; `c` needs `a`, `d` needs `b`, and `e` needs both `c` and `d`.
    fn started() -> Run {
        let action = || Action::Compute {
            expression: "1".into(),
        };
        let edges = [("a", "c"), ("b", "d"), ("c", "e"), ("d", "e")];
        let workflow = Workflow {
            name: "w".into(),
            nodes: ["a", "b", "c", "d", "e"]
                .map(|id| Node {
                    join: Join::All,
                    ..Node::new(id, action())
                })
                .into(),
            edges: edges.map(|(from, to)| Edge::new(from, to)).into(),
            unhandled: UnhandledFailure::SkipsDependents,
            ..Workflow::default()
        };
        let graph = Arc::new(Graph::build(workflow).unwrap().0);
        let started = r#"{"workflow": null, "input": {}, "by": "test", "policy": "Layered"}"#;
        let started: RunStarted<()> = serde_json::from_str(started).unwrap();
        let started = started.with_workflow(Arc::clone(&graph.workflow));
        Run::start(RunId::new(0, 0), graph, started, 1_000).unwrap()
    }

    fn apply(run: &mut Run, at_ms: i64, event: RunEvent) {
        let seq = run.seq + 1;
        let event = Event::Run(event);
        run.apply(&Entry { seq, at_ms, event }).unwrap();
    }

    #[test]
    fn the_run_knows_layers_results_and_what_is_skipped() {
        let mut run = started();
        let done = RunEvent::StepFinished {
            step: 1,
            node: NodeIx(0),
            label: None,
            output: 7.into(),
        };
        apply(&mut run, 1_005, done);
        let failure = Failure::new(FailureKind::Tool, "no");
        let failed = RunEvent::StepFailed {
            step: 2,
            node: NodeIx(1),
            failure: failure.clone(),
        };
        apply(&mut run, 1_012, failed);
        let pause = Pause::Layer { index: 0 };
        apply(&mut run, 1_012, RunEvent::Paused { pause });
        let layers = TaskLayers::of(&run);
        let tasks = layers.tasks.iter();
        let tasks: Vec<_> = tasks.map(|it| (it.layer, it.result.clone())).collect();
        let expected = [
            (0, Some(TaskResult::Success(7.into()))),
            (0, Some(TaskResult::Error(failure))),
            (1, None),
            (1, Some(TaskResult::Skipped(NodeIx(1)))),
            (2, Some(TaskResult::Skipped(NodeIx(3)))),
        ];
        assert_eq!(tasks, expected);
        assert_eq!((layers.total, layers.completed), (3, 1));
        // A step without a start event began with the event before it.
        let took: Vec<_> = layers.tasks.iter().map(|it| it.duration_ms).collect();
        assert_eq!(took, [5, 7, 0, 0, 0]);
    }
}
