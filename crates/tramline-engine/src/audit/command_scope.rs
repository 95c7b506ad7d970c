//! The scope of a command: what it starts, decides and changes, stored while it happens.
//!
//! A command may take long, and its process may die before it ends. The note of a command is therefore stored
//! before its first effect, with the result `started`, and completed at the end: every effect has a note.

use super::classes::StoredNote;
use super::{AuditDecision, AuditNote, REFUSED};
use crate::engine::Engine;
use crate::fault::Fault;
use serde_json::Value as Json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::Mutex;
use tramline_workflow::ids::RunId;

/// Decisions of one command that its note lists; a command answers few pauses.
const DECISIONS_MAX: usize = 64;
/// The result of a command that has not ended, or whose process died before it did.
const STARTED: &str = "started";

tokio::task_local! {
    /// The command that this task executes.
    static SCOPE: Arc<CommandScope>;
}

/// Which commands are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recorded {
    /// Every command.
    Always,
    /// Only commands that decide something.
    IfDecided,
}

/// The command of a task.
pub(super) struct CommandScope {
    state: Mutex<ScopeState>,
}

struct ScopeState {
    /// The note as the front end opened it.
    note: AuditNote,
    recorded: Recorded,
    decided: Vec<AuditDecision>,
    started: Vec<RunId>,
    took_effect: bool,
    /// The stored notes: the first is the command's own, the others belong to further runs that it started.
    stored: Vec<(RunId, StoredNote)>,
}

/// The scope that this task is in.
pub(super) fn current() -> Option<Arc<CommandScope>> {
    SCOPE.try_with(Arc::clone).ok()
}

impl CommandScope {
    pub(super) fn new(note: AuditNote, recorded: Recorded) -> Arc<Self> {
        let state = ScopeState {
            note,
            recorded,
            decided: Vec::new(),
            started: Vec::new(),
            took_effect: false,
            stored: Vec::new(),
        };
        Arc::new(Self {
            state: Mutex::new(state),
        })
    }

    /// Executes a future in this scope.
    pub(super) async fn run<T>(self: &Arc<Self>, work: impl Future<Output = T>) -> T {
        SCOPE.scope(Arc::clone(self), work).await
    }

    /// Records a decision; a later result of the same decision replaces it.
    pub(super) async fn decide(&self, decision: AuditDecision) {
        let mut state = self.state.lock().await;
        state.decided.retain(|one| !one.is_same(&decision));
        state.decided.push(decision);
    }

    /// Records the plan that was made for the command.
    pub(super) async fn add_plan(&self, plan: Json) {
        self.state.lock().await.note.plan = Some(plan);
    }

    /// Stores the note before the command changes a run.
    pub(super) async fn announce(&self, engine: &Engine, run: &RunId) -> Result<(), Fault> {
        let mut state = self.state.lock().await;
        state.store_note(engine, run).await
    }

    /// Stores the note before the command starts a run.
    pub(super) async fn announce_start(&self, engine: &Engine, run: &RunId) -> Result<(), Fault> {
        let mut state = self.state.lock().await;
        state.started.push(run.clone());
        state.store_note(engine, run).await
    }

    /// Records that the command has changed something.
    pub(super) async fn take_effect(&self) {
        self.state.lock().await.took_effect = true;
    }

    /// The note of a command that is over, still without its result. `None` if it is not recorded.
    pub(super) async fn note_without_result(&self, engine: &Engine) -> Option<AuditNote> {
        let state = self.state.lock().await;
        if state.recorded == Recorded::IfDecided && state.decided.is_empty() {
            return None;
        }
        let mut note = state.current_note(engine);
        note.result = String::new();
        Some(note)
    }

    /// Writes the note with its result. A command that took effect was not rejected, whatever its caller was told:
    /// its result is the state of its run.
    pub(super) async fn complete(&self, engine: &Engine, mut note: AuditNote) -> Result<(), Fault> {
        let mut state = self.state.lock().await;
        if state.took_effect && note.result == REFUSED {
            note.result = run_result(engine, note.run.as_deref()).await?;
        }
        let mut stored = std::mem::take(&mut state.stored).into_iter();
        let own = stored.next();
        let run = own.as_ref().map(|(run, _)| run.to_string());
        if run.is_some() {
            note.run = run;
        }
        for (run, stored) in stored {
            let mut note = note.clone();
            note.run = Some(run.to_string());
            engine.complete_note(note, Some(stored)).await?;
        }
        engine
            .complete_note(note, own.map(|(_, stored)| stored))
            .await
    }
}

