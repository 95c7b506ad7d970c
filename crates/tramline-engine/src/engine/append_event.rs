//! Appends an external event to a run, whichever process drives it.
//!
//! A run that never waits appends without a break. Its driver yields at once to writers in its own
//! process, and pauses for a moment now and then for writers in others.

use super::expiry::ended_fault;
use super::{ActiveRun, Engine, LoadedRun, stale_checkpoint};
use crate::audit::AuditDecision;
use crate::clock;
use crate::fault::Fault;
use crate::journal_writer::{index_row, outcome_status};
use crate::ports::{Append, AppendError, ClaimChange, RunIndexRow};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{self, Entry, Event, Outcome, RunEvent};
use tramline_workflow::run::Run;

/// Time after which an append that other writers keep overtaking is given up.
const APPEND_RETRY_MAX: Duration = Duration::from_secs(15);
/// Delay between two attempts.
const APPEND_RETRY_DELAY: Duration = Duration::from_millis(1);

/// What must be known of a run before an event is appended to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequiredState {
    /// The whole state: whether the event is legal depends on it.
    FullState,
    /// Only the last sequence number, and that the run has not ended.
    LastSeq,
}

/// An event to append, and the decision that it makes.
pub(super) struct PlannedEvent {
    pub(super) event: Event,
    pub(super) decision: Option<AuditDecision>,
}

impl From<Event> for PlannedEvent {
    fn from(event: Event) -> Self {
        Self {
            event,
            decision: None,
        }
    }
}

/// The state of one append with its retries.
struct AppendAttempt {
    /// When the first attempt was made.
    began: Instant,
    /// Whether this process drives the run.
    is_live: bool,
    needs: RequiredState,
    /// Whether it is a command, which is in the audit before it is in the journal.
    is_command: bool,
}

/// A writer that wants to append; the driver yields while this exists.
struct WaitingWriter(Arc<ActiveRun>);

impl WaitingWriter {
    fn new(live: Arc<ActiveRun>) -> Self {
        live.waiting_writers.fetch_add(1, Ordering::AcqRel);
        Self(live)
    }
}

impl Drop for WaitingWriter {
    fn drop(&mut self) {
        self.0.waiting_writers.fetch_sub(1, Ordering::AcqRel);
        // The driver need not wait for a writer that is done or gave up.
        self.0.wakeup.notify_one();
    }
}

/// The run index entry after an event, if the event is legal.
fn index_row_after(run: &Run, entry: &Entry) -> Result<RunIndexRow, Fault> {
    // An open run can always be ended. Cloning a run with a long history takes longer than its
    // driver yields.
    if let Event::Run(RunEvent::Finished { outcome }) = &entry.event {
        return Ok(RunIndexRow {
            status: outcome_status(outcome),
            updated_ms: entry.at_ms,
            ..index_row(run)
        });
    }
    // On a clone: if another writer appends first, the event is discarded.
    let mut after = run.clone();
    after
        .apply(entry)
        .map_err(|illegal| Fault::Rejected(illegal.message))?;
    Ok(index_row(&after))
}

impl Engine {
    /// Appends an event to a run that has not expired.
    pub(super) async fn append_command<E: Into<PlannedEvent>>(
        &self,
        id: &RunId,
        event: impl FnMut(&Run) -> Result<E, Fault>,
    ) -> Result<(), Fault> {
        self.check_not_expired(id).await?;
        self.append_as(id, (RequiredState::FullState, true), event)
            .await
            .map(drop)
    }

    /// Ends a run that has not expired, in any state. Returns the sequence number of the last
    /// event.
    pub(super) async fn append_end(&self, id: &RunId, outcome: Outcome) -> Result<Seq, Fault> {
        self.check_not_expired(id).await?;
        let event = |_: &Run| {
            Ok(Event::Run(RunEvent::Finished {
                outcome: outcome.clone(),
            }))
        };
        self.append_as(id, (RequiredState::LastSeq, true), event)
            .await
    }

    /// Appends one event after the current last one, if it is legal there. Returns its sequence
    /// number.
    pub(super) async fn append_event(
        &self,
        id: &RunId,
        needs: RequiredState,
        event: impl FnMut(&Run) -> Result<Event, Fault>,
    ) -> Result<Seq, Fault> {
        self.append_as(id, (needs, false), event).await
    }

