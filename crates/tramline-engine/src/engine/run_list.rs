//! The list of runs.
//!
//! Older versions listed expired runs as aborted. Such rows are recognized by the last event of
//! their journal, so that the list shows old and new runs alike.

use super::Engine;
use crate::fault::Fault;
use crate::ports::{RunFilter, RunPage, RunRow, RunStatus};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{Event, RunEvent};

/// Rows whose check is kept in memory; beyond this they are read again.
const ROWS_MAX: usize = 100_000;

/// Rows listed as aborted that were checked, and whether the run expired. The result never changes.
#[derive(Default)]
pub(super) struct AbortedRows(Mutex<HashMap<RunId, bool>>);

impl Engine {
    /// The runs that match the filter, newest first.
    pub async fn runs(&self, filter: RunFilter) -> Result<RunPage, Fault> {
        let wanted = filter.status.clone();
        let mut filter = filter;
        if wanted.contains(&RunStatus::Expired) && !wanted.contains(&RunStatus::Aborted) {
            filter.status.push(RunStatus::Aborted);
        }
        loop {
            let mut page = self.0.store.runs(filter.clone()).await?;
            let last = page.rows.last().map(|row| row.run.clone());
            for row in &mut page.rows {
                if self.is_old_expiry(row).await? {
                    row.index_row.status = RunStatus::Expired;
                }
            }
            let fits = |row: &RunRow| wanted.is_empty() || wanted.contains(&row.index_row.status);
            page.rows.retain(fits);
            // A page gives the start of the next one, so only the last may be empty.
            if !page.rows.is_empty() || !page.more || last.is_none() {
                return Ok(page);
            }
            filter.after = last;
        }
    }

    /// Whether a row is listed as aborted although the run expired.
    async fn is_old_expiry(&self, row: &RunRow) -> Result<bool, Fault> {
        if row.index_row.status != RunStatus::Aborted {
            return Ok(false);
        }
        let known = || {
            let rows = &self.0.aborted_rows.0;
            rows.lock().unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(expired) = known().get(&row.run).copied() {
            return Ok(expired);
        }
        let last = self
            .0
            .read_events(&row.run, row.last.saturating_sub(1))
            .await;
        let last = match last {
            Ok((entries, _)) => entries.into_iter().next_back(),
            // A damaged journal is reported when it is read; it must not break the list.
            Err(Fault::Damaged { .. }) => None,
            Err(fault) => return Err(fault),
        };
        let expired = last.is_some_and(
            |entry| matches!(entry.event, Event::Run(RunEvent::Finished { outcome }) if outcome.is_expired()),
        );
        let mut known = known();
        if known.len() >= ROWS_MAX {
            known.clear();
        }
        known.insert(row.run.clone(), expired);
        Ok(expired)
    }
}
