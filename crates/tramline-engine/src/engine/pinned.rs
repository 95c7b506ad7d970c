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
use seats::Seat;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{RunId, ToolName};
use tramline_core::journal::{
    AgentRun, CallingStep, ProposedCall, Started, ToolAnswered, ToolCalled,
};
use tramline_core::navigate::{self, Pass, Turn, Walk};
use tramline_core::{Str, Value};

mod seats;

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
    /// The conversations that callers have, oldest first, by caller and procedure. Those of named
    /// callers are kept in the store, and here as they were there last.
    active: Mutex<HashMap<Seat, Vec<RunId>>>,
}

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

    /// Whether what is begun here is begun by agents.
    pub(crate) fn serves_agents(&self) -> bool {
        self.0.pinned.serves.load(Ordering::Relaxed)
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

    /// Says why a call of an agent's run would not pass now, before a person is asked about it. What is
    /// refused is recorded in the conversations; nothing is announced.
    pub(crate) async fn judge(
        &self,
        agent: &AgentRun,
        by: &CallingStep,
        call: &ProposedCall,
    ) -> Result<(), Failure> {
        if self.0.pinned.is_free(agent, &call.tool) {
            return Ok(());
        }
        let each = match &call.batch {
            None => std::slice::from_ref(&call.arguments),
            Some(batch) => batch.arguments.as_slice(),
        };
        let mut refused = None;
        for id in &agent.conversations {
            match self.judge_in(id, by, &call.tool, each).await {
                Ok(()) => return Ok(()),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        Err(forbidden(
            refused.unwrap_or_else(|| self.nowhere(&call.tool)),
        ))
    }

    async fn judge_in(
        &self,
        id: &RunId,
        by: &CallingStep,
        tool: &ToolName,
        each: &[Value],
    ) -> Result<(), String> {
        for arguments in each {
            let arguments = self.redacted(arguments.clone()).await;
            let pass = self.pass_of(id, by, tool, &arguments).await?;
            let decide = |walk: &Walk| {
                let turn = navigate::call(walk, pass.clone());
                match turn.refusal {
                    Some(_) => turn,
                    None => Turn::default(),
                }
            };
            let tell = |_: &Walk, turn: &Turn| turn.refusal.clone();
            let refusal = self.navigate(id, decide, tell).await;
            if let Some(refusal) = refusal.map_err(|fault| not_called(tool, &fault))? {
                return Err(refused_says(&refusal));
            }
        }
        Ok(())
    }

    /// A call of a run as the gate of a conversation sees it, if that follows what is pinned here.
    async fn pass_of(
        &self,
        id: &RunId,
        by: &CallingStep,
        tool: &ToolName,
        arguments: &Value,
    ) -> Result<Pass, String> {
        let says = |fault: Fault| not_called(tool, &fault);
        let begun = self.guided(id).await.map_err(says)?;
        if let Some(pins) = self.pins() {
            let follows = begun.pinned.as_ref();
            if !follows.is_some_and(|it| pins.procedures.contains(it)) {
                return Err(self.nowhere(tool));
            }
            self.is_seated(id, &begun).await.map_err(says)?;
        }
        Ok(Pass {
            tool: tool.clone(),
            arguments: arguments.clone(),
            confirmed: None,
            asked_in: None,
            asks: false,
            is_other: self.is_other(&begun, tool).await,
            step: Some(by.clone()),
            upstream: None,
        })
    }

    async fn pass_in(
        &self,
        id: &RunId,
        agent: &AgentRun,
        by: &CallingStep,
        tool: &ToolName,
        arguments: &Value,
    ) -> Result<Permit, String> {
        let says = |fault: Fault| not_called(tool, &fault);
        let pass = self.pass_of(id, by, tool, arguments).await?;
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
        let same_elsewhere = |walk: &Walk| {
            walk.open.values().any(|it| {
                let is_ours = it.step.as_ref().is_some_and(|step| step.run == by.run);
                it.run.is_none() && !is_ours && it.tool == *tool && it.arguments == *arguments
            })
        };
        // What left before by another door and may have happened is not repeated by this one.
        if self.walk(id, same_elsewhere).await.map_err(says)? && !self.is_repeatable(tool).await {
            return Err(format!(
                "{tool} was called like this before in this conversation, and nobody knows whether it happened: look, \
                 and repeat it with sop_call and `again: true` if it did not"
            ));
        }
        let same = |walk: &Walk| {
            let mut open = walk.open.values();
            let found = open.find(|it| it.step.as_deref() == Some(by) && it.tool == *tool);
            found.map(|it| it.call)
        };
        let decide = |walk: &Walk| match same(walk) {
            // After a crash, or a person's word to repeat it, the same step comes back to the call that it
            // announced: the conversation may be elsewhere by now.
            Some(call) => Turn {
                refusal: navigate::against(walk, &pass, call),
                ..Turn::default()
            },
            None => navigate::call(walk, pass.clone()),
        };
        let tell = |walk: &Walk, turn: &Turn| (turn.refusal.clone(), same(walk));
        let (refusal, call) = self.navigate(id, decide, tell).await.map_err(says)?;
        match (refusal, call) {
            (Some(refusal), _) => Err(refused_says(&refusal)),
            (None, Some(call)) => Ok(Permit::Announced(id.clone(), call)),
            (None, None) => Err(format!("{tool} could not be announced in {id}; try again")),
        }
    }

    /// Whether a tool says that a call of it may be repeated. One that cannot be asked says nothing.
    async fn is_repeatable(&self, tool: &ToolName) -> bool {
        let found = self.0.tools.find(tool).await;
        found.is_ok_and(|found| found.hints.repeatable())
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

/// Why a conversation could not be asked about a call of a run.
fn not_called(tool: &ToolName, fault: &Fault) -> String {
    format!(
        "{tool} was not called: {fault}; begin a conversation with load_graph, go where the tool is allowed, \
         and start the run again"
    )
}

/// A refusal of a run's call, with what the agent can do instead.
fn refused_says(refusal: &navigate::Refusal) -> String {
    match refusal {
        navigate::Refusal::Unconfirmed { .. } => format!(
            "{}: call it with sop_call, which asks a person",
            refusal.says()
        ),
        other => other.says(),
    }
}

fn forbidden(message: String) -> Failure {
    let data = Value::object([("sent", false.into())]);
    Failure::new(FailureKind::Forbidden, message).with_data(data)
}
