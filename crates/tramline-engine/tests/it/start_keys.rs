//! Start keys: repeated starts are one run, whichever engine gets them.

use crate::support::engine;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_engine::ports::{JournalStore, RunFilter, ToolHints};
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_engine::{Engine, Fault, RunStart, StartKey, WaitPolicy};
use tramline_expr::Value;
use tramline_workflow::graph::Graph;

/// A graph that calls `work` once; its input needs a number.
fn graph() -> Arc<Graph> {
    let text = "version: '1.0'\nserver: { name: s, version: '1' }\nmcpServers: { t: { command: x } }\n\
                tools:\n  - name: go\n    description: d\n    inputSchema: { type: object, properties: { n: { type: number } } }\n\
                \x20   nodes:\n      - { id: entry, type: entry, next: act }\n\
                \x20     - { id: act, type: mcp, server: t, tool: work, args: $.entry, next: exit }\n\
                \x20     - { id: exit, type: exit }\n";
    let document = tramline_formats::yaml_graph::read(text.as_bytes()).unwrap();
    Arc::clone(&document.workflows[0])
}

struct CountedWork {
    store: MemoryStore,
    calls: Arc<AtomicUsize>,
}

impl CountedWork {
    fn new() -> Self {
        Self {
            store: MemoryStore::new(),
            calls: Arc::default(),
        }
    }

    fn engine(&self) -> Engine {
        let calls = Arc::clone(&self.calls);
        let tools = FakeTools::new().tool("t", "work", ToolHints::default(), move |given| {
            calls.fetch_add(1, Ordering::SeqCst);
            async move { Ok(given) }
        });
        engine(&self.store, &Arc::new(tools))
    }

    async fn run_count(&self) -> usize {
        self.store
            .runs(RunFilter::default())
            .await
            .unwrap()
            .rows
            .len()
    }
}

fn request(n: f64) -> Value {
    Value::object([("n", Value::from(n))])
}

fn start(n: f64) -> RunStart {
    RunStart::new(graph(), request(n))
}

fn key(key: &str, n: f64) -> StartKey {
    StartKey {
        key: key.into(),
        request: request(n),
    }
}

#[tokio::test]
async fn the_same_key_is_the_same_run_in_every_engine() {
    let rig = CountedWork::new();
    let (one, other) = (rig.engine(), rig.engine());
    let first = one.start_once(key("k", 1.0), start(1.0)).await.unwrap();
    assert!(first.is_new);
    for engine in [&one, &other] {
        let again = engine.start_once(key("k", 1.0), start(1.0)).await.unwrap();
        assert_eq!((again.run, again.is_new), (first.run.clone(), false));
    }
    one.wait(&first.run, None, WaitPolicy::Drive).await.unwrap();
    // Also after its end.
    let late = other.start_once(key("k", 1.0), start(1.0)).await.unwrap();
    assert_eq!((late.run, late.is_new), (first.run.clone(), false));
    let another = one.start_once(key("l", 1.0), start(1.0)).await.unwrap();
    assert_ne!(another.run, first.run);
    let loaded = one.load(&first.run).await.unwrap();
    assert_eq!(loaded.run.started.start_key.as_deref(), Some("k"));
}

#[tokio::test]
async fn other_arguments_under_a_key_are_refused_and_the_run_is_named() {
    let rig = CountedWork::new();
    let first = rig
        .engine()
        .start_once(key("k", 1.0), start(1.0))
        .await
        .unwrap();
    let refused = rig.engine().start_once(key("k", 2.0), start(2.0)).await;
    let Err(Fault::KeyReused { run, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(run, first.run);
    // The order of fields does not matter.
    let fields =
        |names: [&str; 2]| Value::object(names.map(|name| (name.to_owned(), Value::from(1.0))));
    let sent = |names| StartKey {
        key: "m".into(),
        request: fields(names),
    };
    let one = rig
        .engine()
        .start_once(sent(["a", "b"]), start(1.0))
        .await
        .unwrap();
    let other = rig
        .engine()
        .start_once(sent(["b", "a"]), start(1.0))
        .await
        .unwrap();
    assert_eq!(one.run, other.run);
}

#[tokio::test]
async fn owners_and_sessions_do_not_share_keys() {
    let rig = CountedWork::new();
    let engine = rig.engine();
    let mut runs = Vec::new();
    for (owner, session) in [
        (None, None),
        (Some("ann"), None),
        (Some("bob"), None),
        (Some("ann"), Some("s")),
    ] {
        let mut start = start(1.0);
        start.owner = owner.map(Into::into);
        start.session = session.map(Into::into);
        runs.push(engine.start_once(key("k", 1.0), start).await.unwrap().run);
    }
    runs.sort();
    runs.dedup();
    assert_eq!(runs.len(), 4);
}

#[tokio::test]
async fn an_invalid_start_binds_no_key() {
    let rig = CountedWork::new();
    let engine = rig.engine();
    let wrong = RunStart::new(graph(), Value::object([("n", Value::from("text"))]));
    let refused = engine.start_once(key("k", 1.0), wrong).await;
    assert!(
        matches!(refused, Err(Fault::InvalidInput { .. })),
        "{refused:?}"
    );
    assert!(
        engine
            .start_once(key("k", 2.0), start(2.0))
            .await
            .unwrap()
            .is_new
    );
    for odd in [
        String::new(),
        "x".repeat(tramline_engine::START_KEY_CHARS_MAX + 1),
    ] {
        assert!(engine.start_once(key(&odd, 1.0), start(1.0)).await.is_err());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_starts_are_one_run_with_one_call() {
    for _ in 0..20 {
        let rig = CountedWork::new();
        let engines = [rig.engine(), rig.engine(), rig.engine()];
        let starts = (0..24).map(|at| {
            let engine = engines[at % engines.len()].clone();
            tokio::spawn(async move { engine.start_once(key("k", 1.0), start(1.0)).await })
        });
        let mut runs = Vec::new();
        for started in starts.collect::<Vec<_>>() {
            runs.push(started.await.unwrap().unwrap().run);
        }
        runs.dedup();
        assert_eq!(runs.len(), 1);
        engines[0]
            .wait(&runs[0], None, WaitPolicy::Drive)
            .await
            .unwrap();
        assert_eq!(
            (rig.run_count().await, rig.calls.load(Ordering::SeqCst)),
            (1, 1)
        );
    }
}

#[tokio::test]
async fn a_removed_run_frees_its_key() {
    let rig = CountedWork::new();
    let engine = rig.engine();
    let first = engine
        .start_once(key("k", 1.0), start(1.0))
        .await
        .unwrap()
        .run;
    engine.wait(&first, None, WaitPolicy::Drive).await.unwrap();
    assert_eq!(
        engine
            .remove_runs(std::slice::from_ref(&first))
            .await
            .unwrap(),
        1
    );
    let second = engine.start_once(key("k", 2.0), start(2.0)).await.unwrap();
    assert!(second.is_new && second.run != first);
}
