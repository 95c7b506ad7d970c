//! `JournalStore`: keeps journals as opaque chunks, with the sequence number as the lock.

use super::store::{
    Append, AppendError, Claim, Epoch, JournalChunk, KnownEvents, LeaseCounts, Replica, RunFilter,
    RunPage, RunRow, RunStatus, StoreFault, StoreUsage,
};
use async_trait::async_trait;
use std::time::Instant;
use tokio::sync::watch;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::ContentDigest;

/// Rows per page when runs are counted.
const COUNT_PAGE_ROWS: usize = 1_000;

/// Keeps journals. It does not interpret them.
#[async_trait]
pub trait JournalStore: Send + Sync + 'static {
    /// Makes the events `seen + 1 ..= last` durable, if `seen` is still the last event of the
    /// journal.
    ///
    /// When it returns, the chunk survives a crash of the process and a power loss. Appends of
    /// several runs share one disk sync. An append whose caller stops waiting may still be made,
    /// and so may, rarely, one whose disk failed while syncing: read the journal before you
    /// continue.
    ///
    /// Its documents are stored with it or not at all, each once for all journals that refer to it,
    /// until the last of these is removed. An append carries every document that its events refer
    /// to, even one that the store may have: another process may be removing the last journal that
    /// referred to it.
    ///
    /// Its claim change happens with it or not at all. An append that ends the run releases the
    /// claim, whoever holds it.
    ///
    /// Returns the epoch of the claim that it took or holds. An append that depends on a claim which has
    /// changed hands is refused with [`AppendError::Elsewhere`].
    async fn append(&self, append: Append) -> Result<Epoch, AppendError>;

    /// Like [`append`](Store::append), but may return before the disk sync. Only for events whose
    /// loss costs at most a repeated reply. When it returns, the chunk survives a crash of the
    /// process; it survives a power loss soon, at the latest when any later append has returned.
    async fn append_relaxed(&self, append: Append) -> Result<Epoch, AppendError> {
        self.append(append).await
    }

    /// The chunks of a run with events after `after`, in order. Empty for an unknown run.
    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<JournalChunk>, StoreFault>;

    /// The body of a document that a journal refers to, as it was appended. The caller checks its
    /// digest.
    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault>;

    /// The readable part of a damaged journal: its intact chunks, in order. There may be gaps
    /// between them.
    async fn read_intact(&self, run: &RunId) -> Result<Vec<JournalChunk>, StoreFault> {
        self.read(run, 0).await
    }

    /// The runs that match the filter, newest first.
    async fn runs(&self, filter: RunFilter) -> Result<RunPage, StoreFault>;

    /// How many runs were created in a millisecond. Child runs share the creation time of their
    /// root run, so this counts the root run, its descendants, and the few other runs of that
    /// millisecond.
    async fn count_created(&self, at_ms: i64) -> Result<u64, StoreFault> {
        let mut filter = RunFilter {
            after: Some(RunId::new(at_ms, u128::MAX)),
            limit: COUNT_PAGE_ROWS,
            ..RunFilter::default()
        };
        let (first, mut born) = (RunId::new(at_ms, 0), 0);
        loop {
            let page = self.runs(filter.clone()).await?;
            let fitting = page.rows.iter().filter(|row| row.run >= first).count();
            born += fitting as u64;
            if !page.more || fitting < page.rows.len() {
                return Ok(born);
            }
            filter.after = page.rows.last().map(|row| row.run.clone());
        }
    }

    /// One run's row.
    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault>;

    /// How much space all runs use. The default implementation leaves out documents.
    async fn usage(&self) -> Result<StoreUsage, StoreFault> {
        let mut usage = StoreUsage::default();
        let mut filter = RunFilter::default();
        loop {
            let page = self.runs(filter.clone()).await?;
            for row in &page.rows {
                usage.open += u64::from(!row.index_row.status.is_over());
                usage.bytes += row.bytes;
            }
            filter.after = page.rows.last().map(|row| row.run.clone());
            if !page.more {
                return Ok(usage);
            }
        }
    }

    /// How many bytes the store uses on disk, without reusable space. 0 for a store in memory.
    async fn disk_bytes(&self) -> Result<u64, StoreFault> {
        Ok(0)
    }

    /// Which of these runs have further events, by any writer. A store may leave out, for a second at most,
    /// runs of which it has not been notified.
    async fn moved_on(&self, known: &[KnownEvents]) -> Result<Vec<RunId>, StoreFault> {
        let mut moved = Vec::new();
        for KnownEvents { run, last } in known {
            if self.row(run).await?.is_some_and(|row| row.last > *last) {
                moved.push(run.clone());
            }
        }
        Ok(moved)
    }

    /// Requests the claim: the right of one process to drive `run`. A claim ends with its process, in a store
    /// with leases once the lease of that process has run out.
    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault>;

    /// Releases a claim. Releasing a claim that is not held does nothing.
    async fn release(&self, run: &RunId) -> Result<(), StoreFault>;

    /// Until when no other process can take our claims, as far as we know. Ask before a call leaves that must
    /// not be repeated, and [`confirm_claim`](JournalStore::confirm_claim) if the time is past. `None` if
    /// claims cannot be taken from a live process.
    fn good_until(&self) -> Option<Instant> {
        None
    }

    /// Renews the lease and asks the store whether we still hold the claim on a run.
    async fn confirm_claim(&self, _run: &RunId, _epoch: Epoch) -> Result<bool, StoreFault> {
        Ok(true)
    }

    /// Up to `most` runs that are running, belong to a pool of this process and have no live driver.
    async fn takeable(&self, most: usize) -> Result<Vec<RunRow>, StoreFault> {
        let filter = RunFilter {
            status: vec![RunStatus::Running],
            limit: most,
            ..RunFilter::default()
        };
        let page = self.runs(filter).await?;
        Ok(page.rows.into_iter().filter(|row| !row.driven).collect())
    }

    /// Whether this process drives runs of a pool.
    fn serves_pool(&self, _pool: Option<&str>) -> bool {
        true
    }

    /// The processes that drive runs of a store with leases; empty for other stores.
    async fn replicas(&self) -> Result<Vec<Replica>, StoreFault> {
        Ok(Vec::new())
    }

    /// What a store with leases has counted; `None` for other stores.
    fn lease_counts(&self) -> Option<LeaseCounts> {
        None
    }

    /// Whether the store can be used now. Fails if it cannot be reached, or if our lease has run out.
    async fn check_ready(&self) -> Result<(), StoreFault> {
        Ok(())
    }

    /// Removes runs with all their events, and the documents that only they referred to; unknown
    /// ones are skipped. Returns the number removed.
    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault>;

    /// Whether another live process has driven runs of this store. Such a process may resume a run
    /// that is answered.
    async fn is_shared(&self) -> Result<bool, StoreFault> {
        Ok(false)
    }

    /// Changes after every commit that may have added events, of this process or another one.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Changes after every commit that may have added events to a run or changed its driver. A store that
    /// cannot tell runs apart notifies of all.
    fn changes_of(&self, _run: &RunId) -> watch::Receiver<u64> {
        self.changes()
    }
}
