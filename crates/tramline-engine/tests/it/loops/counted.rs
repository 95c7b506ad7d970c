//! How often a request waits for the disk.

use super::tools;
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;
use tramline_core::ids::{RunId, Seq};
use tramline_engine::loop_runner::{LoopRunner, Request};
use tramline_engine::seams::{
    Append, AppendError, Chunk, Claim, Page, RunFilter, RunRow, Store, StoreFault,
};
use tramline_engine::testing::MemoryStore;
use tramline_engine::{Engine, Options};

/// A store that counts what it would sync before it answers, and what it would sync soon after.
#[derive(Clone, Default)]
struct Counted {
    store: MemoryStore,
    synced: Arc<AtomicUsize>,
    soon: Arc<AtomicUsize>,
}

impl Counted {
    fn sync(&self) -> &MemoryStore {
        self.synced.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

#[async_trait]
impl Store for Counted {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        self.sync().append(append).await
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<Chunk>, StoreFault> {
        self.store.read(run, after).await
    }

    async fn runs(&self, filter: RunFilter) -> Result<Page, StoreFault> {
        self.store.runs(filter).await
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        self.store.row(run).await
    }

    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault> {
        self.store.claim(run).await
    }

    async fn release(&self, run: &RunId) -> Result<(), StoreFault> {
        self.store.release(run).await
    }

    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        self.sync().remove(runs).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }

    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        self.sync().put(kind, key, body).await
    }

    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.sync().swap(kind, key, seen, body).await
    }

    async fn note(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.soon.fetch_add(1, Ordering::Relaxed);
        self.store.swap(kind, key, seen, body).await
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.get(kind, key).await
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        self.store.list(kind).await
    }

    async fn forget(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        self.sync().forget(kind, keys).await
    }
}

#[tokio::test]
async fn a_request_waits_once_for_the_disk() {
    let store = Counted::default();
    let engine = Engine::new(
        Arc::new(store.clone()),
        Arc::new(tools()),
        Options::default(),
    );
    let runner = LoopRunner::new(engine);
    let plan = json!([{"id": "a", "tool": "mock_tool_a", "args": {"foo": "x"}},
        {"tool": "m:mock_tool_b", "args": {"x": "$OUTPUT[a].ran"}}]);
    let asks = |text: &str, plan: &Json| Request::new(text).plan(plan.clone()).session("s");
    // The first one lists the tools, which is kept.
    let first = runner.run(asks("do it", &plan)).await;
    assert!(first.unwrap().success());
    let (synced, soon) = (&store.synced, &store.soon);
    let before = (synced.load(Ordering::Relaxed), soon.load(Ordering::Relaxed));
    let second = runner.run(asks("do it once more", &plan)).await;
    assert!(second.unwrap().success());
    let synced = synced.load(Ordering::Relaxed) - before.0;
    assert_eq!(synced, 1, "its journal");
    assert!(
        soon.load(Ordering::Relaxed) >= before.1 + 2,
        "memory, and what is learnt"
    );
}
