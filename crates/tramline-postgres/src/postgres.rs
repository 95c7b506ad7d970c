//! The store: what each method of the ports does in the database.

use crate::change_hub::ChangeHub;
use crate::connection::{Connector, Link, RetryDelays};
use crate::group_writer::GroupWriter;
use crate::lease::{self, Lease};
use crate::migrations::{self, DOCUMENT_LOCK};
use crate::runtime_thread::RuntimeThread;
use crate::store_url::StoreUrl;
use crate::{chunks, documents, listing, notices};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_postgres::types::Type;
use tramline_engine::ports::{
    Append, AppendError, Claim, DocumentStore, Epoch, JournalChunk, JournalStore, KnownEvents,
    LeaseCounts, Replica, RunFilter, RunPage, RunRow, StoreFault, StoreUsage,
};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::ContentDigest;

/// How long a lease lasts, unless the operator says otherwise: the time that a crash delays its runs.
const LEASE: Duration = Duration::from_secs(10);
/// How long a server that is just starting is waited for; then its address is probably wrong.
const OPEN_MAX: Duration = Duration::from_secs(10);
/// The shortest lease: with a shorter one, a busy machine would lose its runs.
const LEASE_MIN: Duration = Duration::from_secs(1);
/// The longest lease.
const LEASE_MAX: Duration = Duration::from_secs(600);
/// The pool of replicas and runs without a named one.
const POOL: &str = "default";
/// Pools of one replica.
const POOLS_MAX: usize = 32;
/// The longest name of a replica or pool, in bytes.
const NAME_BYTES_MAX: usize = 128;
/// How long the database may take to answer whether it can be used.
const READY_MAX: Duration = Duration::from_secs(2);
/// Runs that are removed by one statement.
const REMOVED_AT_ONCE: usize = 1_000;

/// How this replica takes part.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Its name, as other replicas and the list of replicas show it.
    pub name: String,
    /// How long its lease lasts without being renewed.
    pub lease: Duration,
    /// The pools whose runs it drives. Runs that start here belong to the first one.
    pub pools: Vec<String>,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            name: format!("process {}", std::process::id()),
            lease: LEASE,
            pools: vec![POOL.to_owned()],
        }
    }
}

impl PostgresOptions {
    /// Why the options cannot be used, if so.
    fn check(&self) -> Result<(), String> {
        if !(LEASE_MIN..=LEASE_MAX).contains(&self.lease) {
            return Err(format!(
                "a lease lasts between {} and {} seconds",
                LEASE_MIN.as_secs(),
                LEASE_MAX.as_secs()
            ));
        }
        let is_name = |name: &String| !name.is_empty() && name.len() <= NAME_BYTES_MAX;
        if !is_name(&self.name) || !self.pools.iter().all(is_name) {
            return Err(format!(
                "names of replicas and pools have between 1 and {NAME_BYTES_MAX} bytes"
            ));
        }
        if self.pools.is_empty() || self.pools.len() > POOLS_MAX {
            return Err(format!("a replica has between 1 and {POOLS_MAX} pools"));
        }
        Ok(())
    }
}

/// Journals in a PostgreSQL database, as one replica sees them.
///
/// Dropping it gives its lease back, with every run that it drives.
pub struct Postgres {
    reader: Link,
    writer: GroupWriter,
    lease: Arc<Lease>,
    hub: Arc<ChangeHub>,
    warnings: Vec<String>,
    thread: RuntimeThread,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

impl Postgres {
    /// Connects to a database, and creates or upgrades its tables.
    pub fn open(url: StoreUrl, options: PostgresOptions) -> Result<Self, StoreFault> {
        options.check().map_err(|message| StoreFault { message })?;
        let thread = RuntimeThread::start()?;
        let handle = thread.handle();
        let connector = Arc::new(Connector::new(url, handle.clone())?);
        let first = Arc::clone(&connector);
        let opened = thread.run(async move {
            let reader = Link::new(&first);
            let mut delays = RetryDelays::within(OPEN_MAX);
            while let Err(error) = reader.once("SELECT 1", &[]).await {
                if let Err(error) = delays.wait(error).await {
                    let StoreFault { message } = error.into();
                    return Err(StoreFault {
                        message: format!("cannot open {}: {message}", first.url),
                    });
                }
            }
            let warnings = migrations::migrate(&reader).await?;
            Ok((reader, warnings))
        });
        let (reader, warnings) = opened??;
        let PostgresOptions { name, lease, pools } = options;
        let lease = Arc::new(Lease::new(&connector, name, pools, lease));
        let hub = Arc::new(ChangeHub::default());
        handle.spawn(Arc::clone(&lease).beat());
        let (heard, own) = (Arc::clone(&hub), Arc::clone(&lease));
        handle.spawn(notices::exchange(Arc::clone(&connector), own, heard));
        Ok(Self {
            reader,
            writer: GroupWriter::start(handle, &connector, &lease, &hub),
            lease,
            hub,
            warnings,
            thread,
        })
    }

