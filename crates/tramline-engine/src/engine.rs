//! The library API: start, resume, answer, amend, abort, follow.
//!
//! Every method but `start` and `resume` only appends one event, in whatever process it is
//! called; the process that drives the run sees it and goes on.

use crate::audit::{AuditWriter, CommandNote, Decision};
use crate::clock;
use crate::fault::Fault;
use crate::learnt::{Learnt, keepable};
use crate::ledger::{Ledger, status};
use crate::library::Library;
use crate::long_work::long_work;
use crate::perform;
use crate::policy::Policy;
use crate::registry::Registry;
use crate::seams::{Exchange, Observer, Store, Tools, Workflows};
use crate::settings::{Discreet, Settings};
use crate::shelf::Shelf;
use crate::uses::Uses;
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tramline_core::Str;
use tramline_core::graph::Patch;
use tramline_core::ids::{Checkpoint, RunId, Seq, StepNo, ToolName};
use tramline_core::journal::{Answer, EXPIRY, Entry, Event, Outcome, Parent, Started};
use tramline_core::run::Run;
use tramline_core::trace::Trace;

mod asked;
mod authority;
mod bound;
mod child;
mod close;
mod count;
mod debug;
mod discreet;
mod documents;
mod driving;
mod editing;
mod expiry;
mod family;
mod follow;
mod fork;
mod guided;
mod hold;
mod load;
mod options;
mod pick_up;
mod pinned;
mod plan;
mod port;
mod quota;
mod retention;
mod runs;
mod say;
mod start;
mod warm;

pub use authority::{Approvals, PersonNeeded, Respondent};
use child::waited_for;
pub(crate) use child::{Called, ChildCall, key as child_key};
pub use debug::At;
pub(crate) use documents::encode_with;
pub use expiry::over;
pub use family::{DESCENDANTS_MAX, RUNS_DRIVEN_MAX};
pub use follow::Follow;
pub use fork::{Branch, Branched, Effects};
pub use guided::{AskedAnswer, Edit, Guide, ToolCall, Went};
pub use hold::{Handle, Said};
pub use load::{Begun, Loaded};
pub use options::{Options, Scratch};
pub(crate) use pinned::Permit;
pub use pinned::{Pins, in_conversation};
pub use port::{PORT_BYTES_MAX, Unreadable};
pub use quota::Quota;
pub use retention::{Pruned, Retention};
pub use start::{Admission, Owner, Start};

/// Runs workflows. Clones share everything.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tools: Arc<dyn Tools>,
    pub(crate) library: Arc<Library>,
    pub(crate) workflows: Arc<dyn Workflows>,
    pub(crate) registry: Registry,
    pub(crate) learnt: Learnt,
    pub(crate) options: Options,
    pub(crate) stop: CancellationToken,
    /// Drivers, and cancelled calls that still tell their servers.
    pub(crate) tasks: TaskTracker,
    live: Mutex<HashMap<RunId, Arc<Live>>>,
    documents: documents::Documents,
    seeds: AtomicU64,
    watched: AtomicBool,
    times: expiry::Times,
    aborted_rows: runs::AbortedRows,
    counted: quota::Counted,
    footprint: quota::Footprint,
    guided: guided::Hot,
    pub(crate) pinned: pinned::Pinned,
    warm: warm::Warm,
    families: family::Families,
    audit: AuditWriter,
    /// Where the studio is served, if it is.
    studio: std::sync::OnceLock<String>,
}

/// A run that this process drives.
#[derive(Default)]
pub(crate) struct Live {
    /// Rung when somebody else may have appended to its journal.
    pub(crate) word: Notify,
    /// The last event the driver knows of, its own unsent ones among them.
    pub(crate) known: AtomicU64,
    /// Whether the store has its beginning.
    pub(crate) kept: AtomicBool,
    /// How many are trying to append to its journal; the driver gives way to them.
    pub(crate) wants: AtomicU64,
    /// What became of the answers that its driver brings.
    pub(crate) speech: watch::Sender<Speech>,
    /// Whether its driver has let go of it and is about to leave.
    pub(crate) leaves: AtomicBool,
}

