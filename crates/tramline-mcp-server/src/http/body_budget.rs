//! A limit on the memory of all request bodies together.
//!
//! Each body has a limit of its own, but thousands of connections may send one at the same time. The first bytes of a body
//! are not counted, so that small requests are answered whatever large ones do.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of each body that are not counted; the limit on connections bounds their sum.
const FREE_BYTES: u64 = 16 << 10;

/// Too many bytes of request bodies are in memory.
#[derive(Debug, thiserror::Error)]
#[error("the server is receiving too many large requests; try again later")]
pub(super) struct BodiesTooLarge;

/// The bytes of all request bodies that are in memory.
#[derive(Debug)]
pub(super) struct BodyBudget {
    taken: AtomicU64,
    bytes_max: u64,
}

impl BodyBudget {
    pub(super) fn new(bytes_max: u64) -> Arc<Self> {
        Arc::new(Self {
            taken: AtomicU64::new(0),
            bytes_max,
        })
    }

    /// The share of one request, empty at first.
    pub(super) fn share(self: &Arc<Self>) -> Arc<BodyShare> {
        Arc::new(BodyShare {
            budget: Arc::clone(self),
            received: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            is_refused: AtomicBool::new(false),
        })
    }
}

/// What one request has taken, until it is dropped.
#[derive(Debug)]
pub(super) struct BodyShare {
    budget: Arc<BodyBudget>,
    received: AtomicU64,
    taken: AtomicU64,
    is_refused: AtomicBool,
}

impl BodyShare {
    /// Counts bytes that have arrived, or refuses them.
    pub(super) fn take(&self, bytes: u64) -> Result<(), BodiesTooLarge> {
        let before = self.received.fetch_add(bytes, Ordering::Relaxed);
        let counted = (before + bytes).saturating_sub(FREE_BYTES.max(before));
        let more = |taken: u64| {
            let sum = taken.saturating_add(counted);
            (sum <= self.budget.bytes_max).then_some(sum)
        };
        let taken = &self.budget.taken;
        taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map_err(|_| {
                self.is_refused.store(true, Ordering::Relaxed);
                BodiesTooLarge
            })?;
        self.taken.fetch_add(counted, Ordering::Relaxed);
        Ok(())
    }

    /// The response to a request whose body was refused, whatever its handler made of that.
    pub(super) fn refusal(&self) -> Option<Response> {
        let headers = [(header::RETRY_AFTER, "1")];
        let response = || {
            (
                StatusCode::SERVICE_UNAVAILABLE,
                headers,
                BodiesTooLarge.to_string(),
            )
        };
        let is_refused = self.is_refused.load(Ordering::Relaxed);
        is_refused.then(|| response().into_response())
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.budget
            .taken
            .fetch_sub(*self.taken.get_mut(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_share_a_budget_and_give_it_back() {
        let budget = BodyBudget::new(100);
        let (large, other) = (budget.share(), budget.share());
        large.take(FREE_BYTES + 60).unwrap();
        large.take(30).unwrap();
        assert!(other.take(FREE_BYTES + 20).is_err());
        // Small bodies always fit.
        budget.share().take(FREE_BYTES).unwrap();
        drop(large);
        other.take(100).unwrap();
        drop(other);
        assert_eq!(budget.taken.load(Ordering::Relaxed), 0);
    }
}
