//! Graphs of tasks that are extended while they run: what may be added, when, and what stays
//! unchanged.

use crate::support::{dag, engine, load, tools};
use std::sync::Arc;
use tramline_engine::testing::MemoryStore;
use tramline_engine::{DriveOutcome, Engine, Fault, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::graph::{Graph, Patch};
use tramline_workflow::ids::{Checkpoint, RunId, Seq, ToolName};
use tramline_workflow::journal::{Outcome, Pause, SchedulePolicy};
use tramline_workflow::workflow::{Action, Edge, Join, Node, Template};

/// Two tasks in sequence, the second with an approval; it has a parameter and therefore an entry.
fn with_entry() -> Arc<Graph> {
    dag(r#"{"parameters": {"type": "object"}, "tasks": [
        {"id": "a", "tool": "t:look", "arguments": {"task": {"type": "parameter", "name": "x"}}},
        {"id": "b", "tool": "t:look", "arguments": {"task": "b"}, "approval": "really?",
         "depends_on": ["a"]},
        {"id": "c", "tool": "t:look", "arguments": {"task": "c"}, "approval": "and this?"}]}"#)
}

fn task(id: &str) -> Node {
    let action = Action::Call {
        tool: ToolName::new("t", "look"),
        arguments: Template::Literal(Value::object([("task", id.into())])),
    };
    Node {
        join: Join::All,
        ..Node::new(id, action)
    }
}

fn patch(nodes: &[&str], edges: &[(&str, &str)]) -> Patch {
    Patch {
        nodes: nodes.iter().map(|id| task(id)).collect(),
        edges: edges
            .iter()
            .map(|(from, to)| Edge::new(*from, *to))
            .collect(),
    }
}

async fn amend(engine: &Engine, run: &RunId, patch: Patch) -> Result<(), Fault> {
    engine.amend(run, patch, "me".into()).await
}

async fn yes(engine: &Engine, run: &RunId, seq: Seq) {
    let asked = Checkpoint {
        run: run.clone(),
        seq,
    };
    engine
        .approve(&asked, true, "me".into(), None)
        .await
        .unwrap();
}

async fn on(engine: &Engine, run: &RunId) -> DriveOutcome {
    engine.resume(run).await.unwrap().wait().await.unwrap()
}

fn paused(ended: DriveOutcome) -> Vec<(Seq, Pause)> {
    match ended {
        DriveOutcome::Paused(pauses) => pauses,
        other => panic!("{other:?}"),
    }
}

fn start(graph: Arc<Graph>, policy: SchedulePolicy) -> RunStart {
    let mut start = RunStart::new(graph, Value::object([("x", "x".into())]));
    start.policy = policy;
    start
}

#[tokio::test]
async fn a_graph_with_parameters_grows_and_approvals_stay() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let handle = engine
        .start(start(with_entry(), SchedulePolicy::Eager))
        .await
        .unwrap();
    let run = handle.run.clone();
    let pauses = paused(handle.wait().await.unwrap());
    assert_eq!(pauses.len(), 2, "{pauses:?}");
    // One is approved before the graph is extended, the other after.
    yes(&engine, &run, pauses[0].0).await;
    let more = patch(&["free", "after"], &[("a", "after"), ("b", "after")]);
    amend(&engine, &run, more).await.unwrap();
    yes(&engine, &run, pauses[1].0).await;
    let DriveOutcome::Finished(Outcome::Completed { result }) = on(&engine, &run).await else {
        panic!("the run paused again")
    };
    let fields = result.as_object().unwrap();
    let keys: Vec<_> = ["a", "b", "c", "free", "after"]
        .into_iter()
        .filter(|id| fields.contains_key(id))
        .collect();
    assert_eq!(keys, ["a", "b", "c", "free", "after"], "{result}");
    assert_eq!(tools.calls().len(), 5);
    let ended = amend(&engine, &run, patch(&["late"], &[])).await;
    assert!(matches!(ended, Err(Fault::Ended { .. })));
    // Folding the journal gives the same graph.
    assert_eq!(load(&engine, &run).await.run.graph.len(), 6);
}

