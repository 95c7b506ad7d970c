//! The one loop: decide, record, perform, record.
//!
//! A driver owns a run as long as it holds the store's claim on it. Steps that compute are
//! carried out where they stand; calls run side by side. A call that may not be repeated leaves
//! only when its announcement is durable; a result is handed out only when its record is.

use crate::clock;
use crate::engine::{Called, Inner};
use crate::fault::Fault;
use crate::ledger::Ledger;
use crate::long_work::long_work;
use crate::seams::{AppendError, Tool};
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;
use tramline_core::expr::Limits;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{NodeIx, Seq, StepNo};
use tramline_core::journal::{Event, Outcome, Pause, ProposedCall, TooLarge};
use tramline_core::next::{Allowance, Due, Next, next};
use tramline_core::run::{Run, Token};
use tramline_core::scope::Moment;
use tramline_core::step::{self, Work};

mod absorb;
mod calls;
mod finish;
mod overtaken;
mod policy;
mod proposal;
mod spread;
mod standing;
mod time;
mod under_way;

use standing::PATIENCE;
pub(crate) use standing::Rest;
use under_way::UnderWay;

/// How a drive ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The run is over.
    Finished(Outcome),
    /// The run waits for answers, by their places in the journal.
    Paused(Vec<(Seq, Pause)>),
    /// The engine is shutting down; the run goes on when it is resumed.
    Stopped,
}

/// What comes back from something that was under way.
enum Came {
    /// A call ended. The ticket tells it from a call that was given up under the same number.
    Answer(StepNo, u64, Called),
    /// The wait before another attempt is over, or the time that a step lets pass.
    Rested(StepNo),
    /// A server was asked about a tool.
    Found(NodeIx, Result<Arc<Tool>, Failure>),
    /// A server was asked about a tool before a person is.
    LookedUp(NodeIx),
    /// The gate of a procedure was asked about a call before a person is.
    Judged(Token, Box<ProposedCall>, Option<Failure>),
}

/// Why a driver woke up.
enum Woken {
    Sent(Result<(), AppendError>),
    Came(Came),
    Word,
    Late,
    Stop,
}

/// Drives one run until it ends or pauses.
pub(crate) struct Driver {
    inner: Arc<Inner>,
    run: Run,
    ledger: Ledger,
    live: Arc<crate::engine::Live>,
    under_way: UnderWay<Came>,
    calls: HashMap<StepNo, Ticket>,
    tickets: u64,
    /// Calls announced, and the events that must be durable before they leave.
    held: Vec<(Seq, StepNo)>,
    /// The latest end of a call that may not be repeated.
    settled_at: Seq,
    preparing: Vec<NodeIx>,
    /// Further attempts that are due and wait for the run's budget.
    put_off: Vec<StepNo>,
    unfound: HashMap<NodeIx, Failure>,
    /// Nodes whose tool was looked up before somebody was asked about its call.
    looked_up: HashSet<NodeIx>,
    /// What the gate of a procedure says to calls about which a person is to be asked.
    judged: HashMap<NodeIx, proposal::Judgement>,
    deadline: Option<Pin<Box<Sleep>>>,
    stopping: bool,
    /// Since when recorded events wait to be sent.
    waiting_since: Option<Instant>,
    /// Rings when they have waited long enough. Kept from wait to wait: every new alarm wakes the
    /// thread that waits for all of them.
    patience: Option<Pin<Box<Sleep>>>,
    /// Others may have appended while a batch was under way.
    heard: bool,
    /// Since when it has not held still.
    busy_since: Instant,
    /// Since when it drives without having waited at all, perhaps where its run was begun.
    begun: Option<Instant>,
}

/// A call that is under way.
struct Ticket {
    number: u64,
    cancel: CancellationToken,
}

