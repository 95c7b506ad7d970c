//! Whose conversation along a pinned procedure is which.
//!
//! A caller has one at a time, or as many as the operator says. A caller with a name is the same in every
//! process over one store, so its conversations are kept there, and the first who writes wins. A caller
//! without one is the process: over pipes that is the client which started it.

use super::super::Engine;
use super::Pins;
use crate::fault::Fault;
use crate::seams::AppendError;
use std::sync::Arc;
use tramline_core::Str;
use tramline_core::ids::RunId;
use tramline_core::journal::{Event, Guided, Outcome};

/// Who ends a conversation in whose place another was begun, in its journal.
const SUPERSEDED: &str = "load_graph";
/// Under what the conversations of named callers are kept.
const KIND: &str = "sop-conversations";
/// A list that others keep changing is given up after so many tries.
const TRIES_MAX: usize = 100;

/// A caller and the procedure that it follows.
pub(super) type Seat = (Option<Str>, Str);

/// Where the conversations of a caller are kept; nothing for one that is the process.
fn key((owner, procedure): &Seat) -> Option<String> {
    let owner = owner.as_ref()?;
    Some(serde_json::json!([procedure, owner]).to_string())
}

impl Engine {
    /// Makes a conversation along a pinned procedure its caller's. Beyond what a caller may have, the
    /// oldest ones end; these are given.
    pub async fn seat(
        &self,
        id: &RunId,
        owner: Option<Str>,
        procedure: Str,
    ) -> Result<Vec<RunId>, Fault> {
        let Some(pins) = self.pins() else {
            return Ok(Vec::new());
        };
        let most = pins.conversations_max.max(1);
        let mut ended = Vec::new();
        let sit = |seated: &mut Vec<RunId>| {
            seated.push(id.clone());
            let surplus = seated.len().saturating_sub(most);
            ended = seated.drain(..surplus).collect();
            Ok(())
        };
        self.change_seats(&(owner, procedure), sit).await?;
        let mut told = Vec::new();
        for old in ended {
            if self.supersede(&old, id).await? {
                told.push(old);
            }
        }
        Ok(told)
    }

    /// Comes back to a conversation by its name: one that the caller has, or one from before a
    /// restart if there is room for it.
    pub async fn reseat(&self, id: &RunId) -> Result<(), Fault> {
        let Some(pins) = self.pins() else {
            return Ok(());
        };
        let begun = self.guided(id).await?;
        let Some(seat) = seat_of(pins, &begun) else {
            return Err(Fault::Refused(format!(
                "{id} follows no procedure that is pinned here ({}): load_graph begins a conversation along one",
                pins.procedures.join(", ")
            )));
        };
        let seated = self.seated(&seat).await?;
        if seated.contains(id) {
            return Ok(());
        }
        let mut over = Vec::new();
        for other in seated {
            let is_over = self.walk(&other, |walk| walk.outcome.is_some()).await;
            if is_over.unwrap_or(true) {
                over.push(other);
            }
        }
        let most = pins.conversations_max.max(1);
        let sit = |seated: &mut Vec<RunId>| {
            seated.retain(|it| !over.contains(it) && it != id);
            if seated.len() >= most {
                return Err(not_theirs(id, seated));
            }
            seated.push(id.clone());
            Ok(())
        };
        self.change_seats(&seat, sit).await
    }

    /// Refuses a conversation of a named caller that another has taken the place of, also where the
    /// process died that was about to end it.
    pub(super) async fn is_seated(&self, id: &RunId, begun: &Guided) -> Result<(), Fault> {
        let seat = self.pins().and_then(|pins| seat_of(pins, begun));
        let Some(seat) = seat.filter(|seat| seat.0.is_some()) else {
            return Ok(());
        };
        let seated = self.seated(&seat).await?;
        match seated.is_empty() || seated.contains(id) {
            true => Ok(()),
            false => Err(not_theirs(id, &seated)),
        }
    }

