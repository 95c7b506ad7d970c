//! Progress: tells a caller who asked for it of every step of its run.

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::ids::{NodeIx, RunId, Seq, ToolName};
use tramline_core::journal::{Entry, Event};
use tramline_core::workflow::Action;
use tramline_engine::{Ended, Engine, Fault, Follow};

/// What a run's events are told with.
pub(super) struct Teller {
    follow: Follow,
    graph: Arc<Graph>,
    peer: Peer<RoleServer>,
    token: ProgressToken,
    told: u32,
    seen: Seq,
}

impl Teller {
    pub(super) fn new(
        engine: &Engine,
        graph: &Arc<Graph>,
        run: &RunId,
        peer: Peer<RoleServer>,
        token: ProgressToken,
    ) -> Self {
        Self {
            follow: engine.subscribe(run.clone(), 0),
            graph: Arc::clone(graph),
            peer,
            token,
            told: 0,
            seen: 0,
        }
    }

    /// The next event, or nothing when there is nobody left to tell. Cancel-safe.
    pub(super) async fn event(teller: &mut Option<Self>) -> Option<Entry> {
        match teller {
            Some(teller) => teller.follow.next().await.ok().flatten(),
            None => std::future::pending().await,
        }
    }

    /// Tells of an event; ends the telling when nobody listens or nothing more comes.
    pub(super) async fn tell(teller: &mut Option<Self>, event: Option<Entry>) {
        let goes_on = match (teller.as_mut(), event) {
            (Some(teller), Some(entry)) => teller.say(&entry).await,
            (_, None) | (None, _) => false,
        };
        if !goes_on {
            *teller = None;
        }
    }

    /// Tells of what is left of a run that has ended, or up to the questions it waits with.
    pub(super) async fn rest(mut self, ended: &Result<Ended, Fault>) {
        let last = match ended {
            Ok(Ended::Finished(_)) => Seq::MAX,
            Ok(Ended::Paused(pauses)) => pauses.iter().map(|(at, _)| *at).max().unwrap_or(0),
            Ok(Ended::Stopped) | Err(_) => 0,
        };
        while self.seen < last {
            match self.follow.next().await {
                Ok(Some(entry)) if self.say(&entry).await => {}
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Whether the caller still listens.
    async fn say(&mut self, entry: &Entry) -> bool {
        self.seen = entry.seq;
        let Some((node, what)) = step(&entry.event) else {
            return true;
        };
        self.told += 1;
        let node = self.graph.node(node);
        let message = match &node.action {
            Action::Call {
                tool: ToolName { server, tool },
                ..
            } => {
                format!("{} {what} ({server}:{tool})", node.id)
            }
            Action::Entry
            | Action::Compute { .. }
            | Action::Choose { .. }
            | Action::Wait(_)
            | Action::Exit => {
                format!("{} {what}", node.id)
            }
        };
        let param = ProgressNotificationParam::new(self.token.clone(), f64::from(self.told))
            .with_message(message);
        self.peer.notify_progress(param).await.is_ok()
    }
}

/// The node that an event is about, if it tells of a step.
fn step(event: &Event) -> Option<(NodeIx, &'static str)> {
    match event {
        Event::StepStarted { node, .. } => Some((*node, "begins")),
        Event::Spread { node, .. } => Some((*node, "is spread over its items")),
        Event::Waiting { node, .. } => Some((*node, "lets time pass")),
        Event::StepFinished { node, .. } | Event::Gathered { node, .. } => Some((*node, "is done")),
        Event::StepFailed { node, .. } => Some((*node, "failed")),
        Event::Started(_)
        | Event::Resumed { .. }
        | Event::AttemptFailed { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Watched { .. }
        | Event::Amended { .. }
        | Event::Finished { .. } => None,
    }
}
