//! The engine API: start, resume, answer, amend, abort, follow.
//!
//! Every method except `start` and `resume` only appends one event, in any process. The process
//! that drives the run sees the event and acts on it.

use crate::attempt;
use crate::audit::{AuditDecision, AuditWriter, CommandNote};
use crate::clock;
use crate::driver::DriveOutcome;
use crate::fault::Fault;
use crate::journal_writer::{JournalWriter, run_status};
use crate::long_work::long_work;
use crate::policy::{PolicyVerdict, ToolPolicy};
use crate::ports::{DocumentTable, Exchange, Observer, RunListener, Store, Tools, Workflows};
use crate::scrub::scrub_intent;
use crate::settings::{Settings, redacting};
use crate::workflow_map::WorkflowMap;
use futures_util::future::BoxFuture;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tramline_expr::Str;
use tramline_views::trace::Trace;
use tramline_workflow::graph::Patch;
use tramline_workflow::ids::{Checkpoint, RunId, Seq, StepNo, ToolName};
use tramline_workflow::journal::{
    Answer, EXPIRY, Entry, Event, Outcome, ParentStep, RunEvent, RunStarted,
};
use tramline_workflow::run::Run;

mod append_event;
mod authority;
mod checkpoint_commands;
mod child;
mod child_question;
mod debugger;
mod descendants;
mod document_cache;
mod edited_arguments;
mod environment;
mod event_stream;
mod expiry;
mod export;
mod fork;
mod forms;
mod inline_poll;
mod listeners;
mod load;
mod options;
mod pause_details;
mod paused_run_cache;
mod pinned_procedures;
mod quota;
mod redact_input;
mod resume_answered;
mod retention;
mod run_handle;
mod run_list;
mod shutdown;
mod sop_session;
mod start;
mod start_key;
mod wait;

use append_event::PlannedEvent;
pub use authority::{Approvals, PersonNeeded, Respondent};
use child::awaited_children;
pub(crate) use child::{ChildCall, ChildOutcome, child_key};
pub use debugger::JournalPoint;
pub use descendants::{DESCENDANTS_MAX, RUNS_DRIVEN_MAX};
pub(crate) use document_cache::encode_with_documents;
pub use environment::RunEnvironment;
pub use event_stream::EventStream;
pub use expiry::ended_fault;
pub use export::{EXPORT_BYTES_MAX, UnreadableEvent};
pub use fork::{EffectPolicy, ForkRequest, ForkResult};
pub use load::{LoadedRun, RunHeader};
pub use options::{EngineOptions, ReplayStore};
pub use pause_details::QuestionReader;
pub(crate) use pinned_procedures::{CallPermit, GatedArguments};
pub use pinned_procedures::{PinnedProcedures, PinnedStart, ReservedTools, in_sop_session};
pub use quota::Quota;
pub use retention::{PruneResult, Retention};
pub use run_handle::{PauseAnswer, RunHandle};
pub use sop_session::{ApprovedCallResult, ArgumentEdit, GatedCall, GatedCallOutcome, SopStart};
pub use start::{Admission, RunOwner, RunStart};
pub use start_key::{START_KEY_CHARS_MAX, StartKey, StartedRun};
pub use wait::{RowWatch, WaitPolicy, WaitedRun};

/// Runs workflows. Clones share everything.
#[derive(Clone)]
pub struct Engine(Arc<EngineInner>);

pub(crate) struct EngineInner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) tools: Arc<dyn Tools>,
    pub(crate) workflows: Arc<dyn Workflows>,
    pub(crate) options: EngineOptions,
    pub(crate) stop: CancellationToken,
    /// Drivers, and cancelled calls that still notify their servers.
    pub(crate) tasks: TaskTracker,
    active_runs: Mutex<HashMap<RunId, Arc<ActiveRun>>>,
    documents: document_cache::DocumentCaches,
    next_seed: AtomicU64,
    is_watching: AtomicBool,
    ttls: expiry::TtlCache,
    aborted_rows: run_list::AbortedRows,
    usage: quota::UsageCount,
    disk_usage: quota::DiskUsage,
    sop_sessions: sop_session::SessionCache,
    pub(crate) pinned: pinned_procedures::PinnedState,
    paused_runs: paused_run_cache::PausedRunCache,
    descendants: descendants::DescendantCounts,
    audit: AuditWriter,
    listeners: RwLock<Arc<Vec<Arc<dyn RunListener>>>>,
    /// The URL of the studio, if it is served.
    studio_url: std::sync::OnceLock<String>,
    environment: std::sync::OnceLock<Box<dyn environment::RunEnvironment>>,
}

