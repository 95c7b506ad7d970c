//! Sessions of older clients in the store: any process over it takes a session up that another one opened.
//!
//! What is stored is what the client said in its handshake, and who it is. The session id is only stored as a digest. A
//! session is rebuilt only for the caller that opened it.

use super::super::caller::Caller;
use super::sessions;
use async_trait::async_trait;
use rmcp::transport::streamable_http_server::session::{
    SessionState, SessionStore, SessionStoreError,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tramline_engine::clock;
use tramline_engine::ports::Store;
use tramline_expr::Str;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::journal::ContentDigest;

/// Kind of the stored sessions.
const KIND: &str = "mcp_session";
/// How long a session can be taken up after it was opened, in milliseconds: a client that comes back later starts anew.
const SESSION_TTL_MS: i64 = 24 * 60 * 60 * 1_000;
/// Sessions that are stored between two removals of old ones.
const SESSIONS_PER_SWEEP: u64 = 256;

/// A stored session.
#[derive(Serialize, Deserialize)]
struct StoredSession {
    /// The name of the caller's token.
    name: Option<Str>,
    /// The answer channel of the caller's token.
    person: Option<AnswerChannel>,
    /// When it was opened.
    at_ms: i64,
    /// What the client said in its handshake.
    state: SessionState,
}

/// The sessions in the store.
pub(super) struct StoredSessions {
    store: Arc<dyn Store>,
    stored: AtomicU64,
}

impl StoredSessions {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let stored = AtomicU64::new(0);
        Self { store, stored }
    }

    fn key(id: &str) -> String {
        ContentDigest::of(id.as_bytes()).to_string()
    }

    async fn find(&self, key: &str) -> Result<Option<StoredSession>, SessionStoreError> {
        let body = self.store.get(KIND, key).await?;
        // A newer version may have written what this one cannot read: its client starts anew.
        let session = body.and_then(|body| serde_json::from_slice::<StoredSession>(&body).ok());
        Ok(session.filter(|session| clock::now_ms() - session.at_ms < SESSION_TTL_MS))
    }

    /// Removes a session of this caller; returns whether it existed.
    pub(super) async fn end(&self, id: &str, caller: &Caller) -> bool {
        let key = Self::key(id);
        let found = self.find(&key).await.ok().flatten();
        let is_theirs = found.is_some_and(|session| session.is_of(caller));
        is_theirs && self.store.delete(KIND, &[key]).await.is_ok()
    }

    /// Removes sessions whatever their caller.
    pub(super) async fn remove<'a>(&self, ids: impl Iterator<Item = &'a str>) {
        let keys: Vec<_> = ids.map(Self::key).collect();
        if !keys.is_empty() {
            // What is left expires.
            let _ = self.store.delete(KIND, &keys).await;
        }
    }

    async fn sweep(&self) -> Result<(), SessionStoreError> {
        let mut old = Vec::new();
        for key in self.store.list(KIND).await? {
            if self.find(&key).await?.is_none() {
                old.push(key);
            }
        }
        Ok(self.store.delete(KIND, &old).await?)
    }
}

impl StoredSession {
    fn is_of(&self, caller: &Caller) -> bool {
        self.name == caller.name && self.person == caller.person
    }
}

#[async_trait]
impl SessionStore for StoredSessions {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let caller = sessions::current_caller();
        let found = self.find(&Self::key(id)).await?;
        let found = found.filter(|session| session.is_of(&caller));
        Ok(found.map(|session| session.state))
    }

    async fn store(&self, id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let Caller { name, person } = sessions::current_caller();
        let session = StoredSession {
            name,
            person,
            at_ms: clock::now_ms(),
            state: state.clone(),
        };
        let body = serde_json::to_vec(&session)?;
        // A client that loses its session after a power failure starts anew.
        self.store
            .swap_relaxed(KIND, &Self::key(id), None, body)
            .await?;
        if self
            .stored
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(SESSIONS_PER_SWEEP)
        {
            self.sweep().await?;
        }
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.end(id, &sessions::current_caller()).await;
        Ok(())
    }
}
