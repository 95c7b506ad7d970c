//! Workflows that call workflows: how many runs one run starts, and how they end.

use crate::support::{graphs, load, tools};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_engine::ports::{Callable, JournalStore, RunFilter, RunStatus, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, Engine, EngineOptions, Fault, Quota, RunStart, WorkflowMap};
use tramline_expr::Value;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{Event, Outcome, RunEvent};
use tramline_workflow::workflow::{
    Action, Edge, FanOutSpec, ItemFailures, Node, Template, WORKFLOW_SERVER, Workflow,
    WorkflowLimits,
};

/// More than anything here should take on a busy machine.
const SOON: Duration = Duration::from_secs(120);

/// A workflow that calls another one for each of these items, and keeps failures.
fn caller(name: &str, of: &str, items: i64) -> Arc<Graph> {
    let tool = ToolName::new(WORKFLOW_SERVER, of.to_owned());
    let arguments = Template::Literal(Value::object::<&str>([]));
    let mut call = Node::new("many", Action::Call { tool, arguments });
    call.each = Some(Box::new(FanOutSpec {
        items: Template::Literal(Value::array((0..items).map(Value::from))),
        name: "item".into(),
        width: 50,
        failures: ItemFailures::Keep,
    }));
    built(name, call)
}

fn built(name: &str, call: Node) -> Arc<Graph> {
    let workflow = Workflow {
        name: name.into(),
        edges: vec![
            Edge::new("entry", call.id.clone()),
            Edge::new(call.id.clone(), "exit"),
        ],
        nodes: vec![
            Node::new("entry", Action::Entry),
            call,
            Node::new("exit", Action::Exit),
        ],
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

fn among(
    store: &MemoryStore,
    tools: &Arc<FakeTools>,
    all: &[Arc<Graph>],
    options: EngineOptions,
) -> Engine {
    let shelf = WorkflowMap::new(all.iter().map(|graph| Callable {
        graph: Arc::clone(graph),
        origin: Value::Null,
    }));
    Engine::with_workflows(
        Arc::new(store.clone()),
        Arc::clone(tools) as _,
        Arc::new(shelf),
        options,
    )
}

fn few(descendants_max: u64) -> EngineOptions {
    EngineOptions {
        descendants_max,
        ..EngineOptions::default()
    }
}

async fn rows(store: &MemoryStore) -> Vec<(RunId, RunStatus)> {
    let filter = RunFilter {
        limit: 10_000,
        ..RunFilter::default()
    };
    let rows = store.runs(filter).await.unwrap().rows;
    rows.into_iter()
        .map(|row| (row.run, row.index_row.status))
        .collect()
}

async fn until(what: &str, store: &MemoryStore, holds: impl Fn(&[(RunId, RunStatus)]) -> bool) {
    let begun = Instant::now();
    loop {
        let rows = rows(store).await;
        if holds(&rows) {
            return;
        }
        assert!(
            begun.elapsed() < SOON,
            "timed out waiting for {what}: {rows:?}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workflow_that_calls_itself_leads_to_so_many_runs_and_ends() {
    let (store, tools) = (MemoryStore::new(), tools());
    let boom = caller("boom", "boom", 50);
    let engine = among(&store, &tools, std::slice::from_ref(&boom), few(60));
    let handle = engine
        .start(RunStart::new(boom, Value::Null))
        .await
        .unwrap();
    let root = handle.run.clone();
    let ended = tokio::time::timeout(SOON, handle.wait()).await;
    let ended = ended.expect("the run did not end").unwrap();
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    let rows = rows(&store).await;
    assert_eq!(rows.len(), 61);
    assert!(rows.iter().all(|(_, status)| status.is_over()), "{rows:?}");
    let mut refused = 0;
    for (run, _) in rows {
        for entry in load(&engine, &run).await.entries {
            if let Event::Run(RunEvent::StepFailed { failure, .. }) = entry.event {
                assert_eq!(failure.kind, FailureKind::Limit, "{failure}");
                refused += usize::from(failure.message.contains("limits.descendants"));
            }
        }
    }
    assert!(refused > 0, "{root}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bound_on_descendants_outlives_the_process() {
    let (store, tools) = (MemoryStore::new(), tools());
    let boom = caller("boom", "boom", 50);
    let first = among(&store, &tools, std::slice::from_ref(&boom), few(60));
    let handle = first
        .start(RunStart::new(Arc::clone(&boom), Value::Null))
        .await;
    drop(handle.unwrap());
    until("some children", &store, |rows| rows.len() > 10).await;
    first.close().await;
    let second = among(
        &store.process(),
        &tools,
        std::slice::from_ref(&boom),
        few(60),
    );
    let recovered = second.recover(|_| true).await.unwrap();
    for handle in recovered.driven {
        let ended = tokio::time::timeout(SOON, handle.wait()).await;
        // A child that its caller resumed first is followed there.
        match ended.expect("the run did not end") {
            Ok(ended) => assert!(matches!(ended, DriveOutcome::Finished(_))),
            Err(fault) => assert!(matches!(
                fault,
                Fault::Elsewhere { .. } | Fault::Ended { .. }
            )),
        }
    }
    until("the end of all", &store, |rows| {
        rows.iter().all(|(_, status)| status.is_over())
    })
    .await;
    assert!(rows(&store).await.len() <= 61);
}

/// A tool that does not answer until it is cancelled.
fn endless() -> Arc<FakeTools> {
    let hang = |_| async { std::future::pending().await };
    Arc::new(FakeTools::new().tool("t", "hang", ToolHints::default(), hang))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_leaves_ends_grandchildren_too_even_if_they_do_not_wait_for_it() {
    let (store, tools) = (MemoryStore::new(), endless());
    let tool = ToolName::new("t", "hang");
    let arguments = Template::Literal(Value::object::<&str>([]));
    let leaf = built("leaf", Node::new("call", Action::Call { tool, arguments }));
    let all = [
        caller("top", "middle", 2),
        caller("middle", "leaf", 2),
        leaf,
    ];
    let options = EngineOptions {
        cancel_grace: Duration::ZERO,
        ..EngineOptions::default()
    };
    let engine = among(&store, &tools, &all, options);
    let handle = engine
        .start(RunStart::new(Arc::clone(&all[0]), Value::Null))
        .await
        .unwrap();
    let root = handle.run.clone();
    until("the leaves", &store, |rows| rows.len() == 7).await;
    let leaving = {
        let (engine, root) = (engine.clone(), root.clone());
        tokio::spawn(async move { engine.abort(&root, "caller".into(), None).await })
    };
    let is_over = |rows: &[(RunId, RunStatus)]| {
        rows.iter()
            .any(|(run, status)| *run == root && status.is_over())
    };
    until("the end of the first", &store, is_over).await;
    leaving.abort();
    until("the end of all", &store, |rows| {
        rows.iter().all(|(_, status)| status.is_over())
    })
    .await;
}

#[tokio::test]
async fn quotas_count_children_and_refuse_them() {
    let (store, tools) = (MemoryStore::new(), tools());
    let boom = caller("boom", "boom", 5);
    let options = EngineOptions {
        quota: Quota {
            runs_open_max: Some(3),
            ..Quota::default()
        },
        ..few(1_000)
    };
    let engine = among(&store, &tools, std::slice::from_ref(&boom), options);
    let handle = engine
        .start(RunStart::new(boom, Value::Null))
        .await
        .unwrap();
    tokio::time::timeout(SOON, handle.wait())
        .await
        .unwrap()
        .unwrap();
    let mut refused = 0;
    for (run, _) in rows(&store).await {
        for entry in load(&engine, &run).await.entries {
            if let Event::Run(RunEvent::StepFailed { failure, .. }) = entry.event {
                refused += usize::from(failure.message.contains("the quota is 3"));
            }
        }
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn a_process_refuses_to_drive_more_runs_than_it_may() {
    let (store, tools) = (MemoryStore::new(), endless());
    let tool = ToolName::new("t", "hang");
    let arguments = Template::Literal(Value::object::<&str>([]));
    let leaf = built("leaf", Node::new("call", Action::Call { tool, arguments }));
    let options = EngineOptions {
        driven_max: 2,
        ..EngineOptions::default()
    };
    let engine = among(&store, &tools, &[], options);
    let begin = || engine.start(RunStart::new(Arc::clone(&leaf), Value::Null));
    let (_first, second) = (begin().await.unwrap(), begin().await.unwrap());
    let Err(Fault::Quota(why)) = begin().await else {
        panic!("a third run was started");
    };
    assert!(why.contains("limits.runs_at_once"), "{why}");
    engine.abort(&second.run, "ann".into(), None).await.unwrap();
    second.wait().await.unwrap();
    begin().await.unwrap();
}

const ROUND: &str = "
  - name: round
    description: Goes round.
    inputSchema: {type: object}
    executionLimits: {maxNodeExecutions: 1000000000, maxExecutionTimeMs: 100000000}
    nodes:
      - {id: entry, type: entry, next: add}
      - {id: add, type: transform, transform: {expr: '1'}, next: again}
      - {id: again, type: switch, conditions: [{rule: {'==': [1, 2]}, target: exit}, {target: add}]}
      - {id: exit, type: exit}
";

#[tokio::test]
async fn a_document_cannot_raise_its_limits_above_the_operators_ceilings() {
    let document = Arc::clone(&graphs(ROUND)[0]);
    let brought = Graph::cautious(&document);
    let mut options = EngineOptions::default();
    assert!(options.ceilings.agents.bytes_max <= 64 << 20);
    options.ceilings.agents = WorkflowLimits {
        steps_max: 20,
        ..options.ceilings.agents
    };
    options.ceilings.documents.steps_max = 50;
    for (graph, steps, name) in [
        (brought, 20_u64, "limits.agents.steps"),
        (document, 50, "limits.documents.steps"),
    ] {
        let engine = among(&MemoryStore::new(), &tools(), &[], options.clone());
        let handle = engine
            .start(RunStart::new(graph, Value::object::<&str>([])))
            .await
            .unwrap();
        let run = handle.run.clone();
        let ended = tokio::time::timeout(SOON, handle.wait()).await;
        let DriveOutcome::Finished(Outcome::Failed { failure, .. }) =
            ended.expect("the run did not end").unwrap()
        else {
            panic!("the run did not fail");
        };
        assert!(failure.message.contains(name), "{failure}");
        assert_eq!(u64::from(load(&engine, &run).await.run.step_count), steps);
    }
}
