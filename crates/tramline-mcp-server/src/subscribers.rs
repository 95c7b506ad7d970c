//! Subscribers: all clients that want to be notified of changes, over any transport.

use super::channel;
use super::client_log::{self, LogLevel, NOTIFY_TIMEOUT};
use super::resources::own_resources::{self, OwnUri};
use super::resources::run_watch::RunChange;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tramline_engine::ports::RunStatus;
use tramline_workflow::ids::RunId;

/// Maximum number of warnings kept for clients that connect later; the first ones are kept.
const WARNINGS_MAX: usize = 20;
/// Resources that one client subscribes to.
pub(super) const SUBSCRIPTIONS_MAX: usize = 1_000;
/// Changes that a slow client may miss before it is told of all of them at once.
const CHANGES_KEPT: usize = 256;

/// What has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServedChange {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resources with these URIs.
    Updated(Arc<[String]>),
}

/// The URIs that a session has subscribed to. Clones share them.
#[derive(Clone, Default)]
pub(super) struct SubscribedUris(Arc<Mutex<BTreeSet<String>>>);

impl SubscribedUris {
    fn uris(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a URI; `false` if the client has too many.
    pub(super) fn add(&self, uri: &str) -> bool {
        let mut uris = self.uris();
        let has_room = uris.len() < SUBSCRIPTIONS_MAX || uris.contains(uri);
        if has_room {
            uris.insert(uri.to_owned());
        }
        has_room
    }

    /// Removes a URI.
    pub(super) fn remove(&self, uri: &str) {
        self.uris().remove(uri);
    }

    fn contains(&self, uri: &str) -> bool {
        self.uris().contains(uri)
    }
}

/// A client with a session.
struct ClientSession {
    peer: Peer<RoleServer>,
    level: LogLevel,
    uris: SubscribedUris,
}

/// All subscribers.
pub(super) struct Subscribers {
    /// The changes, for clients with a subscription.
    changes: broadcast::Sender<ServedChange>,
    /// Clients with a session: they are notified of lists without a subscription.
    sessions: Mutex<Vec<ClientSession>>,
    /// Warnings that apply until the next edit, for clients that connect later.
    warnings: Mutex<Vec<String>>,
    /// The workflows of runs that agents started detached, for channels.
    detached: Mutex<HashMap<RunId, String>>,
}

impl Default for Subscribers {
    fn default() -> Self {
        Self {
            changes: broadcast::Sender::new(CHANGES_KEPT),
            sessions: Mutex::default(),
            warnings: Mutex::default(),
            detached: Mutex::default(),
        }
    }
}

impl Subscribers {
    fn sessions(&self) -> MutexGuard<'_, Vec<ClientSession>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| !session.peer.is_transport_closed());
        sessions
    }

