//! Subscribers: all clients that want to be notified of changes, over any transport.

use super::client_log::{self, LogLevel, NOTIFY_TIMEOUT};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Maximum number of warnings kept for clients that connect later; the first ones are kept.
const WARNINGS_MAX: usize = 20;

/// All subscribers.
#[derive(Default)]
pub(super) struct Subscribers {
    /// Counts the changes of the tool list, for clients with a subscription.
    changes: watch::Sender<u64>,
    /// Clients with a session: they are notified without a subscription.
    sessions: Mutex<Vec<(Peer<RoleServer>, LogLevel)>>,
    /// Warnings that apply until the next edit, for clients that connect later.
    warnings: Mutex<Vec<String>>,
}

impl Subscribers {
    fn sessions(&self) -> MutexGuard<'_, Vec<(Peer<RoleServer>, LogLevel)>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(peer, _)| !peer.is_transport_closed());
        sessions
    }

    fn warnings(&self) -> MutexGuard<'_, Vec<String>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a client with a session and sends it the current warnings.
    pub(super) fn add_session(&self, peer: Peer<RoleServer>, level: LogLevel) {
        let warnings = self.warnings();
        for message in warnings.iter() {
            client_log::warn(&peer, &level, message);
        }
        self.sessions().push((peer, level));
    }

    /// Notifies a subscriber of every change until it disconnects.
    pub(super) async fn notify_subscriber(&self, subscriber: &SubscriptionContext) {
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

    /// Notifies all clients that the tool list has changed.
    pub(super) fn notify_tools_changed(&self) {
        self.changes.send_modify(|count| *count += 1);
        for (peer, _) in self.sessions().iter() {
            let peer = peer.clone();
            tokio::spawn(async move {
                let _ = tokio::time::timeout(NOTIFY_TIMEOUT, peer.notify_tool_list_changed()).await;
            });
        }
    }

    /// Clears the warnings.
    pub(super) fn clear_warnings(&self) {
        self.warnings().clear();
    }

    /// Sends a warning to all current and later clients with a session.
    pub(super) fn warn(&self, message: &str) {
        let mut warnings = self.warnings();
        if warnings.len() < WARNINGS_MAX {
            warnings.push(message.to_owned());
        }
        for (peer, level) in self.sessions().iter() {
            client_log::warn(peer, level, message);
        }
    }
}
