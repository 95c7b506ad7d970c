//! Sends a caller the progress and log messages it asked for while its run lasts, and keep-alives in between.

use super::client_log::{self, MinLevel};
use super::run_wait::{self, AwaitedRun, OnCancel, ReportedProgress};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::{DriveOutcome, Engine, EventStream, Fault};
use tramline_views::step_tracker::{Activity, StepEnd, StepTracker, Update};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{NodeIx, RunId, Seq};
use tramline_workflow::journal::Entry;
use tramline_workflow::workflow::{Action, DEFAULT_LABEL, Node};

/// Interval of keep-alive messages during a step: silent connections are often closed after 30 seconds.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// How long a result waits for pending progress messages.
const PROGRESS_FLUSH_MAX: Duration = Duration::from_secs(1);

/// The notifications that a caller asked for.
pub(super) struct NotifyOptions {
    progress: Option<ProgressToken>,
    log: Option<MinLevel>,
}

impl NotifyOptions {
    pub(super) fn new(context: &RequestContext<RoleServer>, log: Option<MinLevel>) -> Self {
        let progress = context.meta.get_progress_token();
        Self { progress, log }
    }
}

/// Sends notifications about a run's events.
pub(super) struct ProgressReporter {
    events: EventStream,
    run: RunId,
    graph: Arc<Graph>,
    peer: Peer<RoleServer>,
    progress: Option<ProgressToken>,
    log: Option<MinLevel>,
    tracker: StepTracker,
    reported: ReportedProgress,
    /// How many messages there are in all, if the graph tells; messages between steps are added as they are sent.
    total: Option<u32>,
    /// The last step that was reported.
    last_step: String,
}

/// What to report next.
pub(super) enum ProgressTick {
    /// An event; `None` if there are no more.
    Event(Option<Box<Entry>>),
    /// Nothing has happened for some time.
    KeepAlive,
}

impl ProgressReporter {
    /// Creates a reporter, if the caller asked for any notifications.
    pub(super) fn new(
        engine: &Engine,
        underway: &AwaitedRun,
        peer: &Peer<RoleServer>,
        wishes: &NotifyOptions,
    ) -> Option<Self> {
        if wishes.progress.is_none() && wishes.log.is_none() {
            return None;
        }
        Some(Self {
            events: engine.subscribe(underway.run.clone(), underway.reported.seen),
            run: underway.run.clone(),
            graph: Arc::clone(&underway.graph),
            peer: peer.clone(),
            progress: wishes.progress.clone(),
            log: wishes.log,
            tracker: StepTracker::default(),
            reported: underway.reported,
            total: step_messages(&underway.graph),
            last_step: "the run".into(),
        })
    }

    /// Waits for what to report next; forever if there is no reporter. Cancel-safe.
    pub(super) async fn next_tick(teller: &mut Option<Self>) -> ProgressTick {
        let Some(teller) = teller else {
            return std::future::pending().await;
        };
        match tokio::time::timeout(KEEP_ALIVE_INTERVAL, teller.events.next()).await {
            Ok(next) => ProgressTick::Event(next.ok().flatten().map(Box::new)),
            Err(_) => ProgressTick::KeepAlive,
        }
    }

    /// Reports it; stops when the client is gone or there are no more events.
    pub(super) async fn report(teller: &mut Option<Self>, tick: ProgressTick) {
        let goes_on = match (teller.as_mut(), tick) {
            (Some(teller), ProgressTick::Event(Some(entry))) => teller.report_event(&entry).await,
            (Some(teller), ProgressTick::KeepAlive) => {
                let says = format!("{} is running", teller.last_step);
                teller.total = teller.total.map(|total| total.saturating_add(1));
                teller.send_progress(says).await
            }
            (Some(_), ProgressTick::Event(None)) | (None, _) => false,
        };
        if !goes_on {
            *teller = None;
        }
    }

    /// Reports the remaining events of a run that has ended, or up to its pauses. Returns how far it got.
    pub(super) async fn finish(mut self, ended: &Result<DriveOutcome, Fault>) -> ReportedProgress {
        let last = match ended {
            Ok(DriveOutcome::Finished(_)) => Seq::MAX,
            Ok(DriveOutcome::Paused(pauses)) => pauses.iter().map(|(at, _)| *at).max().unwrap_or(0),
            Ok(DriveOutcome::Stopped) | Err(_) => 0,
        };
        while self.reported.seen < last {
            match self.events.next().await {
                Ok(Some(entry)) if self.report_event(&entry).await => {}
                Ok(_) | Err(_) => break,
            }
        }
        self.reported
    }