    async fn append_as<E: Into<PlannedEvent>>(
        &self,
        id: &RunId,
        (needs, is_command): (RequiredState, bool),
        mut event: impl FnMut(&Run) -> Result<E, Fault>,
    ) -> Result<Seq, Fault> {
        let began = Instant::now();
        let live = self.0.active_runs().get(id).cloned();
        // Another append of this process comes first and is not durable yet.
        if let Some(live) = &live {
            let _ = tokio::time::timeout(APPEND_RETRY_MAX, live.wait_answer_state()).await;
        }
        let is_live = live.is_some();
        let _wish = live.map(WaitingWriter::new);
        let way = AppendAttempt {
            began,
            is_live,
            needs,
            is_command,
        };
        self.append_with_retries(id, way, &mut event).await
    }

    /// Appends the answers that a driver was started with to a run that another process drives.
    pub(crate) async fn append_foreign_answers(
        &self,
        id: &RunId,
        answers: Vec<Event>,
    ) -> Result<(), Fault> {
        for answer in answers {
            let event = |run: &Run| {
                if let Event::Run(RunEvent::Answered { pause, .. }) = &answer
                    && !run.pauses.contains_key(pause)
                {
                    return Err(stale_checkpoint(run, *pause));
                }
                Ok(answer.clone())
            };
            let way = AppendAttempt {
                began: Instant::now(),
                is_live: true,
                needs: RequiredState::FullState,
                is_command: false,
            };
            self.append_with_retries(id, way, event).await?;
        }
        Ok(())
    }

    /// Appends one event after the current last one, and retries until the time is up.
    async fn append_with_retries<E: Into<PlannedEvent>>(
        &self,
        id: &RunId,
        way: AppendAttempt,
        mut event: impl FnMut(&Run) -> Result<E, Fault>,
    ) -> Result<Seq, Fault> {
        let LoadedRun {
            mut run, entries, ..
        } = self.0.load(id).await?;
        // A driver in this process reports its own events.
        if let Some(observer) = self.0.observer().filter(|_| !way.is_live) {
            observer.on_replay(&run, &entries);
        }
        drop(entries);
        let mut seen = run.seq;
        while way.began.elapsed() < APPEND_RETRY_MAX {
            if run.outcome.is_some() {
                return Err(ended_fault(&run));
            }
            let PlannedEvent { event, decision } = event(&run)?.into();
            let entry = Entry {
                seq: seen + 1,
                at_ms: clock::now_ms(),
                event,
            };
            let head = index_row_after(&run, &entry)?;
            let mut body = Vec::new();
            journal::encode(&entry, &mut body)?;
            let append = Append {
                run: id.clone(),
                seen,
                last: entry.seq,
                body,
                index_row: head,
                claim: ClaimChange::Keep,
                documents: Vec::new(),
            };
            if way.is_command {
                // First, because a driver may act on the event before this process can write again.
                Box::pin(self.audit_run_change(id, decision)).await?;
            }
            match self.0.store.append(append).await {
                Ok(_) => {
                    // The cached copy of a paused run is stale now: calls would be made from it first.
                    drop(self.0.paused_runs.take(id));
                    if way.is_command {
                        Box::pin(self.audit_effect()).await;
                    }
                    if let Some(observer) = self.0.observer() {
                        observer.on_append(&run, std::slice::from_ref(&entry));
                    }
                    if let Some(live) = self.0.active_runs().get(id) {
                        live.wakeup.notify_one();
                    }
                    return Ok(entry.seq);
                }
                Err(AppendError::Conflict { .. } | AppendError::Elsewhere { .. }) => {
                    seen = self.last_seq(&mut run, way.needs).await?;
                }
                Err(AppendError::Store(fault)) => return Err(fault.into()),
            }
        }
        Err(Fault::Rejected(format!(
            "{id} is changing too quickly to append to; try again"
        )))
    }

    /// The last sequence number of a run. Ending a run in any state only needs to know that it has
    /// not ended: reading all new events takes longer than some runs pause.
    async fn last_seq(&self, run: &mut Run, needs: RequiredState) -> Result<Seq, Fault> {
        if needs == RequiredState::LastSeq {
            tokio::time::sleep(APPEND_RETRY_DELAY).await;
            let row = self.0.store.row(&run.id).await?;
            if let Some(row) = row.filter(|row| !row.index_row.status.is_over()) {
                return Ok(row.last);
            }
        }
        self.catch_up_run(run).await?;
        Ok(run.seq)
    }

    /// Applies what was appended since, without folding the whole journal again.
    async fn catch_up_run(&self, run: &mut Run) -> Result<(), Fault> {
        tokio::time::sleep(APPEND_RETRY_DELAY).await;
        let (entries, _) = self.0.read_events(&run.id, run.seq).await?;
        for entry in entries {
            run.apply(&entry).map_err(|illegal| Fault::Damaged {
                run: run.id.clone(),
                message: illegal.to_string(),
            })?;
        }
        Ok(())
    }
}
