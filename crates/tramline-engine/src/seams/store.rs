//! `Store`: keeps journals as opaque chunks and lets the sequence number be the lock.

use async_trait::async_trait;
use std::sync::Arc;
use tokio::sync::watch;
use tramline_core::Str;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{ContentDigest, StoredDocument};

/// Rows that are looked through at a time to count runs.
const BORN_PAGE_ROWS: usize = 1_000;

/// Keeps journals, and small named documents beside them. Knows nothing of what they mean.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Makes the events `seen + 1 ..= last` durable, if `seen` is still the journal's last.
    ///
    /// When it returns, the chunk survives the death of the process and of the machine's power.
    /// Appends of several runs share one disk sync. One whose caller stops waiting may still be
    /// made, and so may, rarely, one whose disk failed while syncing: who goes on reads first.
    ///
    /// The documents that it brings are kept with it or not at all, each once for all journals
    /// that refer to it, and until the last of these is removed. An append brings every document
    /// that its events refer to, also one that the store may have: another process may be removing
    /// the last journal that referred to it.
    ///
    /// What it says of the claim happens with it or not at all. An append by which the run is
    /// over gives the claim back, whoever holds it.
    async fn append(&self, append: Append) -> Result<(), AppendError>;

    /// Like [`append`](Store::append), for words after which nothing leaves but a reply that can be
    /// given again. When it returns, the chunk survives the death of the process at once, and that
    /// of the machine's power soon: at the latest when any later append has returned.
    async fn jot(&self, append: Append) -> Result<(), AppendError> {
        self.append(append).await
    }

    /// The chunks of a run that hold events after `after`, in order. Empty for an unknown run.
    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<Chunk>, StoreFault>;

    /// The body of a document that a journal refers to, as it was brought. The caller holds it
    /// against its digest.
    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault>;

    /// What can still be read of a run whose journal is damaged: its whole chunks, in order. There
    /// may be gaps between them.
    async fn salvage(&self, run: &RunId) -> Result<Vec<Chunk>, StoreFault> {
        self.read(run, 0).await
    }

    /// The runs that fit the filter, newest first.
    async fn runs(&self, filter: RunFilter) -> Result<Page, StoreFault>;

    /// How many runs were born in a millisecond. What a run calls is born with it, so that these are
    /// the run, all that it led to, and the few others of that moment.
    async fn born(&self, at_ms: i64) -> Result<u64, StoreFault> {
        let mut filter = RunFilter {
            after: Some(RunId::new(at_ms, u128::MAX)),
            most: BORN_PAGE_ROWS,
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

    /// How much all runs take up. What documents take up is left out unless a store says better.
    async fn usage(&self) -> Result<Usage, StoreFault> {
        let mut usage = Usage::default();
        let mut filter = RunFilter::default();
        loop {
            let page = self.runs(filter.clone()).await?;
            for row in &page.rows {
                usage.open += u64::from(!row.head.status.is_over());
                usage.bytes += row.bytes;
            }
            filter.after = page.rows.last().map(|row| row.run.clone());
            if !page.more {
                return Ok(usage);
            }
        }
    }

    /// How many bytes the store takes up on its disk, room that it can use again left out. Nothing
    /// for a store that is in memory.
    async fn footprint(&self) -> Result<u64, StoreFault> {
        Ok(0)
    }

    /// Asks to be the one process that drives `run`. A claim dies with its process at once.
    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault>;

    /// Gives a claim back. Releasing what is not held does nothing.
    async fn release(&self, run: &RunId) -> Result<(), StoreFault>;

    /// Forgets runs with all their events, and the documents that only they referred to; unknown
    /// ones are passed over. Gives the number removed.
    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault>;

    /// Whether another living process has driven runs of this store. Such a process may go on with
    /// a run that is answered.
    async fn is_shared(&self) -> Result<bool, StoreFault> {
        Ok(false)
    }

    /// Ticks after every commit that may have added events, of this process or of another one.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Keeps a small document under a kind and a key, replacing what was there.
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault>;

    /// Keeps a document in the place of what the caller has seen there: these very bytes, or
    /// nothing. Whether it was kept; where another came first it is not, and nothing changes.
    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault>;

    /// Like [`swap`](Store::swap), for what helps later and of which nothing that leaves depends.
    /// When it returns, the document survives the death of the process at once, and that of the
    /// machine's power soon: at the latest when any later append has returned.
    async fn note(
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

    /// Forgets documents of a kind; unknown keys are passed over.
    async fn forget(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault>;
}

/// Events to be added to one run's journal, already encoded.
#[derive(Clone, Debug)]
pub struct Append {
    /// Whose journal.
    pub run: RunId,
    /// The last event the appender knows; 0 starts a journal.
    pub seen: Seq,
    /// The last event of this chunk, so the chunk holds `last - seen` events.
    pub last: Seq,
    /// The encoded events.
    pub body: Vec<u8>,
    /// What the list of runs shows from now on.
    pub head: Head,
    /// What becomes of the claim to drive the run.
    pub hold: Hold,
    /// The documents that the events refer to: with the first append of a journal, mostly.
    pub documents: Vec<Arc<StoredDocument>>,
}

/// What an append says of the claim to drive its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// It stays as it is.
    #[default]
    Keep,
    /// It is asked for; if a living process has it, nothing is appended.
    Take,
    /// It is given back, if it is ours.
    Give,
}

/// The row of the list of runs: an index over journals, rebuilt from them if lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// How the run stands.
    pub status: Status,
    /// The workflow's name.
    pub workflow: Str,
    /// The caller's label that groups runs.
    pub session: Option<Str>,
    /// When the run began, in milliseconds since 1970.
    pub started_ms: i64,
    /// When its last event happened.
    pub updated_ms: i64,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Being driven, or to be driven on.
    Running,
    /// Waiting for an answer.
    Paused,
    /// Ended with a result.
    Completed,
    /// Ended with a failure.
    Failed,
    /// Ended by a no to an approval.
    Rejected,
    /// Ended from outside.
    Aborted,
    /// Ended because nobody answered in the time it was given.
    Expired,
    /// A conversation along a procedure, moved by its agent.
    Guided,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 8] = [
        Self::Running,
        Self::Paused,
        Self::Completed,
        Self::Failed,
        Self::Rejected,
        Self::Aborted,
        Self::Expired,
        Self::Guided,
    ];

    /// The status as users read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Guided => "guided",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Aborted => "aborted",
            Self::Expired => "expired",
        }
    }

    /// Reads what [`Status::as_str`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == text)
    }

    /// Whether nothing more can happen.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Running | Self::Paused | Self::Guided)
    }
}