/// A run that this process drives.
#[derive(Default)]
pub(crate) struct ActiveRun {
    /// Notified when another writer may have appended to its journal.
    pub(crate) wakeup: Notify,
    /// The last event the driver knows of, including its own unsent ones.
    pub(crate) last_known: AtomicU64,
    /// Whether the store has its first event.
    pub(crate) is_stored: AtomicBool,
    /// How many writers are trying to append to its journal; the driver yields to them.
    pub(crate) waiting_writers: AtomicU64,
    /// The state of the answers that the driver was started with.
    pub(crate) answers: watch::Sender<AnswerState>,
    /// Whether the driver has released the run and is about to exit.
    pub(crate) is_exiting: AtomicBool,
    /// The run as its driver left it, once everything about it is durable.
    last_state: Mutex<Option<Arc<Run>>>,
}

/// The state of the answers that a driver was started with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnswerState {
    /// It was started without answers.
    #[default]
    None,
    /// They are not durable yet.
    Pending,
    /// They are in the journal.
    Recorded,
    /// They were not appended.
    Lost,
}

impl ActiveRun {
    /// The run as its driver left it.
    fn last_state(&self) -> MutexGuard<'_, Option<Arc<Run>>> {
        let last = self.last_state.lock();
        last.unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the state of the answers, if it is still pending.
    pub(crate) fn set_answer_state(&self, speech: AnswerState) {
        self.answers.send_if_modified(|now| {
            let pending = *now == AnswerState::Pending;
            if pending {
                *now = speech;
            }
            pending
        });
    }

    /// Waits until the state of the answers is no longer pending.
    async fn wait_answer_state(&self) -> AnswerState {
        let mut speech = self.answers.subscribe();
        let settled = speech.wait_for(|now| *now != AnswerState::Pending).await;
        settled.map_or(AnswerState::Lost, |now| *now)
    }
}

impl Engine {
    /// An engine over a store and tools, without workflows that runs can call.
    pub fn new(store: Arc<dyn Store>, tools: Arc<dyn Tools>, options: EngineOptions) -> Self {
        Self::with_workflows(store, tools, Arc::new(WorkflowMap::default()), options)
    }

    /// An engine whose runs can call these workflows.
    pub fn with_workflows(
        store: Arc<dyn Store>,
        tools: Arc<dyn Tools>,
        workflows: Arc<dyn Workflows>,
        options: EngineOptions,
    ) -> Self {
        let tools = redacting(tools, options.settings.as_ref());
        Self(Arc::new(EngineInner {
            store,
            tools,
            workflows,
            options,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            active_runs: Mutex::default(),
            documents: Default::default(),
            next_seed: AtomicU64::new(clock::random()),
            is_watching: AtomicBool::new(false),
            ttls: Default::default(),
            aborted_rows: Default::default(),
            usage: Default::default(),
            disk_usage: Default::default(),
            sop_sessions: Default::default(),
            pinned: Default::default(),
            paused_runs: Default::default(),
            descendants: Default::default(),
            audit: Default::default(),
            listeners: RwLock::default(),
            studio_url: Default::default(),
            environment: Default::default(),
        }))
    }

    /// Starts a run, which this process drives.
    pub async fn start(&self, mut start: RunStart) -> Result<RunHandle, Fault> {
        start.input = self.redact_value(start.input).await;
        start.watch = self.redact_pins(start.watch.take()).await;
        if let Some(intent) = start.intent.take() {
            let intent = self.redact_value(intent.into()).await;
            // A journal outlives the plan history, so it keeps no more of the intent than that
            // does.
            start.intent = intent.as_str().map(|intent| scrub_intent(intent).into());
        }
        self.reject_secrets(&start.graph.workflow)?;
        start.operator_budget = self.0.options.budget;
        self.load_session_owners(start.owner.as_ref()).await?;
        self.record_ttl(start.ttl_ms).await?;
        self.check_driven_limit()?;
        let _room = self.reserve_run().await?;
        let id = start.id.take().unwrap_or_else(|| self.new_run_id());
        self.audit_run_start(&id).await?;
        let started = self.begin_run(id, clock::now_ms(), start, None)?;
        Box::pin(self.audit_effect()).await;
        Ok(started)
    }

    /// The name of who asked for something, or of this process.
    fn name_or_process(&self, by: Option<Str>) -> Str {
        by.unwrap_or_else(|| self.0.options.process_name.clone())
    }

    /// An id for a run that is about to start.
    pub fn new_run_id(&self) -> RunId {
        let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
        RunId::new(clock::now_ms(), chance)
    }

