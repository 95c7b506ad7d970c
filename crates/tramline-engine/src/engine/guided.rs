//! Guided runs: conversations along a procedure, moved by an agent and kept in the journal.
//!
//! Nothing drives them. Each word of the agent is decided by the core, appended, and only then told.
//! Conversations in use are kept folded in memory; the journal stays the only truth, and one that
//! another process moved is caught up with before the word is decided again.

use super::{Engine, Inner};
use crate::clock;
use crate::fault::Fault;
use crate::ledger::ended;
use crate::seams::{Append, AppendError, Head, Hold, Status};
use std::sync::Arc;
use tramline_core::ids::RunId;
use tramline_core::journal::{self, Entry, Event, Guided};
use tramline_core::navigate::{Turn, Walk};
use tramline_core::sop::Sop;
use tramline_core::{Str, Value};

mod asking;
mod call;
mod hot;
mod lapse;

pub use asking::{AskedAnswer, Edit};
pub use call::{ToolCall, Went};
pub(super) use hot::Hot;

/// An append that others keep overtaking is given up after so many tries.
const TRIES_MAX: usize = 100;

/// What a guided run is begun with.
#[derive(Clone, Debug)]
pub struct Guide {
    /// The procedure, and after it those that its nodes lead into.
    pub sops: Vec<Arc<Sop>>,
    /// By what nodes name the second and later ones.
    pub files: Vec<Str>,
    /// The caller's label that groups runs.
    pub session: Option<Str>,
    /// Where the document is to be found again, in the front end's own words.
    pub origin: Value,
    /// Whose it is: kept for front ends, which compare it.
    pub owner: Option<Str>,
    /// How long it waits for its agent's next word before it is over.
    pub ttl_ms: Option<u64>,
    /// The pinned procedure that it follows, by its name.
    pub pinned: Option<Str>,
}

impl Engine {
    /// Begins a conversation along a procedure.
    pub async fn guide(&self, guide: Guide) -> Result<RunId, Fault> {
        self.note_ttl(guide.ttl_ms).await?;
        let _room = self.room().await?;
        let at_ms = clock::now_ms();
        let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
        let id = RunId::new(at_ms, chance);
        let procedures = guide.sops.iter();
        let built: Result<Vec<_>, String> = procedures
            .map(|sop| self.0.documents.procedures.built(sop))
            .collect();
        let built = built.map_err(Fault::Refused)?;
        let begun = Guided {
            sops: built.iter().map(|it| Arc::clone(&it.sop)).collect(),
            files: guide.files,
            session: guide.session,
            by: self.0.options.name.clone(),
            origin: guide.origin,
            owner: guide.owner,
            ttl_ms: guide.ttl_ms,
            pinned: guide.pinned,
        };
        self.is_discreet_of_agent(&begun)?;
        let event = Event::Guided(Box::new(begun.clone()));
        let walk = Walk::begin(id.clone(), built, begun, at_ms);
        let walk = walk.map_err(|illegal| Fault::Refused(illegal.message))?;
        let mut body = Vec::new();
        let entry = Entry {
            seq: 1,
            at_ms,
            event,
        };
        let documents = self.0.encode(&entry, &mut body)?;
        let append = Append {
            run: id.clone(),
            seen: 0,
            last: 1,
            body,
            head: head(&walk, at_ms),
            // Nobody drives it, so any process may move it.
            hold: Hold::Keep,
            documents,
        };
        self.0.store.append(append).await.map_err(first)?;
        self.0.guided.keep(walk);
        Ok(id)
    }

    /// What an agent brings, without secrets: it is written down.
    pub async fn redacted(&self, value: Value) -> Value {
        self.discreet(value).await
    }

    /// The journal of a run, of whatever kind.
    pub async fn entries(&self, id: &RunId) -> Result<Vec<Entry>, Fault> {
        let (entries, _) = self.0.read(id, 0).await?;
        match entries.is_empty() {
            true => Err(Fault::NotFound(id.clone())),
            false => Ok(entries),
        }
    }

    /// How a conversation began, which never changes.
    pub async fn guided(&self, id: &RunId) -> Result<Arc<Guided>, Fault> {
        let seat = self.0.walking(id).await?;
        let begun = Arc::clone(&seat.lock().await.begun);
        Ok(begun)
    }

    /// Looks at a conversation as it stands.
    pub async fn walk<T>(&self, id: &RunId, tell: impl FnOnce(&Walk) -> T) -> Result<T, Fault> {
        let seat = self.0.walking(id).await?;
        let mut walk = seat.lock().await;
        self.0.catch_up(&mut walk).await?;
        Ok(tell(&walk))
    }

    /// Decides a word of an agent, records what follows, and tells how it stands then.
    pub async fn navigate<T>(
        &self,
        id: &RunId,
        decide: impl Fn(&Walk) -> Turn,
        tell: impl FnOnce(&Walk, &Turn) -> T,
    ) -> Result<T, Fault> {
        let seat = self.0.walking(id).await?;
        let mut walk = seat.lock().await;
        for _ in 0..TRIES_MAX {
            self.ready(&mut walk).await?;
            let turn = decide(&walk);
            if asking::leaves(&turn) {
                // First, so that no question outlives the node that allowed its call.
                let asked: Vec<RunId> = walk.asked().map(|(_, run)| run.clone()).collect();
                self.withdraw(&asked).await?;
            }
            match self.0.record(&mut walk, &turn.events).await {
                Ok(()) => return Ok(tell(&walk, &turn)),
                Err(AppendError::Moved { .. } | AppendError::Elsewhere { .. }) => {
                    self.0.catch_up(&mut walk).await?;
                }
                Err(AppendError::Store(fault)) => return Err(fault.into()),
            }
        }
        Err(Fault::Refused(format!(
            "{id} moves on too fast to be reached; try again"
        )))
    }

