//! The driver loop: decide, record, perform, record.
//!
//! A driver owns a run while it holds the store's claim on it. Computing steps are executed inline;
//! calls run concurrently. A non-repeatable call is sent only when its start is durable; a result
//! is used outside the process only when its record is durable.

use crate::clock;
use crate::engine::{ChildOutcome, EngineInner};
use crate::fault::Fault;
use crate::journal_writer::JournalWriter;
use crate::long_work::{long_work, off_worker_room};
use crate::ports::{AppendError, Tool};
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;
use tramline_expr::Limits;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::form::FormQuestion;
use tramline_workflow::ids::{NodeIx, Seq, StepNo};
use tramline_workflow::journal::{
    Answer, Event, EventTooLarge, Outcome, Pause, ProposedCall, RunEvent,
};
use tramline_workflow::next::{DecisionInput, Next, PendingStep, next};
use tramline_workflow::run::{Run, Token};
use tramline_workflow::scope::EvalMoment;
use tramline_workflow::step::{self, BreakpointHit, StepWork};

mod append_conflict;
mod ask_form;
mod call_settings;
mod calls;
mod claim_check;
mod fan_out;
mod finish;
mod flush;
mod in_flight;
mod policy_gate;
mod proposal;
mod rebase;
mod timers;

pub(crate) use flush::DriveResult;
use flush::FLUSH_DELAY;
use in_flight::InFlight;

/// Who answers a halt whose output is pinned.
const PINNED: &str = "pinned output";

/// How a drive ended.
#[derive(Clone, Debug, PartialEq)]
pub enum DriveOutcome {
    /// The run has ended.
    Finished(Outcome),
    /// The run waits for answers: its pauses by sequence number.
    Paused(Vec<(Seq, Pause)>),
    /// The engine is shutting down; the run continues when it is resumed.
    Stopped,
}

/// The completion of an operation in flight.
enum Completion {
    /// A call ended. The ticket distinguishes it from an abandoned call of the same step.
    CallEnded(StepNo, u64, ChildOutcome),
    /// A backoff before another attempt is over, or the delay of a wait step.
    TimerFired(StepNo),
    /// A server answered about a tool.
    ToolListed(NodeIx, Result<Arc<Tool>, Failure>),
    /// A server answered about a tool that a pause proposes to call.
    ToolLookedUp(NodeIx),
    /// A call did not leave: another process may drive the run by now.
    ClaimLost,
    /// The settings were read before an approved call.
    SettingsRead(NodeIx),
    /// The gate of a procedure judged a call that needs approval.
    GateJudged(Token, Box<ProposedCall>, Option<Failure>),
    /// The time-out of a form was listed.
    FormListed(Token, Box<FormQuestion>, Result<(), Fault>),
}

/// Why a driver woke up.
enum Wakeup {
    Sent(Result<(), AppendError>),
    Completed(Completion),
    ForeignAppend,
    DeadlineReached,
    Stop,
}

/// Drives one run until it ends or pauses.
pub(crate) struct Driver {
    inner: Arc<EngineInner>,
    run: Run,
    journal: JournalWriter,
    active: Arc<crate::engine::ActiveRun>,
    in_flight: InFlight<Completion>,
    calls: HashMap<StepNo, InFlightCall>,
    next_ticket: u64,
    /// Recorded calls, and the events that must be durable before they are sent.
    held_calls: Vec<(Seq, StepNo)>,
    /// The latest result of a non-repeatable call.
    settled_at: Seq,
    preparing: Vec<NodeIx>,
    /// Attempts that are due and wait for the run's budget.
    deferred: Vec<StepNo>,
    not_found: HashMap<NodeIx, Failure>,
    /// Nodes whose tool was looked up before its call was proposed for approval.
    looked_up: HashSet<NodeIx>,
    /// The judgement of a procedure's gate on calls that need approval.
    judgements: HashMap<NodeIx, proposal::GateJudgement>,
    /// Forms whose time-out is listed, before they are asked.
    listed_forms: HashMap<NodeIx, (Token, Box<FormQuestion>)>,
    /// Nodes whose approved call is checked against settings that were just read.
    settings_read: HashSet<NodeIx>,
    deadline: Option<Pin<Box<Sleep>>>,
    stopping: bool,
    /// Since when recorded events wait to be sent.
    waiting_since: Option<Instant>,
    /// Fires when they have waited long enough. Reused between waits: every new timer wakes the
    /// thread that waits for all of them.
    flush_timer: Option<Pin<Box<Sleep>>>,
    /// Other writers may have appended while a batch was being sent.
    has_foreign_events: bool,
    /// When it last paused for other writers.
    busy_since: Instant,
    /// When it started, while it has not waited yet and may still run inline in the task that
    /// started the run.
    inline_since: Option<Instant>,
}

/// A call in flight.
struct InFlightCall {
    number: u64,
    cancel: CancellationToken,
}

