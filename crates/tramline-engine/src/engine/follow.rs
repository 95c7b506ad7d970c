//! Following a run's events, whichever process drives it.

use super::{Engine, Inner};
use crate::fault::Fault;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Entry, Event};

/// A run's events, one after the other, as they become durable.
pub struct Follow {
    inner: Arc<Inner>,
    run: RunId,
    seen: Seq,
    read: VecDeque<Entry>,
    changes: watch::Receiver<u64>,
    over: bool,
}

impl Engine {
    /// Follows a run from after event `seen` on, to its end.
    pub fn subscribe(&self, run: RunId, seen: Seq) -> Follow {
        let changes = self.0.store.changes();
        let inner = Arc::clone(&self.0);
        Follow {
            inner,
            run,
            seen,
            read: VecDeque::new(),
            changes,
            over: false,
        }
    }
}

impl Follow {
    /// The next event; nothing after the last.
    pub async fn next(&mut self) -> Result<Option<Entry>, Fault> {
        loop {
            if let Some(entry) = self.read.pop_front() {
                self.seen = entry.seq;
                self.over = matches!(entry.event, Event::Finished { .. });
                return Ok(Some(entry));
            }
            if self.over {
                return Ok(None);
            }
            self.changes.mark_unchanged();
            self.read = self.inner.read(&self.run, self.seen).await?.0.into();
            if self.read.is_empty() && self.changes.changed().await.is_err() {
                return Ok(None);
            }
        }
    }
}
