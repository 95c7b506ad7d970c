//! Sessions of older clients: so many in all, so many for a caller, and each for the caller that
//! opened it alone.

use super::super::caller::Caller;
use super::HttpLimits;
use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

tokio::task_local! {
    /// Who makes the request that the library handles: it opens sessions without saying for whom.
    static CALLER: Caller;
}

/// Has the library handle a request of this caller.
pub(super) async fn for_caller<F: Future>(caller: Caller, handled: F) -> F::Output {
    CALLER.scope(caller, handled).await
}

/// The library's sessions, with bounds.
pub(super) struct Sessions {
    library: Arc<LocalSessionManager>,
    register: Mutex<Register>,
}

impl Sessions {
    pub(super) fn new(limits: &HttpLimits) -> Self {
        let mut library = LocalSessionManager::default();
        library.session_config.keep_alive = Some(limits.session_idle);
        Self {
            library: Arc::new(library),
            register: Mutex::new(Register {
                open: HashMap::new(),
                uses: 0,
                most: limits.sessions,
                most_per_caller: limits.sessions_per_caller,
            }),
        }
    }

    /// Whose session it is, seen by a caller that uses it now.
    pub(super) fn used_by(&self, id: &str, caller: &Caller) -> Holder {
        self.register().used_by(id, caller)
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Fault = <LocalSessionManager as SessionManager>::Error;

impl SessionManager for Sessions {
    type Error = Fault;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Fault> {
        let caller = CALLER.try_with(Clone::clone).unwrap_or_default();
        let (id, transport) = self.library.create_session().await?;
        let surplus = self.register().opened(id.clone(), caller);
        for id in surplus {
            let library = Arc::clone(&self.library);
            // Apart: the caller may leave before the old session has ended.
            tokio::spawn(async move { library.close_session(&id).await });
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Fault> {
        self.library.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Fault> {
        let caller = CALLER.try_with(Clone::clone).unwrap_or_default();
        match self.used_by(id, &caller) {
            Holder::Caller => self.library.has_session(id).await,
            Holder::Another | Holder::Unknown => Ok(false),
        }
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Fault> {
        self.register().open.remove(id);
        self.library.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Fault> {
        self.library.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Fault> {
        self.library.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Fault> {
        self.library.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Fault> {
        self.library.resume(id, last_event_id).await
    }
}

/// Who opened a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The caller that asks.
    Caller,
    /// Another caller.
    Another,
    /// There is no such session.
    Unknown,
}

/// Which sessions are open, by whom, and which was used last.
struct Register {
    open: HashMap<SessionId, OpenSession>,
    /// Counts uses: what was used longest ago has the smallest number.
    uses: u64,
    most: usize,
    most_per_caller: usize,
}

struct OpenSession {
    caller: Caller,
    last_use: u64,
}

impl Register {
    /// Notes a new session, and gives those that have to go for it: the longest idle ones.
    fn opened(&mut self, id: SessionId, caller: Caller) -> Vec<SessionId> {
        let mut surplus = Vec::new();
        let own = |open: &OpenSession| open.caller == caller;
        while self.open.values().filter(|open| own(open)).count() >= self.most_per_caller
            && let Some(id) = self.take_longest_idle(own)
        {
            surplus.push(id);
        }
        while self.open.len() >= self.most
            && let Some(id) = self.take_longest_idle(|_| true)
        {
            surplus.push(id);
        }
        self.uses += 1;
        let last_use = self.uses;
        self.open.insert(id, OpenSession { caller, last_use });
        surplus
    }

    fn take_longest_idle(&mut self, among: impl Fn(&OpenSession) -> bool) -> Option<SessionId> {
        let all = self.open.iter().filter(|(_, open)| among(open));
        let (id, _) = all.min_by_key(|(_, open)| open.last_use)?;
        let id = Arc::clone(id);
        self.open.remove(&id);
        Some(id)
    }

    fn used_by(&mut self, id: &str, caller: &Caller) -> Holder {
        let Some(open) = self.open.get_mut(id) else {
            return Holder::Unknown;
        };
        if open.caller != *caller {
            return Holder::Another;
        }
        self.uses += 1;
        open.last_use = self.uses;
        Holder::Caller
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Caller {
        Caller {
            name: Some(name.into()),
            person: None,
        }
    }

    fn register(most: usize, most_per_caller: usize) -> Register {
        Register {
            open: HashMap::new(),
            uses: 0,
            most,
            most_per_caller,
        }
    }

    #[test]
    fn the_longest_idle_session_goes_for_a_new_one() {
        let mut register = register(3, 2);
        let (ann, bob) = (caller("ann"), caller("bob"));
        assert!(register.opened("a1".into(), ann.clone()).is_empty());
        assert!(register.opened("a2".into(), ann.clone()).is_empty());
        assert_eq!(register.used_by("a1", &ann), Holder::Caller);
        // Her own go first.
        assert_eq!(register.opened("a3".into(), ann.clone()), ["a2".into()]);
        assert!(register.opened("b1".into(), bob.clone()).is_empty());
        // Then anybody's.
        assert_eq!(register.opened("c1".into(), caller("cid")), ["a1".into()]);
        assert_eq!(register.used_by("a1", &ann), Holder::Unknown);
        assert_eq!(register.used_by("b1", &bob), Holder::Caller);
    }

    #[test]
    fn a_session_is_its_callers_alone() {
        let mut register = register(9, 9);
        register.opened("a1".into(), caller("ann"));
        assert_eq!(register.used_by("a1", &caller("bob")), Holder::Another);
        assert_eq!(register.used_by("a1", &Caller::default()), Holder::Another);
        assert_eq!(register.used_by("a1", &caller("ann")), Holder::Caller);
    }
}