impl Driver {
    pub(crate) fn new(
        inner: Arc<EngineInner>,
        run: Run,
        journal: JournalWriter,
        active: Arc<crate::engine::ActiveRun>,
    ) -> Self {
        Self {
            inner,
            run,
            journal,
            active,
            in_flight: InFlight::default(),
            calls: HashMap::new(),
            next_ticket: 0,
            has_foreign_events: false,
            busy_since: Instant::now(),
            inline_since: Some(Instant::now()),
            waiting_since: None,
            flush_timer: None,
            held_calls: Vec::new(),
            settled_at: 0,
            preparing: Vec::new(),
            deferred: Vec::new(),
            not_found: HashMap::new(),
            looked_up: HashSet::new(),
            judgements: HashMap::new(),
            listed_forms: HashMap::new(),
            settings_read: HashSet::new(),
            deadline: None,
            stopping: false,
        }
    }

    /// Drives until the run ends or pauses and everything about that is durable.
    pub(crate) async fn drive(mut self) -> (Result<DriveOutcome, Fault>, DriveResult) {
        self.set_timers();
        let ended = self.turn().await;
        if ended.is_ok() {
            self.publish_progress();
        }
        self.abandon_calls();
        let rest = DriveResult {
            bytes: self.journal.bytes,
            is_claimed: self.journal.is_claimed(),
            is_durable: self.journal.is_settled(),
            run: self.run,
        };
        (ended, rest)
    }

    async fn turn(&mut self) -> Result<DriveOutcome, Fault> {
        loop {
            // A released run is left to other drivers.
            if !self.journal.is_claimed() && self.journal.is_settled() {
                match self.outcome() {
                    Some(ended) => return Ok(ended),
                    None => self.reload_run().await?,
                }
            }
            self.yield_to_runtime().await;
            self.yield_to_writers().await?;
            self.in_flight.poll_while(off_worker_room()).await;
            let decided = self.decide()?;
            self.publish_progress();
            if self.must_flush(decided) {
                let rests = decided && !self.stopping && self.is_waiting_for_answers();
                self.journal.send(&self.run, rests);
                self.waiting_since = None;
            }
            self.release_held();
            if decided
                && self.journal.is_settled()
                && let Some(ended) = self.outcome()
            {
                return Ok(ended);
            }
            self.wait().await?;
        }
    }

    /// Decides and performs everything that needs no waiting. False if the batch filled up first.
    fn decide(&mut self) -> Result<bool, Fault> {
        while self.run.outcome.is_none() && !self.stopping {
            if self.journal.is_full() {
                return Ok(false);
            }
            self.retry_deferred()?;
            match next(&self.run, &self.allowance()) {
                Next::Perform(due) => {
                    for due in due {
                        self.begin_step(due)?;
                    }
                }
                Next::Ask(pause) => self.ask_next(pause)?,
                Next::Finish(outcome) => self.finish(outcome)?,
                Next::Wait => return Ok(true),
            }
        }
        Ok(true)
    }

