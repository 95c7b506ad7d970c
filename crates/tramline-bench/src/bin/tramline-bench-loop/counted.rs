//! A store that counts what waits for the disk, and how long the disk alone takes.

use anyhow::Result;
use async_trait::async_trait;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::watch;
use tramline::core::ids::{RunId, Seq};
use tramline::engine::seams::{
    Append, AppendError, Chunk, Claim, Page, RunFilter, RunRow, Store, StoreFault, Usage,
};
use tramline::store::Sqlite;

/// What a bare sync writes: about as much as the journal of a small run takes.
const PAGES: [u8; 16 << 10] = [7; 16 << 10];

/// The store as it is shipped, with a count of the writes that wait for the disk.
pub(crate) struct Counted {
    store: Sqlite,
    durable: Arc<AtomicU64>,
}

impl Counted {
    pub(crate) fn new(store: Sqlite) -> (Self, Arc<AtomicU64>) {
        let durable = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&durable);
        (Self { store, durable }, counts)
    }

    fn count(&self) -> &Sqlite {
        self.durable.fetch_add(1, Ordering::Relaxed);
        &self.store
    }
}

/// A file beside the store that is written and synced, for the time that this alone takes.
pub(crate) struct Bare(File);

impl Bare {
    pub(crate) fn new(dir: &Path) -> Result<Self> {
        let mut file = File::create(dir.join("bare"))?;
        file.write_all(&PAGES)?;
        file.sync_all()?;
        Ok(Self(file))
    }

    /// How long one write with its sync takes, in milliseconds.
    pub(crate) fn sync(&mut self) -> Result<f64> {
        let began = Instant::now();
        self.0.rewind()?;
        self.0.write_all(&PAGES)?;
        self.0.sync_data()?;
        Ok(began.elapsed().as_secs_f64() * 1e3)
    }
}

#[async_trait]
impl Store for Counted {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        self.count().append(append).await
    }

    async fn jot(&self, append: Append) -> Result<(), AppendError> {
        self.store.jot(append).await
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
        self.count().remove(runs).await
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.store.changes()
    }

    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        self.count().put(kind, key, body).await
    }

    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.count().swap(kind, key, seen, body).await
    }

    async fn note(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.store.note(kind, key, seen, body).await
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        self.store.get(kind, key).await
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        self.store.list(kind).await
    }

    async fn forget(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        self.count().forget(kind, keys).await
    }
}