#[tokio::test]
async fn what_would_not_be_sound_is_refused_in_words() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let handle = engine
        .start(start(with_entry(), SchedulePolicy::Eager))
        .await
        .unwrap();
    let run = handle.run.clone();
    paused(handle.wait().await.unwrap());
    let exit = Patch {
        nodes: vec![Node::new("end", Action::Exit)],
        edges: vec![Edge::new("a", "end")],
    };
    for (bad, says) in [
        (patch(&["a"], &[]), "used twice"),
        (patch(&["x"], &[("nowhere", "x")]), "nowhere"),
        (patch(&["x"], &[("x", "b")]), "cannot depend on new tasks"),
        (patch(&["x"], &[("x", "x")]), "depends on itself"),
        (
            patch(&["x", "y"], &[("a", "x"), ("y", "x"), ("x", "y")]),
            "is on a cycle",
        ),
        (patch(&["x", "y"], &[("y", "x"), ("x", "y")]), "`x`"),
        (patch(&[], &[]), "adds nothing"),
        (exit, "an exit"),
    ] {
        let fault = amend(&engine, &run, bad).await.unwrap_err();
        assert!(matches!(fault, Fault::Rejected(_)), "{fault}");
        assert!(fault.to_string().contains(says), "{fault}");
    }
    let graphs = crate::support::graphs(
        "
- name: plain
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: act}
    - {id: act, type: mcp, server: t, tool: look, args: {}, approval: ok, next: exit}
    - {id: exit, type: exit}",
    );
    let begun = RunStart::new(Arc::clone(&graphs[0]), Value::object::<Str>([]));
    let handle = engine.start(begun).await.unwrap();
    let run = handle.run.clone();
    paused(handle.wait().await.unwrap());
    let fault = amend(&engine, &run, patch(&["x"], &[])).await.unwrap_err();
    assert!(fault.to_string().contains("only graphs of tasks"));
}

#[tokio::test]
async fn a_layered_run_grows_between_layers_only() {
    let (store, tools) = (MemoryStore::new(), tools());
    let engine = engine(&store, &tools);
    let graph = dag(r#"{"parameters": {"type": "object"}, "tasks": [
        {"id": "a", "tool": "t:look", "arguments": {"task": "a"}},
        {"id": "b", "tool": "t:look", "arguments": {"task": "b"}, "approval": "b?",
         "depends_on": ["a"]},
        {"id": "c", "tool": "t:look", "arguments": {"task": "c"}, "depends_on": ["b"]}]}"#);
    let handle = engine
        .start(start(graph, SchedulePolicy::Layered))
        .await
        .unwrap();
    let run = handle.run.clone();
    // The entry is not a layer: the first layer is done when the run pauses.
    let pauses = paused(handle.wait().await.unwrap());
    assert_eq!(pauses[0].1, Pause::Layer { index: 0 });
    assert_eq!(tools.calls().len(), 1);
    amend(&engine, &run, patch(&["free"], &[])).await.unwrap();
    yes(&engine, &run, pauses[0].0).await;
    let late = amend(&engine, &run, patch(&["x"], &[])).await.unwrap_err();
    assert!(late.to_string().contains("a layer is running"), "{late}");
    // The layer is active until its approval is given too.
    let pauses = paused(on(&engine, &run).await);
    assert!(matches!(pauses[0].1, Pause::Approval { .. }), "{pauses:?}");
    let late = amend(&engine, &run, patch(&["x"], &[])).await.unwrap_err();
    assert!(late.to_string().contains("a layer is running"), "{late}");
    yes(&engine, &run, pauses[0].0).await;
    let pauses = paused(on(&engine, &run).await);
    assert_eq!(pauses[0].1, Pause::Layer { index: 1 });
    assert_eq!(tools.calls().len(), 3);
    yes(&engine, &run, pauses[0].0).await;
    let ended = on(&engine, &run).await;
    assert!(matches!(
        ended,
        DriveOutcome::Finished(Outcome::Completed { .. })
    ));
    assert_eq!(tools.calls().len(), 4);
}