    /// Readies a conversation for a word: what became of calls that people were asked about is
    /// recorded, and a conversation whose time is over ends.
    async fn ready(&self, walk: &mut Walk) -> Result<(), Fault> {
        if walk.asked().next().is_some() {
            // Boxed: rare, and it must not make every move's future larger.
            Box::pin(self.settle(walk)).await?;
        }
        if lapse::is_due(walk, clock::now_ms()) {
            Box::pin(self.lapse_walk(walk, clock::now_ms())).await?;
        }
        match &walk.outcome {
            Some(outcome) => Err(lapse::over(walk, outcome)),
            None => Ok(()),
        }
    }
}

impl Inner {
    /// The seat of a conversation: in memory, or folded from its journal.
    pub(super) async fn walking(&self, id: &RunId) -> Result<Arc<hot::Seat>, Fault> {
        if let Some(seat) = self.guided.find(id) {
            return Ok(seat);
        }
        let (entries, _) = self.read(id, 0).await?;
        match entries.first().map(|entry| &entry.event) {
            None => return Err(Fault::NotFound(id.clone())),
            Some(Event::Guided(_)) => {}
            Some(_) => {
                let message = format!("{id} runs a workflow and follows no procedure");
                return Err(Fault::Refused(message));
            }
        }
        let build = |sop: &Arc<Sop>| self.documents.procedures.built(sop);
        let walk = Walk::fold(id.clone(), entries, build).map_err(|illegal| Fault::Damaged {
            run: id.clone(),
            message: illegal.to_string(),
        })?;
        Ok(self.guided.keep(walk))
    }

    /// Applies what another process has appended since.
    pub(super) async fn catch_up(&self, walk: &mut Walk) -> Result<(), Fault> {
        let id = walk.id.clone();
        let (entries, _) = self.read(&id, walk.seq).await?;
        for entry in entries {
            walk.apply(&entry).map_err(|illegal| Fault::Damaged {
                run: id.clone(),
                message: illegal.to_string(),
            })?;
        }
        Ok(())
    }

    /// Appends events, then applies them: what the core decided can be applied. Words outlive the
    /// process; what leaves it, and what came back, outlives the machine's power too.
    pub(super) async fn record(
        &self,
        walk: &mut Walk,
        events: &[Event],
    ) -> Result<(), AppendError> {
        if events.is_empty() {
            return Ok(());
        }
        let at_ms = clock::now_ms();
        let too_large = |error: journal::TooLarge| {
            AppendError::Store(crate::seams::StoreFault {
                message: error.to_string(),
            })
        };
        let (mut body, mut entries) = (Vec::new(), Vec::with_capacity(events.len()));
        for (event, seq) in events.iter().zip(walk.seq + 1..) {
            let event = event.clone();
            let entry = Entry { seq, at_ms, event };
            journal::encode(&entry, &mut body).map_err(too_large)?;
            entries.push(entry);
        }
        let append = Append {
            run: walk.id.clone(),
            seen: walk.seq,
            last: walk.seq + entries.len() as u64,
            body,
            head: after(walk, events, at_ms),
            hold: Hold::Keep,
            documents: Vec::new(),
        };
        match events.iter().all(is_word) {
            true => self.store.jot(append).await?,
            false => self.store.append(append).await?,
        }
        for entry in &entries {
            walk.apply(entry).map_err(|illegal| {
                AppendError::Store(crate::seams::StoreFault {
                    message: illegal.to_string(),
                })
            })?;
        }
        if let Some(observer) = self.observer() {
            observer.walked(walk, &entries);
        }
        Ok(())
    }
}

/// Whether an event is only a word of the agent. What a lost one costs is that it is said again:
/// the next call that leaves is announced by an append which makes all words before it durable.
fn is_word(event: &Event) -> bool {
    match event {
        Event::Moved(_) | Event::Noted(_) | Event::Refused(_) => true,
        Event::Guided(_)
        | Event::ToolCalled(_)
        | Event::ToolAnswered(_)
        | Event::Finished { .. }
        | Event::Started(_)
        | Event::Resumed { .. }
        | Event::StepStarted { .. }
        | Event::Spread { .. }
        | Event::Gathered { .. }
        | Event::Waiting { .. }
        | Event::AttemptFailed { .. }
        | Event::StepFinished { .. }
        | Event::StepFailed { .. }
        | Event::Paused { .. }
        | Event::Answered { .. }
        | Event::Watched { .. }
        | Event::Amended { .. } => false,
    }
}

/// What the list of runs shows of a conversation after these events.
fn after(walk: &Walk, events: &[Event], updated_ms: i64) -> Head {
    let head = head(walk, updated_ms);
    match events.last() {
        Some(Event::Finished { outcome }) => Head {
            status: ended(outcome),
            ..head
        },
        _ => head,
    }
}

/// What the list of runs shows of a conversation that goes on.
fn head(walk: &Walk, updated_ms: i64) -> Head {
    Head {
        status: Status::Guided,
        workflow: walk.sop().name.clone(),
        session: walk.begun.session.clone(),
        started_ms: walk.started_ms,
        updated_ms,
    }
}

/// Why a conversation could not be begun.
fn first(error: AppendError) -> Fault {
    match error {
        AppendError::Moved { .. } | AppendError::Elsewhere { .. } => {
            Fault::Refused("the run is there already; try again".into())
        }
        AppendError::Store(fault) => fault.into(),
    }
}
