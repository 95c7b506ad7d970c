//! A word to a run: one event after whatever is there, whichever process drives the run.
//!
//! A run that never waits writes without a pause. Its driver gives way to whoever wants to be heard
//! in its own process at once, and holds still for a moment now and then for those in others.

use super::expiry::over;
use super::{Engine, Live, Loaded, stale};
use crate::clock;
use crate::fault::Fault;
use crate::ledger::{ended, head};
use crate::seams::{Append, AppendError, Head, Hold};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{self, Entry, Event, Outcome};
use tramline_core::run::Run;

/// An append that others keep overtaking is given up after so long.
const OVERTAKEN_MAX: Duration = Duration::from_secs(15);
/// How long to wait before the next try.
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// What must be known of a run before an event is appended to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// All of it, up to its last event: whether the event may follow depends on it.
    View,
    /// Only which event is the last, and that it is not the run's end.
    Place,
}

/// How an event gets into a journal.
struct Way {
    /// Since when it is tried.
    began: Instant,
    /// Whether this process drives the run.
    is_live: bool,
    needs: Needs,
}

/// Somebody who wants to be heard; the driver gives way as long as this lives.
struct Wish(Arc<Live>);

impl Wish {
    fn new(live: Arc<Live>) -> Self {
        live.wants.fetch_add(1, Ordering::AcqRel);
        Self(live)
    }
}

impl Drop for Wish {
    fn drop(&mut self) {
        self.0.wants.fetch_sub(1, Ordering::AcqRel);
        // Nobody waits any longer for who has been heard, or gave up.
        self.0.word.notify_one();
    }
}

/// What the list of runs shows after an event, if that may follow.
fn after(run: &Run, entry: &Entry) -> Result<Head, Fault> {
    // A run without an end can always be ended. Copying one with a long past takes longer than its
    // driver holds still.
    if let Event::Finished { outcome } = &entry.event {
        return Ok(Head {
            status: ended(outcome),
            updated_ms: entry.at_ms,
            ..head(run)
        });
    }
    // On a copy: if somebody comes first, it never happened.
    let mut after = run.clone();
    after
        .apply(entry)
        .map_err(|illegal| Fault::Refused(illegal.message))?;
    Ok(head(&after))
}

impl Engine {
    /// Appends what somebody has to say about a run, if its time is not over.
    pub(super) async fn say(
        &self,
        id: &RunId,
        event: impl FnMut(&Run) -> Result<Event, Fault>,
    ) -> Result<(), Fault> {
        self.steerable(id).await?;
        self.append_word(id, Needs::View, event).await.map(drop)
    }

    /// Ends a run whose time is not over, however it stands. Gives the place of the last event.
    pub(super) async fn say_end(&self, id: &RunId, outcome: Outcome) -> Result<Seq, Fault> {
        self.steerable(id).await?;
        let event = |_: &Run| {
            Ok(Event::Finished {
                outcome: outcome.clone(),
            })
        };
        self.append_word(id, Needs::Place, event).await
    }

    /// Appends one event after whatever is there, if it may follow that. Gives its place.
    pub(super) async fn append_word(
        &self,
        id: &RunId,
        needs: Needs,
        mut event: impl FnMut(&Run) -> Result<Event, Fault>,
    ) -> Result<Seq, Fault> {
        let began = Instant::now();
        let live = self.0.live().get(id).cloned();
        // Somebody in this process has spoken before, and it is not written down yet.
        if let Some(live) = &live {
            let _ = tokio::time::timeout(OVERTAKEN_MAX, live.settled()).await;
        }
        let is_live = live.is_some();
        let _wish = live.map(Wish::new);
        let way = Way {
            began,
            is_live,
            needs,
        };
        self.append_after(id, way, &mut event).await
    }

    /// Appends answers that a driver brought for a run which another process drives.
    pub(crate) async fn leave_word(&self, id: &RunId, answers: Vec<Event>) -> Result<(), Fault> {
        for answer in answers {
            let event = |run: &Run| match &answer {
                Event::Answered { pause, .. } if !run.pauses.contains_key(pause) => {
                    Err(stale(run, *pause))
                }
                _ => Ok(answer.clone()),
            };
            let way = Way {
                began: Instant::now(),
                is_live: true,
                needs: Needs::View,
            };
            self.append_after(id, way, event).await?;
        }
        Ok(())
    }

    /// Appends one event after whatever is there, until it was tried for too long.
    async fn append_after(
        &self,
        id: &RunId,
        way: Way,
        mut event: impl FnMut(&Run) -> Result<Event, Fault>,
    ) -> Result<Seq, Fault> {
        let Loaded {
            mut run, entries, ..
        } = self.0.load(id).await?;
        // What a driver in this process did, it tells itself.
        if let Some(observer) = self.0.observer().filter(|_| !way.is_live) {
            observer.learnt(&run, &entries);
        }
        drop(entries);
        let mut seen = run.seq;
        while way.began.elapsed() < OVERTAKEN_MAX {
            if run.outcome.is_some() {
                return Err(over(&run));
            }
            let entry = Entry {
                seq: seen + 1,
                at_ms: clock::now_ms(),
                event: event(&run)?,
            };
            let head = after(&run, &entry)?;
            let mut body = Vec::new();
            journal::encode(&entry, &mut body)?;
            let append = Append {
                run: id.clone(),
                seen,
                last: entry.seq,
                body,
                head,
                hold: Hold::Keep,
                documents: Vec::new(),
            };
            match self.0.store.append(append).await {
                Ok(()) => {
                    if let Some(observer) = self.0.observer() {
                        observer.saw(&run, std::slice::from_ref(&entry));
                    }
                    if let Some(live) = self.0.live().get(id) {
                        live.word.notify_one();
                    }
                    return Ok(entry.seq);
                }
                Err(AppendError::Moved { .. } | AppendError::Elsewhere { .. }) => {
                    seen = self.stands_at(&mut run, way.needs).await?;
                }
                Err(AppendError::Store(fault)) => return Err(fault.into()),
            }
        }
        Err(Fault::Refused(format!(
            "{id} moves on too fast to be reached; try again"
        )))
    }

    /// Where a run stands now. Whoever ends it however it stands need not know how it came there,
    /// only that it has not ended: reading what was appended takes longer than some runs hold still.
    async fn stands_at(&self, run: &mut Run, needs: Needs) -> Result<Seq, Fault> {
        if needs == Needs::Place {
            tokio::time::sleep(BETWEEN_TRIES).await;
            let row = self.0.store.row(&run.id).await?;
            if let Some(row) = row.filter(|row| !row.head.status.is_over()) {
                return Ok(row.last);
            }
        }
        self.catch_up(run).await?;
        Ok(run.seq)
    }

    /// Applies what was appended since, without folding the whole journal anew.
    async fn catch_up(&self, run: &mut Run) -> Result<(), Fault> {
        tokio::time::sleep(BETWEEN_TRIES).await;
        let (entries, _) = self.0.read(&run.id, run.seq).await?;
        for entry in entries {
            run.apply(&entry).map_err(|illegal| Fault::Damaged {
                run: run.id.clone(),
                message: illegal.to_string(),
            })?;
        }
        Ok(())
    }
}
