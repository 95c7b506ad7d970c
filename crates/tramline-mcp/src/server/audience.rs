//! Who listens: every client that wants to hear of changes, however it is connected.

use super::log::{self, Level, TELL_MAX};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// So many warnings are kept for clients that come later: who has more sees the first.
const WARNINGS_MAX: usize = 20;

/// All who listen.
#[derive(Default)]
pub(super) struct Audience {
    /// Counts the changes of the tool list, for clients with a subscription.
    changes: watch::Sender<u64>,
    /// Clients with a session: they are told without having to ask.
    sessions: Mutex<Vec<(Peer<RoleServer>, Level)>>,
    /// What holds until the next edit, for clients that come later.
    warnings: Mutex<Vec<String>>,
}

impl Audience {
    fn sessions(&self) -> MutexGuard<'_, Vec<(Peer<RoleServer>, Level)>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(peer, _)| !peer.is_transport_closed());
        sessions
    }

    fn warnings(&self) -> MutexGuard<'_, Vec<String>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a client with a session, and tells it what the others were told.
    pub(super) fn join(&self, peer: Peer<RoleServer>, level: Level) {
        let warnings = self.warnings();
        for message in warnings.iter() {
            log::warn(&peer, &level, message);
        }
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

    /// Forgets what was warned of.
    pub(super) fn calm(&self) {
        self.warnings().clear();
    }

    /// Warns everybody who has a session and wants to hear it, now or later.
    pub(super) fn warn(&self, message: &str) {
        let mut warnings = self.warnings();
        if warnings.len() < WARNINGS_MAX {
            warnings.push(message.to_owned());
        }
        for (peer, level) in self.sessions().iter() {
            log::warn(peer, level, message);
        }
    }
}
