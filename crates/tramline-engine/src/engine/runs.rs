//! The list of runs.
//!
//! Older versions listed a run whose time to live was over as aborted. Such rows are recognised by
//! the last event of their journal, so that the list says the same of old and new runs.

use super::Engine;
use crate::fault::Fault;
use crate::seams::{Page, RunFilter, RunRow, Status};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tramline_core::ids::RunId;
use tramline_core::journal::Event;

/// So many rows are remembered; beyond it they are read again.
const ROWS_MAX: usize = 100_000;

/// Rows listed as aborted that were looked at, and whether the run expired. It never changes.
#[derive(Default)]
pub(super) struct AbortedRows(Mutex<HashMap<RunId, bool>>);

impl Engine {
    /// The runs that fit the filter, newest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Page, Fault> {
        let wanted = filter.status.clone();
        let mut filter = filter;
        if wanted.contains(&Status::Expired) && !wanted.contains(&Status::Aborted) {
            filter.status.push(Status::Aborted);
        }
        loop {
            let mut page = self.0.store.runs(filter.clone()).await?;
            let last = page.rows.last().map(|row| row.run.clone());
            for row in &mut page.rows {
                if self.is_old_expiry(row).await? {
                    row.head.status = Status::Expired;
                }
            }
            let fits = |row: &RunRow| wanted.is_empty() || wanted.contains(&row.head.status);
            page.rows.retain(fits);
            // A page says where the next one begins, so that only the last may be empty.
            if !page.rows.is_empty() || !page.more || last.is_none() {
                return Ok(page);
            }
            filter.after = last;
        }
    }

    /// Whether a row is listed as aborted although the run expired.
    async fn is_old_expiry(&self, row: &RunRow) -> Result<bool, Fault> {
        if row.head.status != Status::Aborted {
            return Ok(false);
        }
        let known = || {
            let rows = &self.0.aborted_rows.0;
            rows.lock().unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(expired) = known().get(&row.run).copied() {
            return Ok(expired);
        }
        let last = self.0.read(&row.run, row.last.saturating_sub(1)).await;
        let last = match last {
            Ok((entries, _)) => entries.into_iter().next_back(),
            // A damaged journal says so to whoever reads it; it does not hide the list.
            Err(Fault::Damaged { .. }) => None,
            Err(fault) => return Err(fault),
        };
        let expired = last.is_some_and(
            |entry| matches!(entry.event, Event::Finished { outcome } if outcome.is_expired()),
        );
        let mut known = known();
        if known.len() >= ROWS_MAX {
            known.clear();
        }
        known.insert(row.run.clone(), expired);
        Ok(expired)
    }
}
