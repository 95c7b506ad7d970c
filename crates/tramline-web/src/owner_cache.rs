//! A cache of run owners, from the first event of each journal.

use crate::response::ApiError;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tramline_engine::{Engine, RunHeader};
use tramline_workflow::ids::RunId;

/// The maximum number of cached runs; beyond it the cache is cleared.
const RUNS_MAX: usize = 10_000;

/// How runs started. That never changes, so listing runs does not read each journal again.
#[derive(Default)]
pub(crate) struct OwnerCache(Mutex<HashMap<RunId, RunHeader>>);

impl OwnerCache {
    pub(crate) async fn started(
        &self,
        engine: &Engine,
        run: &RunId,
    ) -> Result<RunHeader, ApiError> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(begun) = lock().get(run) {
            return Ok(begun.clone());
        }
        let begun = engine.run_header(run).await?;
        let mut known = lock();
        if known.len() >= RUNS_MAX {
            known.clear();
        }
        known.insert(run.clone(), begun.clone());
        Ok(begun)
    }
}
