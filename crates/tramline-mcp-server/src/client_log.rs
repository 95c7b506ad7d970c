//! Log messages for clients: the level each wants, and the messages for a run's events.

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
use tramline_views::step_tracker::{Activity, StepEnd, Update};
use tramline_views::{pause_view, trace};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{NodeIx, RunId};
use tramline_workflow::journal::Outcome;

/// How long a client may take to accept a notification before it is dropped.
pub(super) const NOTIFY_TIMEOUT: Duration = Duration::from_secs(5);

/// Logger name.
const LOGGER: &str = "tramline";

/// No level was set yet.
const UNSET_LEVEL: u8 = u8::MAX;

/// Minimum level of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MinLevel(u8);

/// Minimum level of a connection. Clones share it.
#[derive(Clone)]
pub(super) struct LogLevel(Arc<AtomicU8>);

impl Default for LogLevel {
    fn default() -> Self {
        Self(Arc::new(AtomicU8::new(UNSET_LEVEL)))
    }
}

impl LogLevel {
    pub(super) fn set(&self, level: LoggingLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }

    /// The level of one request: its own, or its connection's.
    pub(super) fn for_request(&self, meta: &RequestMetaObject) -> Option<MinLevel> {
        let own = meta.log_level().map(|level| MinLevel(level as u8));
        own.or_else(|| {
            let asked = self.0.load(Ordering::Relaxed);
            (asked != UNSET_LEVEL).then_some(MinLevel(asked))
        })
    }

    /// Whether warnings are wanted: yes, unless a higher level was set.
    fn wants_warnings(&self) -> bool {
        let warning = LoggingLevel::Warning as u8;
        match self.0.load(Ordering::Relaxed) {
            UNSET_LEVEL => true,
            asked => asked <= warning,
        }
    }
}

/// Sends a warning to a client that wants it, without waiting.
pub(super) fn warn(peer: &Peer<RoleServer>, level: &LogLevel, message: &str) {
    if !level.wants_warnings() {
        return;
    }
    let data = json!({ "message": message });
    let told = LoggingMessageNotificationParam::new(LoggingLevel::Warning, data);
    let peer = peer.clone();
    tokio::spawn(async move { send(&peer, told.with_logger(LOGGER)).await });
}

/// Sends a message; returns whether the client accepted it.
pub(super) async fn send(peer: &Peer<RoleServer>, told: LoggingMessageNotificationParam) -> bool {
    let sending = peer.notify_logging_message(told);
    matches!(
        tokio::time::timeout(NOTIFY_TIMEOUT, sending).await,
        Ok(Ok(()))
    )
}

/// The log message for an event, if its level is at least `from`.
pub(super) fn event_message(
    graph: &Graph,
    run: &RunId,
    update: &Update<'_>,
    from: MinLevel,
) -> Option<LoggingMessageNotificationParam> {
    let (level, node, says) = describe(graph, update);
    if MinLevel(level as u8) < from {
        return None;
    }
    let mut data = json!({ "run_id": run, "message": says });
    if let Some(node) = node {
        data["node"] = json!(graph.node(node).id);
    }
    Some(LoggingMessageNotificationParam::new(level, data).with_logger(LOGGER))
}

/// An event's level, node and message.
fn describe(graph: &Graph, update: &Update<'_>) -> (LoggingLevel, Option<NodeIx>, String) {
    use LoggingLevel::{Debug, Info, Notice, Warning};
    match update {
        Update::Started(_) => (Info, None, "the run started".to_owned()),
        Update::StepStarted { step, activity, .. } => {
            let says = match activity {
                Activity::Call { .. } => "calling the tool",
                Activity::FanOut(_) => "started its items",
                Activity::Wait(_) => "waiting",
            };
            (Debug, Some(step.node), says.to_owned())
        }
        Update::AttemptFailed {
            failure,
            wait_ms,
            in_doubt,
            ..
        } => {
            let says = match in_doubt {
                true => format!("an attempt failed but may have taken effect: {failure}"),
                false => format!("an attempt failed, retrying in {wait_ms} ms: {failure}"),
            };
            (Warning, None, says)
        }
        Update::StepEnded { step, end, .. } => match end {
            StepEnd::Finished { .. } => (Debug, Some(step.node), "done".to_owned()),
            StepEnd::FannedIn => (Debug, Some(step.node), "all items are done".to_owned()),
            StepEnd::Failed(failure) => (Warning, Some(step.node), failure.to_string()),
        },
        Update::Paused(pause) => (Notice, pause.node(), pause_view::message(graph, pause)),
        Update::Answered(answered) => (Info, None, format!("{} answered", answered.by)),
        Update::Changed(change) => (Info, None, change.to_string()),
        Update::Finished { outcome, .. } => describe_outcome(graph, outcome),
    }
}

fn describe_outcome(graph: &Graph, outcome: &Outcome) -> (LoggingLevel, Option<NodeIx>, String) {
    let how = trace::outcome_value(graph, outcome).to_json();
    match outcome {
        Outcome::Completed { .. } => (LoggingLevel::Info, None, "the run completed".to_owned()),
        Outcome::Failed { failure, node } => (LoggingLevel::Error, *node, failure.to_string()),
        Outcome::Rejected { node, .. } => (LoggingLevel::Notice, *node, how),
        Outcome::Aborted { .. } => (LoggingLevel::Notice, None, how),
    }
}
