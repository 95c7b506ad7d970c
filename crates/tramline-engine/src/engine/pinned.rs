//! Pinned procedures: every call of an agent's run passes the gate of one of its conversations.
//!
//! A run that an agent begins at a server is marked in its journal, with the conversations that its
//! caller has at that moment. Calls leave at one place (`perform::attempt`), which wants a [`Permit`];
//! for a marked run that is given here: the call is recorded in the conversation like the agent's
//! own, or refused. The mark travels with the journal, so a run is held to it in every process. Runs
//! that the operator begins have no mark.

use super::Engine;
use crate::fault::Fault;
use crate::policy::{Pattern, fits};
use crate::seams::AppendError;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{
    AgentRun, CallingStep, Event, Outcome, Started, ToolAnswered, ToolCalled,
};
use tramline_core::navigate::{self, Pass, Turn, Walk};
use tramline_core::{Str, Value};

/// Who ends a conversation in whose place another was begun, in its journal.
const SUPERSEDED: &str = "load_graph";

/// What the operator pinned.
#[derive(Clone, Debug)]
pub struct Pins {
    /// The procedures, by name.
    pub procedures: Vec<Str>,
    /// The tools that are called without the gate.
    pub free: Vec<Pattern>,
    /// Whether any of the procedures refuses calls. Where all of them only warn, or take the gate
    /// away from tools, runs need no conversation.
    pub enforces: bool,
    /// How many conversations a caller may have along one procedure at a time.
    pub conversations_max: usize,
}

/// What an engine knows of agents and of what is pinned.
#[derive(Default)]
pub(crate) struct Pinned {
    /// Whether what is begun here is begun by agents.
    serves: AtomicBool,
    pins: OnceLock<Arc<Pins>>,
    /// The conversations that callers have, oldest first, by caller and procedure.
    active: Mutex<HashMap<Seat, Vec<RunId>>>,
}

/// A caller and the procedure that it follows.
type Seat = (Option<Str>, Str);

tokio::task_local! {
    /// The conversation that a request names.
    static NAMED: RunId;
}

/// Carries a request out in a conversation that it names: runs that it begins belong to it.
pub async fn in_conversation<T>(id: RunId, request: impl Future<Output = T>) -> T {
    NAMED.scope(id, request).await
}

/// That a call may leave: nobody holds it back, or it is announced in a conversation.
#[derive(Debug)]
pub(crate) enum Permit {
    /// Nothing is to be recorded beside the run's own journal.
    Free,
    /// It is this call of this conversation.
    Announced(RunId, u32),
}

impl Pinned {
    fn active(&self) -> std::sync::MutexGuard<'_, HashMap<Seat, Vec<RunId>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the calls of a run pass a gate.
    pub(crate) fn holds(&self, started: &Started) -> bool {
        let pinned_here = || self.pins.get().is_some_and(|pins| pins.enforces);
        let agent = started.agent.as_deref();
        agent.is_some_and(|agent| agent.gated || pinned_here())
    }

    /// Whether a tool needs no gate: the operator's word here, or where the run was begun.
    fn is_free(&self, agent: &AgentRun, tool: &ToolName) -> bool {
        match self.pins.get() {
            Some(pins) => pins.free.iter().any(|pattern| pattern.matches(tool)),
            None => agent.free.iter().any(|it| fits(it, &tool.to_string())),
        }
    }

    /// The conversations that a run of a caller belongs to: the one that the request names, or those
    /// of procedures along which it has only one.
    fn conversations(&self, owner: Option<&Str>) -> Vec<RunId> {
        if let Ok(named) = NAMED.try_with(Clone::clone) {
            return vec![named];
        }
        let active = self.active();
        let own = active
            .iter()
            .filter(|((whose, _), _)| whose.as_ref() == owner);
        let mut own: Vec<RunId> = own
            .filter_map(|(_, ids)| match ids.as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            })
            .collect();
        // The latest is most likely meant.
        own.sort_by(|one, other| other.cmp(one));
        own
    }
}

impl Engine {
    /// Says that what is begun here from now on is begun by agents, not by the operator.
    pub fn serve_agents(&self) {
        self.0.pinned.serves.store(true, Ordering::Relaxed);
    }

    /// Pins procedures, once: what agents begin here passes their gate from now on.
    pub fn pin(&self, pins: Pins) -> Result<(), Fault> {
        self.serve_agents();
        let set = self.0.pinned.pins.set(Arc::new(pins));
        set.map_err(|_| Fault::Refused("procedures are pinned already".into()))
    }

    /// What the operator pinned, if anything.
    pub fn pins(&self) -> Option<&Arc<Pins>> {
        self.0.pinned.pins.get()
    }