    /// Reads what the store has of a named caller's conversations, for what is begun next.
    pub(in super::super) async fn recall_seats(&self, owner: Option<&Str>) -> Result<(), Fault> {
        let (Some(pins), Some(owner)) = (self.pins(), owner) else {
            return Ok(());
        };
        for procedure in &pins.procedures {
            self.seated(&(Some(owner.clone()), procedure.clone()))
                .await?;
        }
        Ok(())
    }

    /// The conversations of a caller along a procedure, oldest first.
    async fn seated(&self, seat: &Seat) -> Result<Vec<RunId>, Fault> {
        let Some(key) = key(seat) else {
            let active = self.0.pinned.active();
            return Ok(active.get(seat).cloned().unwrap_or_default());
        };
        let seated = read(self.0.store.get(KIND, &key).await?.as_deref());
        self.0.pinned.active().insert(seat.clone(), seated.clone());
        Ok(seated)
    }

    /// Changes the conversations of a caller along a procedure, unless the change says why not.
    async fn change_seats(
        &self,
        seat: &Seat,
        mut change: impl FnMut(&mut Vec<RunId>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let Some(key) = key(seat) else {
            let mut active = self.0.pinned.active();
            return change(active.entry(seat.clone()).or_default());
        };
        for _ in 0..TRIES_MAX {
            let seen = self.0.store.get(KIND, &key).await?;
            let mut seated = read(seen.as_deref());
            change(&mut seated)?;
            let ids: Vec<&str> = seated.iter().map(RunId::as_str).collect();
            let body = serde_json::json!(ids).to_string().into_bytes();
            if self.0.store.swap(KIND, &key, seen, body).await? {
                self.0.pinned.active().insert(seat.clone(), seated);
                return Ok(());
            }
        }
        let message = "too many conversations are begun for this caller at once; try again";
        Err(Fault::Refused(message.into()))
    }

    /// Ends a conversation in whose place another was begun. Whether it was still open.
    async fn supersede(&self, old: &RunId, new: &RunId) -> Result<bool, Fault> {
        let seat = match self.0.walking(old).await {
            Ok(seat) => seat,
            // It was removed meanwhile.
            Err(Fault::NotFound(_)) => return Ok(false),
            Err(fault) => return Err(fault),
        };
        let mut walk = seat.lock().await;
        loop {
            self.0.catch_up(&mut walk).await?;
            if walk.outcome.is_some() {
                return Ok(false);
            }
            let asked: Vec<RunId> = walk.asked().map(|(_, run)| run.clone()).collect();
            self.withdraw(&asked).await?;
            let outcome = Outcome::Aborted {
                by: SUPERSEDED.into(),
                why: Some(format!("its caller began {new} along the same procedure")),
            };
            let end = [Event::Finished { outcome }];
            match self.0.record(&mut walk, &end).await {
                Ok(()) => return Ok(true),
                Err(AppendError::Moved { .. } | AppendError::Elsewhere { .. }) => {}
                Err(AppendError::Store(fault)) => return Err(fault.into()),
            }
        }
    }
}

/// The caller and the pinned procedure of a conversation, if it follows one that is pinned here.
fn seat_of(pins: &Arc<Pins>, begun: &Guided) -> Option<Seat> {
    let procedure = begun.pinned.clone()?;
    let is_pinned = pins.procedures.contains(&procedure);
    is_pinned.then(|| (begun.owner.clone(), procedure))
}

/// A kept list. What cannot be read has no conversation in it.
fn read(body: Option<&[u8]>) -> Vec<RunId> {
    let ids = body.and_then(|body| serde_json::from_slice::<Vec<String>>(body).ok());
    let ids = ids.unwrap_or_default().into_iter();
    ids.filter_map(|id| id.parse().ok()).collect()
}

fn not_theirs(id: &RunId, seated: &[RunId]) -> Fault {
    let now: Vec<&str> = seated.iter().map(RunId::as_str).collect();
    Fault::Refused(format!(
        "{id} is not the conversation of this caller any more: {} is; continue there, or begin a new one with load_graph",
        now.join(", ")
    ))
}
