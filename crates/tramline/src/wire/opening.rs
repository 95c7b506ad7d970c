//! A store that is opened while documents are read: a server is there sooner.

use super::{Trouble, store, with_warnings};
use crate::config::Config;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tramline_engine::seams::{Store, StoreFault};
use tramline_store::Sqlite;

/// A store that is perhaps being opened.
#[derive(Default)]
pub struct Opening(Option<JoinHandle<Result<Sqlite, StoreFault>>>);

impl Opening {
    /// Begins to open the store, if it is there: a new one is only made for what can be served.
    pub fn begin(config: &Config) -> Self {
        let there = config.data_dir.clone().filter(|dir| Sqlite::is_at(dir));
        Self(there.and_then(|dir| {
            let thread = thread::Builder::new().name("opening".into());
            thread.spawn(move || Sqlite::open(&dir)).ok()
        }))
    }

    /// The store, opened.
    pub(super) fn store(self, config: &Config) -> Result<Arc<dyn Store>, Trouble> {
        match self.0.map(JoinHandle::join) {
            Some(Ok(opened)) => Ok(Arc::new(with_warnings(opened?, config))),
            Some(Err(_)) | None => store(config),
        }
    }
}
