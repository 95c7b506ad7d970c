//! Policy: what the operator forbids or wants asked, whoever calls and however deep.

use crate::support::{graphs, tools};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, ToolName};
use tramline_core::journal::{Answer, Event, Outcome, Pause};
use tramline_core::workflow::{Action, Node, Template, Workflow};
use tramline_core::{Str, Value};
use tramline_engine::seams::{Call, Callable, Exchange, Hints, Listing, Tool, Tools};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Ended, Engine, Options, Pattern, Policy, Scratch, Shelf, Start};

fn policy(ask: &[&str], deny: &[&str]) -> Options {
    let read = |all: &[&str]| all.iter().map(|one| Pattern::parse(one).unwrap()).collect();
    Options {
        policy: Policy {
            ask: read(ask),
            deny: read(deny),
        },
        scratch: Some(Scratch::new(|| Ok(Arc::new(MemoryStore::new()) as _))),
        ..Options::default()
    }
}

/// `plain` calls, `spread` calls for each of three, `outer` calls `plain`.
fn workflows() -> Vec<Arc<Graph>> {
    graphs(
        "
- name: plain
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: act}
    - {id: act, type: mcp, server: t, tool: work, args: {task: x}, idempotent: true, next: exit}
    - {id: exit, type: exit}
- name: spread
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: act}
    - {id: act, type: mcp, server: t, tool: work, map: {over: [1, 2, 3]}, args: {task: $item}, next: exit}
    - {id: exit, type: exit}
- name: outer
  description: d
  inputSchema: {type: object}
  outputSchema: {}
  nodes:
    - {id: entry, type: entry, next: inner}
    - {id: inner, type: workflow, workflow: plain, args: {}, next: exit}
    - {id: exit, type: exit}",
    )
}

fn engine(tools: &Arc<FakeTools>, options: Options) -> Engine {
    let shelf = Shelf::new(workflows().into_iter().map(|graph| Callable {
        graph,
        origin: Value::Null,
    }));
    let store = Arc::new(MemoryStore::new());
    Engine::with_workflows(store, Arc::clone(tools) as _, Arc::new(shelf), options)
}

fn begin(graph: &Arc<Graph>) -> Start {
    Start::new(Arc::clone(graph), Value::object::<Str>([]))
}

#[tokio::test]
async fn what_is_denied_fails_in_every_shape_and_depth() {
    for graph in &workflows() {
        let tools = tools();
        let engine = engine(&tools, policy(&[], &["t:w*"]));
        let ended = engine.start(begin(graph)).await.unwrap().ended().await;
        let Ok(Ended::Finished(Outcome::Failed { failure, .. })) = ended else {
            panic!("{ended:?}")
        };
        assert!(failure.message.contains("t:w*"), "{failure}");
        if graph.workflow.name != "outer" {
            assert_eq!(failure.kind, FailureKind::Forbidden);
        }
        assert_eq!(tools.calls(), []);
    }
}

#[tokio::test]
async fn what_is_asked_about_waits_once_and_then_goes_on() {
    for (graph, expected) in workflows().iter().zip([1, 3]) {
        let tools = tools();
        let engine = engine(&tools, policy(&["*:work"], &[]));
        let handle = engine.start(begin(graph)).await.unwrap();
        let run = handle.run.clone();
        let Ended::Paused(pauses) = handle.ended().await.unwrap() else {
            panic!("nobody asked")
        };
        let (seq, Pause::Approval { reason, .. }) = &pauses[0] else {
            panic!("{pauses:?}")
        };
        assert!(reason.contains("*:work"), "{reason}");
        assert_eq!(tools.calls(), []);
        let asked = Checkpoint {
            run: run.clone(),
            seq: *seq,
        };
        engine
            .approve(&asked, true, "me".into(), None)
            .await
            .unwrap();
        let ended = engine.resume(&run).await.unwrap().ended().await.unwrap();
        assert!(matches!(ended, Ended::Finished(Outcome::Completed { .. })));
        assert_eq!(tools.calls().len(), expected);
        // Done again, the record's answer is given to the same question.
        let again = engine.replay(&run, None).await.unwrap();
        assert!(again.unanswered.is_empty(), "{:?}", again.unanswered);
        assert!(again.unused.is_empty());
    }
}

