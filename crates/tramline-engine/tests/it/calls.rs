//! Calls that fail: timeouts, retries, error edges.

use crate::support::{done, ended, engine, graphs, load};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tramline_engine::ports::ToolHints;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{DriveOutcome, RunStart};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::{Event, Outcome, RunEvent};
use tramline_workflow::workflow::{Action, Edge, Node, RetryPolicy, Template, Workflow};

fn graph(node: impl FnOnce(Node) -> Node, on_error: bool) -> Arc<Graph> {
    let arguments = Template::Literal(Value::object::<Str>([]));
    let call = Node::new(
        "call",
        Action::Call {
            tool: ToolName::new("t", "x"),
            arguments,
        },
    );
    let mend = Action::Compute {
        expression: "{\"mended\": call.error.code}".into(),
    };
    let mut nodes = vec![
        Node::new("entry", Action::Entry),
        node(call),
        Node::new("exit", Action::Exit),
    ];
    let mut edges = vec![Edge::new("entry", "call"), Edge::new("call", "exit")];
    if on_error {
        nodes.push(Node::new("mend", mend));
        edges.push(Edge::labelled("call", "mend", "error"));
        edges.push(Edge::new("mend", "exit"));
    }
    let workflow = Workflow {
        name: "w".into(),
        nodes,
        edges,
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

/// A tool that fails this many times before it works.
fn flaky(times: u32, kind: FailureKind, hints: ToolHints) -> Arc<FakeTools> {
    let left = Arc::new(AtomicU32::new(times));
    Arc::new(FakeTools::new().tool("t", "x", hints, move |_| {
        let left = Arc::clone(&left);
        async move {
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            }) {
                Ok(_) => Err(Failure::new(kind, "not yet")),
                Err(_) => Ok("worked".into()),
            }
        }
    }))
}

async fn outcome(graph: Arc<Graph>, tools: &Arc<FakeTools>) -> (Outcome, Vec<Event>) {
    let store = MemoryStore::new();
    let engine = engine(&store, tools);
    let handle = engine
        .start(RunStart::new(graph, Value::Null))
        .await
        .unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Finished(outcome) = handle.wait().await.unwrap() else {
        panic!("the run paused")
    };
    let events = load(&engine, &run)
        .await
        .entries
        .into_iter()
        .map(|entry| entry.event)
        .collect();
    (outcome, events)
}

const TWICE: RetryPolicy = RetryPolicy {
    max: 2,
    wait_ms: 1,
    backoff: 2.0,
};
const LOOKS: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: None,
    idempotent: None,
    open_world: None,
};

#[tokio::test]
async fn a_failed_call_is_repeated_with_its_key() {
    let tools = flaky(2, FailureKind::Tool, ToolHints::default());
    let (outcome, events) = outcome(
        graph(
            |node| Node {
                retry: Some(TWICE),
                ..node
            },
            false,
        ),
        &tools,
    )
    .await;
    assert_eq!(
        outcome,
        Outcome::Completed {
            result: "worked".into()
        }
    );
    let calls = tools.calls();
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call.key == calls[0].key));
    let waits: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Run(RunEvent::AttemptFailed { wait_ms, .. }) => Some(*wait_ms),
            _ => None,
        })
        .collect();
    assert_eq!(waits, [1, 2]);
}

#[tokio::test]
async fn retries_end() {
    let tools = flaky(9, FailureKind::Tool, ToolHints::default());
    let (outcome, _) = outcome(
        graph(
            |node| Node {
                retry: Some(TWICE),
                ..node
            },
            false,
        ),
        &tools,
    )
    .await;
    assert!(
        matches!(outcome, Outcome::Failed { node: Some(_), .. }),
        "{outcome:?}"
    );
    assert_eq!(tools.calls().len(), 3);
}

#[tokio::test]
async fn a_call_that_may_have_happened_is_repeated_only_if_it_may_be() {
    for (hints, calls) in [(LOOKS, 3), (ToolHints::default(), 1)] {
        let tools = flaky(2, FailureKind::Unavailable, hints);
        let (outcome, _) = outcome(
            graph(
                |node| Node {
                    retry: Some(TWICE),
                    ..node
                },
                false,
            ),
            &tools,
        )
        .await;
        assert_eq!(tools.calls().len(), calls);
        match outcome {
            Outcome::Completed { .. } => assert_eq!(calls, 3),
            Outcome::Failed { failure, .. } => {
                assert!(failure.message.contains("idempotent: true"), "{failure}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn an_error_edge_takes_the_failure() {
    let tools = flaky(9, FailureKind::Tool, ToolHints::default());
    let (outcome, _) = outcome(graph(|node| node, true), &tools).await;
    assert_eq!(
        outcome,
        Outcome::Completed {
            result: Value::object([("mended", "T0501".into())])
        }
    );
}

#[tokio::test]
async fn an_unknown_tool_is_said_and_not_repeated() {
    let tools = Arc::new(FakeTools::new());
    let (outcome, _) = outcome(
        graph(
            |node| Node {
                retry: Some(TWICE),
                ..node
            },
            false,
        ),
        &tools,
    )
    .await;
    let Outcome::Failed { failure, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.kind, FailureKind::UnknownTool);
}

#[tokio::test]
async fn a_call_gets_only_its_time() {
    let tools = Arc::new(FakeTools::new().tool("t", "x", LOOKS, |_| async {
        tokio::time::sleep(Duration::from_secs(600)).await;
        Ok(Value::Null)
    }));
    let node = |node| Node {
        timeout_ms: Some(20),
        ..node
    };
    let (outcome, _) = outcome(graph(node, false), &tools).await;
    let Outcome::Failed { failure, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(failure.kind, FailureKind::Timeout);
}

#[tokio::test]
async fn what_may_not_be_repeated_has_ended_durably_before_anything_else_leaves() {
    const CHAIN: &str = "
  - name: chain
    description: Works, then looks.
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: work}
      - {id: work, type: mcp, server: t, tool: work, args: {task: a}, next: look}
      - {id: look, type: mcp, server: t, tool: look, args: {task: $.work.did}, next: exit}
      - {id: exit, type: exit}
";
    let store = MemoryStore::new();
    let looks = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let (called, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let tools = FakeTools::new()
        .tool("t", "work", ToolHints::default(), |arguments| async move {
            Ok(done(&arguments))
        })
        .tool("t", "look", looks, move |_| {
            let _ = called.send(());
            std::future::pending()
        });
    let engine = engine(&store, &Arc::new(tools));
    let start = RunStart::new(graphs(CHAIN).remove(0), Value::object::<Str>([]));
    let handle = engine.start(start).await.unwrap();
    heard.recv().await.unwrap();
    // What another process would find if this one crashed now.
    let found = load(&engine, &handle.run).await;
    assert_eq!(ended(&found), ["entry", "work"]);
    engine.close().await;
}
