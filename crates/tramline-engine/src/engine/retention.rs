//! Retention: ended runs are removed by age and size, each with the runs it called.
//!
//! The run that ended first is removed first. A child run is removed together with its parent and
//! not before it, so that a trace never refers to a missing run.

use super::Engine;
use crate::clock;
use crate::fault::Fault;
use crate::ports::{RunFilter, RunRow};
use std::collections::{HashMap, HashSet};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::FirstEvent;

/// Rows per page when ended runs are listed.
const PAGE_ROWS: usize = 1_000;
/// Runs that one call of `Store::remove` deletes.
const REMOVED_AT_ONCE: usize = 1_000;

/// What to keep. Open runs are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Runs that ended longer ago are removed.
    pub age_ms_max: Option<u64>,
    /// Runs are removed until all journals and documents together have at most this many bytes.
    pub bytes_max: Option<u64>,
}

impl Retention {
    /// Whether everything is kept.
    pub fn keeps_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// What was removed, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneResult {
    /// The removed runs, oldest end first, each next to the runs it called.
    pub runs: Vec<RunId>,
    /// The size of their journals in bytes.
    pub bytes: u64,
}

/// A run that has ended.
struct EndedRun {
    run: RunId,
    updated_ms: i64,
    bytes: u64,
}

impl Engine {
    /// Removes what need not be kept, or only reports it if `dry` is set.
    pub async fn prune(&self, keep: Retention, dry: bool) -> Result<PruneResult, Fault> {
        let oldest_ms = keep
            .age_ms_max
            .map_or(i64::MIN, |age| clock::now_ms().saturating_sub_unsigned(age));
        let mut left = self.store().usage().await?.bytes;
        let bytes_max = keep.bytes_max.unwrap_or(u64::MAX);
        // If the size limit is met, only old runs need to be listed.
        let before_ms = (left <= bytes_max).then_some(oldest_ms);
        let over = self.ended_runs(before_ms).await?;
        let callers = self.callers_of_open_runs().await?;
        let mut pruned = PruneResult::default();
        // Child runs whose parent has not been reached yet.
        let mut called: HashMap<RunId, Vec<EndedRun>> = HashMap::new();
        for one in over {
            if one.updated_ms >= oldest_ms && left <= bytes_max {
                break;
            }
            if callers.contains(&one.run) {
                continue;
            }
            if let Some(parent) = self.parent_of(&one.run).await?
                && self.store().row(&parent).await?.is_some()
            {
                called.entry(parent).or_default().push(one);
                continue;
            }
            let before = pruned.bytes;
            take_with_children(one, &mut called, &mut pruned);
            left = left.saturating_sub(pruned.bytes - before);
        }
        // Children that ended in the same millisecond as their parent may be listed after it.
        let mut gone: HashSet<RunId> = pruned.runs.iter().cloned().collect();
        while let Some(parent) = called.keys().find(|parent| gone.contains(*parent)).cloned() {
            for below in called.remove(&parent).unwrap_or_default() {
                gone.insert(below.run.clone());
                take_with_children(below, &mut called, &mut pruned);
            }
        }
        if !dry {
            for some in pruned.runs.chunks(REMOVED_AT_ONCE) {
                self.remove_runs(some).await?;
            }
        }
        Ok(pruned)
    }

    /// The ended runs, optionally only those before a time; oldest end first.
    async fn ended_runs(&self, before_ms: Option<i64>) -> Result<Vec<EndedRun>, Fault> {
        let mut all = Vec::new();
        let filter = RunFilter {
            updated_before_ms: before_ms,
            ..RunFilter::default()
        };
        self.each_row(filter, |row| {
            if row.index_row.status.is_over() && !row.driven {
                all.push(EndedRun {
                    run: row.run,
                    updated_ms: row.index_row.updated_ms,
                    bytes: row.bytes,
                });
            }
        })
        .await?;
        all.sort_by_key(|one| one.updated_ms);
        Ok(all)
    }

    /// The callers of open runs: they are kept, with everything they called.
    async fn callers_of_open_runs(&self) -> Result<HashSet<RunId>, Fault> {
        let mut open = Vec::new();
        self.each_row(RunFilter::default(), |row| {
            if !row.index_row.status.is_over() || row.driven {
                open.push(row.run);
            }
        })
        .await?;
        let mut callers = HashSet::new();
        for run in open {
            let mut below = run;
            while let Some(parent) = self.parent_of(&below).await? {
                if !callers.insert(parent.clone()) {
                    break;
                }
                below = parent;
            }
        }
        Ok(callers)
    }

    async fn each_row(
        &self,
        mut filter: RunFilter,
        mut work: impl FnMut(RunRow),
    ) -> Result<(), Fault> {
        filter.limit = PAGE_ROWS;
        loop {
            let page = self.0.store.runs(filter.clone()).await?;
            filter.after = page.rows.last().map(|row| row.run.clone());
            page.rows.into_iter().for_each(&mut work);
            if !page.more || filter.after.is_none() {
                return Ok(());
            }
        }
    }

    async fn parent_of(&self, run: &RunId) -> Result<Option<RunId>, Fault> {
        Ok(match self.0.first_event(run).await? {
            Some(FirstEvent::Started(started)) => started.parent.map(|parent| parent.run),
            Some(FirstEvent::SopStarted(_)) | None => None,
        })
    }
}

/// Takes a run with all its children.
fn take_with_children(
    one: EndedRun,
    called: &mut HashMap<RunId, Vec<EndedRun>>,
    pruned: &mut PruneResult,
) {
    for below in called.remove(&one.run).unwrap_or_default() {
        take_with_children(below, called, pruned);
    }
    pruned.bytes += one.bytes;
    pruned.runs.push(one.run);
}