    /// Starts a run under the given id.
    fn begin_run(
        &self,
        id: RunId,
        at_ms: i64,
        start: RunStart,
        parent: Option<ParentStep>,
    ) -> Result<RunHandle, Fault> {
        let RunStart {
            id: _,
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
            by,
            intent,
            agent,
            start_key,
        } = start;
        let checked = graph.check_input(&input, long_work);
        let input = graph.fill_input(input);
        checked.map_err(|flaws| Fault::InvalidInput {
            workflow: graph.workflow.name.to_string(),
            flaws,
        })?;
        let workflows = &self.0.documents.workflows;
        let (shared, document) = workflows.adopt(&graph.workflow, &graph)?;
        let agent = agent.or_else(|| self.agent_mark(owner.as_ref()));
        let started = RunStarted {
            workflow: Arc::clone(&shared.workflow),
            input,
            policy,
            session,
            by: self.name_or_process(by),
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
            start_key,
        };
        let event = Event::Run(RunEvent::Started(Box::new(started.clone())));
        let run = Run::start(id, shared, started, at_ms)
            .map_err(|illegal| Fault::Rejected(illegal.message))?;
        let mut ledger = self.0.journal_writer(0, 0);
        let entry = Entry {
            seq: 1,
            at_ms,
            event,
        };
        ledger.open(entry, vec![document])?;
        let seat = self.0.take_drive_slot(&run.id)?;
        self.notify_start(&graph, &run.id, at_ms);
        Ok(self.spawn_driver(seat, run, ledger))
    }

    /// Answers a pause, if the respondent is allowed to. The first answer counts; later ones fail.
    /// The audit records the answer whether it is accepted or rejected.
    pub async fn answer(
        &self,
        asked: &Checkpoint,
        answer: Answer,
        by: Respondent,
        why: Option<String>,
    ) -> Result<(), Fault> {
        let respondent = (by.clone(), why.clone());
        let said = PauseAnswer {
            pause: asked.seq,
            answer,
            by,
            why,
        };
        let work = Box::pin(self.answer_pause(asked, said));
        let (by, why) = &respondent;
        self.audited_answer(&asked.run, (by, why.as_deref()), work)
            .await
    }

    async fn answer_pause(&self, asked: &Checkpoint, said: PauseAnswer) -> Result<(), Fault> {
        let said = self.check_form_answers(&asked.run, vec![said]).await?;
        let said = self.check_edited_answers(&asked.run, said).await?;
        let mut said = self.redact_answers(said).await;
        self.end_abandoned_children(&asked.run, &said).await?;
        let Some(PauseAnswer {
            answer, by, why, ..
        }) = said.pop()
        else {
            return Ok(());
        };
        let mut decision = None;
        let came = self.append_answer(asked, &answer, &by, &why, |run| {
            decision = AuditDecision::about_pause(run, asked, &answer);
        });
        let came = came.await;
        if decision.is_none() && came.is_err() {
            // It was too late, or the run has never asked.
            decision = Some(AuditDecision::about_no_pause(asked, &answer));
        }
        if let Some(decision) = decision {
            let by = (by.name.as_str(), by.channel);
            let decision = decision.with_result(by, why.as_deref(), came.as_ref().err());
            self.audit_decision(decision).await?;
        }
        came
    }

    /// Appends an answer. `seen` is called with the run that is answered.
    async fn append_answer(
        &self,
        asked: &Checkpoint,
        answer: &Answer,
        by: &Respondent,
        why: &Option<String>,
        mut seen: impl FnMut(&Run),
    ) -> Result<(), Fault> {
        self.append_command(&asked.run, |run| {
            seen(run);
            let decision = AuditDecision::about_pause(run, asked, answer);
            let name = (by.name.as_str(), by.channel);
            let decision = decision.map(|one| one.with_result(name, why.as_deref(), None));
            let pause = run.pauses.get(&asked.seq);
            let pause = pause.ok_or_else(|| stale_checkpoint(run, asked.seq))?;
            self.0.authorize(run, (asked.seq, pause), answer, by)?;
            let event = Event::Run(RunEvent::Answered {
                pause: asked.seq,
                answer: answer.clone(),
                by: by.name.clone(),
                why: why.clone(),
                via: Some(by.channel),
            });
            Ok(PlannedEvent { event, decision })
        })
        .await
    }

    /// Approves or rejects a pause.
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

    /// Ends a run, whichever process drives it. Calls in flight are cancelled.
    pub async fn abort(&self, id: &RunId, by: Str, why: Option<String>) -> Result<(), Fault> {
        // An abort must not look like an expiry because its author uses that name.
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
        self.audit_command(said, &came).await?;
        came
    }

