//! `Store`: keeps journals as opaque chunks, with the sequence number as the lock.

use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::watch;
use tramline_expr::Str;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{ContentDigest, StoredDocument};

/// Rows per page when runs are counted.
const COUNT_PAGE_ROWS: usize = 1_000;

/// Keeps journals and small named documents. It does not interpret them.
#[async_trait]
pub trait Store: Send + Sync + 'static {
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
    async fn append(&self, append: Append) -> Result<(), AppendError>;

    /// Like [`append`](Store::append), but may return before the disk sync. Only for events whose
    /// loss costs at most a repeated reply. When it returns, the chunk survives a crash of the
    /// process; it survives a power loss soon, at the latest when any later append has returned.
    async fn append_relaxed(&self, append: Append) -> Result<(), AppendError> {
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

    /// Requests the claim: the right of one process to drive `run`. A claim ends with its process.
    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault>;

    /// Releases a claim. Releasing a claim that is not held does nothing.
    async fn release(&self, run: &RunId) -> Result<(), StoreFault>;

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

    /// Stores a small document under a kind and a key, replacing the existing one.
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault>;

    /// Replaces a document if it is still what the caller has seen: exactly these bytes, or
    /// nothing. Returns whether it was stored; if another writer came first, nothing changes.
    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault>;

    /// Like [`swap`](Store::swap), but may return before the disk sync. Only for data that no reply
    /// depends on. When it returns, the document survives a crash of the process; it survives a
    /// power loss soon, at the latest when any later append has returned.
    async fn swap_relaxed(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.swap(kind, key, seen, body).await
    }

    /// The document under a kind and a key.
    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault>;

    /// The keys of a kind, sorted.
    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault>;

    /// Removes documents of a kind; unknown keys are skipped.
    async fn delete(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault>;
}

/// Encoded events to append to one run's journal.
#[derive(Clone, Debug)]
pub struct Append {
    /// The run.
    pub run: RunId,
    /// The last event the writer knows; 0 starts a journal.
    pub seen: Seq,
    /// The last event of this chunk, so the chunk has `last - seen` events.
    pub last: Seq,
    /// The encoded events.
    pub body: Vec<u8>,
    /// The new run index entry.
    pub index_row: RunIndexRow,
    /// The change of the claim.
    pub claim: ClaimChange,
    /// The documents that the events refer to; usually only the first append has any.
    pub documents: Vec<Arc<StoredDocument>>,
}

/// How an append changes the claim on its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimChange {
    /// It stays unchanged.
    #[default]
    Keep,
    /// It is requested; if another live process holds it, nothing is appended.
    Take,
    /// It is released, if we hold it.
    Release,
}

/// The entry of a run in the list of runs: an index over the journals that can be rebuilt from
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunIndexRow {
    /// The status of the run.
    pub status: RunStatus,
    /// The workflow's name.
    pub workflow: Str,
    /// The caller's label that groups runs.
    pub session: Option<Str>,
    /// When the run started, in milliseconds since 1970.
    pub started_ms: i64,
    /// The time of its last event.
    pub updated_ms: i64,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunStatus {
    /// Driven, or waiting for a driver.
    Running,
    /// Waiting for an answer.
    Paused,
    /// Ended with a result.
    Completed,
    /// Ended with a failure.
    Failed,
    /// Ended by a rejected approval.
    Rejected,
    /// Ended by an abort.
    Aborted,
    /// Ended because no answer came within its time to live.
    Expired,
    /// An open SOP session.
    SopSession,
}

impl RunStatus {
    /// All statuses.
    pub const ALL: [Self; 8] = [
        Self::Running,
        Self::Paused,
        Self::Completed,
        Self::Failed,
        Self::Rejected,
        Self::Aborted,
        Self::Expired,
        Self::SopSession,
    ];

    /// The status as users see it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::SopSession => "guided",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Aborted => "aborted",
            Self::Expired => "expired",
        }
    }

    /// Parses the output of [`Self::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether the run has ended.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Running | Self::Paused | Self::SopSession)
    }
}

/// A part of a journal as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalChunk {
    /// Its first event.
    pub first: Seq,
    /// Its last event.
    pub last: Seq,
    /// The encoded events.
    pub body: Vec<u8>,
}

/// Which runs to list.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs with these statuses; empty means any.
    pub status: Vec<RunStatus>,
    /// Only runs of this workflow.
    pub workflow: Option<Str>,
    /// Only runs of this session.
    pub session: Option<Str>,
    /// Only runs whose last event is older than this.
    pub updated_before_ms: Option<i64>,
    /// Only runs after this one in the list, to continue after a page.
    pub after: Option<RunId>,
    /// The page size; 0 means 100. A store may return fewer and set `more`.
    pub limit: usize,
}

/// One page of the list of runs.
#[derive(Clone, Debug, Default)]
pub struct RunPage {
    /// The rows, newest first.
    pub rows: Vec<RunRow>,
    /// Whether there are more matching runs.
    pub more: bool,
}

/// How much space all runs use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreUsage {
    /// How many runs are running or paused, or are open SOP sessions.
    pub open: u64,
    /// The bytes of all journals, including those of ended runs, and of the documents that they
    /// refer to.
    pub bytes: u64,
}

/// One run in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// Its last event.
    pub last: Seq,
    /// The size of its journal in bytes.
    pub bytes: u64,
    /// The index entry of the last append.
    pub index_row: RunIndexRow,
    /// Whether a live process holds the claim to drive it.
    pub driven: bool,
}

/// The result of requesting a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// We hold it until we release it or the process ends.
    Held,
    /// Another live process holds it.
    Elsewhere {
        /// That process: its process id and start time, for messages.
        owner: String,
    },
}

/// Why an append was not made. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer appended first.
    #[error("the journal has moved on to event {last}")]
    Conflict {
        /// The last event of the journal now.
        last: Seq,
    },
    /// The claim was requested, and another live process holds it.
    #[error("it is driven by {owner}")]
    Elsewhere {
        /// That process: its process id and start time, for messages.
        owner: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreFault),
}

/// The store failed: the disk, the database, the directory.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct StoreFault {
    /// What happened and how to fix it.
    pub message: String,
}
