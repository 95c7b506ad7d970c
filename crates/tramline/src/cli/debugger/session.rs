//! A run under the debugger: followed until it halts, then resumed.

use super::super::progress::ProgressPrinter;
use super::super::runs::{confirmed_respondent, respondent, user_name};
use super::super::{CliError, shutdown};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tramline_engine::{DriveOutcome, Engine, EventStream, Fault, LoadedRun, RunHandle, WaitPolicy};
use tramline_process::EndRequest;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{
    Answer, BreakpointSet, Entry, Event, NodeBreakpoint, Pause, RunEvent,
};

/// How long parallel steps may take to finish before a halt is reported.
const SETTLE_TIME: Duration = Duration::from_millis(300);

type DriveFuture = Pin<Box<dyn Future<Output = Result<DriveOutcome, Fault>>>>;

/// A run under the debugger.
pub(super) struct DebugSession {
    pub(super) engine: Engine,
    pub(super) run: RunId,
    /// Its end or pause, whichever process drives it.
    drive: Option<DriveFuture>,
    events: EventStream,
    is_over: bool,
    /// Whether an unanswered question remains.
    has_open_question: bool,
    last_seen: Seq,
    progress: Option<ProgressPrinter>,
}

/// Why following the run stopped.
pub(super) enum StopReason {
    /// It waits for an answer.
    Halted,
    /// It ended, or this process stops driving it.
    Ended(DriveOutcome),
}

impl DebugSession {
    /// Follows a run from after an event on. This process drives it if a handle is given.
    pub(super) fn new(
        engine: &Engine,
        graph: &Arc<Graph>,
        (run, handle): (RunId, Option<RunHandle>),
        last_seen: Seq,
        shown: bool,
    ) -> Self {
        let show = || ProgressPrinter::plain(Arc::clone(graph), run.clone());
        Self {
            engine: engine.clone(),
            drive: Some(wait_for_run(engine, &run, handle)),
            events: engine.subscribe(run.clone(), last_seen),
            is_over: false,
            has_open_question: false,
            last_seen,
            progress: shown.then(show),
            run,
        }
    }

    pub(super) async fn load(&self) -> Result<LoadedRun, CliError> {
        Ok(self.engine.load(&self.run).await?)
    }

    /// Follows the run until it waits or ends.
    pub(super) async fn wait(&mut self) -> Result<StopReason, CliError> {
        let soon = || Instant::now() + SETTLE_TIME;
        let mut settled = std::mem::take(&mut self.has_open_question).then(soon);
        let mut interrupted = false;
        loop {
            tokio::select! {
                ended = poll_drive(&mut self.drive) => {
                    self.drive = None;
                    if let Some(stop) = self.on_drive_end(ended?).await? {
                        return Ok(stop);
                    }
                }
                event = self.events.next(), if !self.is_over => {
                    let Some(entry) = event? else {
                        self.is_over = true;
                        continue;
                    };
                    self.show(&entry);
                    if let Event::Run(RunEvent::Paused { .. }) = &entry.event {
                        settled = Some(soon());
                    }
                }
                () = wait_for_deadline(settled) => return Ok(StopReason::Halted),
                request = shutdown::wait_for_interrupt() => {
                    // The first Ctrl-C halts the run, the second detaches.
                    let again = std::mem::replace(&mut interrupted, true);
                    if again || self.is_over || request != EndRequest::Interrupt {
                        self.engine.stop();
                        return Ok(StopReason::Ended(DriveOutcome::Stopped));
                    }
                    self.set_stepping(true).await?;
                }
            }
        }
    }

    /// Decides what the end of driving means for the run.
    async fn on_drive_end(&mut self, ended: DriveOutcome) -> Result<Option<StopReason>, CliError> {
        let loaded = self.load().await?;
        for entry in &loaded.entries {
            self.show(entry);
        }
        match ended {
            // It may have been answered just after it was released.
            DriveOutcome::Paused(_) if !loaded.run.is_paused() && loaded.run.outcome.is_none() => {
                self.drive().await?;
                Ok(None)
            }
            DriveOutcome::Paused(_) => Ok(Some(match loaded.run.outcome {
                Some(outcome) => StopReason::Ended(DriveOutcome::Finished(outcome)),
                None => StopReason::Halted,
            })),
            DriveOutcome::Finished(_) | DriveOutcome::Stopped => Ok(Some(StopReason::Ended(ended))),
        }
    }

    fn show(&mut self, entry: &Entry) {
        if entry.seq <= self.last_seen {
            return;
        }
        self.last_seen = entry.seq;
        // Do not echo our own commands.
        let ours = matches!(
            entry.event,
            Event::Run(
                RunEvent::Resumed { .. }
                    | RunEvent::BreakpointsSet { .. }
                    | RunEvent::Answered { .. }
            )
        );
        match &mut self.progress {
            Some(progress) if ours => progress.skip(entry),
            Some(progress) => progress.show(entry),
            None => {}
        }
    }

