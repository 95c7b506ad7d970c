//! SOP sessions: an agent moves along a procedure, and every move is journaled.
//!
//! A session has no driver. The core decides each command of the agent; the result is appended and
//! only then returned. Sessions in use stay folded in memory. If another process moved a session,
//! its events are applied before the command is decided again.

use super::{Engine, EngineInner};
use crate::clock;
use crate::fault::Fault;
use crate::journal_writer::outcome_status;
use crate::ports::{Append, AppendError, ClaimChange, RunIndexRow, RunStatus};
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_sop::{SopDecision, SopSession};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{self, CarriedCall, Entry, Event, SopEvent, SopStarted};
use tramline_workflow::sop::Sop;

mod approval_run;
mod calls_in_flight;
mod carried_calls;
mod gated_call;
mod session_cache;
mod session_expiry;

pub use approval_run::{ApprovedCallResult, ArgumentEdit};
pub(super) use calls_in_flight::CallInFlight;
pub use gated_call::{GatedCall, GatedCallOutcome};
pub(super) use session_cache::SessionCache;

/// Attempts to append to a session while other writers append first.
const SESSION_APPEND_TRIES_MAX: usize = 100;

/// What an SOP session is started with.
#[derive(Clone, Debug)]
pub struct SopStart {
    /// The procedure, followed by the ones that its nodes refer to.
    pub sops: Vec<Arc<Sop>>,
    /// The names by which nodes refer to the second and later ones.
    pub files: Vec<Str>,
    /// The caller's label that groups runs.
    pub session: Option<Str>,
    /// Where the document can be found again, in the front end's own format.
    pub origin: Value,
    /// The owner: stored for front ends, which compare it.
    pub owner: Option<Str>,
    /// Who asked for it, if that is not this process.
    pub by: Option<Str>,
    /// How long the session waits for the agent's next command before it expires, in milliseconds.
    pub ttl_ms: Option<u64>,
    /// The name of the pinned procedure that it follows.
    pub pinned: Option<Str>,
}

impl Engine {
    /// Starts an SOP session.
    pub async fn start_sop_session(&self, guide: SopStart) -> Result<RunId, Fault> {
        self.start_replacing_session(guide, Vec::new()).await
    }

    /// Starts an SOP session in which calls of the sessions that it replaces still count.
    pub(super) async fn start_replacing_session(
        &self,
        guide: SopStart,
        carried: Vec<CarriedCall>,
    ) -> Result<RunId, Fault> {
        self.record_ttl(guide.ttl_ms).await?;
        let _room = self.reserve_run().await?;
        let at_ms = clock::now_ms();
        let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
        let id = RunId::new(at_ms, chance);
        let procedures = guide.sops.iter();
        let built: Result<Vec<_>, String> = procedures
            .map(|sop| self.0.documents.procedures.built(sop))
            .collect();
        let built = built.map_err(Fault::Rejected)?;
        let begun = SopStarted {
            sops: built.iter().map(|it| Arc::clone(&it.sop)).collect(),
            files: guide.files,
            session: guide.session,
            by: self.name_or_process(guide.by),
            origin: guide.origin,
            owner: guide.owner,
            ttl_ms: guide.ttl_ms,
            pinned: guide.pinned,
            carried,
        };
        self.reject_agent_secrets(&begun)?;
        let event = Event::Sop(SopEvent::SopStarted(Box::new(begun.clone())));
        let walk = SopSession::start(id.clone(), built, begun, at_ms);
        let walk = walk.map_err(|illegal| Fault::Rejected(illegal.message))?;
        let mut body = Vec::new();
        let entry = Entry {
            seq: 1,
            at_ms,
            event,
        };
        let documents = self.0.encode(&entry, &mut body)?;
        let append = Append {
            run: id.clone(),
            seen: 0,
            last: 1,
            body,
            index_row: head(&walk, at_ms),
            // A session has no driver, so any process may move it.
            claim: ClaimChange::Keep,
            documents,
        };
        self.0.store.append(append).await.map_err(start_fault)?;
        self.0.sop_sessions.insert(walk);
        Ok(id)
    }

