//! Expiry: a run that waits longer for an answer than it was given is over.
//!
//! Looking for such runs costs one small read while none has a time to live, and else a list of the
//! paused runs that are old enough. A run's time is read once in a process, since it never changes.

use super::say::Needs;
use super::{Engine, Inner, Loaded, waited_for};
use crate::clock;
use crate::fault::Fault;
use crate::ledger::status;
use crate::seams::{RunFilter, RunRow, Status};
use futures_util::{StreamExt, stream};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tramline_core::ids::RunId;
use tramline_core::journal::{Beginning, EXPIRY, Event, Outcome};
use tramline_core::run::Run;

/// So many runs are looked at before the next page is asked for.
const PAGE_ROWS: usize = 500;

/// So many are looked at side by side: what ends together shares the disk's syncs.
const SIDE_BY_SIDE: usize = 32;

/// So many runs' times are remembered; beyond it they are read again.
const TIMES_MAX: usize = 100_000;

/// The times to live that this process has seen.
#[derive(Default)]
pub(super) struct Times {
    /// Those of runs, none for a run without.
    of: Mutex<HashMap<RunId, Option<u64>>>,
    /// Which sizes are known to be in use, as bits: times are noted by their power of two.
    noted: std::sync::atomic::AtomicU64,
}

impl Engine {
    /// Ends the paused runs whose time is over, and gives how many that were.
    pub async fn expire(&self) -> Result<usize, Fault> {
        let now_ms = clock::now_ms();
        let sizes = self.0.store.list(EXPIRY).await?;
        let sizes = sizes.iter().filter_map(|size| size.parse::<u32>().ok());
        let Some(least) = sizes.min() else {
            return Ok(0);
        };
        let oldest = now_ms.saturating_sub_unsigned(1 << least.min(63));
        let mut filter = RunFilter {
            status: vec![Status::Paused, Status::Guided],
            // The runs that were updated at that very moment are due too.
            updated_before_ms: Some(oldest.saturating_add(1)),
            most: PAGE_ROWS,
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
            .buffer_unordered(SIDE_BY_SIDE);
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
        let due_ms = row.head.updated_ms.saturating_add_unsigned(ttl_ms);
        if due_ms > now_ms || row.driven {
            return Ok(false);
        }
        if row.head.status == Status::Guided {
            return self.lapse_guided(&row.run, now_ms).await;
        }
        match self.load(&row.run).await {
            Ok(Loaded { run, .. }) => self.lapse(&run, now_ms).await,
            // It was removed meanwhile; what cannot be read stays for whoever looks into it.
            Err(Fault::NotFound(_) | Fault::Damaged { .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Ends a run if its time is over. Whether it was.
    async fn lapse(&self, run: &Run, now_ms: i64) -> Result<bool, Fault> {
        if !self.has_lapsed(run, now_ms).await? {
            return Ok(false);
        }
        let why = Some("nobody answered in the time it was given".to_owned());
        let mut children = Vec::new();
        let over = self
            .append_word(&run.id, Needs::View, |run| {
                // An answer that came in this moment counts.
                if !is_due(run, now_ms) {
                    return Err(Fault::Refused("it was answered meanwhile".into()));
                }
                children = waited_for(run);
                let by = EXPIRY.into();
                let outcome = Outcome::Aborted {
                    by,
                    why: why.clone(),
                };
                Ok(Event::Finished { outcome })
            })
            .await;
        match over {
            Ok(_) => {}
            Err(Fault::Refused(_) | Fault::Over { .. } | Fault::Expired { .. }) => {
                return Ok(false);
            }
            Err(fault) => return Err(fault),
        }
        self.abort_all(children, &EXPIRY.into(), why.as_ref()).await;
        Ok(true)
    }

    /// Whether a run's time is over. A run that waits for another is used when that one is.
    async fn has_lapsed(&self, run: &Run, now_ms: i64) -> Result<bool, Fault> {
        let Some(ttl_ms) = run.started.ttl_ms.filter(|_| is_due(run, now_ms)) else {
            return Ok(false);
        };
        let mut below = waited_for(run);
        while let Some(child) = below.pop() {
            let Some(row) = self.0.store.row(&child).await? else {
                continue;
            };
            let used = row.head.updated_ms.saturating_add_unsigned(ttl_ms) > now_ms;
            match row.head.status {
                Status::Running | Status::Guided => return Ok(false),
                Status::Paused if used => return Ok(false),
                Status::Paused => below.extend(waited_for(&self.load(&child).await?.run)),
                Status::Completed
                | Status::Failed
                | Status::Rejected
                | Status::Aborted
                | Status::Expired => {}
            }
        }
        Ok(true)
    }

    /// Refuses to steer a run whose time is over, also if nobody has ended it yet.
    pub(super) async fn steerable(&self, id: &RunId) -> Result<(), Fault> {
        let row = self.0.store.row(id).await?;
        let Some(row) = row.filter(|row| row.head.status == Status::Paused) else {
            return Ok(());
        };
        // Boxed: this stands in the way of every word, and is rarely walked.
        if Box::pin(self.expire_row(&row, clock::now_ms())).await? {
            return Err(Fault::Expired { run: id.clone() });
        }
        Ok(())
    }

    /// Notes a time to live, so that whoever looks for ended ones knows how far back.
    pub(super) async fn note_ttl(&self, ttl_ms: Option<u64>) -> Result<(), Fault> {
        use std::sync::atomic::Ordering;
        let Some(size) = ttl_ms.map(|ms| ms.max(1).ilog2()) else {
            return Ok(());
        };
        let bit = 1u64 << size;
        if self.0.times.noted.load(Ordering::Acquire) & bit == 0 {
            let key = size.to_string();
            self.0.store.put(EXPIRY, &key, Vec::new()).await?;
            self.0.times.noted.fetch_or(bit, Ordering::AcqRel);
        }
        Ok(())
    }
}

fn is_due(run: &Run, now_ms: i64) -> bool {
    run.expires_ms().is_some_and(|due| due <= now_ms)
}

/// Why a run that is over cannot be steered.
pub fn over(run: &Run) -> Fault {
    let id = run.id.clone();
    match &run.outcome {
        Some(outcome) if outcome.is_expired() => Fault::Expired { run: id },
        _ => Fault::Over {
            run: id,
            status: status(run).as_str(),
        },
    }
}

impl Inner {
    /// How long a run waits for an answer.
    async fn ttl(&self, id: &RunId) -> Result<Option<u64>, Fault> {
        let times = || self.times.of.lock().unwrap_or_else(PoisonError::into_inner);
        let known = times().get(id).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let ttl_ms = match self.first(id).await? {
            Some(Beginning::Started(started)) => started.ttl_ms,
            Some(Beginning::Guided(begun)) => begun.ttl_ms,
            None => None,
        };
        let mut times = times();
        if times.len() >= TIMES_MAX {
            times.clear();
        }
        times.insert(id.clone(), ttl_ms);
        Ok(ttl_ms)
    }
}
