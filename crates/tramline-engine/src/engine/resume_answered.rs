//! Resumes runs that paused in this process and were answered in another: the servers they use are
//! still connected here.

use super::Engine;
use crate::fault::Fault;
use crate::ports::{RunFilter, RunStatus};
use std::time::Duration;

/// Shortest interval between two checks of the store: answers come from people, so this is soon
/// enough.
const RESUME_POLL_MIN: Duration = Duration::from_millis(100);

/// Running runs that are read from the store at a time.
const PAGE_RUNS: usize = 256;

impl Engine {
    /// Resumes runs that paused here as soon as they are answered in another process. For
    /// long-lived processes; it never returns by itself.
    pub async fn resume_answered(&self) {
        // From now on other processes know that this one is alive, and leave its runs to it.
        let _ = self.0.store.is_shared().await;
        let mut changes = self.0.store.changes();
        // An answer may have come before the first check.
        changes.mark_changed();
        while changes.changed().await.is_ok() {
            if !self.0.paused_runs.is_empty() {
                // A failing store is reported to callers that use it.
                let _ = self.resume_answered_once().await;
            }
            tokio::time::sleep(RESUME_POLL_MIN).await;
        }
    }

    async fn resume_answered_once(&self) -> Result<(), Fault> {
        let mut filter = RunFilter {
            status: vec![RunStatus::Running],
            limit: PAGE_RUNS,
            ..RunFilter::default()
        };
        loop {
            let page = self.0.store.runs(filter.clone()).await?;
            for row in &page.rows {
                if !row.driven && self.0.paused_runs.contains(&row.run) {
                    // The process that is quicker drives it: the one that answered, or another server.
                    let _ = self.resume(&row.run).await;
                }
            }
            if !page.more {
                return Ok(());
            }
            filter.after = page.rows.last().map(|row| row.run.clone());
        }
    }
}
