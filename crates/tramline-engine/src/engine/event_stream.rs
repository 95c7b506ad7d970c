//! Follows a run's events, whichever process drives it.

use super::{Engine, EngineInner};
use crate::fault::Fault;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::watch;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{Entry, Event, RunEvent};

/// A run's events in order, as they become durable.
pub struct EventStream {
    inner: Arc<EngineInner>,
    run: RunId,
    seen: Seq,
    buffer: VecDeque<Entry>,
    changes: watch::Receiver<u64>,
    is_over: bool,
}

impl Engine {
    /// Follows a run from after event `seen` to its end.
    pub fn subscribe(&self, run: RunId, seen: Seq) -> EventStream {
        let changes = self.0.store.changes_of(&run);
        let inner = Arc::clone(&self.0);
        EventStream {
            inner,
            run,
            seen,
            buffer: VecDeque::new(),
            changes,
            is_over: false,
        }
    }
}

impl EventStream {
    /// The next event; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Entry>, Fault> {
        loop {
            if let Some(entry) = self.buffer.pop_front() {
                self.seen = entry.seq;
                self.is_over = matches!(entry.event, Event::Run(RunEvent::Finished { .. }));
                return Ok(Some(entry));
            }
            if self.is_over {
                return Ok(None);
            }
            self.changes.mark_unchanged();
            self.buffer = self.inner.read_events(&self.run, self.seen).await?.0.into();
            if self.buffer.is_empty() && self.changes.changed().await.is_err() {
                return Ok(None);
            }
        }
    }
}