impl ScopeState {
    /// The note with everything that is known of the command.
    fn current_note(&self, engine: &Engine) -> AuditNote {
        let mut note = self.note.clone();
        let decided = self.decided.iter().take(DECISIONS_MAX);
        note.decisions = decided.map(|one| one.to_json(engine)).collect();
        note.person |= self.decided.iter().any(AuditDecision::is_of_person);
        note.started = self.started.iter().map(ToString::to_string).collect();
        let is_run = |run: &str| run.parse::<RunId>().is_ok();
        if !note.run.as_deref().is_some_and(is_run) {
            let decided = self.decided.first().map(|one| &one.checkpoint().run);
            let run = decided.or(self.started.first());
            note.run = run.map(ToString::to_string).or(note.run);
        }
        note.result = STARTED.to_owned();
        note
    }

    /// Stores the note as it is now, and one for a run that the command's own note does not belong to.
    async fn store_note(&mut self, engine: &Engine, run: &RunId) -> Result<(), Fault> {
        if self.recorded == Recorded::IfDecided && self.decided.is_empty() {
            return Ok(());
        }
        let mut note = self.current_note(engine);
        let own = match self.stored.first() {
            Some((own, _)) => own.clone(),
            None => {
                let named = note.run.as_deref().and_then(|run| run.parse().ok());
                named.unwrap_or_else(|| run.clone())
            }
        };
        for about in [&own, run] {
            let at = self.stored.iter().position(|(known, _)| known == about);
            let before = at.map(|at| self.stored.remove(at).1);
            note.run = Some(about.to_string());
            let stored = engine.announce_note(note.clone(), before).await?;
            let at = at.unwrap_or(self.stored.len());
            self.stored.insert(at, (about.clone(), stored));
            if *about == *run {
                break;
            }
        }
        Ok(())
    }
}

/// The result of a command that took effect: the state of its run.
async fn run_result(engine: &Engine, run: Option<&str>) -> Result<String, Fault> {
    let run = run.and_then(|run| run.parse::<RunId>().ok());
    let row = match &run {
        Some(run) => engine.store().row(run).await?,
        None => None,
    };
    let status = row.map(|row| row.index_row.status.as_str());
    Ok(status.unwrap_or("done").to_owned())
}

impl Engine {
    /// Stores the note of the current command before the command starts a run.
    pub(crate) async fn audit_run_start(&self, run: &RunId) -> Result<(), Fault> {
        match current() {
            Some(scope) => scope.announce_start(self, run).await,
            None => Ok(()),
        }
    }

    /// Stores the note of the current command before the command changes a run.
    pub(crate) async fn audit_run_change(
        &self,
        run: &RunId,
        decision: Option<AuditDecision>,
    ) -> Result<(), Fault> {
        let Some(scope) = current() else {
            return Ok(());
        };
        if let Some(decision) = decision {
            scope.decide(decision).await;
        }
        scope.announce(self, run).await
    }

    /// Records that the current command has changed something.
    pub(crate) async fn audit_effect(&self) {
        if let Some(scope) = current() {
            scope.take_effect().await;
        }
    }

    async fn announce_note(
        &self,
        note: AuditNote,
        before: Option<StoredNote>,
    ) -> Result<StoredNote, Fault> {
        let written = super::NOTES_WRITTEN.fetch_add(1, Ordering::Relaxed) + 1;
        let note = self.redact_note(note);
        let writer = self.audit_writer();
        Ok(writer
            .announce(self.store(), &note, before, written)
            .await?)
    }

    async fn complete_note(
        &self,
        note: AuditNote,
        before: Option<StoredNote>,
    ) -> Result<(), Fault> {
        let Some(before) = before else {
            return self.write_audit_note(note).await;
        };
        let written = super::NOTES_WRITTEN.fetch_add(1, Ordering::Relaxed) + 1;
        let note = self.redact_note(note);
        let writer = self.audit_writer();
        Ok(writer
            .complete(self.store(), &note, before, written)
            .await?)
    }
}