/// What became of the answers that a driver brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Speech {
    /// It brings none.
    #[default]
    None,
    /// They are not durable yet.
    Pending,
    /// They are in the journal.
    Heard,
    /// They never got there.
    Lost,
}

impl Live {
    /// Says what became of the answers, if that was open.
    pub(crate) fn heard(&self, speech: Speech) {
        self.speech.send_if_modified(|now| {
            let pending = *now == Speech::Pending;
            if pending {
                *now = speech;
            }
            pending
        });
    }

    /// Waits until it is known what became of the answers.
    async fn settled(&self) -> Speech {
        let mut speech = self.speech.subscribe();
        let settled = speech.wait_for(|now| *now != Speech::Pending).await;
        settled.map_or(Speech::Lost, |now| *now)
    }
}

impl Engine {
    /// An engine over a store and tools, without workflows that others can call.
    pub fn new(store: Arc<dyn Store>, tools: Arc<dyn Tools>, options: Options) -> Self {
        Self::with_workflows(store, tools, Arc::new(Shelf::default()), options)
    }

    /// An engine whose runs can call these workflows, and the saved ones.
    pub fn with_workflows(
        store: Arc<dyn Store>,
        tools: Arc<dyn Tools>,
        workflows: Arc<dyn Workflows>,
        options: Options,
    ) -> Self {
        let tools: Arc<dyn Tools> = match &options.settings {
            Some(settings) => Arc::new(Discreet::new(tools, settings.clone())),
            None => tools,
        };
        let library = Arc::new(Library::new(Arc::clone(&store), workflows));
        let uses = Arc::new(Uses::new(Arc::clone(&store)));
        let registry = Registry::new(
            Arc::clone(&store),
            Arc::clone(&tools),
            Arc::clone(&library),
            uses,
            options.embedder.clone(),
            options.settings.clone(),
        );
        Self(Arc::new(Inner {
            learnt: Learnt::new(Arc::clone(&store), options.learn),
            store,
            tools,
            workflows: Arc::clone(&library) as _,
            library,
            registry,
            options,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            live: Mutex::default(),
            documents: Default::default(),
            seeds: AtomicU64::new(clock::random()),
            watched: AtomicBool::new(false),
            times: Default::default(),
            aborted_rows: Default::default(),
            counted: Default::default(),
            footprint: Default::default(),
            guided: Default::default(),
            pinned: Default::default(),
            warm: Default::default(),
            families: Default::default(),
            audit: Default::default(),
            studio: Default::default(),
        }))
    }

    /// Begins a run. It is driven by this process from now on.
    pub async fn start(&self, mut start: Start) -> Result<Handle, Fault> {
        start.input = self.discreet(start.input).await;
        if let Some(intent) = start.intent.take() {
            let intent = self.discreet(intent.into()).await;
            // A journal outlives what is learnt from it, and needs no more than that.
            start.intent = intent.as_str().map(|intent| keepable(intent).into());
        }
        self.is_discreet(&start.graph.workflow)?;
        start.operator_budget = self.0.options.budget;
        self.recall_seats(start.owner.as_ref()).await?;
        self.note_ttl(start.ttl_ms).await?;
        self.can_drive()?;
        let _room = self.room().await?;
        let at_ms = clock::now_ms();
        let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
        self.begin(RunId::new(at_ms, chance), at_ms, start, None)
    }