    /// An agent's input with secrets redacted, because it is stored.
    pub async fn redact_submitted(&self, value: Value) -> Value {
        self.redact_value(value).await
    }

    /// The journal of a run or an SOP session.
    pub async fn entries(&self, id: &RunId) -> Result<Vec<Entry>, Fault> {
        let (entries, _) = self.0.read_events(id, 0).await?;
        match entries.is_empty() {
            true => Err(Fault::NotFound(id.clone())),
            false => Ok(entries),
        }
    }

    /// The first event of a session, which never changes.
    pub async fn sop_session_start(&self, id: &RunId) -> Result<Arc<SopStarted>, Fault> {
        let seat = self.0.sop_session(id).await?;
        let begun = Arc::clone(&seat.lock().await.started);
        Ok(begun)
    }

    /// Reads the current state of a session.
    pub async fn read_sop_session<T>(
        &self,
        id: &RunId,
        tell: impl FnOnce(&SopSession) -> T,
    ) -> Result<T, Fault> {
        let seat = self.0.sop_session(id).await?;
        let mut walk = seat.lock().await;
        self.0.catch_up_session(&mut walk).await?;
        Ok(tell(&walk))
    }

    /// Decides a command of an agent, records the result, and returns the new state.
    pub async fn update_sop_session<T>(
        &self,
        id: &RunId,
        decide: impl Fn(&SopSession) -> SopDecision,
        tell: impl FnOnce(&SopSession, &SopDecision) -> T,
    ) -> Result<T, Fault> {
        let seat = self.0.sop_session(id).await?;
        let mut walk = seat.lock().await;
        for _ in 0..SESSION_APPEND_TRIES_MAX {
            self.prepare_session(&mut walk).await?;
            let turn = decide(&walk);
            if approval_run::leaves_node(&turn) {
                // Withdraw open questions first, so that none outlives the node that allowed its
                // call.
                let asked: Vec<RunId> = walk
                    .pending_approvals()
                    .map(|(_, run)| run.clone())
                    .collect();
                self.withdraw_approvals(&asked).await?;
            }
            match self.0.append_session_events(&mut walk, &turn.events).await {
                Ok(()) => return Ok(tell(&walk, &turn)),
                Err(AppendError::Conflict { .. } | AppendError::Elsewhere { .. }) => {
                    self.0.catch_up_session(&mut walk).await?;
                }
                Err(AppendError::Store(fault)) => return Err(fault.into()),
            }
        }
        Err(Fault::Rejected(format!(
            "{id} is changing too quickly to append to; try again"
        )))
    }

    /// Prepares a session for a command: records the results of calls that people decided on, and
    /// ends a session that has expired.
    async fn prepare_session(&self, walk: &mut SopSession) -> Result<(), Fault> {
        if walk.pending_approvals().next().is_some() {
            // Boxed: this is rare and must not enlarge the future of every move.
            Box::pin(self.record_decided_calls(walk)).await?;
        }
        if session_expiry::is_due(walk, clock::now_ms()) {
            Box::pin(self.expire_session_state(walk, clock::now_ms())).await?;
        }
        match &walk.outcome {
            Some(outcome) => Err(session_expiry::session_ended(walk, outcome)),
            None => Ok(()),
        }
    }
}

impl EngineInner {
    /// The session in memory, or folded from its journal.
    pub(super) async fn sop_session(
        &self,
        id: &RunId,
    ) -> Result<Arc<session_cache::SharedSession>, Fault> {
        if let Some(seat) = self.sop_sessions.find(id) {
            return Ok(seat);
        }
        let (entries, _) = self.read_events(id, 0).await?;
        let Some(first) = entries.first() else {
            return Err(Fault::NotFound(id.clone()));
        };
        if !matches!(first.event, Event::Sop(SopEvent::SopStarted(_))) {
            let message = format!(
                "{id} is a workflow run, not an SOP session; use `tramline runs show {id}`"
            );
            return Err(Fault::Rejected(message));
        }
        let build = |sop: &Arc<Sop>| self.documents.procedures.built(sop);
        let walk =
            SopSession::fold(id.clone(), entries, build).map_err(|illegal| Fault::Damaged {
                run: id.clone(),
                message: illegal.to_string(),
            })?;
        Ok(self.sop_sessions.insert(walk))
    }

