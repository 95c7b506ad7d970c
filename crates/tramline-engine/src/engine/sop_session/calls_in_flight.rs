//! The recorded calls of SOP sessions that this process is making. A call without a result is in
//! doubt only if it is not among them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tramline_sop::SopSession;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{CarriedState, ToolCalled};

/// The calls in flight, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct CallsInFlight(Arc<Mutex<CallTable>>);

#[derive(Debug, Default)]
struct CallTable {
    next: u64,
    calls: BTreeMap<u64, (RunId, ToolCalled)>,
}

/// A call that is in flight as long as this exists.
#[derive(Debug)]
pub(crate) struct CallInFlight {
    table: CallsInFlight,
    key: u64,
}

impl CallsInFlight {
    fn lock(&self) -> MutexGuard<'_, CallTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks a recorded call of a session as in flight. `None` if the session has no such open call.
    pub(in super::super) fn begin(&self, walk: &SopSession, call: u32) -> Option<CallInFlight> {
        let called = walk.open_calls.get(&call)?.clone();
        let mut table = self.lock();
        let key = table.next;
        table.next += 1;
        table.calls.insert(key, (walk.id.clone(), called));
        Some(CallInFlight {
            table: self.clone(),
            key,
        })
    }

    /// Whether such a call of the session, or of one that it replaced, is in flight.
    pub(in super::super) fn contains(
        &self,
        walk: &SopSession,
        same: impl Fn(&ToolCalled) -> bool,
    ) -> bool {
        let mut carried = walk.started.carried.iter();
        let is_carried = carried.any(|it| it.state == CarriedState::InDoubt && same(&it.called));
        let table = self.lock();
        let mut calls = table.calls.values();
        calls.any(|(session, called)| (*session == walk.id || is_carried) && same(called))
    }
}

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.table.lock().calls.remove(&self.key);
    }
}