    /// Begins a run under a name that is given.
    fn begin(
        &self,
        id: RunId,
        at_ms: i64,
        start: Start,
        parent: Option<Parent>,
    ) -> Result<Handle, Fault> {
        let Start {
            graph,
            input,
            policy,
            session,
            origin,
            watch,
            budget,
            operator_budget,
            ttl_ms,
            owner,
            upstream,
            intent,
            agent,
        } = start;
        let checked = graph.check_input(&input, long_work);
        checked.map_err(|flaws| Fault::BadInput {
            workflow: graph.workflow.name.to_string(),
            flaws,
        })?;
        let workflows = &self.0.documents.workflows;
        let (shared, document) = workflows.adopt(&graph.workflow, &graph)?;
        let agent = agent.or_else(|| self.mark(owner.as_ref()));
        let started = Started {
            workflow: Arc::clone(&shared.workflow),
            input,
            policy,
            session,
            by: self.0.options.name.clone(),
            origin,
            parent,
            fork: None,
            watch,
            budget,
            operator_budget,
            ttl_ms,
            owner,
            upstream: upstream.map(Box::new),
            intent,
            agent,
        };
        let event = Event::Started(Box::new(started.clone()));
        let run = Run::begin(id, shared, started, at_ms)
            .map_err(|illegal| Fault::Refused(illegal.message))?;
        let mut ledger = self.0.ledger(0, 0);
        let entry = Entry {
            seq: 1,
            at_ms,
            event,
        };
        ledger.open(entry, vec![document])?;
        let seat = self.0.seat(&run.id)?;
        self.count(&graph, &run.id, at_ms);
        Ok(self.spawn(seat, run, ledger))
    }

    /// Answers what a run asks, if the respondent may. The first answer counts; later ones are told
    /// so. Taken or refused, it is in the audit.
    pub async fn answer(
        &self,
        asked: &Checkpoint,
        answer: Answer,
        by: Respondent,
        why: Option<String>,
    ) -> Result<(), Fault> {
        let said = Said {
            pause: asked.seq,
            answer,
            by,
            why,
        };
        let said = self.checked_said(&asked.run, vec![said]).await?;
        let mut said = self.discreet_said(said).await;
        let Some(Said {
            answer, by, why, ..
        }) = said.pop()
        else {
            return Ok(());
        };
        let mut decision = None;
        let came = self.put_answer(asked, &answer, &by, &why, |run| {
            decision = Decision::about(run, asked, &answer);
        });
        let came = came.await;
        if let Some(decision) = decision {
            let by = (by.name.as_str(), by.channel);
            let decision = decision.said(by, why.as_deref(), came.as_ref().err());
            self.decided(decision).await?;
        }
        came
    }

    /// Appends an answer. `seen` looks at the run that it is an answer to.
    async fn put_answer(
        &self,
        asked: &Checkpoint,
        answer: &Answer,
        by: &Respondent,
        why: &Option<String>,
        mut seen: impl FnMut(&Run),
    ) -> Result<(), Fault> {
        self.say(&asked.run, |run| {
            seen(run);
            let pause = run.pauses.get(&asked.seq);
            let pause = pause.ok_or_else(|| stale(run, asked.seq))?;
            self.0.authorize(run, (asked.seq, pause), answer, by)?;
            Ok(Event::Answered {
                pause: asked.seq,
                answer: answer.clone(),
                by: by.name.clone(),
                why: why.clone(),
                via: Some(by.channel),
            })
        })
        .await
    }

    /// Agrees to what a run asks, or refuses it.
    pub async fn approve(
        &self,
        asked: &Checkpoint,
        yes: bool,
        by: Respondent,
        why: Option<String>,
    ) -> Result<(), Fault> {
        let answer = if yes { Answer::Proceed } else { Answer::Reject };
        self.answer(asked, answer, by, why).await
    }

    /// Extends a run's graph.
    pub async fn amend(&self, id: &RunId, patch: Patch, by: Str) -> Result<(), Fault> {
        self.amend_at(id, patch, by, None).await
    }

    /// Ends a run, wherever it is driven. Calls under way are cancelled.
    pub async fn abort(&self, id: &RunId, by: Str, why: Option<String>) -> Result<(), Fault> {
        // Nobody can make an abort look like an expiry by calling themselves so.
        let by = match by == EXPIRY {
            true => format!("`{EXPIRY}`").into(),
            false => by,
        };
        let came = self.abort_by(id, by.clone(), why.clone()).await;
        let said = CommandNote {
            command: "abort",
            run: id,
            by: &by,
            why: why.as_deref(),
            arguments: None,
        };
        self.commanded(said, &came).await?;
        came
    }

