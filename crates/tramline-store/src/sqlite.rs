//! The store on SQLite: one file that several processes share, one writer in each, group commit.
//!
//! The journal's last event is the lock between processes: an append names the event it has seen
//! and is refused if another came first. What drives a run is settled by claims that
//! die with their process.

mod claims;
mod contents;
mod desk;
mod documents;
mod faults;
mod journal;
mod listing;
mod log;
mod migrate;
mod owner;
mod place;
mod removal;
mod verify;
mod watch;
mod writer;

use async_trait::async_trait;
use desk::Desks;
use faults::{Trouble, file_fault};
use owner::Owners;
use place::{Opened, Place};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::watch::Receiver;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::ContentDigest;
use tramline_engine::seams::{
    Append, AppendError, Chunk, Claim, Hold, Page, RunFilter, RunRow, Store, StoreFault, Usage,
};
pub use verify::{StoreProblem, Verification};
use watch::Ticks;
use writer::{Care, Writer};

/// Journals in an SQLite database.
///
/// Each value counts as one process: two opened on the same directory hold claims against each
/// other. Dropping it finishes what was queued, gives its claims back and tidies the log.
#[derive(Debug)]
pub struct Sqlite {
    // Dropped in this order: the writer ends first, the connections close last.
    writer: Writer,
    owners: Arc<Owners>,
    ticks: Arc<Ticks>,
    desks: Arc<Desks>,
    warnings: Vec<String>,
}

impl Sqlite {
    /// Opens the database in a data directory, making both where needed.
    pub fn open(dir: &Path) -> Result<Self, StoreFault> {
        Self::at(Place::disk(dir))
    }

    /// Whether a data directory has a database.
    pub fn is_at(dir: &Path) -> bool {
        Place::is_at(dir)
    }

    /// A database that is gone when it is dropped.
    pub fn in_memory() -> Result<Self, StoreFault> {
        Self::at(Place::memory())
    }

    fn at(place: Place) -> Result<Self, StoreFault> {
        let Opened {
            place,
            conn,
            warnings,
        } = place.open()?;
        let owners = Arc::new(Owners::new(place.dir()));
        let desks = Arc::new(Desks::new(place, conn));
        let ticks = Arc::new(Ticks::new());
        Ok(Self {
            writer: Writer::new(Arc::clone(&desks), Arc::clone(&ticks)),
            owners,
            ticks,
            desks,
            warnings,
        })
    }

    /// What whoever runs the program should know of the database as it was found.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads all that is kept and holds it against its sums. Takes as long as that takes.
    pub async fn verify(&self) -> Result<Verification, StoreFault> {
        let desks = Arc::clone(&self.desks);
        let reading = tokio::task::spawn_blocking(move || desks.look_apart(verify::verify));
        let stopped = |_| faults::plain_fault("the store was closed while it was verified");
        reading.await.map_err(stopped)?
    }

    /// Counts every run's events and bytes anew from its chunks; gives the number of runs.
    ///
    /// The rest of a run's row is what its events mean, which only the engine knows: it reads the
    /// journal and gives the head again with its next append.
    pub async fn rebuild(&self) -> Result<usize, StoreFault> {
        self.writer.submit(0, Care::Durable, journal::rebuild).await
    }
}

impl Sqlite {
    /// This store's name as an owner, and whether it got it only now.
    fn own_name(&self) -> Result<(String, bool), StoreFault> {
        self.owners
            .own()
            .map_err(|error| file_fault(&self.desks.place, "claim a run", &error))
    }
}

impl Sqlite {
    async fn add(&self, append: Append, care: Care) -> Result<(), AppendError> {
        journal::check(&append)?;
        let documents = append.documents.iter().map(|document| document.body.len());
        let bytes = append.body.len() + documents.sum::<usize>();
        let claimant = match append.hold {
            Hold::Take => Some(self.own_name()?),
            Hold::Give => self.owners.known().map(|name| (name, false)),
            Hold::Keep => None,
        };
        let owners = Arc::clone(&self.owners);
        self.writer
            .submit(bytes, care, move |conn| {
                append_and_hold(conn, &owners, &append, claimant)
            })
            .await?
    }

    /// Puts a document in the place of what was seen there.
    async fn exchange(
        &self,
        (kind, key): (&str, &str),
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
        care: Care,
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
        self.ticks.close();
    }
}

