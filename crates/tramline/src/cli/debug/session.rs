//! A run under the debugger: followed until it halts, and let go on again.

use super::super::progress::Progress;
use super::super::runs::{myself, person, respondent};
use super::super::{Stopped, ending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use tramline_core::graph::Graph;
use tramline_core::ids::{Checkpoint, RunId, Seq};
use tramline_core::journal::{Answer, Break, Entry, Event, Pause, Watch};
use tramline_core::question;
use tramline_engine::{Ended, Engine, Fault, Follow, Handle, Loaded};
use tramline_process::EndRequest;

/// What runs beside a halted node gets so long to come to rest before the halt is told.
const SETTLE: Duration = Duration::from_millis(300);

/// How often a run that another process drove is asked whether it still does.
const ALONE: Duration = Duration::from_secs(1);

type Driving = Pin<Box<dyn Future<Output = Result<Ended, Fault>>>>;

/// A run under the debugger.
pub(super) struct Session {
    pub(super) engine: Engine,
    pub(super) run: RunId,
    /// Its end, if this process drives it.
    driving: Option<Driving>,
    events: Follow,
    over: bool,
    /// Whether something still waits that was not answered.
    left: bool,
    seen: Seq,
    progress: Option<Progress>,
}

/// Why there is something to say.
pub(super) enum Stop {
    /// It waits for somebody.
    Halted,
    /// It is over, or we are.
    Ended(Ended),
}

impl Session {
    /// Follows a run from after an event on. It is driven here if there is a handle to it.
    pub(super) fn new(
        engine: &Engine,
        graph: &Arc<Graph>,
        (run, handle): (RunId, Option<Handle>),
        seen: Seq,
        shown: bool,
    ) -> Self {
        let show = || Progress::plain(Arc::clone(graph), run.clone());
        Self {
            engine: engine.clone(),
            driving: handle.map(|handle| Box::pin(handle.ended()) as Driving),
            events: engine.subscribe(run.clone(), seen),
            over: false,
            left: false,
            seen,
            progress: shown.then(show),
            run,
        }
    }

    pub(super) async fn load(&self) -> Result<Loaded, Stopped> {
        Ok(self.engine.load(&self.run).await?)
    }

    /// Follows the run until it waits for somebody or is over.
    pub(super) async fn wait(&mut self) -> Result<Stop, Stopped> {
        let soon = || Instant::now() + SETTLE;
        let mut settled = std::mem::take(&mut self.left).then(soon);
        let mut interrupted = false;
        loop {
            tokio::select! {
                ended = driven(&mut self.driving) => {
                    self.driving = None;
                    if let Some(stop) = self.let_go(ended?).await? {
                        return Ok(stop);
                    }
                }
                event = self.events.next(), if !self.over => {
                    let Some(entry) = event? else {
                        self.over = true;
                        continue;
                    };
                    self.show(&entry);
                    match &entry.event {
                        Event::Paused { .. } => settled = Some(soon()),
                        Event::Finished { outcome } if self.driving.is_none() => {
                            return Ok(Stop::Ended(Ended::Finished(outcome.clone())));
                        }
                        _ => {}
                    }
                }
                () = until(settled) => return Ok(Stop::Halted),
                // Who drove it may be gone.
                () = sleep(ALONE), if self.driving.is_none() && !self.over => self.drive().await?,
                request = ending::interrupted() => {
                    // The first time halts the run, the second leaves it.
                    let again = std::mem::replace(&mut interrupted, true);
                    if again || self.over || request != EndRequest::Interrupt {
                        self.engine.stop();
                        return Ok(Stop::Ended(Ended::Stopped));
                    }
                    self.set_stepping(true).await?;
                }
            }
        }
    }

    /// What it means that this process drives the run no more.
    async fn let_go(&mut self, ended: Ended) -> Result<Option<Stop>, Stopped> {
        let loaded = self.load().await?;
        for entry in &loaded.entries {
            self.show(entry);
        }
        match ended {
            // It may have been answered just after it was let go.
            Ended::Paused(_) if !loaded.run.is_paused() && loaded.run.outcome.is_none() => {
                self.drive().await?;
                Ok(None)
            }
            Ended::Paused(_) => Ok(Some(match loaded.run.outcome {
                Some(outcome) => Stop::Ended(Ended::Finished(outcome)),
                None => Stop::Halted,
            })),
            Ended::Finished(_) | Ended::Stopped => Ok(Some(Stop::Ended(ended))),
        }
    }

    fn show(&mut self, entry: &Entry) {
        if entry.seq <= self.seen {
            return;
        }
        self.seen = entry.seq;
        // What we say and do ourselves is no news.
        let ours = matches!(
            entry.event,
            Event::Resumed { .. } | Event::Watched { .. } | Event::Answered { .. }
        );
        match &mut self.progress {
            Some(progress) if ours => progress.pass(entry),
            Some(progress) => progress.show(entry),
            None => {}
        }
    }

    /// Drives the run from here, unless it is driven already.
    pub(super) async fn drive(&mut self) -> Result<(), Stopped> {
        if self.driving.is_some() {
            return Ok(());
        }
        match self.engine.resume(&self.run).await {
            Ok(handle) => self.driving = Some(Box::pin(handle.ended())),
            // Its events tell what becomes of it.
            Err(Fault::Elsewhere { .. } | Fault::Over { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
        Ok(())
    }

    /// Lets halted nodes go on. Gives whether there were any, or nothing to wait for.
    pub(super) async fn go(&mut self, stepping: bool) -> Result<bool, Stopped> {
        self.set_stepping(stepping).await?;
        let freed = self.engine.go_on(&self.run, respondent()).await?;
        let run = self.load().await?.run;
        if freed == 0 && run.is_paused() {
            return Ok(false);
        }
        self.left = !run.pauses.is_empty();
        self.drive().await?;
        Ok(true)
    }

    pub(super) async fn set_stepping(&self, stepping: bool) -> Result<(), Stopped> {
        let watch = self.watching().await?;
        if watch.stepping == stepping {
            return Ok(());
        }
        self.watch(Watch { stepping, ..watch }).await
    }

    /// Where the run halts.
    pub(super) async fn watching(&self) -> Result<Watch, Stopped> {
        Ok(Watch::current(&self.load().await?.entries))
    }

    async fn watch(&self, watch: Watch) -> Result<(), Stopped> {
        Ok(self.engine.watch(&self.run, watch, myself()).await?)
    }

    /// Halts at one more place, in place of what was said about that node before.
    pub(super) async fn add_break(&self, spot: Break) -> Result<(), Stopped> {
        let mut watch = self.watching().await?;
        watch.breaks.retain(|other| other.node != spot.node);
        watch.breaks.push(spot);
        self.watch(watch).await
    }

    /// Halts at this node no more.
    pub(super) async fn delete_break(&self, node: &str) -> Result<(), Stopped> {
        let mut watch = self.watching().await?;
        let before = watch.breaks.len();
        watch.breaks.retain(|spot| spot.node != node);
        if watch.breaks.len() == before {
            let message = format!("there is no breakpoint at `{node}`; `breaks` lists them");
            return Err(Stopped::bad(message));
        }
        self.watch(watch).await
    }

    /// Answers the one question that takes this answer, and goes on.
    pub(super) async fn answer(
        &mut self,
        node: Option<&str>,
        answer: Answer,
    ) -> Result<(), Stopped> {
        let seq = self.question(node, &answer).await?;
        let point = Checkpoint {
            run: self.run.clone(),
            seq,
        };
        if matches!(answer, Answer::Skip { .. }) {
            // Who gives an output wants to see what comes of it.
            self.set_stepping(true).await?;
        }
        let by = person(&self.engine, &format!("an answer to {point}")).await?;
        self.engine.answer(&point, answer, by, None).await?;
        self.left = !self.load().await?.run.pauses.is_empty();
        self.drive().await
    }

    async fn question(&self, node: Option<&str>, answer: &Answer) -> Result<Seq, Stopped> {
        let run = self.load().await?.run;
        let word = word(answer);
        let id = |pause: &Pause| pause.node().map(|node| run.graph.node(node).id.clone());
        let mut fitting = Vec::new();
        for (seq, pause) in &run.pauses {
            // `step` and `continue` are the words for a halt.
            let is_halt = matches!(pause, Pause::Break { .. }) && word == "proceed";
            let takes = question::options(pause).contains(&word) && !is_halt;
            if takes && (node.is_none() || id(pause).as_deref() == node) {
                fitting.push((*seq, id(pause)));
            }
        }
        match fitting.as_slice() {
            [(seq, _)] => Ok(*seq),
            [] => Err(Stopped::bad(
                "nothing waits that takes this answer; `where` shows what waits",
            )),
            several => {
                let names: Vec<_> = several.iter().filter_map(|(_, id)| id.as_deref()).collect();
                let names = names.join(", ");
                Err(Stopped::bad(format!("several wait; name one of {names}")))
            }
        }
    }
}

/// The answer as questions list it.
fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Proceed | Answer::ProceedWith { .. } => "proceed",
        Answer::Reject => "reject",
        Answer::Retry => "retry",
        Answer::Skip { .. } => "skip",
        Answer::Extend { .. } => "extend",
    }
}

async fn driven(driving: &mut Option<Driving>) -> Result<Ended, Fault> {
    match driving {
        Some(driving) => driving.await,
        None => std::future::pending().await,
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
