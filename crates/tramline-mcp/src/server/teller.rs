//! Tells a caller of its run while it lasts: progress if it asked for that, log messages if it
//! asked for those, and signs of life in between.

use super::log::{self, From};
use super::underway::{Told, Underway};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::graph::Graph;
use tramline_core::ids::{NodeIx, RunId, Seq, ToolName};
use tramline_core::journal::{Entry, Event};
use tramline_core::workflow::Action;
use tramline_engine::{Ended, Engine, Fault, Follow};

/// A step that takes longer is told of again: connections that stay silent are cut, often after
/// thirty seconds.
const BEAT_EVERY: Duration = Duration::from_secs(15);

/// What a caller wants to hear.
pub(super) struct Wishes {
    progress: Option<ProgressToken>,
    log: Option<From>,
}

impl Wishes {
    pub(super) fn new(context: &RequestContext<RoleServer>, log: Option<From>) -> Self {
        let progress = context.meta.get_progress_token();
        Self { progress, log }
    }
}

/// What a run's events are told with.
pub(super) struct Teller {
    follow: Follow,
    run: RunId,
    graph: Arc<Graph>,
    peer: Peer<RoleServer>,
    progress: Option<ProgressToken>,
    log: Option<From>,
    told: Told,
    /// The step that was told of last.
    last: String,
}

/// What there is to tell.
pub(super) enum Tick {
    /// Something happened; nothing if nothing more will.
    Event(Option<Box<Entry>>),
    /// Nothing has happened for a while.
    Beat,
}

impl Teller {
    /// A teller for who wants to hear anything.
    pub(super) fn new(
        engine: &Engine,
        underway: &Underway,
        peer: &Peer<RoleServer>,
        wishes: &Wishes,
    ) -> Option<Self> {
        if wishes.progress.is_none() && wishes.log.is_none() {
            return None;
        }
        Some(Self {
            follow: engine.subscribe(underway.run.clone(), underway.told.seen),
            run: underway.run.clone(),
            graph: Arc::clone(&underway.graph),
            peer: peer.clone(),
            progress: wishes.progress.clone(),
            log: wishes.log,
            told: underway.told,
            last: "the run".into(),
        })
    }

    /// What comes next; nothing ever, when there is nobody left to tell. Cancel-safe.
    pub(super) async fn tick(teller: &mut Option<Self>) -> Tick {
        let Some(teller) = teller else {
            return std::future::pending().await;
        };
        match tokio::time::timeout(BEAT_EVERY, teller.follow.next()).await {
            Ok(next) => Tick::Event(next.ok().flatten().map(Box::new)),
            Err(_) => Tick::Beat,
        }
    }

    /// Tells of it; ends the telling when nobody listens or nothing more comes.
    pub(super) async fn tell(teller: &mut Option<Self>, tick: Tick) {
        let goes_on = match (teller.as_mut(), tick) {
            (Some(teller), Tick::Event(Some(entry))) => teller.say(&entry).await,
            (Some(teller), Tick::Beat) => {
                let says = format!("{} goes on", teller.last);
                teller.progress(says).await
            }
            (Some(_), Tick::Event(None)) | (None, _) => false,
        };
        if !goes_on {
            *teller = None;
        }
    }

    /// Tells of what is left of a run that has ended, or up to the questions it waits with.
    /// Gives how far it was told.
    pub(super) async fn rest(mut self, ended: &Result<Ended, Fault>) -> Told {
        let last = match ended {
            Ok(Ended::Finished(_)) => Seq::MAX,
            Ok(Ended::Paused(pauses)) => pauses.iter().map(|(at, _)| *at).max().unwrap_or(0),
            Ok(Ended::Stopped) | Err(_) => 0,
        };
        while self.told.seen < last {
            match self.follow.next().await {
                Ok(Some(entry)) if self.say(&entry).await => {}
                Ok(_) | Err(_) => break,
            }
        }
        self.told
    }

    /// Whether the caller still listens.
    async fn say(&mut self, entry: &Entry) -> bool {
        self.told.seen = entry.seq;
        // What was added is told of by its own names.
        if let Event::Amended { patch, .. } = &entry.event
            && let Ok(grown) = patch.apply(&self.graph)
        {
            self.graph = Arc::new(grown);
        }
        if let Some(from) = self.log
            && let Some(message) = log::message(&self.graph, &self.run, entry, from)
            && !log::send(&self.peer, message).await
        {
            return false;
        }
        let Some((node, what)) = step(&entry.event) else {
            return true;
        };
        let node = self.graph.node(node);
        self.last = node.id.to_string();
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
        self.progress(message).await
    }

    async fn progress(&mut self, message: String) -> bool {
        let Some(token) = &self.progress else {
            return true;
        };
        self.told.count += 1;
        let count = f64::from(self.told.count);
        let told = ProgressNotificationParam::new(token.clone(), count).with_message(message);
        self.peer.notify_progress(told).await.is_ok()
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
        | Event::Guided(_)
        | Event::Moved(_)
        | Event::Noted(_)
        | Event::ToolCalled(_)
        | Event::ToolAnswered(_)
        | Event::Refused(_)
        | Event::Finished { .. } => None,
    }
}
