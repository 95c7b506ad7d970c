//! `Store`: what a store needs to offer, and the data that it takes and returns.

use super::documents::DocumentStore;
use super::journals::JournalStore;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::StoredDocument;

/// Keeps journals and small named documents. It does not interpret them.
pub trait Store: JournalStore + DocumentStore {}

impl<S: JournalStore + DocumentStore> Store for S {}

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

/// How an append changes the claim on its run, and whether it depends on it.
///
/// A store with leases refuses an append with `Hold` or `Release` if the claim has changed hands since: its
/// writer was stopped for longer than its lease, and another process drives the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimChange {
    /// It stays unchanged, and whoever holds it does not matter.
    #[default]
    Keep,
    /// It stays unchanged, and we hold it.
    Hold(Epoch),
    /// It is requested; if another live process holds it, nothing is appended.
    Take,
    /// It is released, if we hold it.
    Release(Epoch),
}

/// How often the claim on a run has changed hands: the fence of its holder. 0 in a store whose claims cannot
/// be taken from a live process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

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
    /// The pool whose processes drive it; `None` for a run that every process may drive.
    pub pool: Option<Str>,
}

/// The result of requesting a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// We hold it until we release it or the process ends; in a store with leases, while our lease is good.
    Held(Epoch),
    /// Another live process holds it.
    Elsewhere {
        /// That process: its process id and start time, for messages.
        owner: String,
    },
}

impl Claim {
    /// Whether we hold it.
    pub fn is_held(&self) -> bool {
        match self {
            Self::Held(_) => true,
            Self::Elsewhere { .. } => false,
        }
    }
}

/// A run and the last event that the caller knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownEvents {
    /// The run.
    pub run: RunId,
    /// The last known event.
    pub last: Seq,
}

/// A process that drives runs of a store with leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its name.
    pub name: String,
    /// Whether it is the process that asks.
    pub is_self: bool,
    /// When it joined, in milliseconds since 1970.
    pub joined_ms: i64,
    /// How long its lease is good, in milliseconds; negative once it has run out.
    pub lease_left_ms: i64,
    /// The pools whose runs it drives.
    pub pools: Vec<String>,
    /// The version of its program.
    pub version: String,
    /// How many runs it drives.
    pub driven: u64,
}

/// What a store with leases has counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseCounts {
    /// Claims that were taken from a process whose lease had run out.
    pub take_overs: u64,
    /// Appends that were refused because the claim had changed hands.
    pub fenced: u64,
    /// Milliseconds since the lease was last renewed.
    pub age_ms: u64,
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
    /// The claim was requested and another live process holds it, or it was ours and has changed hands.
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
