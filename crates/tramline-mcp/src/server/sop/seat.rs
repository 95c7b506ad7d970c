//! Which conversation a call is about: the one it names, or over pipes the one there is.

use super::gated::Gated;
use super::pinned::PinnedProcedure;
use crate::server::caller::Caller;
use crate::server::toolset::Means;
use crate::server::{Shared, reply};
use rmcp::model::CallToolResult;
use rmcp::service::{RequestContext, RoleServer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tramline_core::ids::RunId;
use tramline_core::sop::Sop;
use tramline_core::{Str, Value};
use tramline_engine::{Engine, Fault};

/// So many procedures are offered as prompts; older ones stay loaded and are not listed.
const LISTED_MAX: usize = 256;

/// What the toolset keeps beside journals: nothing that could not be given anew.
#[derive(Default)]
pub(in super::super) struct Seats {
    /// The conversation of a process that serves over pipes.
    only: Mutex<Option<RunId>>,
    procedures: Mutex<BTreeMap<Str, Arc<Sop>>>,
    gated: Mutex<Vec<Gated>>,
    /// The only procedures that can be loaded, if the operator pinned any.
    pinned: OnceLock<Vec<PinnedProcedure>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seats {
    pub(super) fn sit(&self, id: RunId) -> Option<RunId> {
        locked(&self.only).replace(id)
    }

    /// Lists a procedure by its name.
    pub(in super::super) fn know(&self, sop: &Arc<Sop>) {
        let mut known = locked(&self.procedures);
        if known.len() < LISTED_MAX || known.contains_key(&sop.name) {
            known.insert(sop.name.clone(), Arc::clone(sop));
        }
    }

    pub(super) fn procedures(&self) -> Vec<Arc<Sop>> {
        locked(&self.procedures).values().cloned().collect()
    }

    pub(super) fn procedure(&self, name: &str) -> Option<Arc<Sop>> {
        locked(&self.procedures).get(name).cloned()
    }

    pub(super) fn pin(&self, procedures: Vec<PinnedProcedure>) {
        // The engine refuses a second time.
        let _ = self.pinned.set(procedures);
    }

    pub(in super::super) fn pinned(&self) -> Option<&[PinnedProcedure]> {
        self.pinned.get().map(Vec::as_slice)
    }

    /// Offers these tools through the gate.
    pub(in super::super) fn gate(&self, gated: Vec<Gated>) {
        *locked(&self.gated) = gated;
    }

    pub(in super::super) fn gated(&self) -> Vec<Gated> {
        locked(&self.gated).clone()
    }
}

/// Whether a call came over HTTP, where many conversations share the process.
pub(super) fn is_shared(means: &Means) -> bool {
    let parts = means.context.extensions.get::<axum::http::request::Parts>();
    parts.is_some()
}

/// The field of `_meta` that names the conversation of a call, at every tool.
const SESSION: &str = "sop_session_id";

/// Whether a request names a conversation in its `_meta`.
pub(in super::super) fn is_named(context: &RequestContext<RoleServer>) -> bool {
    context.meta.get(SESSION).is_some()
}

/// The conversation that a request names in its `_meta`, if it names one.
pub(in super::super) async fn named(
    shared: &Shared,
    context: &RequestContext<RoleServer>,
) -> Result<Option<RunId>, Fault> {
    let Some(given) = context.meta.get(SESSION) else {
        return Ok(None);
    };
    let given = given.clone().into();
    let id = read_id(&given)?;
    let caller = Caller::of(context);
    is_of_caller(&shared.engine, &caller, &id).await?;
    Ok(Some(id))
}

/// A conversation's id as it was given.
fn read_id(given: &Value) -> Result<RunId, Fault> {
    let Some(text) = given.as_str() else {
        return Err(Fault::Refused(format!(
            "session_id is a text that load_graph gives, not {}",
            given.kind()
        )));
    };
    text.parse().map_err(|_| {
        Fault::Refused(format!(
            "`{}` is no session_id; load_graph gives one",
            tramline_core::text::shown(text)
        ))
    })
}

async fn is_of_caller(engine: &Engine, caller: &Caller, id: &RunId) -> Result<(), Fault> {
    let begun = engine.guided(id).await?;
    if begun.owner != caller.name {
        return Err(Fault::NotFound(id.clone()));
    }
    engine.reseat(id).await
}

/// The conversation that a call is about.
pub(super) async fn conversation(means: &Means, arguments: &Value) -> Result<RunId, Fault> {
    if let Some(id) = named(&means.shared, &means.context).await? {
        return Ok(id);
    }
    let given = arguments.get("session_id").filter(|it| !it.is_null());
    let id = match given {
        Some(id) => read_id(id)?,
        None if is_shared(means) => {
            let message = "session_id is missing: give the one that load_graph returned";
            return Err(Fault::Refused(message.into()));
        }
        None => locked(&means.shared.seats.only).clone().ok_or_else(|| {
            Fault::Refused("no procedure is loaded: call load_graph first".into())
        })?,
    };
    is_of_caller(&means.engine, &means.caller(), &id).await?;
    Ok(id)
}

/// Why a word came to nothing, in the words of this toolset.
pub(in super::super) fn fault(fault: &Fault) -> CallToolResult {
    match fault {
        Fault::Expired { run } => {
            let message = format!(
                "the conversation {run} has expired: nobody came back to it in the time it was given; load_graph begins a new one"
            );
            reply::fault(&Fault::Refused(message), None)
        }
        other => reply::fault(other, None),
    }
}
