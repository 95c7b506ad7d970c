//! Which session of a pinned procedure belongs to which caller.
//!
//! A caller has one session at a time, or as many as the operator allows. A named caller is the
//! same in every process over one store, so its sessions are kept there, and the first writer wins.
//! An unnamed caller is identified with the process: over stdio that is the client which started
//! it.

use super::super::{Engine, SopStart};
use super::PinnedProcedures;
use crate::fault::Fault;
use crate::ports::AppendError;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{CarriedCall, Event, Outcome, RunEvent, SopStarted};

/// The name, in the journal, under which a replaced session is ended.
const REPLACED_BY: &str = "load_graph";
/// The document kind of the sessions of named callers.
const SESSION_OWNERS_KIND: &str = "sop-conversations";
/// Attempts to change a list that other writers keep changing.
const OWNER_SWAP_TRIES_MAX: usize = 100;

/// Attempts to start a session while other processes start sessions for the same caller.
const START_TRIES_MAX: usize = 10;

/// A session of a pinned procedure that was started.
#[derive(Clone, Debug)]
pub struct PinnedStart {
    /// Its id.
    pub id: RunId,
    /// The sessions that ended because of it.
    pub ended: Vec<RunId>,
}

/// A caller and the procedure that it follows.
pub(super) type SessionOwner = (Option<Str>, Str);

/// The store key of a caller's sessions; `None` for an unnamed caller.
fn owner_key((owner, procedure): &SessionOwner) -> Option<String> {
    let owner = owner.as_ref()?;
    Some(serde_json::json!([procedure, owner]).to_string())
}

impl Engine {
    /// Starts a session of a pinned procedure for its caller. If the caller then has too many, the
    /// oldest ones end. What an agent could undo by starting over still counts in the new session:
    /// calls in doubt and, if the caller has one session at a time, the calls that rules count.
    pub async fn start_pinned_session(&self, guide: SopStart) -> Result<PinnedStart, Fault> {
        let (Some(pins), Some(procedure)) = (self.pins(), guide.pinned.clone()) else {
            let id = self.start_sop_session(guide).await?;
            let ended = Vec::new();
            return Ok(PinnedStart { id, ended });
        };
        let most = pins.sessions_max.max(1);
        let owner = (guide.owner.clone(), procedure);
        let _alone = self.0.pinned.starting.lock().await;
        let mut ended = Vec::new();
        for _ in 0..START_TRIES_MAX {
            let mut carried = Vec::new();
            let owned = self.owned_sessions(&owner).await?;
            let surplus = (owned.len() + 1).saturating_sub(most);
            let replaced = &owned[..surplus];
            for old in replaced {
                let replacement = self.replace_session(old, most == 1).await?;
                carried.extend(replacement.carried);
                ended.extend(replacement.was_open.then(|| old.clone()));
            }
            for (call, number) in carried.iter_mut().zip(1..) {
                call.called.call = number;
            }
            let id = self.start_replacing_session(guide.clone(), carried).await?;
            let mut is_assigned = true;
            let assign = |owned: &mut Vec<RunId>| {
                let surplus = (owned.len() + 1).saturating_sub(most);
                // Another process may have started a session whose calls were not carried over.
                is_assigned = owned[..surplus].iter().all(|it| replaced.contains(it));
                if is_assigned {
                    owned.drain(..surplus);
                    owned.push(id.clone());
                }
                Ok(())
            };
            self.change_owned_sessions(&owner, assign).await?;
            if is_assigned {
                return Ok(PinnedStart { id, ended });
            }
            self.replace_session(&id, false).await?;
        }
        Err(too_many_starts())
    }

    /// Returns to a session by its id: one that the caller has, or one from before a restart if the
    /// caller may have another.
    pub async fn reassign_session(&self, id: &RunId) -> Result<(), Fault> {
        let Some(pins) = self.pins() else {
            return Ok(());
        };
        let begun = self.sop_session_start(id).await?;
        let Some(seat) = owner_of(pins, &begun) else {
            return Err(Fault::Rejected(format!(
                "{id} does not follow a procedure pinned here ({}): start a session of one with load_graph",
                pins.procedures.join(", ")
            )));
        };
        let seated = self.owned_sessions(&seat).await?;
        if seated.contains(id) {
            return Ok(());
        }
        let mut over = Vec::new();
        for other in seated {
            let is_over = self
                .read_sop_session(&other, |walk| walk.outcome.is_some())
                .await;
            if is_over.unwrap_or(true) {
                over.push(other);
            }
        }
        let most = pins.sessions_max.max(1);
        let sit = |seated: &mut Vec<RunId>| {
            seated.retain(|it| !over.contains(it) && it != id);
            if seated.len() >= most {
                return Err(not_owned(id, seated));
            }
            seated.push(id.clone());
            Ok(())
        };
        self.change_owned_sessions(&seat, sit).await
    }

    /// Rejects a session of a named caller that was replaced, even if the process died before it
    /// ended the session.
    pub(super) async fn check_session_owner(
        &self,
        id: &RunId,
        begun: &SopStarted,
    ) -> Result<(), Fault> {
        let seat = self.pins().and_then(|pins| owner_of(pins, begun));
        let Some(seat) = seat.filter(|seat| seat.0.is_some()) else {
            return Ok(());
        };
        let seated = self.owned_sessions(&seat).await?;
        match seated.is_empty() || seated.contains(id) {
            true => Ok(()),
            false => Err(not_owned(id, &seated)),
        }
    }

