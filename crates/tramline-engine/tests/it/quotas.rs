//! Quotas for runs, rate limits of calls, and retries after a server was unavailable.

use crate::support::{Tasks, dag, engine, tools};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::{ToolCallRequest, ToolHints, Tools};
use tramline_engine::testing::{FakeTools, MemoryStore, tools_contract};
use tramline_engine::{
    DriveOutcome, Engine, EngineOptions, Fault, Quota, RateLimit, RunStart, Throttle, ToolPattern,
};
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::ToolName;
use tramline_workflow::journal::Outcome;

/// Longer than a count is valid, on any machine.
const SOON: Duration = Duration::from_secs(20);

fn tasks() -> Arc<Graph> {
    Tasks {
        waits_for: vec![vec![]],
        fails: vec![false],
        repeatable: vec![true],
    }
    .graph()
}

fn slow() -> Arc<FakeTools> {
    let looks = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let look = |_| async { Ok(Value::Null) };
    let tools = FakeTools::new().tool("t", "look", looks, look);
    Arc::new(tools.delay(Duration::from_millis(200)))
}

fn bounded(tools: Arc<FakeTools>, quota: Quota) -> Engine {
    let options = EngineOptions {
        quota,
        ..EngineOptions::default()
    };
    Engine::new(Arc::new(MemoryStore::new()), tools, options)
}

#[tokio::test]
async fn no_more_runs_are_open_than_there_is_room_for() {
    let quota = Quota {
        runs_open_max: Some(3),
        bytes_max: None,
        ..Quota::default()
    };
    let engine = bounded(slow(), quota);
    let begin = || engine.start(RunStart::new(tasks(), Value::Null));
    let mut handles = Vec::new();
    let mut refused = 0;
    // All at once, so that none of them is in the store when the next one starts.
    for begun in futures_util::future::join_all((0..10).map(|_| begin())).await {
        match begun {
            Ok(handle) => handles.push(handle),
            Err(Fault::Quota(why)) => {
                assert!(why.contains("quota is 3"), "{why}");
                refused += 1;
            }
            Err(fault) => panic!("{fault}"),
        }
    }
    assert_eq!((handles.len(), refused), (3, 7));
    for handle in handles {
        handle.wait().await.unwrap();
    }
    // Open runs are counted now and then; soon another one is allowed.
    let room = async {
        loop {
            match begin().await {
                Ok(handle) => return handle,
                Err(Fault::Quota(_)) => tokio::task::yield_now().await,
                Err(fault) => panic!("{fault}"),
            }
        }
    };
    let begun = tokio::time::timeout(SOON, room).await.unwrap();
    begun.wait().await.unwrap();
}

#[tokio::test]
async fn no_run_begins_when_the_journals_are_full() {
    let quota = Quota {
        runs_open_max: None,
        bytes_max: Some(1),
        ..Quota::default()
    };
    let engine = bounded(tools(), quota);
    let begin = || engine.start(RunStart::new(tasks(), Value::Null));
    // Usage is counted now and then; soon no more runs are allowed.
    let full = async {
        loop {
            match begin().await {
                Ok(handle) => drop(handle.wait().await.unwrap()),
                Err(Fault::Quota(why)) => return why,
                Err(fault) => panic!("{fault}"),
            }
        }
    };
    let why = tokio::time::timeout(SOON, full).await.unwrap();
    assert!(why.contains("bytes"), "{why}");
}

fn throttled(per_minute: u32) -> (Arc<FakeTools>, Throttle) {
    let tools = Arc::new(FakeTools::contract_tools("s"));
    let rate = RateLimit {
        pattern: ToolPattern::parse("s:e*").unwrap(),
        per_minute,
    };
    let throttle = Throttle::new(Arc::clone(&tools) as _, vec![rate]);
    (tools, throttle)
}

