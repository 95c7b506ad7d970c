//! The lease of this replica, in the time of the database.
//!
//! One row for each replica, not for each run: renewing it costs the same for one run as for a thousand. A run
//! belongs to its owner's lease and has an epoch that every take-over increments.

use crate::connection::{Connector, Link, StatementError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio_postgres::types::Type;
use tramline_engine::ports::{LeaseCounts, Replica, StoreFault};

/// How often a lease is renewed while it lasts.
const RENEWALS_PER_LEASE: u32 = 4;
/// The part of a lease, in percent, during which calls may leave without another question.
const GOOD_PERCENT: u32 = 80;
/// How long after its end the row of a lease is removed, in seconds: `replicas` shows who was here.
const FORGOTTEN_AFTER_S: f64 = 3_600.0;

/// This replica among the others.
pub(crate) struct Lease {
    link: Link,
    name: String,
    pools: Vec<String>,
    length: Duration,
    /// Times are counted from here.
    began: Instant,
    /// The id of the lease; 0 before the first claim.
    id: AtomicI64,
    joining: Mutex<()>,
    /// Milliseconds until which the lease is good for calls.
    good_until_ms: AtomicU64,
    renewed_ms: AtomicU64,
    /// Milliseconds until which nobody's runs are taken: others must renew their leases first after an outage.
    grace_until_ms: AtomicU64,
    /// Whether other replicas are alive.
    has_peers: AtomicBool,
    take_overs: AtomicU64,
    fenced: AtomicU64,
    closing: AtomicBool,
}

impl Lease {
    pub(crate) fn new(
        connector: &Arc<Connector>,
        name: String,
        pools: Vec<String>,
        length: Duration,
    ) -> Self {
        Self {
            link: Link::new(connector),
            name,
            pools,
            length,
            began: Instant::now(),
            id: AtomicI64::new(0),
            joining: Mutex::new(()),
            good_until_ms: AtomicU64::new(0),
            renewed_ms: AtomicU64::new(0),
            grace_until_ms: AtomicU64::new(0),
            has_peers: AtomicBool::new(false),
            take_overs: AtomicU64::new(0),
            fenced: AtomicU64::new(0),
            closing: AtomicBool::new(false),
        }
    }

    fn now_ms(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn length_ms(&self) -> f64 {
        self.length.as_millis() as f64
    }

    /// The pool of runs that start here.
    pub(crate) fn first_pool(&self) -> Option<&str> {
        self.pools.first().map(String::as_str)
    }

    pub(crate) fn pools(&self) -> &[String] {
        &self.pools
    }

    /// Our id, if we have joined.
    pub(crate) fn known_id(&self) -> Option<i64> {
        match self.id.load(Ordering::Acquire) {
            0 => None,
            id => Some(id),
        }
    }

    /// Our id; joins the replicas if we have not yet.
    pub(crate) async fn id(&self) -> Result<i64, StatementError> {
        if let Some(id) = self.known_id() {
            return Ok(id);
        }
        let _one = self.joining.lock().await;
        if let Some(id) = self.known_id() {
            return Ok(id);
        }
        let sent = self.now_ms();
        let rows = self
            .link
            .once(
                "WITH gone AS (DELETE FROM tramline.replicas WHERE expires < now() - $5 * interval '1 s') \
                 INSERT INTO tramline.replicas (name, version, pools, expires) \
                 VALUES ($1, $2, $3, now() + $4 * interval '1 ms') RETURNING id",
                &[
                    (&self.name, Type::TEXT),
                    (&env!("CARGO_PKG_VERSION"), Type::TEXT),
                    (&self.pools, Type::TEXT_ARRAY),
                    (&self.length_ms(), Type::FLOAT8),
                    (&FORGOTTEN_AFTER_S, Type::FLOAT8),
                ],
            )
            .await?;
        let id = rows.first().map(|row| row.get::<_, i64>(0));
        let id = id.ok_or_else(|| StatementError::Refused("no lease was given".into()))?;
        self.id.store(id, Ordering::Release);
        self.has_peers.store(true, Ordering::Release);
        self.extend(sent);
        Ok(id)
    }

    fn extend(&self, sent_ms: u64) {
        let good = self.length * GOOD_PERCENT / 100;
        let until = sent_ms + good.as_millis() as u64;
        self.renewed_ms.store(sent_ms, Ordering::Release);
        self.good_until_ms.fetch_max(until, Ordering::AcqRel);
    }

    /// Renews the lease once.
    pub(crate) async fn renew(&self) -> Result<(), StatementError> {
        let id = self.id().await?;
        let sent = self.now_ms();
        let rows = self
            .link
            .once_within(
                self.length.max(Duration::from_secs(1)),
                "UPDATE tramline.replicas SET expires = now() + $2 * interval '1 ms' WHERE id = $1 \
                 RETURNING (SELECT count(*) FROM tramline.replicas WHERE expires > now() AND id <> $1)",
                &[(&id, Type::INT8), (&self.length_ms(), Type::FLOAT8)],
            )
            .await?;
        let Some(row) = rows.first() else {
            // It ran out so long ago that its row is gone: our runs are other replicas' by now.
            self.id.store(0, Ordering::Release);
            return self.id().await.map(drop);
        };
        self.has_peers
            .store(row.get::<_, i64>(0) > 0, Ordering::Release);
        if self.good_until_ms.load(Ordering::Acquire) < sent {
            // There was an outage, or we were stopped. The others may just be coming back, too.
            let grace = self.now_ms() + self.length.as_millis() as u64;
            self.grace_until_ms.store(grace, Ordering::Release);
        }
        self.extend(sent);
        Ok(())
    }

    /// Renews the lease as long as the store is open.
    pub(crate) async fn beat(self: Arc<Self>) {
        let every = self.length / RENEWALS_PER_LEASE;
        while !self.closing.load(Ordering::Acquire) {
            let delay = match self.known_id() {
                None => every,
                Some(_) => match self.renew().await {
                    Ok(()) => every,
                    Err(_) => every / RENEWALS_PER_LEASE,
                },
            };
            tokio::time::sleep(delay).await;
        }
    }

    /// Gives the lease back, with everything that it holds.
    pub(crate) async fn leave(&self) {
        self.closing.store(true, Ordering::Release);
        if let Some(id) = self.known_id() {
            let _ = self
                .link
                .once_within(
                    Duration::from_secs(1),
                    "UPDATE tramline.replicas SET expires = now() WHERE id = $1",
                    &[(&id, Type::INT8)],
                )
                .await;
        }
    }

    /// Until when calls may leave without another question.
    pub(crate) fn good_until(&self) -> Instant {
        self.began + Duration::from_millis(self.good_until_ms.load(Ordering::Acquire))
    }

    /// Whether runs of other replicas may be taken now.
    pub(crate) fn may_take(&self) -> bool {
        self.grace_until_ms.load(Ordering::Acquire) <= self.now_ms()
    }

    /// Whether other replicas are alive.
    pub(crate) fn has_peers(&self) -> bool {
        self.has_peers.load(Ordering::Acquire)
    }

    pub(crate) fn count_take_over(&self) {
        self.take_overs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_fenced(&self) {
        self.fenced.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> LeaseCounts {
        LeaseCounts {
            take_overs: self.take_overs.load(Ordering::Relaxed),
            fenced: self.fenced.load(Ordering::Relaxed),
            age_ms: self
                .now_ms()
                .saturating_sub(self.renewed_ms.load(Ordering::Acquire)),
        }
    }

    /// Whether our lease is good, asking the database if it may not be.
    pub(crate) async fn check(&self) -> Result<(), StoreFault> {
        if Instant::now() < self.good_until() {
            return Ok(());
        }
        Ok(self.renew().await?)
    }
}

/// All replicas, oldest first.
pub(crate) async fn replicas(link: &Link, own: Option<i64>) -> Result<Vec<Replica>, StoreFault> {
    let rows = link
        .repeat(
            "SELECT p.id, p.name, p.version, p.pools, (extract(epoch FROM p.joined) * 1000)::int8, \
             (extract(epoch FROM p.expires - now()) * 1000)::int8, \
             (SELECT count(*) FROM tramline.runs r WHERE r.owner = p.id AND r.status = 0 AND r.last > 0) \
             FROM tramline.replicas p ORDER BY p.id",
            &[],
        )
        .await?;
    let replica = |row: tokio_postgres::Row| Replica {
        is_self: Some(row.get::<_, i64>(0)) == own,
        name: row.get(1),
        version: row.get(2),
        pools: row.get(3),
        joined_ms: row.get(4),
        lease_left_ms: row.get(5),
        driven: row.get::<_, i64>(6) as u64,
    };
    Ok(rows.into_iter().map(replica).collect())
}
