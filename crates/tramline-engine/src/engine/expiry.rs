//! Expiry: a run that waits for an answer longer than its time to live is ended.
//!
//! The search for expired runs costs one small read while no run has a time to live, and otherwise
//! one listing of the paused runs that are old enough. A run's time to live never changes and is
//! read once per process.

use super::append_event::RequiredState;
use super::{Engine, EngineInner, LoadedRun, awaited_children};
use crate::clock;
use crate::fault::Fault;
use crate::journal_writer::run_status;
use crate::ports::{RunFilter, RunRow, RunStatus};
use futures_util::{StreamExt, stream};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{EXPIRY, Event, FirstEvent, Outcome, RunEvent};
use tramline_workflow::run::Run;

/// Rows per page when paused runs are listed, so that a page stays small in memory.
const PAGE_ROWS: usize = 500;

/// Paused runs that are examined concurrently: runs that end together share disk syncs.
const EXPIRED_CONCURRENTLY_MAX: usize = 32;

/// Runs whose time to live is kept in memory; beyond this it is read again.
const TTLS_CACHED_MAX: usize = 100_000;

/// The times to live that this process has seen.
#[derive(Default)]
pub(super) struct TtlCache {
    /// By run; `None` for a run without one.
    by_run: Mutex<HashMap<RunId, Option<u64>>>,
    /// Which magnitudes are in use, as bits: times to live are recorded by their power of two.
    recorded: std::sync::atomic::AtomicU64,
}

impl Engine {
    /// Ends the paused runs whose time to live is over. Returns how many.
    pub async fn expire(&self) -> Result<usize, Fault> {
        let now_ms = clock::now_ms();
        let sizes = self.0.store.list(EXPIRY).await?;
        let sizes = sizes.iter().filter_map(|size| size.parse::<u32>().ok());
        let Some(least) = sizes.min() else {
            return Ok(0);
        };
        let oldest = now_ms.saturating_sub_unsigned(1 << least.min(63));
        let mut filter = RunFilter {
            status: vec![RunStatus::Paused, RunStatus::SopSession],
            // Runs updated at exactly that time are due too.
            updated_before_ms: Some(oldest.saturating_add(1)),
            limit: PAGE_ROWS,
            ..RunFilter::default()
        };
        let mut ended = 0;
        loop {
            let page = self.0.store.runs(filter.clone()).await?;
            filter.after = page.rows.last().map(|row| row.run.clone());
            let mut looks = stream::iter(page.rows.into_iter().map(|row| {
                let engine = self.clone();
                Box::pin(async move { engine.expire_row(&row, now_ms).await })
            }))
            .buffer_unordered(EXPIRED_CONCURRENTLY_MAX);
            while let Some(over) = looks.next().await {
                ended += usize::from(over?);
            }
            if !page.more {
                return Ok(ended);
            }
        }
    }

