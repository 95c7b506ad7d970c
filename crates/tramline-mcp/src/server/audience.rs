//! Who listens: every client that wants to hear of changes, however it is connected.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A client that does not take a notification in so long does not get it.
const TELL_MAX: Duration = Duration::from_secs(5);

/// No level was asked for yet.
const UNASKED: u8 = u8::MAX;

/// From which level on a connection wants to hear log messages. Clones are the same.
#[derive(Clone)]
pub(super) struct Level(Arc<AtomicU8>);

impl Default for Level {
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(UNASKED)))
    }
}

impl Level {
    pub(super) fn set(&self, level: LoggingLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }

    /// Whether a message of this level is wanted. Before anything is asked for, warnings are.
    fn wants(&self, level: LoggingLevel) -> bool {
        let from = match self.0.load(Ordering::Relaxed) {
            UNASKED => LoggingLevel::Warning as u8,
            asked => asked,
        };
        level as u8 >= from
    }
}

/// All who listen.
#[derive(Default)]
pub(super) struct Audience {
    /// Counts the changes of the tool list, for clients with a subscription.
    changes: watch::Sender<u64>,
    /// Clients with a session: they are told without having to ask.
    sessions: Mutex<Vec<(Peer<RoleServer>, Level)>>,
}

impl Audience {
    fn sessions(&self) -> MutexGuard<'_, Vec<(Peer<RoleServer>, Level)>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(peer, _)| !peer.is_transport_closed());
        sessions
    }

    /// Takes in a client with a session.
    pub(super) fn join(&self, peer: Peer<RoleServer>, level: Level) {
        self.sessions().push((peer, level));
    }

    /// Tells a subscriber of every change from now on, until it goes.
    pub(super) async fn follow(&self, subscriber: &SubscriptionContext) {
        let mut changes = self.changes.subscribe();
        loop {
            tokio::select! {
                () = subscriber.cancelled() => return,
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
            if subscriber.sink().notify_tool_list_changed().await.is_err() {
                return;
            }
        }
    }

    /// Tells everybody that the tool list has changed.
    pub(super) fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
        for (peer, _) in self.sessions().iter() {
            let peer = peer.clone();
            tokio::spawn(async move {
                let _ = tokio::time::timeout(TELL_MAX, peer.notify_tool_list_changed()).await;
            });
        }
    }

    /// Warns everybody who has a session and wants to hear it.
    pub(super) fn warn(&self, message: &str) {
        let level = LoggingLevel::Warning;
        for (peer, wanted) in self.sessions().iter() {
            if !wanted.wants(level) {
                continue;
            }
            let data = serde_json::json!({ "message": message });
            let told = LoggingMessageNotificationParam::new(level, data).with_logger("tramline");
            let peer = peer.clone();
            tokio::spawn(async move {
                let _ = tokio::time::timeout(TELL_MAX, peer.notify_logging_message(told)).await;
            });
        }
    }
}