    /// Whether front ends may use a tool for themselves, outside of runs and conversations.
    pub fn is_free(&self, tool: &ToolName) -> bool {
        let held = self.pins().filter(|pins| pins.enforces);
        held.is_none_or(|pins| pins.free.iter().any(|pattern| pattern.matches(tool)))
    }

    /// The mark of a run that is begun here.
    pub(super) fn mark(&self, owner: Option<&Str>) -> Option<Box<AgentRun>> {
        let pinned = &self.0.pinned;
        if !pinned.serves.load(Ordering::Relaxed) {
            return None;
        }
        let Some(pins) = pinned.pins.get() else {
            return Some(Box::default());
        };
        Some(Box::new(AgentRun {
            gated: pins.enforces,
            asks: false,
            conversations: pinned.conversations(owner),
            free: pins.free.iter().map(|it| it.as_str().into()).collect(),
        }))
    }

    /// Refuses to extend a run whose calls nobody would hold to the procedure.
    pub(super) fn may_amend(&self, started: &Started) -> Result<(), Fault> {
        if started.agent.as_ref().is_some_and(|it| it.asks) {
            let message = "this run asks about one call of a conversation and cannot be extended";
            return Err(Fault::Refused(message.into()));
        }
        match (self.pins(), &started.agent) {
            (Some(_), None) => Err(Fault::Refused(
                "the operator began this run, and procedures are pinned here: it can be extended from the command line only".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Makes a conversation along a pinned procedure its caller's. Beyond what a caller may have, the
    /// oldest ones end; these are given.
    pub async fn seat(
        &self,
        id: &RunId,
        owner: Option<Str>,
        procedure: Str,
    ) -> Result<Vec<RunId>, Fault> {
        let Some(pins) = self.pins() else {
            return Ok(Vec::new());
        };
        let most = pins.conversations_max.max(1);
        let mut ended = Vec::new();
        {
            let mut active = self.0.pinned.active();
            let seated = active.entry((owner, procedure)).or_default();
            seated.push(id.clone());
            while seated.len() > most {
                ended.push(seated.remove(0));
            }
        }
        let mut told = Vec::new();
        for old in ended {
            if self.supersede(&old, id).await? {
                told.push(old);
            }
        }
        Ok(told)
    }

    /// Comes back to a conversation by its name: one that the caller has, or one from before a
    /// restart if there is room for it.
    pub async fn reseat(&self, id: &RunId) -> Result<(), Fault> {
        let Some(pins) = self.pins() else {
            return Ok(());
        };
        let begun = self.guided(id).await?;
        let names = || pins.procedures.join(", ");
        let Some(procedure) = begun
            .pinned
            .clone()
            .filter(|it| pins.procedures.contains(it))
        else {
            return Err(Fault::Refused(format!(
                "{id} follows no procedure that is pinned here ({}): load_graph begins a conversation along one",
                names()
            )));
        };
        let known = {
            let active = self.0.pinned.active();
            let seated = active.get(&(begun.owner.clone(), procedure.clone()));
            let ids = seated.cloned().unwrap_or_default();
            (ids.contains(id), ids)
        };
        if known.0 {
            return Ok(());
        }
        let mut open = Vec::new();
        for other in known.1 {
            let over = self.walk(&other, |walk| walk.outcome.is_some()).await;
            if !over.unwrap_or(true) {
                open.push(other);
            }
        }
        let mut active = self.0.pinned.active();
        let seated = active.entry((begun.owner.clone(), procedure)).or_default();
        seated.retain(|it| open.contains(it));
        if seated.len() >= pins.conversations_max.max(1) {
            let now: Vec<&str> = seated.iter().map(RunId::as_str).collect();
            return Err(Fault::Refused(format!(
                "{id} is not the conversation of this caller any more: {} is; go on there, or begin anew with load_graph",
                now.join(", ")
            )));
        }
        seated.push(id.clone());
        Ok(())
    }

    /// Ends a conversation in whose place another was begun. Whether it was still open.
    async fn supersede(&self, old: &RunId, new: &RunId) -> Result<bool, Fault> {
        let seat = self.0.walking(old).await?;
        let mut walk = seat.lock().await;
        loop {
            self.0.catch_up(&mut walk).await?;
            if walk.outcome.is_some() {
                return Ok(false);
            }
            let asked: Vec<RunId> = walk.asked().map(|(_, run)| run.clone()).collect();
            self.withdraw(&asked).await?;
            let outcome = Outcome::Aborted {
                by: SUPERSEDED.into(),
                why: Some(format!("its caller began {new} along the same procedure")),
            };
            match self
                .0
                .record(&mut walk, &[Event::Finished { outcome }])
                .await
            {
                Ok(()) => return Ok(true),
                Err(AppendError::Moved { .. } | AppendError::Elsewhere { .. }) => {}
                Err(AppendError::Store(fault)) => return Err(fault.into()),
            }
        }
    }

    /// Lets a call of an agent's run pass the gate of one of its conversations, where it is recorded;
    /// otherwise says why not.
    pub(crate) async fn pass(
        &self,
        agent: &AgentRun,
        by: CallingStep,
        tool: &ToolName,
        arguments: &Value,
    ) -> Result<Permit, Failure> {
        if self.0.pinned.is_free(agent, tool) {
            return Ok(Permit::Free);
        }
        let arguments = self.redacted(arguments.clone()).await;
        let mut refused = None;
        for id in &agent.conversations {
            match self.pass_in(id, agent, &by, tool, &arguments).await {
                Ok(permit) => return Ok(permit),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        Err(forbidden(refused.unwrap_or_else(|| self.nowhere(tool))))
    }

    async fn pass_in(
        &self,
        id: &RunId,
        agent: &AgentRun,
        by: &CallingStep,
        tool: &ToolName,
        arguments: &Value,
    ) -> Result<Permit, String> {
        let says = |fault: Fault| {
            format!(
                "{tool} was not called: {fault}; begin a conversation with load_graph, go where the tool is allowed, \
                 and start the run again"
            )
        };
        let begun = self.guided(id).await.map_err(says)?;
        if let Some(pins) = self.pins()
            && !begun
                .pinned
                .as_ref()
                .is_some_and(|it| pins.procedures.contains(it))
        {
            return Err(self.nowhere(tool));
        }
        let pass = Pass {
            tool: tool.clone(),
            arguments: arguments.clone(),
            confirmed: None,
            asked_in: None,
            asks: false,
            is_other: self.is_other(&begun, tool).await,
            step: Some(by.clone()),
            upstream: None,
        };
        if agent.asks {
            // The gate let it pass before the person was asked; what they changed passes it again.
            let is_it = |it: &ToolCalled| it.run.as_ref() == Some(&by.run) && it.tool == *tool;
            let judge = |walk: &Walk| {
                let asked = walk.open.values().find(|it| is_it(it))?;
                Some(navigate::against(walk, &pass, asked.call))
            };
            if let Some(against) = self.walk(id, judge).await.map_err(says)? {
                return match against {
                    Some(refusal) => Err(refusal.says()),
                    None => Ok(Permit::Free),
                };
            }
        }
        let same = |walk: &Walk| {
            let mut open = walk.open.values();
            let found = open.find(|it| it.step.as_deref() == Some(by) && it.tool == *tool);
            found.map(|it| it.call)
        };
        let decide = |walk: &Walk| match same(walk) {
            // After a crash the same step comes back to the call that it announced.
            Some(_) => Turn::default(),
            None => navigate::call(walk, pass.clone()),
        };
        let tell = |walk: &Walk, turn: &Turn| (turn.refusal.clone(), same(walk));
        let (refusal, call) = self.navigate(id, decide, tell).await.map_err(says)?;
        match (refusal, call) {
            (Some(refusal @ navigate::Refusal::Unconfirmed { .. }), _) => Err(format!(
                "{}: call it with sop_call, which asks a person",
                refusal.says()
            )),
            (Some(refusal), _) => Err(refusal.says()),
            (None, Some(call)) => Ok(Permit::Announced(id.clone(), call)),
            (None, None) => Err(format!("{tool} could not be announced in {id}; try again")),
        }
    }

    fn nowhere(&self, tool: &ToolName) -> String {
        let names = self.pins().map(|pins| pins.procedures.join(", "));
        let names = names.map_or_else(String::new, |names| format!(" ({names})"));
        format!(
            "{tool} is called only along a pinned procedure{names}, and this run belongs to no conversation along one: \
             begin one with load_graph, go where the tool is allowed, and start the run again"
        )
    }

    /// Records what came of a call in the conversation that announced it.
    pub(crate) async fn came_back(&self, permit: Permit, answer: &Result<Value, Failure>) {
        let Permit::Announced(id, call) = permit else {
            return;
        };
        let answer = match answer {
            Ok(output) => Ok(self.redacted(output.clone()).await),
            Err(failure) => Err(failure.clone()),
        };
        let answered = ToolAnswered {
            call,
            output: answer.as_ref().cloned().unwrap_or_default(),
            failure: answer.err(),
            by: None,
            edited_arguments: None,
        };
        // A conversation that ended meanwhile has no use for it; the run has it either way.
        let _ = self.record_answer(&id, answered).await;
    }
}

fn forbidden(message: String) -> Failure {
    let data = Value::object([("sent", false.into())]);
    Failure::new(FailureKind::Forbidden, message).with_data(data)
}