    /// Warnings for the operator about the server as it was found.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Requests the claim once. `None` if another request interfered.
    async fn claim_once(&self, run: &RunId) -> Result<Option<Claim>, StoreFault> {
        let own = self.lease.id().await?;
        let pool = self.lease.first_pool();
        let id = run.as_str();
        let rows = self
            .reader
            .repeat(
                "WITH old AS MATERIALIZED (SELECT run, owner FROM tramline.runs WHERE run = $1 FOR UPDATE), \
                 moved AS (UPDATE tramline.runs r SET owner = $2, \
                   epoch = CASE WHEN r.owner IS DISTINCT FROM $2 THEN r.epoch + 1 ELSE r.epoch END \
                   FROM old WHERE r.run = old.run AND (r.owner IS NULL OR r.owner = $2 OR NOT EXISTS \
                   (SELECT 1 FROM tramline.replicas p WHERE p.id = r.owner AND p.expires > now())) \
                   RETURNING r.epoch, coalesce(old.owner <> $2, false)), \
                 fresh AS (INSERT INTO tramline.runs \
                   (run, last, bytes, status, workflow, started_ms, updated_ms, pool, owner, epoch) \
                   SELECT $1, 0, 0, 0, '', 0, 0, $3, $2, 1 WHERE NOT EXISTS (SELECT 1 FROM old) \
                   ON CONFLICT (run) DO NOTHING RETURNING epoch, false) \
                 SELECT * FROM moved UNION ALL SELECT * FROM fresh",
                &[(&id, Type::TEXT), (&own, Type::INT8), (&pool, Type::TEXT)],
            )
            .await?;
        if let Some(row) = rows.first() {
            if row.get(1) {
                self.lease.count_take_over();
            }
            return Ok(Some(Claim::Held(Epoch(row.get::<_, i64>(0) as u64))));
        }
        let rows = self
            .reader
            .repeat(
                "SELECT p.name FROM tramline.runs r JOIN tramline.replicas p ON p.id = r.owner \
                 WHERE r.run = $1 AND r.owner <> $2 AND p.expires > now()",
                &[(&id, Type::TEXT), (&own, Type::INT8)],
            )
            .await?;
        Ok(rows
            .first()
            .map(|row| Claim::Elsewhere { owner: row.get(0) }))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let lease = Arc::clone(&self.lease);
        let _ = self.thread.run(async move { lease.leave().await });
    }
}

#[async_trait]
impl JournalStore for Postgres {
    async fn append(&self, append: Append) -> Result<Epoch, AppendError> {
        self.writer.append(append).await
    }

    async fn read(&self, run: &RunId, after: Seq) -> Result<Vec<JournalChunk>, StoreFault> {
        chunks::read(&self.reader, run, after).await
    }

