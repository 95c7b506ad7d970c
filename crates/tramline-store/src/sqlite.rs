//! The SQLite store: one file shared by several processes, one writer in each, group commit.
//!
//! Processes synchronize optimistically on a journal's last event: an append names the event it has
//! seen and is rejected if another append came first. Claims decide which process drives a run;
//! they end with their process.

mod backup;
mod change_poll;
mod claims;
mod connections;
mod database;
mod documents;
mod error;
mod journal;
mod listing;
mod migrate;
mod process_lock;
mod removal;
mod stored_documents;
mod verify;
mod wal_check;
mod writer;

use async_trait::async_trait;
pub use backup::StoreCopy;
use change_poll::ChangeSignal;
use connections::Connections;
use database::{Database, OpenedDatabase};
use error::{DbError, file_fault};
use process_lock::ProcessLocks;
pub use process_lock::utc;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch::Receiver;
use tramline_engine::ports::{
    Append, AppendError, Claim, ClaimChange, DocumentStore, Epoch, JournalChunk, JournalStore,
    RunFilter, RunPage, RunRow, StoreFault, StoreUsage,
};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::ContentDigest;
pub use verify::{StoreProblem, Verification};
use writer::{Durability, Writer};

/// Journals in an SQLite database.
///
/// Each value counts as one process: two that are opened on the same directory hold claims against
/// each other. Dropping it finishes queued work, releases its claims and checkpoints the log.
#[derive(Debug)]
pub struct Sqlite {
    // Drop order matters: the writer ends first, the connections close last.
    writer: Writer,
    owners: Arc<ProcessLocks>,
    changes: Arc<ChangeSignal>,
    connections: Arc<Connections>,
    warnings: Vec<String>,
}

impl Sqlite {
    /// Opens the database in a data directory, creating both if needed.
    pub fn open(dir: &Path) -> Result<Self, StoreFault> {
        Self::open_database(Database::disk(dir))
    }

    /// Whether a data directory contains a database.
    pub fn is_at(dir: &Path) -> bool {
        Database::is_at(dir)
    }

    /// A database in memory that is gone when dropped.
    pub fn in_memory() -> Result<Self, StoreFault> {
        Self::open_database(Database::memory())
    }

    fn open_database(place: Database) -> Result<Self, StoreFault> {
        let OpenedDatabase {
            database: place,
            conn,
            warnings,
        } = place.open()?;
        let owners = Arc::new(ProcessLocks::new(place.dir()));
        let desks = Arc::new(Connections::new(place, conn));
        let ticks = Arc::new(ChangeSignal::new());
        Ok(Self {
            writer: Writer::new(Arc::clone(&desks), Arc::clone(&ticks)),
            owners,
            changes: ticks,
            connections: desks,
            warnings,
        })
    }

    /// Warnings for the operator about the database as it was found.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads everything and verifies its checksums. Takes as long as reading everything takes.
    pub async fn verify(&self) -> Result<Verification, StoreFault> {
        let desks = Arc::clone(&self.connections);
        let reading = tokio::task::spawn_blocking(move || desks.inspect_snapshot(verify::verify));
        let stopped = |_| error::plain_fault("the store was closed while it was verified");
        reading.await.map_err(stopped)?
    }

    /// Recomputes every run's event and byte counts from its chunks; returns the number of runs.
    ///
    /// The rest of a run's row depends on the meaning of its events, which only the engine knows:
    /// it reads the journal and writes the row with its next append.
    pub async fn rebuild(&self) -> Result<usize, StoreFault> {
        self.writer
            .submit(0, Durability::Durable, journal::rebuild)
            .await
    }
}

impl Sqlite {
    /// This store's owner name, and whether it was created just now.
    fn own_name(&self) -> Result<(String, bool), StoreFault> {
        self.owners
            .own_name()
            .map_err(|error| file_fault(&self.connections.database, "claim a run", &error))
    }
}

impl Sqlite {
    async fn append_with(&self, append: Append, care: Durability) -> Result<(), AppendError> {
        journal::check(&append)?;
        let documents = append.documents.iter().map(|document| document.body.len());
        let bytes = append.body.len() + documents.sum::<usize>();
        let claimant = match append.claim {
            ClaimChange::Take => Some(self.own_name()?),
            ClaimChange::Release(_) => self.owners.own_name_if_any().map(|name| (name, false)),
            ClaimChange::Keep | ClaimChange::Hold(_) => None,
        };
        let owners = Arc::clone(&self.owners);
        self.writer
            .submit(bytes, care, move |conn| {
                append_and_claim(conn, &owners, &append, claimant)
            })
            .await?
    }

    /// Replaces a document if it still has the seen content.
    async fn swap_with(
        &self,
        (kind, key): (&str, &str),
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
        care: Durability,
    ) -> Result<bool, StoreFault> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        self.writer
            .submit(body.len(), care, move |conn| {
                documents::swap(conn, &kind, &key, seen.as_deref(), &body)
            })
            .await
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.changes.close();
    }
}