    /// Reads a named caller's sessions from the store, for the run that starts next.
    pub(in super::super) async fn load_session_owners(
        &self,
        owner: Option<&Str>,
    ) -> Result<(), Fault> {
        let (Some(pins), Some(owner)) = (self.pins(), owner) else {
            return Ok(());
        };
        for procedure in &pins.procedures {
            self.owned_sessions(&(Some(owner.clone()), procedure.clone()))
                .await?;
        }
        Ok(())
    }

    /// The sessions of a caller for a procedure, oldest first.
    async fn owned_sessions(&self, seat: &SessionOwner) -> Result<Vec<RunId>, Fault> {
        let Some(key) = owner_key(seat) else {
            let active = self.0.pinned.lock_active();
            return Ok(active.get(seat).cloned().unwrap_or_default());
        };
        let seated = decode_sessions(
            self.0
                .store
                .get(SESSION_OWNERS_KIND, &key)
                .await?
                .as_deref(),
        );
        self.0
            .pinned
            .lock_active()
            .insert(seat.clone(), seated.clone());
        Ok(seated)
    }

    /// Changes the sessions of a caller for a procedure, unless `change` returns a fault.
    async fn change_owned_sessions(
        &self,
        seat: &SessionOwner,
        mut change: impl FnMut(&mut Vec<RunId>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some(key) = owner_key(seat) else {
            let mut active = self.0.pinned.lock_active();
            return change(active.entry(seat.clone()).or_default());
        };
        for _ in 0..OWNER_SWAP_TRIES_MAX {
            let seen = self.0.store.get(SESSION_OWNERS_KIND, &key).await?;
            let mut seated = decode_sessions(seen.as_deref());
            change(&mut seated)?;
            let ids: Vec<&str> = seated.iter().map(RunId::as_str).collect();
            let body = serde_json::json!(ids).to_string().into_bytes();
            if self
                .0
                .store
                .swap(SESSION_OWNERS_KIND, &key, seen, body)
                .await?
            {
                self.0.pinned.lock_active().insert(seat.clone(), seated);
                return Ok(());
            }
        }
        Err(too_many_starts())
    }

    /// Ends a session that is replaced, unless it is over, and returns the calls that still count.
    /// A session that expired leaves only its calls in doubt.
    async fn replace_session(&self, old: &RunId, counted: bool) -> Result<Replacement, Fault> {
        let seat = match self.0.sop_session(old).await {
            Ok(seat) => seat,
            // It was removed in the meantime.
            Err(Fault::NotFound(_)) => return Ok(Replacement::default()),
            Err(fault) => return Err(fault),
        };
        let mut walk = seat.lock().await;
        let was_open = loop {
            self.0.catch_up_session(&mut walk).await?;
            if walk.outcome.is_some() {
                break false;
            }
            let asked: Vec<RunId> = walk
                .pending_approvals()
                .map(|(_, run)| run.clone())
                .collect();
            self.withdraw_approvals(&asked).await?;
            self.record_decided_calls(&mut walk).await?;
            let outcome = Outcome::Aborted {
                by: REPLACED_BY.into(),
                why: Some("its caller started another session of the procedure".to_owned()),
            };
            let end = [Event::Run(RunEvent::Finished { outcome })];
            match self.0.append_session_events(&mut walk, &end).await {
                Ok(()) => break true,
                Err(AppendError::Conflict { .. } | AppendError::Elsewhere { .. }) => {}
                Err(AppendError::Store(fault)) => return Err(fault.into()),
            }
        };
        let expired = walk.outcome.as_ref().is_some_and(Outcome::is_expired);
        let carried = self.calls_to_carry(&walk, counted && !expired).await?;
        Ok(Replacement { was_open, carried })
    }
}

/// What remains of a session that is replaced.
#[derive(Default)]
struct Replacement {
    was_open: bool,
    carried: Vec<CarriedCall>,
}

fn too_many_starts() -> Fault {
    let message = "too many sessions are being started for this caller at once; try again";
    Fault::Rejected(message.into())
}

/// The caller and the pinned procedure of a session, if it follows a procedure pinned here.
fn owner_of(pins: &Arc<PinnedProcedures>, begun: &SopStarted) -> Option<SessionOwner> {
    let procedure = begun.pinned.clone()?;
    let is_pinned = pins.procedures.contains(&procedure);
    is_pinned.then(|| (begun.owner.clone(), procedure))
}

/// Decodes a stored list. An unreadable one counts as empty.
fn decode_sessions(body: Option<&[u8]>) -> Vec<RunId> {
    let ids = body.and_then(|body| serde_json::from_slice::<Vec<String>>(body).ok());
    let ids = ids.unwrap_or_default().into_iter();
    ids.filter_map(|id| id.parse().ok()).collect()
}

fn not_owned(id: &RunId, seated: &[RunId]) -> Fault {
    let now: Vec<&str> = seated.iter().map(RunId::as_str).collect();
    Fault::Rejected(format!(
        "{id} is no longer the session of this caller: {} is; continue there, or start a new one with load_graph",
        now.join(", ")
    ))
}
