//! Log messages for clients: how much each wants to hear, and what a run's events say in them.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, RequestMetaObject};
use rmcp::service::{Peer, RoleServer};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;
use tramline_core::graph::Graph;
use tramline_core::ids::{NodeIx, RunId};
use tramline_core::journal::{Entry, Event, Outcome};
use tramline_core::{question, trace};

/// A client that does not take a notification in so long does not get it.
pub(super) const TELL_MAX: Duration = Duration::from_secs(5);

/// What we call ourselves in logs.
const LOGGER: &str = "tramline";

/// No level was asked for yet.
const UNASKED: u8 = u8::MAX;

/// From which level on messages are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct From(u8);

/// From which level on a connection wants to hear messages. Clones are the same.
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

    /// What one request wants: by its own word, or by its connection's.
    pub(super) fn of(&self, meta: &RequestMetaObject) -> Option<From> {
        let own = meta.log_level().map(|level| From(level as u8));
        own.or_else(|| {
            let asked = self.0.load(Ordering::Relaxed);
            (asked != UNASKED).then_some(From(asked))
        })
    }

    /// Whether warnings are wanted: unless something else was asked for, they are.
    fn wants_warnings(&self) -> bool {
        let warning = LoggingLevel::Warning as u8;
        match self.0.load(Ordering::Relaxed) {
            UNASKED => true,
            asked => asked <= warning,
        }
    }
}

/// Warns a client that wants to hear it, without waiting for it.
pub(super) fn warn(peer: &Peer<RoleServer>, level: &Level, message: &str) {
    if !level.wants_warnings() {
        return;
    }
    let data = json!({ "message": message });
    let told = LoggingMessageNotificationParam::new(LoggingLevel::Warning, data);
    let peer = peer.clone();
    tokio::spawn(async move { send(&peer, told.with_logger(LOGGER)).await });
}

/// Sends a message; whether the client still listens.
pub(super) async fn send(peer: &Peer<RoleServer>, told: LoggingMessageNotificationParam) -> bool {
    let sending = peer.notify_logging_message(told);
    matches!(tokio::time::timeout(TELL_MAX, sending).await, Ok(Ok(())))
}

/// What an event of a run says to somebody who wants messages from this level on.
pub(super) fn message(
    graph: &Graph,
    run: &RunId,
    entry: &Entry,
    from: From,
) -> Option<LoggingMessageNotificationParam> {
    let (level, node, says) = told(graph, &entry.event);
    if From(level as u8) < from {
        return None;
    }
    let mut data = json!({ "run_id": run, "message": says });
    if let Some(node) = node {
        data["node"] = json!(graph.node(node).id);
    }
    Some(LoggingMessageNotificationParam::new(level, data).with_logger(LOGGER))
}

/// An event's level, its node and its words.
fn told(graph: &Graph, event: &Event) -> (LoggingLevel, Option<NodeIx>, String) {
    use LoggingLevel::{Debug, Info, Notice, Warning};
    let plain = |level, says: &str| (level, None, says.to_owned());
    let at = |node: &NodeIx, says: &str| (Debug, Some(*node), says.to_owned());
    match event {
        Event::Started(_) => plain(Info, "the run began"),
        Event::Resumed { by } => (Info, None, format!("{by} took the run over")),
        Event::StepStarted { node, .. } => at(node, "a call leaves"),
        Event::Spread { node, .. } => at(node, "spread over its items"),
        Event::Gathered { node, .. } => at(node, "all items are done"),
        Event::Waiting { node, .. } => at(node, "lets time pass"),
        Event::StepFinished { node, .. } => at(node, "done"),
        Event::AttemptFailed {
            failure,
            in_doubt: true,
            ..
        } => {
            let says = format!("an attempt failed and may have happened: {failure}");
            (Warning, None, says)
        }
        Event::AttemptFailed {
            failure, wait_ms, ..
        } => {
            let says = format!("an attempt failed, the next in {wait_ms} ms: {failure}");
            (Warning, None, says)
        }
        Event::StepFailed { node, failure, .. } => (Warning, Some(*node), failure.to_string()),
        Event::Paused { pause } => (Notice, pause.node(), question::says(graph, pause)),
        Event::Answered { by, .. } => (Info, None, format!("{by} answered")),
        Event::Watched { by, .. } => (Info, None, format!("{by} set breakpoints")),
        Event::Amended { by, .. } => (Info, None, format!("{by} extended the graph")),
        // A guided run is told by its own tools.
        Event::Guided(_)
        | Event::Moved(_)
        | Event::Noted(_)
        | Event::ToolCalled(_)
        | Event::ToolAnswered(_)
        | Event::Refused(_) => plain(Debug, "a guided run went on"),
        Event::Finished { outcome } => ended(graph, outcome),
    }
}

fn ended(graph: &Graph, outcome: &Outcome) -> (LoggingLevel, Option<NodeIx>, String) {
    let how = trace::outcome(graph, outcome).to_json();
    match outcome {
        Outcome::Completed { .. } => (LoggingLevel::Info, None, "the run completed".to_owned()),
        Outcome::Failed { failure, node } => (LoggingLevel::Error, *node, failure.to_string()),
        Outcome::Rejected { node, .. } => (LoggingLevel::Notice, *node, how),
        Outcome::Aborted { .. } => (LoggingLevel::Notice, None, how),
    }
}