impl Driver {
    pub(crate) fn new(
        inner: Arc<Inner>,
        run: Run,
        ledger: Ledger,
        live: Arc<crate::engine::Live>,
    ) -> Self {
        Self {
            inner,
            run,
            ledger,
            live,
            under_way: UnderWay::default(),
            calls: HashMap::new(),
            tickets: 0,
            heard: false,
            busy_since: Instant::now(),
            begun: Some(Instant::now()),
            waiting_since: None,
            patience: None,
            held: Vec::new(),
            settled_at: 0,
            preparing: Vec::new(),
            put_off: Vec::new(),
            unfound: HashMap::new(),
            looked_up: HashSet::new(),
            judged: HashMap::new(),
            deadline: None,
            stopping: false,
        }
    }

    /// Drives until the run ends or pauses, and everything about that is durable.
    pub(crate) async fn drive(mut self) -> (Result<Ended, Fault>, Rest) {
        self.set_alarms();
        let ended = self.turn().await;
        if ended.is_ok() {
            self.tell_where_we_are();
        }
        self.abandon_calls();
        let rest = Rest {
            bytes: self.ledger.bytes,
            held: self.ledger.held,
            is_durable: self.ledger.is_settled(),
            run: self.run,
        };
        (ended, rest)
    }

    async fn turn(&mut self) -> Result<Ended, Fault> {
        loop {
            // What was let go of is for others to go on with.
            if !self.ledger.held && self.ledger.is_settled() {
                match self.ended() {
                    Some(ended) => return Ok(ended),
                    None => self.start_over().await?,
                }
            }
            self.leave_soon().await;
            self.give_way().await?;
            let decided = self.decide()?;
            self.tell_where_we_are();
            if self.is_urgent(decided) {
                let rests = decided && !self.stopping && self.is_at_rest();
                self.ledger.send(&self.run, rests);
                self.waiting_since = None;
            }
            self.release_held();
            if decided
                && self.ledger.is_settled()
                && let Some(ended) = self.ended()
            {
                return Ok(ended);
            }
            self.wait().await?;
        }
    }

    /// Decides and carries out all that needs no waiting. False when the ledger filled up first.
    fn decide(&mut self) -> Result<bool, Fault> {
        while self.run.outcome.is_none() && !self.stopping {
            if self.ledger.is_full() {
                return Ok(false);
            }
            self.take_up()?;
            match next(&self.run, &self.allowance()) {
                Next::Perform(due) => {
                    for due in due {
                        self.begin(due)?;
                    }
                }
                Next::Ask(pause) => self.ask_next(pause)?,
                Next::Finish(outcome) => self.finish(outcome)?,
                Next::Wait => return Ok(true),
            }
        }
        Ok(true)
    }