/// Appends a chunk and changes the claim, atomically.
fn append_and_claim(
    conn: &Connection,
    owners: &ProcessLocks,
    append: &Append,
    claimant: Option<(String, bool)>,
) -> Result<Result<(), AppendError>, DbError> {
    let (run, over) = (&append.run, append.index_row.status.is_over());
    let takes = append.claim == ClaimChange::Take;
    if let Some((name, fresh)) = claimant.as_ref().filter(|_| takes) {
        if *fresh {
            claims::clear_dead(conn, owners)?;
        }
        if let Some(owner) = claims::holder(conn, owners, run, name)? {
            return Ok(Err(AppendError::Elsewhere { owner }));
        }
    }
    if let Err(last) = journal::append(conn, append)? {
        return Ok(Err(AppendError::Conflict { last }));
    }
    match claimant {
        // Whoever holds the claim: a finished run has no driver.
        _ if over => claims::clear(conn, run)?,
        Some((name, _)) if takes => claims::put(conn, run, &name)?,
        Some((name, _)) => claims::release(conn, run, &name)?,
        None => {}
    }
    Ok(Ok(()))
}

#[async_trait]
impl JournalStore for Sqlite {
    async fn append(&self, append: Append) -> Result<Epoch, AppendError> {
        self.append_with(append, Durability::Durable).await?;
        Ok(Epoch::default())
    }

    async fn append_relaxed(&self, append: Append) -> Result<Epoch, AppendError> {
        self.append_with(append, Durability::SyncSoon).await?;
        Ok(Epoch::default())
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<JournalChunk>, StoreFault> {
        let run = run.clone();
        self.connections
            .read(move |conn| journal::read(conn, &run, after))
            .await
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        let digest = *digest;
        self.connections
            .read(move |conn| stored_documents::body(conn, &digest))
            .await
    }

    async fn read_intact(&self, run: &RunId) -> Result<Vec<JournalChunk>, StoreFault> {
        let run = run.clone();
        self.connections
            .read(move |conn| journal::salvage(conn, &run))
            .await
    }

    async fn runs(&self, filter: RunFilter) -> Result<RunPage, StoreFault> {
        let owners = Arc::clone(&self.owners);
        self.connections
            .read(move |conn| listing::page(conn, &owners, &filter))
            .await
    }

    async fn usage(&self) -> Result<StoreUsage, StoreFault> {
        self.connections.read(listing::usage).await
    }

    async fn disk_bytes(&self) -> Result<u64, StoreFault> {
        self.connections.read(listing::footprint).await
    }

    async fn count_created(&self, at_ms: i64) -> Result<u64, StoreFault> {
        self.connections
            .read(move |conn| listing::born(conn, at_ms))
            .await
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        let (run, owners) = (run.clone(), Arc::clone(&self.owners));
        self.connections
            .read(move |conn| listing::row(conn, &owners, &run))
            .await
    }

    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault> {
        let (run, owners) = (run.clone(), Arc::clone(&self.owners));
        let (name, fresh) = self.own_name()?;
        self.writer
            .submit(0, Durability::Volatile, move |conn| {
                if fresh {
                    claims::clear_dead(conn, &owners)?;
                }
                claims::claim(conn, &owners, &run, &name)
            })
            .await
    }

    async fn release(&self, run: &RunId) -> Result<(), StoreFault> {
        let run = run.clone();
        let Some(name) = self.owners.own_name_if_any() else {
            return Ok(());
        };
        self.writer
            .submit(0, Durability::Volatile, move |conn| {
                claims::release(conn, &run, &name)
            })
            .await
    }

    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        let removed = self.remove_in_turns(runs).await?;
        if removed > 0 {
            self.vacuum().await?;
        }
        Ok(removed)
    }

    async fn is_shared(&self) -> Result<bool, StoreFault> {
        let owners = Arc::clone(&self.owners);
        let looked = tokio::task::spawn_blocking(move || {
            // Other processes may ask the same about this one. If no lock file can be created, they
            // do not wait for us.
            let _ = owners.own_name();
            owners.is_other_alive()
        });
        Ok(looked.await.unwrap_or(false))
    }

    fn changes(&self) -> Receiver<u64> {
        self.changes.subscribe(&self.connections)
    }
}

#[async_trait]
impl DocumentStore for Sqlite {
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        self.writer
            .submit(body.len(), Durability::Durable, move |conn| {
                documents::put(conn, &kind, &key, &body)
            })
            .await
    }

    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.swap_with((kind, key), seen, body, Durability::Durable)
            .await
    }

    async fn swap_relaxed(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.swap_with((kind, key), seen, body, Durability::SyncSoon)
            .await
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        self.connections
            .read(move |conn| documents::get(conn, &kind, &key))
            .await
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        let kind = kind.to_owned();
        self.connections
            .read(move |conn| documents::list(conn, &kind))
            .await
    }

    async fn delete(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        let (kind, keys) = (kind.to_owned(), keys.to_vec());
        self.writer
            .submit(0, Durability::Durable, move |conn| {
                documents::forget(conn, &kind, &keys)
            })
            .await
    }
}