    /// Reports an event; returns whether the client is still there.
    async fn report_event(&mut self, entry: &Entry) -> bool {
        self.reported.seen = entry.seq;
        // Added nodes are reported by their own names.
        if let Some((patch, _)) = entry.event.patch() {
            patch.extend(&mut self.graph);
            self.total = step_messages(&self.graph);
        }
        // SOP sessions have their own tools.
        let Some(update) = self.tracker.follow(entry) else {
            return true;
        };
        if let Some(from) = self.log
            && let Some(message) = client_log::event_message(&self.graph, &self.run, &update, from)
            && !client_log::send(&self.peer, message).await
        {
            return false;
        }
        let Some((node, what)) = step_message(&update) else {
            return true;
        };
        if let Update::StepStarted { step, .. } = &update
            && step.attempt > 1
        {
            self.total = self.total.map(|total| total.saturating_add(1));
        }
        let node = self.graph.node(node);
        self.last_step = node.id.to_string();
        let message = match node.action.tool() {
            Some(tool) => format!("{} {what} ({}:{})", node.id, tool.server, tool.tool),
            None => format!("{} {what}", node.id),
        };
        self.send_progress(message).await
    }

    async fn send_progress(&mut self, message: String) -> bool {
        let Some(token) = &self.progress else {
            return true;
        };
        self.reported.count += 1;
        let count = f64::from(self.reported.count);
        let mut told = ProgressNotificationParam::new(token.clone(), count).with_message(message);
        // A run that was answered with a retry sends more than its graph tells.
        if let Some(total) = self.total.filter(|total| *total >= self.reported.count) {
            told = told.with_total(f64::from(total));
        }
        self.peer.notify_progress(told).await.is_ok()
    }
}

/// Waits until a run ends or pauses, and sends progress.
pub(crate) async fn wait_with_progress(
    engine: &Engine,
    underway: &mut AwaitedRun,
    context: &RequestContext<RoleServer>,
    wishes: &NotifyOptions,
) -> Result<DriveOutcome, Fault> {
    let mut teller = ProgressReporter::new(engine, underway, &context.peer, wishes);
    let (run, cancelled) = (underway.run.clone(), underway.on_cancel);
    let ended = {
        let mut ending = pin!(underway.wait(engine));
        loop {
            tokio::select! {
                biased;
                ended = &mut ending => break ended,
                () = context.ct.cancelled() => match cancelled {
                    OnCancel::Abort => {
                        Box::pin(run_wait::abort_cancelled(engine, &run)).await;
                        break ending.await;
                    }
                    OnCancel::Continue => return Ok(DriveOutcome::Stopped),
                },
                tick = ProgressReporter::next_tick(&mut teller) => {
                    Box::pin(ProgressReporter::report(&mut teller, tick)).await;
                }
            }
        }
    };
    if let Some(teller) = teller {
        // Progress is sent before the result; a caller that does not read is not waited for.
        let told = Box::pin(tokio::time::timeout(
            PROGRESS_FLUSH_MAX,
            teller.finish(&ended),
        ))
        .await;
        underway.reported = told.unwrap_or(underway.reported);
    }
    ended
}

/// How many messages the steps of a graph send; `None` if that depends on values: on branches, loops, or the number of
/// items.
fn step_messages(graph: &Graph) -> Option<u32> {
    let edges = &graph.workflow.edges;
    if edges.iter().any(|edge| edge.label != DEFAULT_LABEL) || has_cycle(graph) {
        return None;
    }
    let messages = |node: &Node| match &node.action {
        _ if node.each.is_some() => None,
        Action::Choose { .. } | Action::Ask(_) => None,
        Action::Call { .. } | Action::Wait(_) => Some(2),
        Action::Entry | Action::Compute { .. } | Action::Exit => Some(1),
    };
    graph.workflow.nodes.iter().map(messages).sum()
}

/// Whether a run can come back to a node.
fn has_cycle(graph: &Graph) -> bool {
    let mut incoming = vec![0_usize; graph.len()];
    let targets = |node: usize| {
        let edges = graph.out_edges(NodeIx(node as u32)).iter();
        edges.map(|edge| edge.to.index())
    };
    for target in (0..graph.len()).flat_map(targets) {
        incoming[target] += 1;
    }
    let mut free: Vec<_> = (0..graph.len())
        .filter(|node| incoming[*node] == 0)
        .collect();
    let mut passed = 0;
    while let Some(node) = free.pop() {
        passed += 1;
        for target in targets(node) {
            incoming[target] -= 1;
            if incoming[target] == 0 {
                free.push(target);
            }
        }
    }
    passed < graph.len()
}

/// The node and its state, if the update is about a step.
fn step_message(update: &Update<'_>) -> Option<(NodeIx, &'static str)> {
    match update {
        Update::StepStarted { step, activity, .. } => {
            let says = match activity {
                Activity::Call { .. } => "started",
                Activity::FanOut(_) => "started its items",
                Activity::Wait(_) => "is waiting",
            };
            Some((step.node, says))
        }
        Update::StepEnded { step, end, .. } => match end {
            StepEnd::Finished { .. } | StepEnd::FannedIn => Some((step.node, "is done")),
            StepEnd::Failed(_) => Some((step.node, "failed")),
        },
        Update::Started(_)
        | Update::AttemptFailed { .. }
        | Update::Paused(_)
        | Update::Answered(_)
        | Update::Changed(_)
        | Update::Finished { .. } => None,
    }
}
