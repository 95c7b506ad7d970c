//! Asks, before a call leaves that must not be repeated, whether the run is still ours to drive.
//!
//! A process that was stopped for longer than its lease does not know that another one drives its runs. Its
//! appends are refused, but the call that it was about to send when it was stopped needs no append.

use crate::engine::EngineInner;
use crate::journal_writer::JournalWriter;
use crate::ports::{Epoch, Store};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tramline_workflow::ids::RunId;
use tramline_workflow::run::OpenStep;

/// Delay between two questions to a store that does not answer.
const CONFIRM_RETRY_DELAY: Duration = Duration::from_millis(100);

/// The claim that a call depends on, if it depends on one.
pub(super) struct ClaimCheck(Option<(Arc<dyn Store>, RunId, Epoch)>);

impl ClaimCheck {
    /// The claim that the call of a step depends on: none for a call that may be repeated.
    pub(super) fn before_call(
        inner: &EngineInner,
        run: &RunId,
        journal: &JournalWriter,
        open: &OpenStep,
    ) -> Self {
        let claim = journal.claim.filter(|_| !open.repeatable);
        // Without leases no process can take the claim of a live one.
        let claim = claim.filter(|_| inner.store.good_until().is_some());
        Self(claim.map(|epoch| (Arc::clone(&inner.store), run.clone(), epoch)))
    }

    /// Whether the run is still ours. Waits while the store does not answer.
    pub(super) async fn is_still_ours(&self) -> bool {
        let Some((store, run, epoch)) = &self.0 else {
            return true;
        };
        loop {
            let is_good = store
                .good_until()
                .is_none_or(|until| Instant::now() < until);
            if is_good {
                return true;
            }
            match store.confirm_claim(run, *epoch).await {
                // The lease is renewed now; it is compared again.
                Ok(true) => {}
                Ok(false) => return false,
                Err(_) => tokio::time::sleep(CONFIRM_RETRY_DELAY).await,
            }
        }
    }
}
