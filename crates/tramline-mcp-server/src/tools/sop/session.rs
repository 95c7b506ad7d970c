//! Looks up the session of a call: the one it names or, over stdio, the current one.

use super::gated_tool::GatedTool;
use super::pinned::PinnedProcedure;
use crate::caller::Caller;
use crate::tool::CallContext;
use crate::{SharedState, reply};
use rmcp::model::CallToolResult;
use rmcp::service::{RequestContext, RoleServer};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tramline_engine::{Engine, Fault};
use tramline_expr::{Str, Value};
use tramline_workflow::ids::RunId;
use tramline_workflow::sop::Sop;

/// Maximum number of procedures listed as prompts; others stay loaded but are not listed.
const LISTED_MAX: usize = 256;

/// State of the toolset outside journals: nothing that cannot be recreated.
#[derive(Default)]
pub(crate) struct SopState {
    /// The current session of a process that serves over stdio.
    current: Mutex<Option<RunId>>,
    procedures: Mutex<BTreeMap<Str, Arc<Sop>>>,
    gated_tools: Mutex<Vec<GatedTool>>,
    /// The only procedures that can be loaded, if the operator pinned any.
    pinned: OnceLock<Vec<PinnedProcedure>>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SopState {
    pub(super) fn set_current_session(&self, id: RunId) -> Option<RunId> {
        locked(&self.current).replace(id)
    }

    /// Lists a procedure by its name.
    pub(crate) fn list_procedure(&self, sop: &Arc<Sop>) {
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
        // The engine rejects a second call.
        let _ = self.pinned.set(procedures);
    }

    pub(crate) fn pinned(&self) -> Option<&[PinnedProcedure]> {
        self.pinned.get().map(Vec::as_slice)
    }

    /// Serves these tools through the gate.
    pub(crate) fn set_gated_tools(&self, gated: Vec<GatedTool>) {
        *locked(&self.gated_tools) = gated;
    }

    pub(crate) fn gated_tools(&self) -> Vec<GatedTool> {
        locked(&self.gated_tools).clone()
    }
}

/// Whether a call came over HTTP, where many sessions share the process.
pub(super) fn is_over_http(means: &CallContext) -> bool {
    let parts = means.request.extensions.get::<axum::http::request::Parts>();
    parts.is_some()
}

/// Field of `_meta` that names the session of a call, for every tool.
const SESSION_FIELD: &str = "sop_session_id";

/// Whether a request names a session in its `_meta`.
pub(crate) fn names_session(context: &RequestContext<RoleServer>) -> bool {
    context.meta.get(SESSION_FIELD).is_some()
}

/// The session that a request names in its `_meta`, if any.
pub(crate) async fn session_of_request(
    shared: &SharedState,
    context: &RequestContext<RoleServer>,
) -> Result<Option<RunId>, Fault> {
    let Some(given) = context.meta.get(SESSION_FIELD) else {
        return Ok(None);
    };
    let given = given.clone().into();
    let id = parse_session_id(&given)?;
    let caller = Caller::of(context);
    check_owner(&shared.engine, &caller, &id).await?;
    Ok(Some(id))
}

/// Parses a session id.
fn parse_session_id(given: &Value) -> Result<RunId, Fault> {
    let Some(text) = given.as_str() else {
        return Err(Fault::Rejected(format!(
            "session_id must be a string from load_graph, not {}",
            given.kind()
        )));
    };
    text.parse().map_err(|_| {
        Fault::Rejected(format!(
            "`{}` is not a session_id; load_graph returns one",
            tramline_workflow::text::display_name(text)
        ))
    })
}

async fn check_owner(engine: &Engine, caller: &Caller, id: &RunId) -> Result<(), Fault> {
    let begun = engine.sop_session_start(id).await?;
    if begun.owner != caller.name {
        return Err(Fault::NotFound(id.clone()));
    }
    engine.reassign_session(id).await
}

/// The session of a call.
pub(super) async fn session_of_call(
    means: &CallContext,
    arguments: &Value,
) -> Result<RunId, Fault> {
    if let Some(id) = session_of_request(&means.shared, &means.request).await? {
        return Ok(id);
    }
    let given = arguments.get("session_id").filter(|it| !it.is_null());
    let id = match given {
        Some(id) => parse_session_id(id)?,
        None if is_over_http(means) => {
            let message = "session_id is required: pass the one that load_graph returned";
            return Err(Fault::Rejected(message.into()));
        }
        None => locked(&means.shared.toolset_state.sop.current)
            .clone()
            .ok_or_else(|| {
                Fault::Rejected("no procedure is loaded: call load_graph first".into())
            })?,
    };
    check_owner(&means.engine, &means.caller(), &id).await?;
    Ok(id)
}

/// The reply for a fault, in the terms of this toolset.
pub(crate) fn session_fault_reply(fault: &Fault) -> CallToolResult {
    match fault {
        Fault::Expired { run } => {
            let message = format!(
                "session {run} has expired because it was not used in time; load_graph starts a new one"
            );
            reply::fault_reply(&Fault::Rejected(message), None)
        }
        other => reply::fault_reply(other, None),
    }
}
