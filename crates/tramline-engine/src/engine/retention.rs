//! Retention: runs that are over are forgotten by age and for room, each with the runs it called.
//!
//! Whoever ended first goes first. A run that another one called goes with its caller and not before
//! it, so that a trace never points at what is gone.

use super::Engine;
use crate::clock;
use crate::fault::Fault;
use crate::seams::{RunFilter, RunRow};
use std::collections::{HashMap, HashSet};
use tramline_core::ids::RunId;
use tramline_core::journal::Beginning;

/// So many runs are listed at once.
const PAGE_ROWS: usize = 1_000;
/// So many are removed at once.
const REMOVED_AT_ONCE: usize = 1_000;

/// What to keep. Runs that are not over are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Runs that ended longer ago go.
    pub age_ms_max: Option<u64>,
    /// Runs go until all journals and their documents together hold no more than this.
    pub bytes_max: Option<u64>,
}

impl Retention {
    /// Whether everything is kept.
    pub fn is_endless(&self) -> bool {
        *self == Self::default()
    }
}

/// What was forgotten, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The runs, those that ended first at the front, each beside the ones it called.
    pub runs: Vec<RunId>,
    /// The bytes that their journals held.
    pub bytes: u64,
}

/// A run that is over.
struct Over {
    run: RunId,
    updated_ms: i64,
    bytes: u64,
}

impl Engine {
    /// Forgets what need not be kept, or only says what that would be.
    pub async fn prune(&self, keep: Retention, dry: bool) -> Result<Pruned, Fault> {
        let oldest_ms = keep
            .age_ms_max
            .map_or(i64::MIN, |age| clock::now_ms().saturating_sub_unsigned(age));
        let mut left = self.store().usage().await?.bytes;
        let bytes_max = keep.bytes_max.unwrap_or(u64::MAX);
        // Where there is room enough only the old ones are looked at.
        let before_ms = (left <= bytes_max).then_some(oldest_ms);
        let over = self.over(before_ms).await?;
        let callers = self.callers_at_work().await?;
        let mut pruned = Pruned::default();
        // Called runs whose caller's turn has not come yet.
        let mut called: HashMap<RunId, Vec<Over>> = HashMap::new();
        for one in over {
            if one.updated_ms >= oldest_ms && left <= bytes_max {
                break;
            }
            if callers.contains(&one.run) {
                continue;
            }
            if let Some(parent) = self.parent(&one.run).await?
                && self.store().row(&parent).await?.is_some()
            {
                called.entry(parent).or_default().push(one);
                continue;
            }
            let before = pruned.bytes;
            take(one, &mut called, &mut pruned);
            left = left.saturating_sub(pruned.bytes - before);
        }
        // Those that ended in the same moment as their caller may have come after it.
        let mut gone: HashSet<RunId> = pruned.runs.iter().cloned().collect();
        while let Some(parent) = called.keys().find(|parent| gone.contains(*parent)).cloned() {
            for below in called.remove(&parent).unwrap_or_default() {
                gone.insert(below.run.clone());
                take(below, &mut called, &mut pruned);
            }
        }
        if !dry {
            for some in pruned.runs.chunks(REMOVED_AT_ONCE) {
                self.store().remove(some).await?;
            }
        }
        Ok(pruned)
    }

    /// The runs that are over, and since before a moment if one is given; who ended first is first.
    async fn over(&self, before_ms: Option<i64>) -> Result<Vec<Over>, Fault> {
        let mut all = Vec::new();
        let filter = RunFilter {
            updated_before_ms: before_ms,
            ..RunFilter::default()
        };
        self.each(filter, |row| {
            if row.head.status.is_over() && !row.driven {
                all.push(Over {
                    run: row.run,
                    updated_ms: row.head.updated_ms,
                    bytes: row.bytes,
                });
            }
        })
        .await?;
        all.sort_by_key(|one| one.updated_ms);
        Ok(all)
    }

    /// The runs above those that are not over: they are kept with what they called.
    async fn callers_at_work(&self) -> Result<HashSet<RunId>, Fault> {
        let mut open = Vec::new();
        self.each(RunFilter::default(), |row| {
            if !row.head.status.is_over() || row.driven {
                open.push(row.run);
            }
        })
        .await?;
        let mut callers = HashSet::new();
        for run in open {
            let mut below = run;
            while let Some(parent) = self.parent(&below).await? {
                if !callers.insert(parent.clone()) {
                    break;
                }
                below = parent;
            }
        }
        Ok(callers)
    }

    async fn each(&self, mut filter: RunFilter, mut work: impl FnMut(RunRow)) -> Result<(), Fault> {
        filter.most = PAGE_ROWS;
        loop {
            let page = self.0.store.runs(filter.clone()).await?;
            filter.after = page.rows.last().map(|row| row.run.clone());
            page.rows.into_iter().for_each(&mut work);
            if !page.more || filter.after.is_none() {
                return Ok(());
            }
        }
    }

    async fn parent(&self, run: &RunId) -> Result<Option<RunId>, Fault> {
        Ok(match self.0.first(run).await? {
            Some(Beginning::Started(started)) => started.parent.map(|parent| parent.run),
            Some(Beginning::Guided(_)) | None => None,
        })
    }
}

/// Takes a run with all that it called.
fn take(one: Over, called: &mut HashMap<RunId, Vec<Over>>, pruned: &mut Pruned) {
    for below in called.remove(&one.run).unwrap_or_default() {
        take(below, called, pruned);
    }
    pruned.bytes += one.bytes;
    pruned.runs.push(one.run);
}
