//! The in-memory fake of the store: shared between simulated processes, and able to crash at a
//! given append.
//!
//! A [`MemoryStore`] is one process. Its clones are handles of that same process;
//! [`MemoryStore::process`] starts another one on the same data.

use crate::ports::{
    Append, AppendError, Claim, ClaimChange, DocumentStore, Epoch, JournalChunk, JournalStore,
    RunFilter, RunPage, RunRow, StoreFault, StoreUsage,
};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::ContentDigest;

/// Rows in a page when the filter sets no page size.
const PAGE_ROWS: usize = 100;

/// How long a lease is good that has not run out: longer than a test takes.
const GOOD_LEASE: Duration = Duration::from_secs(3600);

/// Journals in memory, as one process sees them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    process: Arc<SimulatedProcess>,
}

#[derive(Debug, Default)]
struct SimulatedProcess {
    number: u32,
    disk: Arc<Disk>,
    life: Mutex<ProcessLife>,
    /// The seed that decides how often other tasks run around each of its calls; 0 for never.
    pace: AtomicU64,
    /// After which append it is stopped; 0 for never.
    stops_after: AtomicU64,
    /// Whether it is stopped: its calls wait.
    stopped: watch::Sender<bool>,
}

/// What all processes share.
#[derive(Debug, Default)]
struct Disk {
    state: Mutex<State>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    durable: DurableState,
    claims: BTreeMap<RunId, HeldClaim>,
    /// How often the claim on a run has changed hands.
    epochs: BTreeMap<RunId, u64>,
    processes: u32,
    /// Whether claims are leases.
    leases: bool,
    /// The processes whose lease has run out.
    lapsed: BTreeSet<u32>,
}

/// A claim on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HeldClaim {
    by: u32,
    epoch: Epoch,
}

/// What survives every process.
#[derive(Clone, Debug, Default)]
struct DurableState {
    runs: BTreeMap<RunId, Journal>,
    documents: BTreeMap<(String, String), Vec<u8>>,
    referred: BTreeMap<ContentDigest, StoredDocumentRow>,
}

/// A document that journals refer to.
#[derive(Clone, Debug, Default)]
struct StoredDocumentRow {
    body: Vec<u8>,
    by: BTreeSet<RunId>,
}

#[derive(Clone, Debug)]
struct Journal {
    row: RunRow,
    chunks: Vec<JournalChunk>,
}

#[derive(Debug, Default)]
struct ProcessLife {
    appends: u64,
    death: Option<PlannedCrash>,
    dead: bool,
}

#[derive(Clone, Copy, Debug)]
struct PlannedCrash {
    after: u64,
    /// Whether the append that it crashes after is acknowledged first.
    answered: bool,
}

impl MemoryStore {
    /// An empty store with one process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts another process on the same data.
    pub fn process(&self) -> Self {
        let disk = Arc::clone(&self.process.disk);
        let number = {
            let mut state = lock(&disk.state);
            state.processes += 1;
            state.processes
        };
        Self::with(number, disk)
    }

    /// A copy of what is durable now, as after a power loss: no process is alive.
    pub fn durable(&self) -> Self {
        let state = State {
            durable: self.state().durable.clone(),
            ..State::default()
        };
        let disk = Disk {
            state: Mutex::new(state),
            ..Disk::default()
        };
        Self::with(0, Arc::new(disk))
    }

    /// Crashes this process after its `n`th append from now: that one is made and acknowledged,
    /// every later call fails.
    pub fn crash_after(&self, n: u64) {
        self.crash_at(n, true);
    }

    /// Like [`MemoryStore::crash_after`], but the process crashes before its `n`th append is
    /// acknowledged; that append is durable all the same. With 0 it crashes before the first.
    pub fn crash_unanswered(&self, n: u64) {
        self.crash_at(n, false);
    }

    /// Ends this process at once: its claims are released, its calls fail.
    pub fn kill(&self) {
        self.crash(&mut self.state());
    }

    /// Whether this process has crashed.
    pub fn is_dead(&self) -> bool {
        lock(&self.process.life).dead
    }

    /// Releases the claims of this process although it is alive, as if its lock had been taken
    /// away.
    pub fn lose_claims(&self) {
        self.state().free_claims(self.process.number);
    }

    /// Makes claims leases, for all processes: they can run out, and appends are fenced.
    pub fn with_leases(self) -> Self {
        self.state().leases = true;
        self
    }

    /// Lets the lease of this process run out: others can take its claims, although it is alive.
    pub fn let_lease_lapse(&self) {
        self.state().lapsed.insert(self.process.number);
    }

    /// Stops this process right after its `n`th append from now, before it hears that it was made.
    pub fn stop_after(&self, n: u64) {
        let appends = lock(&self.process.life).appends;
        self.process
            .stops_after
            .store(appends + n, Ordering::Relaxed);
    }

