//! Whose runs are whose: what a journal says in its first line, remembered.

use crate::told::Wrong;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tramline_core::ids::RunId;
use tramline_engine::{Begun, Engine};

/// So many are remembered; beyond it that starts afresh.
const RUNS_MAX: usize = 10_000;

/// How runs began. That never changes, so a list of runs need not read them anew.
#[derive(Default)]
pub(crate) struct Owners(Mutex<HashMap<RunId, Begun>>);

impl Owners {
    pub(crate) async fn begun(&self, engine: &Engine, run: &RunId) -> Result<Begun, Wrong> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(begun) = lock().get(run) {
            return Ok(begun.clone());
        }
        let begun = engine.begun(run).await?;
        let mut known = lock();
        if known.len() >= RUNS_MAX {
            known.clear();
        }
        known.insert(run.clone(), begun.clone());
        Ok(begun)
    }
}
