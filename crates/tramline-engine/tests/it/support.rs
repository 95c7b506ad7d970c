//! Graphs and tools that tests share.

use std::collections::BTreeMap;
use std::sync::Arc;
use tramline_engine::ports::{Callable, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, EngineOptions, LoadedRun, WorkflowMap};
use tramline_expr::Value;
use tramline_formats::{KnownServers, ReadOptions, json_dag, yaml_graph};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{Event, Outcome, RunEvent};
use tramline_workflow::workflow::{Action, Edge, Join, Node, Template, UnhandledFailure, Workflow};

/// A random graph of tasks: for each node, the earlier ones it depends on.
#[derive(Clone, Debug)]
pub(crate) struct Tasks {
    pub(crate) waits_for: Vec<Vec<usize>>,
    /// Which ones fail.
    pub(crate) fails: Vec<bool>,
    /// Which ones call a repeatable tool.
    pub(crate) repeatable: Vec<bool>,
}

pub(crate) fn name(task: usize) -> String {
    format!("n{task}")
}

impl Tasks {
    pub(crate) fn graph(&self) -> Arc<Graph> {
        let nodes = (0..self.waits_for.len()).map(|task| {
            let tool = match (self.fails[task], self.repeatable[task]) {
                (true, _) => "fail",
                (false, true) => "look",
                (false, false) => "work",
            };
            let arguments = Template::Literal(Value::object([("task", name(task).into())]));
            let action = Action::Call {
                tool: ToolName::new("t", tool),
                arguments,
            };
            Node {
                join: Join::All,
                ..Node::new(name(task), action)
            }
        });
        let edges = self
            .waits_for
            .iter()
            .enumerate()
            .flat_map(|(task, before)| {
                before
                    .iter()
                    .map(move |&first| Edge::new(name(first), name(task)))
            });
        let workflow = Workflow {
            name: "tasks".into(),
            nodes: nodes.collect(),
            edges: edges.collect(),
            unhandled: UnhandledFailure::SkipsDependents,
            ..Workflow::default()
        };
        Arc::new(Graph::build(workflow).unwrap().0)
    }

    /// Which tasks can run at all: everything they depend on succeeded.
    pub(crate) fn runs(&self) -> Vec<bool> {
        let mut runs: Vec<bool> = Vec::new();
        for before in &self.waits_for {
            runs.push(
                before
                    .iter()
                    .all(|&first| runs[first] && !self.fails[first]),
            );
        }
        runs
    }

    /// The longest path to each task that can run.
    pub(crate) fn layers(&self) -> BTreeMap<usize, Vec<String>> {
        let runs = self.runs();
        let mut depth: Vec<usize> = Vec::new();
        let mut layers: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (task, before) in self.waits_for.iter().enumerate() {
            let own = before
                .iter()
                .map(|&first| depth[first] + 1)
                .max()
                .unwrap_or(0);
            depth.push(own);
            if runs[task] {
                layers.entry(own).or_default().push(name(task));
            }
        }
        layers
    }
}

/// `work` must not be repeated, `look` may be, `fail` fails.
pub(crate) fn tools() -> Arc<FakeTools> {
    let look = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    Arc::new(
        FakeTools::new()
            .tool("t", "work", ToolHints::default(), |arguments| async move {
                Ok(done(&arguments))
            })
            .tool("t", "look", look, |arguments| async move {
                Ok(done(&arguments))
            })
            .tool("t", "fail", ToolHints::default(), |_| async {
                Err(Failure::new(FailureKind::Tool, "it does not work"))
            }),
    )
}

pub(crate) fn done(arguments: &Value) -> Value {
    Value::object([("did", arguments.get("task").cloned().unwrap_or_default())])
}

pub(crate) fn engine(store: &MemoryStore, tools: &Arc<FakeTools>) -> Engine {
    Engine::new(
        Arc::new(store.clone()),
        Arc::clone(tools) as _,
        EngineOptions::default(),
    )
}

/// An engine whose runs can call these workflows.
pub(crate) fn engine_among(
    store: &MemoryStore,
    tools: &Arc<FakeTools>,
    workflows: &[Arc<Graph>],
) -> Engine {
    let shelf = WorkflowMap::new(workflows.iter().map(|graph| Callable {
        graph: Arc::clone(graph),
        origin: Value::Null,
    }));
    Engine::with_workflows(
        Arc::new(store.clone()),
        Arc::clone(tools) as _,
        Arc::new(shelf),
        EngineOptions::default(),
    )
}

/// The graphs of a document with the tools of the server `t`.
pub(crate) fn graphs(tools: &str) -> Vec<Arc<Graph>> {
    let document = format!("version: '1.0'\nserver: {{name: s, version: '1'}}\ntools:\n{tools}");
    let read = yaml_graph::read_with(document.as_bytes(), &["t".into()]);
    read.unwrap_or_else(|flaws| panic!("{flaws:?}")).workflows
}

/// The graph of a DAG with the tools of the server `t`.
pub(crate) fn dag(text: &str) -> Arc<Graph> {
    let hint = ReadOptions {
        known_servers: KnownServers::Configured(&["t".into()]),
        ..ReadOptions::default()
    };
    let read = json_dag::read_value(&Value::from_json(text).unwrap(), hint);
    let mut read = read.unwrap_or_else(|flaws| panic!("{flaws:?}"));
    read.workflows.remove(0)
}

/// The nodes of a run's ended steps, in order.
pub(crate) fn ended(loaded: &LoadedRun) -> Vec<String> {
    let id = |node: tramline_workflow::ids::NodeIx| loaded.run.graph.node(node).id.to_string();
    loaded
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Run(RunEvent::StepFinished { node, .. })
            | Event::Run(RunEvent::StepFailed { node, .. }) => Some(id(*node)),
            _ => None,
        })
        .collect()
}

pub(crate) fn result(outcome: &Outcome) -> &Value {
    match outcome {
        Outcome::Completed { result } => result,
        other => panic!("not completed: {other:?}"),
    }
}

pub(crate) async fn load(engine: &Engine, run: &RunId) -> LoadedRun {
    engine.load(run).await.unwrap()
}