    /// Waits until this process is stopped.
    pub async fn stopped(&self) {
        let mut stopped = self.process.stopped.subscribe();
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    /// Wakes this process up again.
    pub fn wake(&self) {
        self.process.stopped.send_replace(false);
    }

    async fn awake(&self) {
        let mut stopped = self.process.stopped.subscribe();
        let _ = stopped.wait_for(|stopped| !stopped).await;
    }

    /// Lets other tasks run before and after each of its calls, as often as the seed decides.
    pub fn set_yield_seed(&self, seed: u64) {
        self.process.pace.store(seed | 1, Ordering::Relaxed);
    }

    async fn yield_randomly(&self) {
        let pace = self.process.pace.load(Ordering::Relaxed);
        if pace == 0 {
            return;
        }
        let next = pace.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        self.process.pace.store(next | 1, Ordering::Relaxed);
        for _ in 0..(next >> 33) % 4 {
            tokio::task::yield_now().await;
        }
    }

    /// How many appends this process has made.
    pub fn appends(&self) -> u64 {
        lock(&self.process.life).appends
    }

    fn with(number: u32, disk: Arc<Disk>) -> Self {
        Self {
            process: Arc::new(SimulatedProcess {
                number,
                disk,
                life: Mutex::default(),
                pace: AtomicU64::new(0),
                stops_after: AtomicU64::new(0),
                stopped: watch::Sender::new(false),
            }),
        }
    }

    fn crash_at(&self, n: u64, answered: bool) {
        if n == 0 {
            return self.kill();
        }
        let mut life = lock(&self.process.life);
        let after = life.appends + n;
        life.death = Some(PlannedCrash { after, answered });
    }

    fn crash(&self, state: &mut State) {
        lock(&self.process.life).dead = true;
        state.free_claims(self.process.number);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.process.disk.state)
    }

    /// The shared state, unless this process has crashed. No process can crash while it is locked.
    fn lock_alive(&self) -> Result<MutexGuard<'_, State>, StoreFault> {
        let state = self.state();
        if lock(&self.process.life).dead {
            return Err(process_killed());
        }
        Ok(state)
    }

    fn add(&self, append: Append) -> Result<Epoch, AppendError> {
        if append.last <= append.seen {
            let message = format!("a chunk for {} has no event", append.run);
            return Err(StoreFault { message }.into());
        }
        let answered = {
            let mut state = self.lock_alive()?;
            let own = self.process.number;
            let (run, hold) = (append.run.clone(), append.claim);
            state.check_seen(&append)?;
            let epoch = state.check_claim(&run, own, hold)?;
            let over = append.index_row.status.is_over();
            state.append(append);
            match hold {
                ClaimChange::Take if !over => {
                    state
                        .claims
                        .insert(run.clone(), HeldClaim { by: own, epoch });
                    state.epochs.insert(run, epoch.0);
                }
                ClaimChange::Release(_)
                    if state.claims.get(&run).is_some_and(|held| held.by == own) =>
                {
                    state.claims.remove(&run);
                }
                ClaimChange::Keep
                | ClaimChange::Hold(_)
                | ClaimChange::Take
                | ClaimChange::Release(_) => {}
            }
            self.count(&mut state).map(|()| epoch)
        };
        self.changed();
        Ok(answered?)
    }

    fn changed(&self) {
        self.process.disk.changes.send_modify(|count| *count += 1);
    }

    /// Counts an append, and crashes if it is the chosen one.
    fn count(&self, state: &mut State) -> Result<(), StoreFault> {
        let mut life = lock(&self.process.life);
        life.appends += 1;
        if self.process.stops_after.load(Ordering::Relaxed) == life.appends {
            self.process.stopped.send_replace(true);
        }
        let Some(death) = life.death.filter(|death| death.after == life.appends) else {
            return Ok(());
        };
        drop(life);
        self.crash(state);
        if death.answered {
            Ok(())
        } else {
            Err(process_killed())
        }
    }
}

impl Drop for SimulatedProcess {
    fn drop(&mut self) {
        lock(&self.disk.state).free_claims(self.number);
    }
}

