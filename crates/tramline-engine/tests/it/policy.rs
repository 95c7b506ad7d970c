//! Policy: what the operator denies or requires approval for, whatever calls and at any depth.

use crate::support::{graphs, tools};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_engine::ports::{
    Callable, Exchange, ServerTools, Tool, ToolCallRequest, ToolHints, Tools,
};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, PauseAnswer, ReplayStore, RunStart, ToolPattern,
    ToolPolicy, WorkflowMap,
};
use tramline_expr::{Str, Value};
use tramline_views::pause_view;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, ToolName};
use tramline_workflow::journal::{Answer, Event, Outcome, Pause, RunEvent};
use tramline_workflow::workflow::{Action, Node, Template, Workflow};

fn policy(ask: &[&str], deny: &[&str]) -> EngineOptions {
    let read = |all: &[&str]| {
        all.iter()
            .map(|one| ToolPattern::parse(one).unwrap())
            .collect()
    };
    EngineOptions {
        policy: ToolPolicy {
            ask: read(ask),
            deny: read(deny),
        },
        replay_store: Some(ReplayStore::new(|| Ok(Arc::new(MemoryStore::new()) as _))),
        ..EngineOptions::default()
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

fn engine(tools: &Arc<FakeTools>, options: EngineOptions) -> Engine {
    let shelf = WorkflowMap::new(workflows().into_iter().map(|graph| Callable {
        graph,
        origin: Value::Null,
    }));
    let store = Arc::new(MemoryStore::new());
    Engine::with_workflows(store, Arc::clone(tools) as _, Arc::new(shelf), options)
}

fn begin(graph: &Arc<Graph>) -> RunStart {
    RunStart::new(Arc::clone(graph), Value::object::<Str>([]))
}

#[tokio::test]
async fn what_is_denied_fails_in_every_shape_and_depth() {
    for graph in &workflows() {
        let tools = tools();
        let engine = engine(&tools, policy(&[], &["t:w*"]));
        let ended = engine.start(begin(graph)).await.unwrap().wait().await;
        let Ok(DriveOutcome::Finished(Outcome::Failed { failure, .. })) = ended else {
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
        let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
            panic!("the run did not pause")
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
        let ended = engine.resume(&run).await.unwrap().wait().await.unwrap();
        assert!(matches!(
            ended,
            DriveOutcome::Finished(Outcome::Completed { .. })
        ));
        assert_eq!(tools.calls().len(), expected);
        // In a replay, the recorded answer is given to the same pause.
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
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
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

/// A run whose child waits for approval by policy: the run, its pause, and the child.
async fn waiting_for_child(engine: &Engine) -> (RunId, Checkpoint, RunId) {
    let handle = engine.start(begin(&workflows()[2])).await.unwrap();
    let run = handle.run.clone();
    let DriveOutcome::Paused(pauses) = handle.wait().await.unwrap() else {
        panic!("the run did not pause")
    };
    let [(seq, Pause::Child { run: child, .. })] = pauses.as_slice() else {
        panic!("{pauses:?}")
    };
    let asked = Checkpoint {
        run: run.clone(),
        seq: *seq,
    };
    (run, asked, child.clone())
}

#[tokio::test]
async fn a_run_that_waits_for_a_child_shows_its_question() {
    let tools = tools();
    let engine = engine(&tools, policy(&["t:*"], &[]));
    let (run, _, child) = waiting_for_child(&engine).await;
    let shown = engine.load_pause_details(&run).await.unwrap();
    let told = shown[0].get("child").unwrap();
    let text = |value: &Value, key: &str| {
        let text = value.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    assert_eq!(text(told, "run_id"), child.as_str());
    assert_eq!(text(told, "status"), "paused");
    let question = &told.get("waiting").unwrap().as_array().unwrap()[0];
    assert_eq!(text(question, "kind"), "approval");
    assert_eq!(text(question, "source"), "policy");
    assert_eq!(text(question, "answered_by"), "person");
    let point: Checkpoint = text(question, "checkpoint_id").parse().unwrap();
    assert_eq!(point.run, child);
    assert!(text(question, "command").ends_with(&format!("runs approve {point}")));
    let call = question.get("call").unwrap();
    assert_eq!(text(call, "tool"), "t:work");
    assert!(call.get("arguments").unwrap().to_json().contains("\"x\""));
    let lines = pause_view::detail_lines(&shown[0]).join("\n");
    assert!(lines.contains(&point.to_string()), "{lines}");
    assert!(lines.contains("tool: t:work"), "{lines}");
}

#[tokio::test]
async fn who_gives_up_a_child_ends_it_first() {
    let skip = Answer::Skip {
        output: Value::object([("ok", Value::from(1))]),
    };
    for (answer, in_one_call) in [
        (skip.clone(), true),
        (skip, false),
        (Answer::Reject, true),
        (Answer::Reject, false),
    ] {
        let tools = tools();
        let engine = engine(&tools, policy(&["t:*"], &[]));
        let (run, asked, child) = waiting_for_child(&engine).await;
        let question = engine.load(&child).await.unwrap().run;
        let question = Checkpoint {
            run: child.clone(),
            seq: *question.pauses.keys().next().unwrap(),
        };
        let handle = if in_one_call {
            let said = PauseAnswer {
                pause: asked.seq,
                answer: answer.clone(),
                by: "me".into(),
                why: None,
            };
            engine.answer_and_resume(&run, vec![said]).await.unwrap()
        } else {
            let said = engine.answer(&asked, answer.clone(), "me".into(), None);
            said.await.unwrap();
            engine.resume(&run).await.ok()
        };
        if let Some(handle) = handle {
            handle.wait().await.unwrap();
        }
        assert!(engine.load(&run).await.unwrap().run.outcome.is_some());
        let ended = engine.load(&child).await.unwrap().run.outcome;
        assert!(matches!(ended, Some(Outcome::Aborted { .. })), "{ended:?}");
        // Its question can no longer be approved.
        let late = engine.approve(&question, true, "me".into(), None).await;
        assert!(late.is_err(), "{answer:?}");
        assert_eq!(tools.calls(), []);
    }
}

#[tokio::test]
async fn the_result_of_a_child_that_has_completed_is_not_replaced() {
    let tools = tools();
    let engine = engine(&tools, policy(&["t:*"], &[]));
    let (_, asked, child) = waiting_for_child(&engine).await;
    let seq = *engine
        .load(&child)
        .await
        .unwrap()
        .run
        .pauses
        .keys()
        .next()
        .unwrap();
    let question = Checkpoint {
        run: child.clone(),
        seq,
    };
    engine
        .approve(&question, true, "me".into(), None)
        .await
        .unwrap();
    engine.resume(&child).await.unwrap().wait().await.unwrap();
    let skip = Answer::Skip {
        output: Value::Null,
    };
    let late = engine.answer(&asked, skip, "me".into(), None).await;
    assert!(late.is_err(), "{late:?}");
    assert_eq!(tools.calls().len(), 1);
}

/// A server that cannot be asked at first, and later says that its tool is destructive.
struct LateAnnotations {
    away: AtomicUsize,
    tools: FakeTools,
}

#[async_trait::async_trait]
impl Tools for LateAnnotations {
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

    async fn list(&self) -> Vec<ServerTools> {
        self.tools.list().await
    }

    fn exchange(&self, name: &ToolName, key: &str) -> Option<Exchange> {
        self.tools.exchange(name, key)
    }

    async fn call(&self, call: ToolCallRequest) -> Result<Value, Failure> {
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
        transient: Some(tramline_workflow::workflow::RetryPolicy {
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
            let wipes = ToolHints {
                destructive: Some(true),
                ..ToolHints::default()
            };
            let wipe = |_| async { Ok(Value::Null) };
            let late = Arc::new(LateAnnotations {
                away: AtomicUsize::new(away),
                tools: FakeTools::new().tool("t", "wipe", wipes, wipe),
            });
            let store = Arc::new(MemoryStore::new());
            let engine = Engine::new(store, Arc::clone(&late) as _, EngineOptions::default());
            let handle = engine.start(begin(&cautious(repeatable))).await.unwrap();
            let run = handle.run.clone();
            let ended = handle.wait().await.unwrap();
            assert_eq!(late.tools.calls(), [], "{away} {ended:?}");
            let DriveOutcome::Paused(pauses) = ended else {
                // When it became known, it was too late to ask: the call is not made.
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
            engine.resume(&run).await.unwrap().wait().await.unwrap();
            assert_eq!(late.tools.calls().len(), 1);
            let entries = engine.load(&run).await.unwrap().entries;
            let asked = |event: &Event| matches!(event, Event::Run(RunEvent::Paused { .. }));
            assert_eq!(entries.iter().filter(|one| asked(&one.event)).count(), 1);
        }
    }
}