    async fn document(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, StoreFault> {
        let digest = &digest.as_bytes()[..];
        let rows = self
            .reader
            .repeat(
                "SELECT body FROM tramline.referred WHERE digest = $1",
                &[(&digest, Type::BYTEA)],
            )
            .await?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    async fn read_intact(&self, run: &RunId) -> Result<Vec<JournalChunk>, StoreFault> {
        chunks::read_intact(&self.reader, run).await
    }

    async fn runs(&self, filter: RunFilter) -> Result<RunPage, StoreFault> {
        listing::page(&self.reader, &filter).await
    }

    async fn count_created(&self, at_ms: i64) -> Result<u64, StoreFault> {
        listing::born(&self.reader, at_ms).await
    }

    async fn row(&self, run: &RunId) -> Result<Option<RunRow>, StoreFault> {
        listing::row(&self.reader, run).await
    }

    async fn usage(&self) -> Result<StoreUsage, StoreFault> {
        listing::usage(&self.reader).await
    }

    async fn disk_bytes(&self) -> Result<u64, StoreFault> {
        listing::disk_bytes(&self.reader).await
    }

    async fn moved_on(&self, known: &[KnownEvents]) -> Result<Vec<RunId>, StoreFault> {
        let compared = self.hub.to_compare(known);
        if compared.is_empty() {
            return Ok(Vec::new());
        }
        let is_compared = |known: &&KnownEvents| compared.contains(&known.run);
        let (runs, last): (Vec<&str>, Vec<i64>) = known
            .iter()
            .filter(is_compared)
            .map(|known| (known.run.as_str(), known.last as i64))
            .unzip();
        let rows = self
            .reader
            .repeat(
                "SELECT r.run FROM unnest($1::text[], $2::int8[]) AS k(run, last) \
                 JOIN tramline.runs r ON r.run = k.run WHERE r.last > k.last",
                &[(&runs, Type::TEXT_ARRAY), (&last, Type::INT8_ARRAY)],
            )
            .await?;
        let run = |row: tokio_postgres::Row| row.get::<_, &str>(0).parse().ok();
        Ok(rows.into_iter().filter_map(run).collect())
    }

    async fn claim(&self, run: &RunId) -> Result<Claim, StoreFault> {
        loop {
            if let Some(claim) = self.claim_once(run).await? {
                return Ok(claim);
            }
            tokio::task::yield_now().await;
        }
    }

    async fn release(&self, run: &RunId) -> Result<(), StoreFault> {
        let Some(own) = self.lease.known_id() else {
            return Ok(());
        };
        let id = run.as_str();
        self.reader
            .repeat(
                "WITH gone AS (DELETE FROM tramline.runs WHERE run = $1 AND owner = $2 AND last = 0) \
                 UPDATE tramline.runs SET owner = NULL WHERE run = $1 AND owner = $2 AND last > 0",
                &[(&id, Type::TEXT), (&own, Type::INT8)],
            )
            .await?;
        self.hub.committed(std::iter::once(run));
        Ok(())
    }

    fn good_until(&self) -> Option<Instant> {
        Some(self.lease.good_until())
    }

    async fn confirm_claim(&self, run: &RunId, epoch: Epoch) -> Result<bool, StoreFault> {
        self.lease.renew().await?;
        let own = self.lease.id().await?;
        let (id, epoch) = (run.as_str(), epoch.0 as i64);
        let rows = self
            .reader
            .once(
                "SELECT 1 FROM tramline.runs WHERE run = $1 AND owner = $2 AND epoch = $3",
                &[(&id, Type::TEXT), (&own, Type::INT8), (&epoch, Type::INT8)],
            )
            .await?;
        if rows.is_empty() {
            self.lease.count_fenced();
        }
        Ok(!rows.is_empty())
    }

    async fn takeable(&self, most: usize) -> Result<Vec<RunRow>, StoreFault> {
        if !self.lease.may_take() {
            return Ok(Vec::new());
        }
        listing::takeable(&self.reader, self.lease.pools(), most).await
    }

    fn serves_pool(&self, pool: Option<&str>) -> bool {
        pool.is_none_or(|pool| self.lease.pools().iter().any(|own| own == pool))
    }

    async fn replicas(&self) -> Result<Vec<Replica>, StoreFault> {
        lease::replicas(&self.reader, self.lease.known_id()).await
    }

    fn lease_counts(&self) -> Option<LeaseCounts> {
        Some(self.lease.counts())
    }

    async fn check_ready(&self) -> Result<(), StoreFault> {
        self.reader.once_within(READY_MAX, "SELECT 1", &[]).await?;
        self.lease.check().await
    }

    async fn remove(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        let mut removed = 0;
        for some in runs.chunks(REMOVED_AT_ONCE) {
            let gone: Vec<&str> = some.iter().map(RunId::as_str).collect();
            let rows = self
                .reader
                .repeat(
                    "SELECT tramline.remove_runs($1, $2)",
                    &[(&gone, Type::TEXT_ARRAY), (&DOCUMENT_LOCK, Type::INT8)],
                )
                .await?;
            removed += rows.first().map_or(0, |row| row.get::<_, i64>(0)) as usize;
            self.hub.committed(some.iter());
        }
        Ok(removed)
    }

    async fn is_shared(&self) -> Result<bool, StoreFault> {
        // Others may ask the same about this process.
        self.lease.renew().await?;
        Ok(self.lease.has_peers())
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.hub.any()
    }

    fn changes_of(&self, run: &RunId) -> watch::Receiver<u64> {
        self.hub.of(run)
    }
}

#[async_trait]
impl DocumentStore for Postgres {
    async fn put(&self, kind: &str, key: &str, body: Vec<u8>) -> Result<(), StoreFault> {
        documents::put(&self.reader, kind, key, &body).await
    }

    async fn swap(
        &self,
        kind: &str,
        key: &str,
        seen: Option<Vec<u8>>,
        body: Vec<u8>,
    ) -> Result<bool, StoreFault> {
        documents::swap(&self.reader, (kind, key), seen.as_deref(), &body).await
    }

    async fn get(&self, kind: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFault> {
        documents::get(&self.reader, kind, key).await
    }

    async fn list(&self, kind: &str) -> Result<Vec<String>, StoreFault> {
        documents::list(&self.reader, kind).await
    }

    async fn delete(&self, kind: &str, keys: &[String]) -> Result<(), StoreFault> {
        documents::delete(&self.reader, kind, keys).await
    }
}