    fn allowance(&self) -> Allowance<'_> {
        Allowance {
            width: self.inner.options.width,
            active_ms: self.run.active_ms(clock::now_ms()),
            bytes: self.ledger.bytes,
            preparing: &self.preparing,
            ceilings: &self.inner.options.ceilings,
        }
    }

    fn begin(&mut self, due: Due) -> Result<(), Fault> {
        // An earlier step of the same batch may have ended the run.
        if self.run.outcome.is_some() {
            return Ok(());
        }
        match due {
            Due::New(token) => self.enter(&token),
            Due::Again(step) => self.again(step),
            Due::Item(item) => self.item(item),
            Due::Gather(step) => self.gather(step),
        }
    }

    /// What an evaluation that begins now is given.
    fn surroundings(&self) -> (Moment, Limits) {
        let moment = Moment {
            now_ms: clock::now_ms(),
            seed: self.inner.seed(),
        };
        let mut limits = self.inner.options.expressions;
        limits.deadline = Some(Instant::now() + self.inner.options.expression_time);
        limits.long = Some(long_work);
        (moment, limits)
    }

    fn enter(&mut self, token: &Token) -> Result<(), Fault> {
        let (moment, limits) = self.surroundings();
        let (step, node) = (self.run.steps + 1, token.node);
        if let Some(reason) = step::halts(&self.run, token, moment, &limits) {
            return self.ask(Pause::Break { node, reason });
        }
        let event = match step::work(&self.run, token, moment, &limits) {
            Work::Done { label, output } => Event::StepFinished {
                step,
                node,
                label,
                output,
            },
            Work::Failed(failure) => Event::StepFailed {
                step,
                node,
                failure,
            },
            Work::Wait(until_ms) => return self.sleep(step, node, until_ms),
            Work::Call { tool, arguments } => {
                let Some(repeatable) = self.cleared(token, &tool)? else {
                    return Ok(());
                };
                if step::repeats(&self.run, token) {
                    return self.propose(Pause::Effect { node, call: None }, token);
                }
                let event = Event::StepStarted {
                    step,
                    node,
                    attempt: 1,
                    arguments,
                    repeatable,
                    of: None,
                };
                return match self.note(step, node, event)? {
                    Some(announced) => self.call(step, announced),
                    None => Ok(()),
                };
            }
            Work::Spread { tool, items } => {
                // Nobody asks about single items.
                if self.cleared(token, &tool)?.is_none() {
                    return Ok(());
                }
                if step::repeats(&self.run, token) {
                    return self.propose(Pause::Effect { node, call: None }, token);
                }
                Event::Spread { step, node, items }
            }
        };
        self.note(step, node, event).map(drop)
    }

    fn ask(&mut self, pause: Pause) -> Result<(), Fault> {
        let event = Event::Paused { pause };
        self.ledger.record(&mut self.run, event).map(drop)
    }

    /// Records a step's event; what is too large for the journal fails the step instead.
    fn note(&mut self, step: StepNo, node: NodeIx, event: Event) -> Result<Option<Seq>, Fault> {
        match self.ledger.record(&mut self.run, event) {
            Ok(seq) => Ok(Some(seq)),
            Err(Fault::TooLarge(how)) => {
                let id = &self.run.graph.node(node).id;
                let failure = too_large(&format!("what goes into `{id}` or comes out of it"), &how);
                let event = Event::StepFailed {
                    step,
                    node,
                    failure,
                };
                self.ledger.record(&mut self.run, event)?;
                Ok(None)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Waits until something that was under way comes back, or somebody else has a word.
    async fn wait(&mut self) -> Result<(), Fault> {
        let live = Arc::clone(&self.live);
        let stop = self.inner.stop.clone();
        let mut deadline = self.deadline.take().unwrap_or_else(|| self.time_left());
        if self.ledger.is_settled() {
            // Whoever wants to append can do so now.
            self.busy_since = Instant::now();
        }
        let mut patience = self.patience.take();
        if patience.is_none() && self.ledger.is_waiting() {
            patience = Some(Box::pin(tokio::time::sleep(PATIENCE)));
        }
        let woken = tokio::select! {
            biased;
            sent = self.ledger.sent(&self.run), if self.ledger.is_sending() => Woken::Sent(sent),
            Some(came) = self.under_way.next() => Woken::Came(came),
            () = live.word.notified() => Woken::Word,
            () = &mut deadline => Woken::Late,
            () = rung(&mut patience), if self.ledger.is_waiting() => Woken::Late,
            () = stop.cancelled(), if !self.stopping => Woken::Stop,
        };
        self.patience = patience.filter(|alarm| !alarm.is_elapsed());
        // The deadline moves only with pauses and once it has struck.
        self.deadline = (self.run.pauses.is_empty() && !deadline.is_elapsed()).then_some(deadline);
        match woken {
            Woken::Sent(Ok(())) if self.heard && self.ledger.held => self.absorb().await,
            Woken::Sent(Ok(())) | Woken::Late => Ok(()),
            Woken::Sent(Err(AppendError::Moved { .. })) => self.overtaken().await,
            Woken::Sent(Err(AppendError::Elsewhere { .. })) => self.start_over().await,
            Woken::Sent(Err(AppendError::Store(fault))) => Err(fault.into()),
            Woken::Came(came) => self.came(came),
            Woken::Word => self.absorb().await,
            Woken::Stop => {
                self.stopping = true;
                Ok(())
            }
        }
    }
}

/// Waits for an alarm that may not be set.
async fn rung(alarm: &mut Option<Pin<Box<Sleep>>>) {
    match alarm {
        Some(alarm) => alarm.await,
        None => std::future::pending().await,
    }
}

fn too_large(what: &str, how: &TooLarge) -> Failure {
    Failure::new(FailureKind::Limit, format!("{what} is too large: {how}"))
}