    async fn abort_by(&self, id: &RunId, by: Str, why: Option<String>) -> Result<(), Fault> {
        let outcome = Outcome::Aborted {
            by: by.clone(),
            why: why.clone(),
        };
        let last = self.append_end(id, outcome).await?;
        // In its own task: the caller may stop waiting, and the children must end all the same.
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
            // The run has ended, so a failure here is not reported.
            let children = self.children_at_end(&id, last).await;
            self.abort_all(children.unwrap_or_default(), &by, why.as_ref())
                .await;
        })
    }

    /// Ends runs that are no longer needed; a run that has already ended needs nothing.
    async fn abort_all(&self, runs: Vec<RunId>, by: &Str, why: Option<&String>) {
        for run in runs {
            let _ = Box::pin(self.abort_by(&run, by.clone(), why.cloned())).await;
        }
    }

    pub(crate) fn from_inner(inner: Arc<EngineInner>) -> Self {
        Self(inner)
    }

    /// A run with its whole journal.
    pub async fn load(&self, id: &RunId) -> Result<LoadedRun, Fault> {
        self.0.load(id).await
    }

    /// The whole trace of a run.
    pub async fn trace(&self, id: &RunId) -> Result<Trace, Fault> {
        let LoadedRun { run, entries, .. } = self.load(id).await?;
        let mut trace = Trace::of(id, &run.graph, &entries);
        trace.status = run_status(&run).as_str();
        Ok(trace)
    }

    pub(crate) fn audit_writer(&self) -> &AuditWriter {
        &self.0.audit
    }

    /// Its options.
    pub fn options(&self) -> &EngineOptions {
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

    /// The documents of a kind in the store.
    pub fn documents(&self, kind: &'static str) -> DocumentTable {
        DocumentTable::new(Arc::clone(&self.0.store), kind)
    }

    /// The operator's tool policy, for front ends that call tools outside of runs.
    pub fn policy(&self) -> &ToolPolicy {
        &self.0.options.policy
    }

    /// Why a listed tool cannot be used, as far as known without asking its server: it is switched
    /// off, or the operator denies it.
    pub fn unusable(&self, tool: &ToolName) -> Option<String> {
        match self.options().policy.verdict(tool) {
            PolicyVerdict::Deny(pattern) => {
                Some(format!("the operator's policy denies `{pattern}`"))
            }
            PolicyVerdict::Ask(_) | PolicyVerdict::Allow => self
                .never_callable(tool)
                .or_else(|| self.tools().unusable(tool)),
        }
    }

    /// The wire messages of a step's call, if they are still available.
    pub fn exchange(&self, id: &RunId, step: StepNo, tool: &ToolName) -> Option<Exchange> {
        self.0
            .tools
            .exchange(tool, &attempt::idempotency_key(id, step))
    }

    /// The settings, if the engine has any.
    pub fn settings(&self) -> Option<&Settings> {
        self.0.options.settings.as_ref()
    }

    /// The tools of the engine. Known secrets are removed from their outputs.
    pub fn tools(&self) -> &Arc<dyn Tools> {
        &self.0.tools
    }
}

/// The fault for answering a pause that the run no longer waits at.
pub fn stale_checkpoint(run: &Run, asked: Seq) -> Fault {
    let point = |seq: Seq| Checkpoint {
        run: run.id.clone(),
        seq,
    };
    let current = run.pauses.keys().copied().map(point).collect();
    let asked = point(asked);
    Fault::Stale { asked, current }
}

impl EngineInner {
    pub(crate) fn active_runs(&self) -> MutexGuard<'_, HashMap<RunId, Arc<ActiveRun>>> {
        self.active_runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether workflows run as child runs and not as ordinary tool calls.
    pub(crate) fn runs_workflows(&self) -> bool {
        self.options.workflows
    }

    /// A journal writer that continues after this event and this many bytes.
    pub(crate) fn journal_writer(&self, durable: Seq, bytes: u64) -> JournalWriter {
        let observer = self.options.observer.clone();
        JournalWriter::new(Arc::clone(&self.store), observer, durable, bytes)
    }

    /// The observer, if there is one.
    pub(crate) fn observer(&self) -> Option<&dyn Observer> {
        self.options.observer.as_deref()
    }

    /// A seed that no other step in this process gets.
    pub(crate) fn next_seed(&self) -> u64 {
        self.next_seed.fetch_add(1, Ordering::Relaxed)
    }
}