/// A stretch of a journal as it was appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
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
    /// Only runs that stand so; empty means any.
    pub status: Vec<Status>,
    /// Only runs of this workflow.
    pub workflow: Option<Str>,
    /// Only runs of this session.
    pub session: Option<Str>,
    /// Only runs whose last event is older than this.
    pub updated_before_ms: Option<i64>,
    /// Only runs before this one in the list: where the last page ended.
    pub after: Option<RunId>,
    /// At most so many; 0 means 100. A store may give fewer and say that there are more.
    pub most: usize,
}

/// One page of the list of runs.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The rows, newest first.
    pub rows: Vec<RunRow>,
    /// Whether older ones fit the filter too.
    pub more: bool,
}

/// How much all runs take up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many are running, paused or guided.
    pub open: u64,
    /// How many bytes their journals hold, those of ended runs among them, and the documents that
    /// they refer to.
    pub bytes: u64,
}

/// One run in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    /// Which run.
    pub run: RunId,
    /// Its last event.
    pub last: Seq,
    /// How many bytes its journal holds.
    pub bytes: u64,
    /// What the last append said of it.
    pub head: Head,
    /// Whether a living process holds the claim to drive it.
    pub driven: bool,
}

/// The answer to asking for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is ours until we release it or die.
    Held,
    /// A living process has it.
    Elsewhere {
        /// Which one: its process id and start, for messages.
        owner: String,
    },
}

/// Why an append was not made. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Somebody appended first.
    #[error("the journal has moved on to event {last}")]
    Moved {
        /// The journal's last event now.
        last: Seq,
    },
    /// The claim was asked for, and a living process has it.
    #[error("it is driven by {owner}")]
    Elsewhere {
        /// Which one: its process id and start, for messages.
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
    /// What happened and what to do about it.
    pub message: String,
}