    async fn expire_row(&self, row: &RunRow, now_ms: i64) -> Result<bool, Fault> {
        let Some(ttl_ms) = self.0.ttl(&row.run).await? else {
            return Ok(false);
        };
        let due_ms = row.index_row.updated_ms.saturating_add_unsigned(ttl_ms);
        if due_ms > now_ms || row.driven {
            return Ok(false);
        }
        if row.index_row.status == RunStatus::SopSession {
            return self.expire_sop_session(&row.run, now_ms).await;
        }
        match self.load(&row.run).await {
            Ok(LoadedRun { run, .. }) => self.expire_if_due(&run, now_ms).await,
            // It was removed in the meantime, or is damaged; a damaged run is kept for inspection.
            Err(Fault::NotFound(_) | Fault::Damaged { .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Ends a run if its time to live is over. Returns whether it was.
    async fn expire_if_due(&self, run: &Run, now_ms: i64) -> Result<bool, Fault> {
        if !self.is_expired(run, now_ms).await? {
            return Ok(false);
        }
        let why = Some("no answer came within its time to live".to_owned());
        let mut children = Vec::new();
        let over = self
            .append_event(&run.id, RequiredState::FullState, |run| {
                // An answer that arrived just now counts.
                if !is_due(run, now_ms) {
                    return Err(Fault::Rejected("the run has just been answered".into()));
                }
                children = awaited_children(run);
                let by = EXPIRY.into();
                let outcome = Outcome::Aborted {
                    by,
                    why: why.clone(),
                };
                Ok(Event::Run(RunEvent::Finished { outcome }))
            })
            .await;
        match over {
            Ok(_) => {}
            Err(Fault::Rejected(_) | Fault::Ended { .. } | Fault::Expired { .. }) => {
                return Ok(false);
            }
            Err(fault) => return Err(fault),
        }
        self.abort_all(children, &EXPIRY.into(), why.as_ref()).await;
        Ok(true)
    }

    /// Whether a run's time to live is over. A run that waits for a child counts as used when the
    /// child is.
    async fn is_expired(&self, run: &Run, now_ms: i64) -> Result<bool, Fault> {
        let Some(ttl_ms) = run.started.ttl_ms.filter(|_| is_due(run, now_ms)) else {
            return Ok(false);
        };
        let mut below = awaited_children(run);
        while let Some(child) = below.pop() {
            let Some(row) = self.0.store.row(&child).await? else {
                continue;
            };
            let used = row.index_row.updated_ms.saturating_add_unsigned(ttl_ms) > now_ms;
            match row.index_row.status {
                RunStatus::Running | RunStatus::SopSession => return Ok(false),
                RunStatus::Paused if used => return Ok(false),
                RunStatus::Paused => below.extend(awaited_children(&self.load(&child).await?.run)),
                RunStatus::Completed
                | RunStatus::Failed
                | RunStatus::Rejected
                | RunStatus::Aborted
                | RunStatus::Expired => {}
            }
        }
        Ok(true)
    }

    /// Rejects commands to a run whose time to live is over, even if it has not been ended yet.
    pub(super) async fn check_not_expired(&self, id: &RunId) -> Result<(), Fault> {
        let row = self.0.store.row(id).await?;
        let Some(row) = row.filter(|row| row.index_row.status == RunStatus::Paused) else {
            return Ok(());
        };
        // Boxed: every command passes here, and this branch is rarely taken.
        if Box::pin(self.expire_row(&row, clock::now_ms())).await? {
            return Err(Fault::Expired { run: id.clone() });
        }
        Ok(())
    }

    /// Records a time to live, so that the search for expired runs knows how far back to look.
    pub(super) async fn record_ttl(&self, ttl_ms: Option<u64>) -> Result<(), Fault> {
        use std::sync::atomic::Ordering;
        let Some(size) = ttl_ms.map(|ms| ms.max(1).ilog2()) else {
            return Ok(());
        };
        let bit = 1u64 << size;
        if self.0.ttls.recorded.load(Ordering::Acquire) & bit == 0 {
            let key = size.to_string();
            self.0.store.put(EXPIRY, &key, Vec::new()).await?;
            self.0.ttls.recorded.fetch_or(bit, Ordering::AcqRel);
        }
        Ok(())
    }
}

fn is_due(run: &Run, now_ms: i64) -> bool {
    run.expires_ms().is_some_and(|due| due <= now_ms)
}

/// The fault for a command to a run that has ended.
pub fn ended_fault(run: &Run) -> Fault {
    let id = run.id.clone();
    match &run.outcome {
        Some(outcome) if outcome.is_expired() => Fault::Expired { run: id },
        _ => Fault::Ended {
            run: id,
            status: run_status(run).as_str(),
        },
    }
}

impl EngineInner {
    /// The time to live of a run.
    async fn ttl(&self, id: &RunId) -> Result<Option<u64>, Fault> {
        let times = || {
            self.ttls
                .by_run
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = times().get(id).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let ttl_ms = match self.first_event(id).await? {
            Some(FirstEvent::Started(started)) => started.ttl_ms,
            Some(FirstEvent::SopStarted(begun)) => begun.ttl_ms,
            None => None,
        };
        let mut times = times();
        if times.len() >= TTLS_CACHED_MAX {
            times.clear();
        }
        times.insert(id.clone(), ttl_ms);
        Ok(ttl_ms)
    }
}