#[tokio::test]
async fn a_workflow_inside_another_is_asked_about_too() {
    let tools = tools();
    let engine = engine(&tools, policy(&["t:*"], &[]));
    let handle = engine.start(begin(&workflows()[2])).await.unwrap();
    let Ended::Paused(pauses) = handle.ended().await.unwrap() else {
        panic!("nobody asked")
    };
    let Pause::Child { run: child, .. } = &pauses[0].1 else {
        panic!("{pauses:?}")
    };
    let stands = engine.load(child).await.unwrap().run;
    assert!(matches!(
        stands.pauses.values().next(),
        Some(Pause::Approval { .. })
    ));
    assert_eq!(tools.calls(), []);
}

/// A server that cannot be asked at first, and then says that its tool destroys.
struct Late {
    away: AtomicUsize,
    tools: FakeTools,
}

#[async_trait::async_trait]
impl Tools for Late {
    fn known(&self, name: &ToolName) -> Option<Arc<Tool>> {
        let seen = self.away.load(Ordering::SeqCst) == 0;
        self.tools.known(name).filter(|_| seen)
    }

    async fn find(&self, name: &ToolName) -> Result<Arc<Tool>, Failure> {
        let left = self
            .away
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        match left {
            Ok(_) => Err(Failure::new(FailureKind::Unavailable, "not yet")),
            Err(_) => self.tools.find(name).await,
        }
    }

    async fn list(&self) -> Vec<Listing> {
        self.tools.list().await
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        self.tools.exchange(name, key)
    }

    async fn call(&self, call: Call) -> Result<Value, Failure> {
        self.tools.call(call).await
    }
}

fn cautious(repeatable: Option<bool>) -> Arc<Graph> {
    let arguments = Template::Literal(Value::object::<Str>([]));
    let action = Action::Call {
        tool: ToolName::new("t", "wipe"),
        arguments,
    };
    let node = Node {
        repeatable,
        ..Node::new("wipe", action)
    };
    let workflow = Workflow {
        name: "tasks".into(),
        nodes: vec![node],
        cautious: true,
        transient: Some(tramline_core::workflow::Retry {
            max: 3,
            wait_ms: 1,
            backoff: 1.0,
        }),
        ..Workflow::default()
    };
    Arc::new(Graph::build(workflow).unwrap().0)
}

#[tokio::test]
async fn a_cautious_workflow_asks_before_it_destroys() {
    for repeatable in [None, Some(true)] {
        for away in [0, 1, 2] {
            let wipes = Hints {
                destructive: Some(true),
                ..Hints::default()
            };
            let wipe = |_| async { Ok(Value::Null) };
            let late = Arc::new(Late {
                away: AtomicUsize::new(away),
                tools: FakeTools::new().tool("t", "wipe", wipes, wipe),
            });
            let store = Arc::new(MemoryStore::new());
            let engine = Engine::new(store, Arc::clone(&late) as _, Options::default());
            let handle = engine.start(begin(&cautious(repeatable))).await.unwrap();
            let run = handle.run.clone();
            let ended = handle.ended().await.unwrap();
            assert_eq!(late.tools.calls(), [], "{away} {ended:?}");
            let Ended::Paused(pauses) = ended else {
                // It could be asked about no more when it was known: it is not made.
                assert_eq!(away, 2);
                continue;
            };
            assert!(away < 2);
            let asked = Checkpoint {
                run: run.clone(),
                seq: pauses[0].0,
            };
            let yes = Answer::Proceed;
            engine.answer(&asked, yes, "me".into(), None).await.unwrap();
            engine.resume(&run).await.unwrap().ended().await.unwrap();
            assert_eq!(late.tools.calls().len(), 1);
            let entries = engine.load(&run).await.unwrap().entries;
            let asked = |event: &Event| matches!(event, Event::Paused { .. });
            assert_eq!(entries.iter().filter(|one| asked(&one.event)).count(), 1);
        }
    }
}