fn call(tool: &str, key: &str, timeout: Duration) -> ToolCallRequest {
    ToolCallRequest {
        tool: ToolName::new("s", tool),
        arguments: Value::object::<Str>([]),
        key: key.into(),
        timeout,
        cancel: CancellationToken::new(),
        progress: None,
        upstream: None,
    }
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn calls_that_fit_are_spaced_in_the_order_they_came() {
    let (tools, throttle) = throttled(60);
    let begun = tokio::time::Instant::now();
    let calls = (0..5).map(|at| throttle.call(call("echo", &at.to_string(), LONG)));
    let free = throttle.call(call("fail", "free", LONG));
    let (all, _) = tokio::join!(futures_util::future::join_all(calls), free);
    assert!(all.iter().all(Result::is_ok));
    let took = begun.elapsed();
    assert!((4_000..4_100).contains(&took.as_millis()), "{took:?}");
    let keys: Vec<_> = tools.calls().into_iter().map(|call| call.key).collect();
    assert_eq!(keys, ["0", "free", "1", "2", "3", "4"]);
}

#[tokio::test(start_paused = true)]
async fn who_cannot_wait_does_not_call_and_takes_no_turn() {
    let (tools, throttle) = throttled(1);
    throttle.call(call("echo", "first", LONG)).await.unwrap();
    let late = throttle.call(call("echo", "late", Duration::from_secs(5)));
    let late = late.await.unwrap_err();
    assert_eq!(late.kind, FailureKind::Timeout);
    let sent = late.data.as_ref().and_then(|data| data.get("sent"));
    assert_eq!(sent, Some(&Value::Bool(false)));
    let given_up = call("echo", "given up", LONG);
    let cancel = given_up.cancel.clone();
    let (gone, ()) = tokio::join!(throttle.call(given_up), async { cancel.cancel() });
    assert_eq!(gone.unwrap_err().kind, FailureKind::Cancelled);
    let begun = tokio::time::Instant::now();
    throttle.call(call("echo", "next", LONG)).await.unwrap();
    assert!(begun.elapsed() <= Duration::from_secs(56));
    let keys: Vec<_> = tools.calls().into_iter().map(|call| call.key).collect();
    assert_eq!(keys, ["first", "next"]);
}

#[tokio::test]
async fn a_throttle_keeps_the_contract_of_tools() {
    let (_, throttle) = throttled(6_000_000);
    tools_contract(Arc::new(throttle), "s").await;
}

/// A task of a DAG whose server is unavailable this many times.
async fn away(times: u32, hints: ToolHints, kind: FailureKind) -> (usize, Value) {
    let left = Arc::new(AtomicU32::new(times));
    let tools = FakeTools::new().tool("t", "act", hints, move |_| {
        let left = Arc::clone(&left);
        async move {
            let gone = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
            match gone {
                Ok(_) => Err(Failure::new(kind, "away")),
                Err(_) => Ok("here".into()),
            }
        }
    });
    let tools = Arc::new(tools);
    let graph = dag(r#"{"tasks": [{"id": "a", "tool": "t:act"}]}"#);
    let engine = engine(&MemoryStore::new(), &tools);
    let begun = RunStart::new(graph, Value::object::<Str>([]));
    let ended = engine.start(begun).await.unwrap().wait().await.unwrap();
    let DriveOutcome::Finished(Outcome::Completed { result }) = ended else {
        panic!("{ended:?}")
    };
    (tools.calls().len(), result)
}

#[tokio::test(start_paused = true)]
async fn a_task_is_tried_again_three_times_if_that_is_harmless() {
    let looks = ToolHints {
        read_only: Some(true),
        ..ToolHints::default()
    };
    let acts = ToolHints::default();
    let (calls, result) = away(3, looks, FailureKind::Unavailable).await;
    assert_eq!((calls, result.get("a")), (4, Some(&"here".into())));
    let (calls, result) = away(9, looks, FailureKind::Timeout).await;
    assert_eq!((calls, result.get("a")), (4, None));
    // A call in doubt is not repeated, and a failure of the tool itself is not a transport failure.
    for (hints, kind) in [
        (acts, FailureKind::Unavailable),
        (acts, FailureKind::Timeout),
        (acts, FailureKind::Tool),
        (looks, FailureKind::Tool),
        (looks, FailureKind::BadAnswer),
    ] {
        assert_eq!(away(1, hints, kind).await.0, 1, "{kind:?}");
    }
}