    fn allowance(&self) -> DecisionInput<'_> {
        DecisionInput {
            width: self.inner.options.steps_in_flight_max,
            active_ms: self.run.active_ms(clock::now_ms()),
            bytes: self.journal.bytes,
            preparing: &self.preparing,
            ceilings: &self.inner.options.ceilings,
        }
    }

    fn begin_step(&mut self, due: PendingStep) -> Result<(), Fault> {
        // An earlier step of the same batch may have ended the run.
        if self.run.outcome.is_some() {
            return Ok(());
        }
        match due {
            PendingStep::New(token) => self.enter_node(&token),
            PendingStep::Retry(step) => self.start_attempt(step),
            PendingStep::Item(item) => self.begin_item(item),
            PendingStep::FanIn(step) => self.gather(step),
        }
    }

    /// The time, seed and limits of an evaluation that starts now.
    fn evaluation_context(&self) -> (EvalMoment, Limits) {
        let moment = EvalMoment {
            now_ms: clock::now_ms(),
            seed: self.inner.next_seed(),
        };
        let mut limits = self.inner.options.expressions;
        limits.deadline = Some(Instant::now() + self.inner.options.expression_time);
        limits.offload = Some(long_work);
        (moment, limits)
    }

    fn enter_node(&mut self, token: &Token) -> Result<(), Fault> {
        let (moment, limits) = self.evaluation_context();
        let (step, node) = (self.run.step_count + 1, token.node);
        if let Some(hit) = step::breakpoint_hit(&self.run, token, moment, &limits) {
            return self.halt_or_use_pin(node, hit);
        }
        let event = match step::evaluate(&self.run, token, moment, &limits) {
            StepWork::Done { label, output } => Event::Run(RunEvent::StepFinished {
                step,
                node,
                label,
                output,
            }),
            StepWork::Failed(failure) => Event::Run(RunEvent::StepFailed {
                step,
                node,
                failure,
            }),
            StepWork::Wait(until_ms) => return self.begin_wait(step, node, until_ms),
            StepWork::Ask(form) => return self.ask_form(token, form),
            StepWork::Call { tool, arguments } => {
                if self.awaits_new_approval(token)? {
                    return Ok(());
                }
                let Some(repeatable) = self.preflight(token, &tool)? else {
                    return Ok(());
                };
                if step::repeats_effect(&self.run, token) {
                    return self.propose(Pause::Effect { node, call: None }, token);
                }
                let event = Event::Run(RunEvent::StepStarted {
                    step,
                    node,
                    attempt: 1,
                    arguments,
                    repeatable,
                    of: None,
                });
                return match self.record_step_event(step, node, event)? {
                    Some(announced) => self.send_or_hold(step, announced),
                    None => Ok(()),
                };
            }
            StepWork::Spread { tool, items } => {
                // Single items are not approved one by one.
                if self.awaits_new_approval(token)? || self.preflight(token, &tool)?.is_none() {
                    return Ok(());
                }
                if step::repeats_effect(&self.run, token) {
                    return self.propose(Pause::Effect { node, call: None }, token);
                }
                Event::Run(RunEvent::FannedOut { step, node, items })
            }
        };
        self.record_step_event(step, node, event).map(drop)
    }

    fn record_pause(&mut self, pause: Pause) -> Result<(), Fault> {
        let event = Event::Run(RunEvent::Paused { pause });
        self.journal.record(&mut self.run, event).map(drop)
    }

    /// Halts before a node. A pinned output answers the halt at once.
    fn halt_or_use_pin(&mut self, node: NodeIx, hit: BreakpointHit) -> Result<(), Fault> {
        let BreakpointHit { reason, output } = hit;
        let pause = Pause::Break { node, reason };
        let halt = Event::Run(RunEvent::Paused { pause });
        let pause = self.journal.record(&mut self.run, halt)?;
        let Some(output) = output else {
            return Ok(());
        };
        let answered = Event::Run(RunEvent::Answered {
            pause,
            answer: Answer::Skip { output },
            by: PINNED.into(),
            why: None,
            via: None,
        });
        self.journal.record(&mut self.run, answered).map(drop)
    }

    /// Records a step's event; if it is too large for the journal, the step fails.
    fn record_step_event(
        &mut self,
        step: StepNo,
        node: NodeIx,
        event: Event,
    ) -> Result<Option<Seq>, Fault> {
        match self.journal.record(&mut self.run, event) {
            Ok(seq) => Ok(Some(seq)),
            Err(Fault::TooLarge(how)) => {
                let id = &self.run.graph.node(node).id;
                let failure = too_large(&format!("the input or output of `{id}`"), &how);
                let event = Event::Run(RunEvent::StepFailed {
                    step,
                    node,
                    failure,
                });
                self.journal.record(&mut self.run, event)?;
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Waits until an operation in flight completes, or another writer appends.
    async fn wait(&mut self) -> Result<(), Fault> {
        let live = Arc::clone(&self.active);
        let stop = self.inner.stop.clone();
        let mut deadline = self
            .deadline
            .take()
            .unwrap_or_else(|| self.deadline_timer());
        if self.journal.is_settled() {
            // Other writers can append now.
            self.busy_since = Instant::now();
        }
        let mut patience = self.flush_timer.take();
        if patience.is_none() && self.journal.is_waiting() {
            patience = Some(Box::pin(tokio::time::sleep(FLUSH_DELAY)));
        }
        let woken = tokio::select! {
            biased;
            sent = self.journal.wait_sent(&self.run), if self.journal.is_sending() => Wakeup::Sent(sent),
            Some(came) = self.in_flight.next() => Wakeup::Completed(came),
            () = live.wakeup.notified() => Wakeup::ForeignAppend,
            () = &mut deadline => Wakeup::DeadlineReached,
            () = timer_fired(&mut patience), if self.journal.is_waiting() => Wakeup::DeadlineReached,
            () = stop.cancelled(), if !self.stopping => Wakeup::Stop,
        };
        self.flush_timer = patience.filter(|alarm| !alarm.is_elapsed());
        // The deadline changes only with pauses and once it has fired.
        self.deadline = (self.run.pauses.is_empty() && !deadline.is_elapsed()).then_some(deadline);
        match woken {
            Wakeup::Sent(Ok(())) if self.has_foreign_events && self.journal.is_claimed() => {
                self.merge_foreign_events().await
            }
            Wakeup::Sent(Ok(())) | Wakeup::DeadlineReached => Ok(()),
            Wakeup::Sent(Err(AppendError::Conflict { .. })) => self.resolve_conflict().await,
            Wakeup::Sent(Err(AppendError::Elsewhere { .. })) => self.reload_run().await,
            Wakeup::Sent(Err(AppendError::Store(fault))) => Err(fault.into()),
            Wakeup::Completed(came) => self.on_completion(came),
            Wakeup::ForeignAppend => self.merge_foreign_events().await,
            Wakeup::Stop => {
                self.stopping = true;
                Ok(())
            }
        }
    }
}

/// Waits for a timer that may not be set.
async fn timer_fired(alarm: &mut Option<Pin<Box<Sleep>>>) {
    match alarm {
        Some(alarm) => alarm.await,
        None => std::future::pending().await,
    }
}

fn too_large(what: &str, how: &EventTooLarge) -> Failure {
    Failure::new(FailureKind::Limit, format!("{what} is too large: {how}"))
}
