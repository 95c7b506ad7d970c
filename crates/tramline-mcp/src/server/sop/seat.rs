//! Which conversation a call is about: the one it names, or over pipes the one there is.

use super::gated::Gated;
use crate::server::reply;
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tramline_core::ids::RunId;
use tramline_core::sop::Sop;
use tramline_core::{Str, Value};
use tramline_engine::Fault;

/// So many procedures are offered as prompts; older ones stay loaded and are not listed.
const LISTED_MAX: usize = 256;

/// What the toolset keeps beside journals: nothing that could not be given anew.
#[derive(Default)]
pub(in super::super) struct Seats {
    /// The conversation of a process that serves over pipes.
    only: Mutex<Option<RunId>>,
    procedures: Mutex<BTreeMap<Str, Arc<Sop>>>,
    gated: Mutex<Vec<Gated>>,
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

/// The conversation that a call is about.
pub(super) async fn conversation(means: &Means, arguments: &Value) -> Result<RunId, Fault> {
    let id = match arguments.get("session_id").and_then(Value::as_str) {
        Some(id) => id.parse().map_err(|_| {
            Fault::Refused(format!(
                "`{}` is no session_id; load_graph gives one",
                tramline_core::text::shown(id)
            ))
        })?,
        None if is_shared(means) => {
            let message = "session_id is missing: give the one that load_graph returned";
            return Err(Fault::Refused(message.into()));
        }
        None => locked(&means.shared.seats.only).clone().ok_or_else(|| {
            Fault::Refused("no procedure is loaded: call load_graph first".into())
        })?,
    };
    let begun = means.engine.guided(&id).await?;
    match begun.owner == means.caller().name {
        true => Ok(id),
        false => Err(Fault::NotFound(id)),
    }
}

/// Why a word came to nothing, in the words of this toolset.
pub(super) fn fault(fault: &Fault) -> CallToolResult {
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
