//! Opens the store while documents are parsed, so that a server is ready sooner.

use super::{AppError, store, with_warnings};
use crate::config::Config;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tramline_engine::ports::{Store, StoreFault};
use tramline_store::Sqlite;

/// A store that may be opening in the background.
#[derive(Default)]
pub struct StoreOpening(Option<JoinHandle<Result<Sqlite, StoreFault>>>);

impl StoreOpening {
    /// Starts opening the store if it exists: a new one is only created once there is something to
    /// serve.
    pub fn start(config: &Config) -> Self {
        let own = config.data_dir.clone().filter(|_| config.store.is_none());
        let there = own.filter(|dir| Sqlite::is_at(dir));
        Self(there.and_then(|dir| {
            let thread = thread::Builder::new().name("opening".into());
            thread.spawn(move || Sqlite::open(&dir)).ok()
        }))
    }

    /// The opened store.
    pub(super) fn store(self, config: &Config) -> Result<Arc<dyn Store>, AppError> {
        match self.0.map(JoinHandle::join) {
            Some(Ok(opened)) => Ok(Arc::new(with_warnings(opened?, config))),
            Some(Err(_)) | None => store(config),
        }
    }
}