#[async_trait]
impl JournalStore for MemoryStore {
    async fn append(&self, append: Append) -> Result<Epoch, AppendError> {
        self.awake().await;
        self.yield_randomly().await;
        let added = self.add(append);
        self.yield_randomly().await;
        // A process may be stopped after its append and before it hears of it.
        self.awake().await;
        added
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<JournalChunk>, StoreFault> {
        self.yield_randomly().await;
        let state = self.lock_alive()?;
        let chunks = state.durable.runs.get(run).map(|journal| &journal.chunks);
        let from = |chunks: &Vec<JournalChunk>| {
            let start = chunks.partition_point(|chunk| chunk.last <= after);
            chunks[start..].to_vec()
        };
        Ok(chunks.map(from).unwrap_or_default())
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        let state = self.lock_alive()?;
        let found = state.durable.referred.get(digest);
        Ok(found.map(|found| found.body.clone()))
    }

    async fn usage(&self) -> Result<StoreUsage, StoreFault> {
        let state = self.lock_alive()?;
        let rows = || state.durable.runs.values().map(|journal| &journal.row);
        let documents = state.durable.referred.values();
        let documents: usize = documents.map(|found| found.body.len()).sum();
        Ok(StoreUsage {
            open: rows().filter(|row| !row.index_row.status.is_over()).count() as u64,
            bytes: rows().map(|row| row.bytes).sum::<u64>() + documents as u64,
        })
    }

    async fn runs(&self, filter: RunFilter) -> Result<RunPage, StoreFault> {
        let state = self.lock_alive()?;
        let most = match filter.limit {
            0 => PAGE_ROWS,
            most => most,
        };
        let journals = state.durable.runs.values().rev();
        let fitting = journals.filter(|journal| matches_filter(&filter, &journal.row));
        let mut rows: Vec<_> = fitting
            .take(most.saturating_add(1))
            .map(|journal| state.row(journal))
            .collect();
        let more = rows.len() > most;
        rows.truncate(most);
        Ok(RunPage { rows, more })
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        self.yield_randomly().await;
        let state = self.lock_alive()?;
        let journal = state.durable.runs.get(run);
        Ok(journal.map(|journal| state.row(journal)))
    }

    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault> {
        self.awake().await;
        self.yield_randomly().await;
        let own = self.process.number;
        let mut state = self.lock_alive()?;
        Ok(match state.take_claim(run, own) {
            Ok(epoch) => Claim::Held(epoch),
            Err(owner) => Claim::Elsewhere { owner },
        })
    }

    async fn release(&self, run: &RunId) -> Result<(), StoreFault> {
        self.awake().await;
        let own = self.process.number;
        let mut state = self.lock_alive()?;
        if state.claims.get(run).is_some_and(|held| held.by == own) {
            state.claims.remove(run);
        }
        Ok(())
    }

    fn good_until(&self) -> Option<Instant> {
        let state = self.state();
        let now = Instant::now();
        match state.leases {
            false => None,
            // The lease of a test is good until the test lets it run out.
            true if state.lapsed.contains(&self.process.number) => Some(now),
            true => Some(now + GOOD_LEASE),
        }
    }

    async fn confirm_claim(&self, run: &RunId, epoch: Epoch) -> Result<bool, StoreFault> {
        self.awake().await;
        let own = self.process.number;
        let mut state = self.lock_alive()?;
        state.lapsed.remove(&own);
        Ok(state.claims.get(run) == Some(&HeldClaim { by: own, epoch }))
    }

    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        let mut state = self.lock_alive()?;
        let mut removed = 0;
        for run in runs {
            removed += usize::from(state.durable.runs.remove(run).is_some());
            state.claims.remove(run);
            state.durable.referred.retain(|_, document| {
                document.by.remove(run);
                !document.by.is_empty()
            });
        }
        Ok(removed)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.process.disk.changes.subscribe()
    }
}

#[async_trait]
impl DocumentStore for MemoryStore {
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        let mut state = self.lock_alive()?;
        let place = (kind.to_owned(), key.to_owned());
        state.durable.documents.insert(place, body);
        Ok(())
    }

    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        let mut state = self.lock_alive()?;
        let place = (kind.to_owned(), key.to_owned());
        let same = state.durable.documents.get(&place) == seen.as_ref();
        if same {
            state.durable.documents.insert(place, body);
        }
        Ok(same)
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        let state = self.lock_alive()?;
        let place = (kind.to_owned(), key.to_owned());
        Ok(state.durable.documents.get(&place).cloned())
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        let state = self.lock_alive()?;
        let places = state.durable.documents.keys();
        let keys = places
            .filter(|(of, _)| of == kind)
            .map(|(_, key)| key.clone());
        Ok(keys.collect())
    }

    async fn delete(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        let mut state = self.lock_alive()?;
        let goes = |of: &str, key: &String| of == kind && keys.contains(key);
        let documents = &mut state.durable.documents;
        documents.retain(|(of, key), _| !goes(of, key));
        Ok(())
    }
}

fn matches_filter(filter: &RunFilter, row: &RunRow) -> bool {
    let head = &row.index_row;
    let status = filter.status.is_empty() || filter.status.contains(&head.status);
    let workflow = filter
        .workflow
        .as_ref()
        .is_none_or(|name| *name == head.workflow);
    let session = filter.session.is_none() || filter.session == head.session;
    let old = filter
        .updated_before_ms
        .is_none_or(|ms| head.updated_ms < ms);
    let after = filter.after.as_ref().is_none_or(|after| row.run < *after);
    status && workflow && session && old && after
}

fn process_killed() -> StoreFault {
    StoreFault {
        message: "this process was killed by its test".into(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

mod state;
#[cfg(test)]
mod tests;