    fn warnings(&self) -> MutexGuard<'_, Vec<String>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn detached(&self) -> MutexGuard<'_, HashMap<RunId, String>> {
        self.detached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a client with a session and sends it the current warnings.
    pub(super) fn add_session(
        &self,
        peer: Peer<RoleServer>,
        level: LogLevel,
        uris: SubscribedUris,
    ) {
        let warnings = self.warnings();
        for message in warnings.iter() {
            client_log::warn(&peer, &level, message);
        }
        self.sessions().push(ClientSession { peer, level, uris });
    }

    /// The part of a subscription that is served.
    pub(super) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.truncate(SUBSCRIPTIONS_MAX);
        }
        accepted
    }

    /// Notifies a subscriber of every change until it disconnects. `may_see` names the URIs that it may see.
    pub(super) async fn notify_subscriber(
        &self,
        subscriber: &SubscriptionContext,
        may_see: &BTreeSet<String>,
    ) {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = subscriber.cancelled() => return,
                change = changes.recv() => change,
            };
            let all = match change {
                Ok(change) => vec![change],
                // It was too slow to be told of each change.
                Err(RecvError::Lagged(_)) => vec![
                    ServedChange::Tools,
                    ServedChange::Prompts,
                    ServedChange::Resources,
                    ServedChange::Updated(may_see.iter().cloned().collect()),
                ],
                Err(RecvError::Closed) => return,
            };
            for change in all {
                if !send_change(subscriber, &change, may_see).await {
                    return;
                }
            }
        }
    }

    /// Notifies all clients of a change.
    pub(super) fn notify(&self, change: ServedChange) {
        for session in self.sessions().iter() {
            let (peer, uris, change) = (session.peer.clone(), session.uris.clone(), change.clone());
            tokio::spawn(async move {
                let sending = send_to_session(&peer, &uris, &change);
                let _ = tokio::time::timeout(NOTIFY_TIMEOUT, sending).await;
            });
        }
        // Without subscribers there is nobody to tell.
        let _ = self.changes.send(change);
    }

    /// Sends a message about a run to the channels of all clients when it ends or asks.
    pub(super) fn announce_run(&self, run: &RunId, workflow: &str) {
        self.detached().insert(run.clone(), workflow.to_owned());
    }

    /// Notifies clients of a change of a run.
    pub(super) fn notify_run(&self, change: &RunChange) {
        let uris = Arc::new([own_resources::run_uri(&change.run)]);
        self.notify(ServedChange::Updated(uris));
        if change.status.is_over() {
            self.notify(ServedChange::Resources);
        }
        let is_news = change.is_new_status && change.status != RunStatus::Running;
        let workflow = match change.status.is_over() {
            true => self.detached().remove(&change.run),
            false => self.detached().get(&change.run).cloned(),
        };
        let Some(workflow) = workflow.filter(|_| is_news) else {
            return;
        };
        let message = channel::run_message(&change.run, &workflow, change.status);
        for session in self.sessions().iter() {
            let (peer, message) = (session.peer.clone(), message.clone());
            tokio::spawn(async move {
                let _ = tokio::time::timeout(NOTIFY_TIMEOUT, peer.send_notification(message)).await;
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
        for session in self.sessions().iter() {
            client_log::warn(&session.peer, &session.level, message);
        }
    }
}

/// Sends a change to a subscriber, as far as it subscribed to it; returns whether it is still there.
async fn send_change(
    subscriber: &SubscriptionContext,
    change: &ServedChange,
    may_see: &BTreeSet<String>,
) -> bool {
    let (accepted, sink) = (subscriber.accepted(), subscriber.sink());
    let sent = match change {
        ServedChange::Tools if accepted.tools_list_changed == Some(true) => {
            sink.notify_tool_list_changed().await
        }
        ServedChange::Prompts if accepted.prompts_list_changed == Some(true) => {
            sink.notify_prompt_list_changed().await
        }
        ServedChange::Resources if accepted.resources_list_changed == Some(true) => {
            sink.notify_resource_list_changed().await
        }
        ServedChange::Tools | ServedChange::Prompts | ServedChange::Resources => Ok(()),
        ServedChange::Updated(uris) => {
            let mut sent = Ok(());
            for uri in uris.iter().filter(|uri| may_see.contains(*uri)) {
                sent = sent.and(sink.notify_resource_updated(uri.as_str()).await);
            }
            sent
        }
    };
    sent.is_ok()
}

async fn send_to_session(peer: &Peer<RoleServer>, uris: &SubscribedUris, change: &ServedChange) {
    // A client that has gone is removed from the list with the next change.
    let _ = match change {
        ServedChange::Tools => peer.notify_tool_list_changed().await,
        ServedChange::Prompts => peer.notify_prompt_list_changed().await,
        ServedChange::Resources => peer.notify_resource_list_changed().await,
        ServedChange::Updated(changed) => {
            for uri in changed.iter().filter(|uri| uris.contains(uri)) {
                let told = ResourceUpdatedNotificationParam::new(uri.as_str());
                let _ = peer.notify_resource_updated(told).await;
            }
            Ok(())
        }
    };
}

/// The run behind a URI, if it is one of ours.
pub(super) fn watched_run(uri: &str) -> Option<RunId> {
    match OwnUri::parse(uri)? {
        OwnUri::Run(run) => Some(run),
        OwnUri::RunResult { .. }
        | OwnUri::RunTrace { .. }
        | OwnUri::Workflow(_)
        | OwnUri::Format(_) => None,
    }
}