    /// Applies what another process has appended.
    pub(super) async fn catch_up_session(&self, walk: &mut SopSession) -> Result<(), Fault> {
        let id = walk.id.clone();
        let (entries, _) = self.read_events(&id, walk.seq).await?;
        for entry in entries {
            walk.apply(&entry).map_err(|illegal| Fault::Damaged {
                run: id.clone(),
                message: illegal.to_string(),
            })?;
        }
        Ok(())
    }

    /// Appends events, then applies them. Moves survive a process crash; sent calls and their
    /// results also survive a power loss.
    pub(super) async fn append_session_events(
        &self,
        walk: &mut SopSession,
        events: &[Event],
    ) -> Result<(), AppendError> {
        if events.is_empty() {
            return Ok(());
        }
        let at_ms = clock::now_ms();
        let too_large = |error: journal::EventTooLarge| {
            AppendError::Store(crate::ports::StoreFault {
                message: error.to_string(),
            })
        };
        let (mut body, mut entries) = (Vec::new(), Vec::with_capacity(events.len()));
        for (event, seq) in events.iter().zip(walk.seq + 1..) {
            let event = event.clone();
            let entry = Entry { seq, at_ms, event };
            journal::encode(&entry, &mut body).map_err(too_large)?;
            entries.push(entry);
        }
        let append = Append {
            run: walk.id.clone(),
            seen: walk.seq,
            last: walk.seq + entries.len() as u64,
            body,
            index_row: index_row_after(walk, events, at_ms),
            claim: ClaimChange::Keep,
            documents: Vec::new(),
        };
        match events.iter().all(is_agent_event) {
            true => self.store.append_relaxed(append).await?,
            false => self.store.append(append).await?,
        };
        for entry in &entries {
            walk.apply(entry).map_err(|illegal| {
                AppendError::Store(crate::ports::StoreFault {
                    message: illegal.to_string(),
                })
            })?;
        }
        if let Some(observer) = self.observer() {
            observer.on_sop_append(walk, &entries);
        }
        Ok(())
    }
}

/// Whether an event is only a move or note of the agent. A lost one costs a repetition: the next
/// call that is sent is announced by an append that makes all earlier events durable.
fn is_agent_event(event: &Event) -> bool {
    match event {
        Event::Sop(SopEvent::Moved(_) | SopEvent::Noted(_) | SopEvent::Refused(_)) => true,
        Event::Run(_)
        | Event::Sop(
            SopEvent::SopStarted(_) | SopEvent::ToolCalled(_) | SopEvent::ToolAnswered(_),
        ) => false,
    }
}

/// The run index entry of a session after these events.
fn index_row_after(walk: &SopSession, events: &[Event], updated_ms: i64) -> RunIndexRow {
    let head = head(walk, updated_ms);
    match events.last().and_then(Event::outcome) {
        Some(outcome) => RunIndexRow {
            status: outcome_status(outcome),
            ..head
        },
        None => head,
    }
}

/// The run index entry of an open session.
fn head(walk: &SopSession, updated_ms: i64) -> RunIndexRow {
    RunIndexRow {
        status: RunStatus::SopSession,
        workflow: walk.sop().name.clone(),
        session: walk.started.session.clone(),
        started_ms: walk.started_ms,
        updated_ms,
    }
}

/// The fault for a session that could not be started.
fn start_fault(error: AppendError) -> Fault {
    match error {
        AppendError::Conflict { .. } | AppendError::Elsewhere { .. } => {
            Fault::Rejected("a run with this id already exists; try again".into())
        }
        AppendError::Store(fault) => fault.into(),
    }
}
