//! A store that counts its writes, by whether they wait for the disk, and its readings of journals.

use crate::ports::{
    Append, AppendError, Claim, DocumentStore, Epoch, JournalChunk, JournalStore, RunFilter,
    RunPage, RunRow, Store, StoreFault, StoreUsage,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::ContentDigest;

/// A store with counts of its writes and of its readings of journals. Clones share the counts.
#[derive(Clone, Default)]
pub struct CountingStore<S> {
    store: S,
    synced: Arc<AtomicUsize>,
    relaxed: Arc<AtomicUsize>,
    reads: Arc<AtomicUsize>,
}

impl<S> CountingStore<S> {
    /// Counts from zero.
    pub fn new(store: S) -> Self {
        Self {
            store,
            synced: Arc::default(),
            relaxed: Arc::default(),
            reads: Arc::default(),
        }
    }

    /// How many writes were durable before they returned.
    pub fn synced(&self) -> usize {
        self.synced.load(Ordering::Relaxed)
    }

    /// How many became durable soon after.
    pub fn relaxed(&self) -> usize {
        self.relaxed.load(Ordering::Relaxed)
    }

    /// How often a journal was read from its beginning.
    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    fn count_synced(&self) -> &S {
        self.synced.fetch_add(1, Ordering::Relaxed);
        &self.store
    }

    fn count_relaxed(&self) -> &S {
        self.relaxed.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

#[async_trait]
impl<S: Store> JournalStore for CountingStore<S> {
    async fn append(&self, append: Append) -> Result<Epoch, AppendError> {
        self.count_synced().append(append).await
    }

    async fn append_relaxed(&self, append: Append) -> Result<Epoch, AppendError> {
        self.count_relaxed().append_relaxed(append).await
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<JournalChunk>, StoreFault> {
        let chunks = self.store.read(run, after).await?;
        // A journal that is not there yet is not read.
        if after == 0 && !chunks.is_empty() {
            self.reads.fetch_add(1, Ordering::Relaxed);
        }
        Ok(chunks)
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.document(digest).await
    }

    async fn runs(&self, filter: RunFilter) -> Result<RunPage, StoreFault> {
        self.store.runs(filter).await
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        self.store.row(run).await
    }

    async fn usage(&self) -> Result<StoreUsage, StoreFault> {
        self.store.usage().await
    }

    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault> {
        self.store.claim(run).await
    }

    async fn release(&self, run: &RunId) -> Result<(), StoreFault> {
        self.store.release(run).await
    }

    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        self.count_synced().remove(runs).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }
}

#[async_trait]
impl<S: Store> DocumentStore for CountingStore<S> {
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        self.count_synced().put(kind, key, body).await
    }

    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.count_synced().swap(kind, key, seen, body).await
    }

    async fn swap_relaxed(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.count_relaxed()
            .swap_relaxed(kind, key, seen, body)
            .await
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.get(kind, key).await
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        self.store.list(kind).await
    }

    async fn delete(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        self.count_synced().delete(kind, keys).await
    }
}