/// Appends a chunk and does to the claim what it says, both or neither.
fn append_and_hold(
    conn: &Connection,
    owners: &Owners,
    append: &Append,
    claimant: Option<(String, bool)>,
) -> Result<Result<(), AppendError>, Trouble> {
    let (run, over) = (&append.run, append.head.status.is_over());
    let takes = append.hold == Hold::Take;
    if let Some((name, fresh)) = claimant.as_ref().filter(|_| takes) {
        if *fresh {
            claims::clear_dead(conn, owners)?;
        }
        if let Some(owner) = claims::holder(conn, owners, run, name)? {
            return Ok(Err(AppendError::Elsewhere { owner }));
        }
    }
    if let Err(last) = journal::append(conn, append)? {
        return Ok(Err(AppendError::Moved { last }));
    }
    match claimant {
        // Whoever held it: nobody drives what is over.
        _ if over => claims::clear(conn, run)?,
        Some((name, _)) if takes => claims::put(conn, run, &name)?,
        Some((name, _)) => claims::release(conn, run, &name)?,
        None => {}
    }
    Ok(Ok(()))
}

#[async_trait]
impl Store for Sqlite {
    async fn append(&self, append: Append) -> Result<(), AppendError> {
        self.add(append, Care::Durable).await
    }

    async fn jot(&self, append: Append) -> Result<(), AppendError> {
        self.add(append, Care::Soon).await
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<Chunk>, StoreFault> {
        let run = run.clone();
        self.desks
            .read(move |conn| journal::read(conn, &run, after))
            .await
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        let digest = *digest;
        self.desks
            .read(move |conn| contents::body(conn, &digest))
            .await
    }

    async fn salvage(&self, run: &RunId) -> Result<Vec<Chunk>, StoreFault> {
        let run = run.clone();
        self.desks
            .read(move |conn| journal::salvage(conn, &run))
            .await
    }

    async fn runs(&self, filter: RunFilter) -> Result<Page, StoreFault> {
        let owners = Arc::clone(&self.owners);
        self.desks
            .read(move |conn| listing::page(conn, &owners, &filter))
            .await
    }

    async fn usage(&self) -> Result<Usage, StoreFault> {
        self.desks.read(listing::usage).await
    }

    async fn footprint(&self) -> Result<u64, StoreFault> {
        self.desks.read(listing::footprint).await
    }

    async fn born(&self, at_ms: i64) -> Result<u64, StoreFault> {
        self.desks
            .read(move |conn| listing::born(conn, at_ms))
            .await
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        let (run, owners) = (run.clone(), Arc::clone(&self.owners));
        self.desks
            .read(move |conn| listing::row(conn, &owners, &run))
            .await
    }

    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault> {
        let (run, owners) = (run.clone(), Arc::clone(&self.owners));
        let (name, fresh) = self.own_name()?;
        self.writer
            .submit(0, Care::Passing, move |conn| {
                if fresh {
                    claims::clear_dead(conn, &owners)?;
                }
                claims::claim(conn, &owners, &run, &name)
            })
            .await
    }

    async fn release(&self, run: &RunId) -> Result<(), StoreFault> {
        let run = run.clone();
        let Some(name) = self.owners.known() else {
            return Ok(());
        };
        self.writer
            .submit(0, Care::Passing, move |conn| {
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
            // Others may ask the same of us. Where no lock can be made, nobody waits for us.
            let _ = owners.own();
            owners.others_live()
        });
        Ok(looked.await.unwrap_or(false))
    }

    fn changes(&self) -> Receiver<u64> {
        self.ticks.listen(&self.desks)
    }

    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        self.writer
            .submit(body.len(), Care::Durable, move |conn| {
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
        self.exchange((kind, key), seen, body, Care::Durable).await
    }

    async fn note(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        self.exchange((kind, key), seen, body, Care::Soon).await
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        let (kind, key) = (kind.to_owned(), key.to_owned());
        self.desks
            .read(move |conn| documents::get(conn, &kind, &key))
            .await
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        let kind = kind.to_owned();
        self.desks
            .read(move |conn| documents::list(conn, &kind))
            .await
    }

    async fn forget(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        let (kind, keys) = (kind.to_owned(), keys.to_vec());
        self.writer
            .submit(0, Care::Durable, move |conn| {
                documents::forget(conn, &kind, &keys)
            })
            .await
    }
}
