//! A store that counts its writes, by whether they wait for the disk.

use crate::seams::{
    Append, AppendError, Chunk, Claim, Page, RunFilter, RunRow, Store, StoreFault, Usage,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::ContentDigest;

/// Any store, with counts of its writes. Clones count together.
#[derive(Clone, Default)]
pub struct Counted<S> {
    store: S,
    synced: Arc<AtomicUsize>,
    soon: Arc<AtomicUsize>,
}

impl<S> Counted<S> {
    /// Counts from nought.
    pub fn new(store: S) -> Self {
        Self {
            store,
            synced: Arc::default(),
            soon: Arc::default(),
        }
    }

    /// So many writes were durable before they were answered.
    pub fn synced(&self) -> usize {
        self.synced.load(Ordering::Relaxed)
    }

    /// So many are durable soon after.
    pub fn noted(&self) -> usize {
        self.soon.load(Ordering::Relaxed)
    }

    fn sync(&self) -> &S {
        self.synced.fetch_add(1, Ordering::Relaxed);
        &self.store
    }

    fn soon(&self) -> &S {
        self.soon.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

#[async_trait]
impl<S: Store> Store for Counted<S> {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        self.sync().append(append).await
    }

    async fn jot(&self, append: Append) -> Result<(), AppendError> {
        self.soon().jot(append).await
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<Chunk>, StoreFault> {
        self.store.read(run, after).await
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.document(digest).await
    }

    async fn runs(&self, filter: RunFilter) -> Result<Page, StoreFault> {
        self.store.runs(filter).await
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        self.store.row(run).await
    }

    async fn usage(&self) -> Result<Usage, StoreFault> {
        self.store.usage().await
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
        self.soon().note(kind, key, seen, body).await
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