    /// Drives the run here, unless it is driven already.
    pub(super) async fn drive(&mut self) -> Result<(), CliError> {
        if self.drive.is_some() {
            return Ok(());
        }
        let handle = self.engine.resume_if_free(&self.run).await?;
        self.drive = Some(wait_for_run(&self.engine, &self.run, handle));
        Ok(())
    }

    /// Resumes halted nodes. Returns whether there were any, or nothing to wait for.
    pub(super) async fn resume(&mut self, stepping: bool) -> Result<bool, CliError> {
        self.set_stepping(stepping).await?;
        let freed = self
            .engine
            .continue_from_halt(&self.run, respondent())
            .await?;
        let run = self.load().await?.run;
        if freed == 0 && run.is_paused() {
            return Ok(false);
        }
        self.has_open_question = !run.pauses.is_empty();
        self.drive().await?;
        Ok(true)
    }

    pub(super) async fn set_stepping(&self, stepping: bool) -> Result<(), CliError> {
        let watch = self.breakpoints().await?;
        if watch.stepping == stepping {
            return Ok(());
        }
        self.set_breakpoints(BreakpointSet { stepping, ..watch })
            .await
    }

    /// The breakpoints of the run.
    pub(super) async fn breakpoints(&self) -> Result<BreakpointSet, CliError> {
        Ok(BreakpointSet::current(&self.load().await?.entries))
    }

    async fn set_breakpoints(&self, watch: BreakpointSet) -> Result<(), CliError> {
        Ok(self
            .engine
            .set_breakpoints(&self.run, watch, user_name())
            .await?)
    }

    /// Adds a breakpoint, replacing the one at that node.
    pub(super) async fn add_break(&self, spot: NodeBreakpoint) -> Result<(), CliError> {
        let mut watch = self.breakpoints().await?;
        watch.breaks.retain(|other| other.node != spot.node);
        watch.breaks.push(spot);
        self.set_breakpoints(watch).await
    }

    /// Deletes a breakpoint.
    pub(super) async fn delete_break(&self, node: &str) -> Result<(), CliError> {
        let mut watch = self.breakpoints().await?;
        let before = watch.breaks.len();
        watch.breaks.retain(|spot| spot.node != node);
        if watch.breaks.len() == before {
            let message = format!("no breakpoint at `{node}`; `breaks` lists them");
            return Err(CliError::bad_input(message));
        }
        self.set_breakpoints(watch).await
    }

    /// Answers the only question that accepts this answer, and resumes the run.
    pub(super) async fn answer(
        &mut self,
        node: Option<&str>,
        answer: Answer,
    ) -> Result<(), CliError> {
        let seq = self.find_question(node, &answer).await?;
        let point = Checkpoint {
            run: self.run.clone(),
            seq,
        };
        if matches!(answer, Answer::Skip { .. }) {
            // After setting an output, halt again to show its effect.
            self.set_stepping(true).await?;
        }
        let by = confirmed_respondent(&self.engine, &format!("an answer to {point}")).await?;
        self.engine.answer(&point, answer, by, None).await?;
        self.has_open_question = !self.load().await?.run.pauses.is_empty();
        self.drive().await
    }

    async fn find_question(&self, node: Option<&str>, answer: &Answer) -> Result<Seq, CliError> {
        let run = self.load().await?.run;
        let word = answer.name();
        let id = |pause: &Pause| pause.node().map(|node| run.graph.node(node).id.clone());
        let mut fitting = Vec::new();
        for (seq, pause) in &run.pauses {
            // Halts are resumed with `step` and `continue`.
            let is_halt = matches!(pause, Pause::Break { .. }) && word == "proceed";
            let takes = pause.options().contains(&word) && !is_halt;
            if takes && (node.is_none() || id(pause).as_deref() == node) {
                fitting.push((*seq, id(pause)));
            }
        }
        match fitting.as_slice() {
            [(seq, _)] => Ok(*seq),
            [] => Err(CliError::bad_input(
                "no open question accepts this answer; `where` lists them",
            )),
            several => {
                let names: Vec<_> = several.iter().filter_map(|(_, id)| id.as_deref()).collect();
                let names = names.join(", ");
                Err(CliError::bad_input(format!(
                    "several questions are open; name one of {names}"
                )))
            }
        }
    }
}

fn wait_for_run(engine: &Engine, run: &RunId, handle: Option<RunHandle>) -> DriveFuture {
    let (engine, run) = (engine.clone(), run.clone());
    Box::pin(async move {
        let waited = engine.wait(&run, handle, WaitPolicy::Drive).await?;
        Ok(waited.outcome)
    })
}

async fn poll_drive(driving: &mut Option<DriveFuture>) -> Result<DriveOutcome, Fault> {
    match driving {
        Some(driving) => driving.await,
        None => std::future::pending().await,
    }
}

async fn wait_for_deadline(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
