//! Sessions of older protocol versions: limited in total and per caller, and usable only by the caller that
//! opened them.

use super::super::caller::Caller;
use super::HttpLimits;
use super::stored_sessions::StoredSessions;
use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

tokio::task_local! {
    /// The caller of the request that the library is handling, because the library opens sessions without
    /// knowing the caller.
    static CALLER: Caller;
}

/// Lets the library handle a request of this caller.
pub(super) async fn with_caller<F: Future>(caller: Caller, handled: F) -> F::Output {
    CALLER.scope(caller, handled).await
}

/// The caller of the request that the library is handling.
pub(super) fn current_caller() -> Caller {
    CALLER.try_with(Clone::clone).unwrap_or_default()
}

/// The library's sessions, with limits.
pub(super) struct HttpSessions {
    library: Arc<LocalSessionManager>,
    stored: Arc<StoredSessions>,
    register: Mutex<SessionRegister>,
}

impl HttpSessions {
    pub(super) fn new(limits: &HttpLimits, stored: Arc<StoredSessions>) -> Self {
        let mut library = LocalSessionManager::default();
        library.session_config.keep_alive = Some(limits.session_idle);
        Self {
            library: Arc::new(library),
            stored,
            register: Mutex::new(SessionRegister {
                open: HashMap::new(),
                uses: 0,
                most: limits.sessions,
                most_per_caller: limits.sessions_per_caller,
            }),
        }
    }

    /// Who holds a session, from the view of a caller that uses it now.
    pub(super) fn holder_of(&self, id: &str, caller: &Caller) -> SessionHolder {
        self.register().holder_of(id, caller)
    }

    /// Ends a session that this process does not hold, if the caller opened it elsewhere.
    pub(super) async fn end_stored(&self, id: &str, caller: &Caller) -> bool {
        self.stored.end(id, caller).await
    }

    /// Adds a session to the register, and closes those that make room for it.
    async fn admit(&self, id: SessionId, caller: Caller) {
        let surplus = self.register().register(id, caller);
        self.stored.remove(surplus.iter().map(AsRef::as_ref)).await;
        for id in surplus {
            let library = Arc::clone(&self.library);
            // Spawned: the caller may disconnect before the old session has ended.
            tokio::spawn(async move { library.close_session(&id).await });
        }
    }

    fn register(&self) -> MutexGuard<'_, SessionRegister> {
        self.register.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type SessionFault = <LocalSessionManager as SessionManager>::Error;

impl SessionManager for HttpSessions {
    type Error = SessionFault;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionFault> {
        let (id, transport) = self.library.create_session().await?;
        self.admit(id.clone(), current_caller()).await;
        Ok((id, transport))
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, SessionFault> {
        let restored = self.library.restore_session(id.clone()).await?;
        if matches!(restored, RestoreOutcome::Restored(_)) {
            self.admit(id, current_caller()).await;
        }
        Ok(restored)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionFault> {
        self.library.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionFault> {
        match self.holder_of(id, &current_caller()) {
            SessionHolder::Caller => self.library.has_session(id).await,
            SessionHolder::Another | SessionHolder::Unknown => Ok(false),
        }
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionFault> {
        self.register().open.remove(id);
        self.library.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        self.library.create_stream(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionFault> {
        self.library.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        self.library.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionFault> {
        self.library.resume(id, last_event_id).await
    }
}

/// Who holds a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionHolder {
    /// The requesting caller.
    Caller,
    /// Another caller.
    Another,
    /// The session does not exist.
    Unknown,
}

/// The open sessions with their callers and last use.
struct SessionRegister {
    open: HashMap<SessionId, OpenSession>,
    /// Counts uses; the least recently used session has the smallest number.
    uses: u64,
    most: usize,
    most_per_caller: usize,
}

struct OpenSession {
    caller: Caller,
    last_use: u64,
}

impl SessionRegister {
    /// Records a new session, and returns the sessions to close for it: the longest idle ones.
    fn register(&mut self, id: SessionId, caller: Caller) -> Vec<SessionId> {
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

    fn holder_of(&mut self, id: &str, caller: &Caller) -> SessionHolder {
        let Some(open) = self.open.get_mut(id) else {
            return SessionHolder::Unknown;
        };
        if open.caller != *caller {
            return SessionHolder::Another;
        }
        self.uses += 1;
        open.last_use = self.uses;
        SessionHolder::Caller
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

    fn register(most: usize, most_per_caller: usize) -> SessionRegister {
        SessionRegister {
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
        assert!(register.register("a1".into(), ann.clone()).is_empty());
        assert!(register.register("a2".into(), ann.clone()).is_empty());
        assert_eq!(register.holder_of("a1", &ann), SessionHolder::Caller);
        // The caller's own sessions are closed first.
        assert_eq!(register.register("a3".into(), ann.clone()), ["a2".into()]);
        assert!(register.register("b1".into(), bob.clone()).is_empty());
        // Then those of any caller.
        assert_eq!(register.register("c1".into(), caller("cid")), ["a1".into()]);
        assert_eq!(register.holder_of("a1", &ann), SessionHolder::Unknown);
        assert_eq!(register.holder_of("b1", &bob), SessionHolder::Caller);
    }

    #[test]
    fn a_session_is_its_callers_alone() {
        let mut register = register(9, 9);
        register.register("a1".into(), caller("ann"));
        assert_eq!(
            register.holder_of("a1", &caller("bob")),
            SessionHolder::Another
        );
        assert_eq!(
            register.holder_of("a1", &Caller::default()),
            SessionHolder::Another
        );
        assert_eq!(
            register.holder_of("a1", &caller("ann")),
            SessionHolder::Caller
        );
    }
}