    async fn abort_by(&self, id: &RunId, by: Str, why: Option<String>) -> Result<(), Fault> {
        let outcome = Outcome::Aborted {
            by: by.clone(),
            why: why.clone(),
        };
        let last = self.say_end(id, outcome).await?;
        // In a task of its own: who aborts may stop waiting, and those below must end all the same.
        let ending = self.clone().end_children(id.clone(), last, by, why);
        let _ = self.0.tasks.spawn(ending).await;
        Ok(())
    }

    /// Ends the runs that a run was waiting for when it ended.
    fn end_children(
        self,
        id: RunId,
        last: Seq,
        by: Str,
        why: Option<String>,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            // It has ended, whatever comes of that.
            let children = self.children_before(&id, last).await;
            self.abort_all(children.unwrap_or_default(), &by, why.as_ref())
                .await;
        })
    }

    /// Ends runs that nobody waits for any more; one that ended meanwhile needs nothing.
    async fn abort_all(&self, runs: Vec<RunId>, by: &Str, why: Option<&String>) {
        for run in runs {
            let _ = Box::pin(self.abort_by(&run, by.clone(), why.cloned())).await;
        }
    }

    pub(crate) fn of(inner: Arc<Inner>) -> Self {
        Self(inner)
    }

    /// A run with its whole journal.
    pub async fn load(&self, id: &RunId) -> Result<Loaded, Fault> {
        self.0.load(id).await
    }

    /// A run as it can be read, whole.
    pub async fn trace(&self, id: &RunId) -> Result<Trace, Fault> {
        let Loaded { run, entries, .. } = self.load(id).await?;
        let mut trace = Trace::of(id, &run.graph, &entries);
        trace.status = status(&run).as_str();
        Ok(trace)
    }

    pub(crate) fn audit_writer(&self) -> &AuditWriter {
        &self.0.audit
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.options
    }

    /// The store behind the engine.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// The workflows that runs can call by name.
    pub fn workflows(&self) -> &Arc<dyn Workflows> {
        &self.0.workflows
    }

    /// The saved workflows.
    pub fn library(&self) -> &Arc<Library> {
        &self.0.library
    }

    /// Everything that can be called.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// What the operator says of tools, for front ends that call them outside of runs.
    pub fn policy(&self) -> &Policy {
        &self.0.options.policy
    }

    /// What went over the wire for a step's call, as far as that is still known.
    pub fn exchange(&self, id: &RunId, step: StepNo, tool: &ToolName) -> Option<Exchange> {
        self.0.tools.exchange(tool, &perform::key(id, step))
    }

    /// The settings, if there are any to be had.
    pub fn settings(&self) -> Option<&Settings> {
        self.0.options.settings.as_ref()
    }

    /// The tools behind the engine. What they answer holds no known secret.
    pub fn tools(&self) -> &Arc<dyn Tools> {
        &self.0.tools
    }
}

/// Why what a run does not ask any more cannot be answered.
pub fn stale(run: &Run, asked: Seq) -> Fault {
    let point = |seq: Seq| Checkpoint {
        run: run.id.clone(),
        seq,
    };
    let current = run.pauses.keys().copied().map(point).collect();
    let asked = point(asked);
    Fault::Stale { asked, current }
}

impl Inner {
    pub(crate) fn live(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether workflows are called as runs of their own, and not as tools like any other.
    pub(crate) fn runs_workflows(&self) -> bool {
        self.options.workflows
    }

    /// A ledger that goes on after so many events and bytes.
    pub(crate) fn ledger(&self, durable: Seq, bytes: u64) -> Ledger {
        let observer = self.options.observer.clone();
        Ledger::new(Arc::clone(&self.store), observer, durable, bytes)
    }

    /// Who is told what happens, if anybody is.
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.options.observer.as_deref()
    }

    /// A seed that no other step of this process gets.
    pub(crate) fn seed(&self) -> u64 {
        self.seeds.fetch_add(1, Ordering::Relaxed)
    }
}
