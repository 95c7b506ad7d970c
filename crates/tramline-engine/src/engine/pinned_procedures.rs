//! Pinned procedures: every call of an agent's run must pass the gate of one of its sessions.
//!
//! A run that an agent starts at a server is marked in its journal, with the sessions that its
//! caller has at that moment. Calls are sent at one place (`perform::attempt`), which requires a
//! [`Permit`]. For a marked run the permit is issued here: the call is recorded in the session like
//! the agent's own, or it is rejected. The mark is part of the journal, so it applies in every
//! process. Runs that the operator starts have no mark.

use super::Engine;
use super::sop_session::CallInFlight;
use crate::fault::Fault;
use crate::policy::{ToolPattern, fits};
use session_owners::SessionOwner;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tramline_expr::{Str, Value};
use tramline_sop::{CallRequest, SopDecision, SopSession};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::journal::{
    AgentRun, CallingStep, ProposedCall, RunStarted, ToolAnswered, ToolCalled,
};

mod reserved_tools;
mod session_owners;

pub use reserved_tools::ReservedTools;
pub use session_owners::PinnedStart;

/// The operator's pinned procedures.
#[derive(Clone, Debug)]
pub struct PinnedProcedures {
    /// The procedures, by name.
    pub procedures: Vec<Str>,
    /// The tools that may be called without the gate.
    pub exempt_tools: Vec<ToolPattern>,
    /// Whether any of the procedures rejects calls. If all of them only warn, or exempt tools from
    /// the gate, runs need no session.
    pub enforces: bool,
    /// The tools of the procedures that reject calls.
    pub reserved: Vec<ReservedTools>,
    /// How many sessions a caller may have for one procedure at a time.
    pub sessions_max: usize,
}

/// The pinned procedures and agent sessions of an engine.
#[derive(Default)]
pub(crate) struct PinnedState {
    /// Whether runs started here are started by agents.
    serves_agents: AtomicBool,
    pins: OnceLock<Arc<PinnedProcedures>>,
    /// The sessions of callers, oldest first, by caller and procedure. Those of named callers are
    /// kept in the store, and cached here.
    active: Mutex<HashMap<SessionOwner, Vec<RunId>>>,
    /// Held while a session is started: each replaces those before it.
    starting: tokio::sync::Mutex<()>,
}

tokio::task_local! {
    /// The session that a request names.
    static NAMED: RunId;
}

/// Executes a request in the session that it names: runs that it starts belong to that session.
pub async fn in_sop_session<T>(id: RunId, request: impl Future<Output = T>) -> T {
    NAMED.scope(id, request).await
}

/// Permission to send a call: it needs no gate, or it is recorded in a session.
#[derive(Debug)]
pub(crate) enum CallPermit {
    /// Nothing is recorded besides the run's own journal.
    Ungated,
    /// It is this call of this session, in flight until the permit is dropped.
    Recorded(RunId, u32, CallInFlight),
}

/// The arguments of a call at the gate.
#[derive(Clone)]
pub(crate) struct GatedArguments<'a> {
    /// The tool.
    pub(crate) tool: &'a ToolName,
    /// The arguments as they are sent, which rules judge.
    pub(crate) sent: &'a Value,
    /// The arguments as they are written, with secrets by name.
    pub(crate) written: Value,
    /// Whether it repeats a call in doubt because an agent said so, not a person.
    pub(crate) is_relayed_retry: bool,
}

impl PinnedState {
    fn lock_active(&self) -> std::sync::MutexGuard<'_, HashMap<SessionOwner, Vec<RunId>>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the calls of a run must pass a gate.
    pub(crate) fn is_gated(&self, started: &RunStarted) -> bool {
        let pinned_here = || self.pins.get().is_some_and(|pins| pins.enforces);
        let agent = started.agent.as_deref();
        agent.is_some_and(|agent| agent.gated || pinned_here())
    }

    /// Whether a tool needs no gate, by the operator's settings here or where the run was started.
    fn is_exempt(&self, agent: &AgentRun, tool: &ToolName) -> bool {
        match self.pins.get() {
            Some(pins) => pins
                .exempt_tools
                .iter()
                .any(|pattern| pattern.matches(tool)),
            None => agent.free.iter().any(|it| fits(it, &tool.to_string())),
        }
    }

    /// The sessions that a caller's run belongs to: the one that the request names, or those of
    /// procedures for which the caller has only one.
    fn sessions_of(&self, owner: Option<&Str>) -> Vec<RunId> {
        if let Ok(named) = NAMED.try_with(Clone::clone) {
            return vec![named];
        }
        let active = self.lock_active();
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
    /// Marks everything started here from now on as started by agents, not by the operator.
    pub fn serve_agents(&self) {
        self.0.pinned.serves_agents.store(true, Ordering::Relaxed);
    }

    /// Whether runs started here are started by agents.
    pub(crate) fn serves_agents(&self) -> bool {
        self.0.pinned.serves_agents.load(Ordering::Relaxed)
    }

    /// Pins procedures, once: calls of agents must pass their gate from now on.
    pub fn pin(&self, pins: PinnedProcedures) -> Result<(), Fault> {
        self.serve_agents();
        let set = self.0.pinned.pins.set(Arc::new(pins));
        set.map_err(|_| Fault::Rejected("procedures are already pinned".into()))
    }

    /// The operator's pinned procedures, if any.
    pub fn pins(&self) -> Option<&Arc<PinnedProcedures>> {
        self.0.pinned.pins.get()
    }

    /// Whether front ends may use a tool themselves, outside of runs and sessions.
    pub fn is_exempt_tool(&self, tool: &ToolName) -> bool {
        let held = self.pins().filter(|pins| pins.enforces);
        held.is_none_or(|pins| {
            pins.exempt_tools
                .iter()
                .any(|pattern| pattern.matches(tool))
        })
    }

    /// The mark of a run that is started here.
    pub(super) fn agent_mark(&self, owner: Option<&Str>) -> Option<Box<AgentRun>> {
        let pinned = &self.0.pinned;
        if !pinned.serves_agents.load(Ordering::Relaxed) {
            return None;
        }
        let Some(pins) = pinned.pins.get() else {
            return Some(Box::default());
        };
        Some(Box::new(AgentRun {
            gated: pins.enforces,
            asks: false,
            conversations: pinned.sessions_of(owner),
            free: pins
                .exempt_tools
                .iter()
                .map(|it| it.as_str().into())
                .collect(),
        }))
    }

    /// Rejects extending a run whose new calls no gate would check.
    pub(super) fn may_amend(&self, started: &RunStarted) -> Result<(), Fault> {
        if started.agent.as_ref().is_some_and(|it| it.asks) {
            let message = "this run approves one call of an SOP session and cannot be extended";
            return Err(Fault::Rejected(message.into()));
        }
        match (self.pins(), &started.agent) {
            (Some(_), None) => Err(Fault::Rejected(
                "the operator started this run, and procedures are pinned here: extend it from the command line".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Lets a call of an agent's run pass the gate of one of its sessions, where it is recorded, or
    /// returns why it may not pass.
    pub(crate) async fn pass_gate(
        &self,
        agent: &AgentRun,
        by: CallingStep,
        mut call: GatedArguments<'_>,
    ) -> Result<CallPermit, Failure> {
        let tool = call.tool;
        if self.0.pinned.is_exempt(agent, tool) {
            return Ok(CallPermit::Ungated);
        }
        call.written = self.redact_submitted(call.written).await;
        let mut refused = None;
        for id in &agent.conversations {
            match self.pass_gate_in(id, agent, &by, &call).await {
                Ok(permit) => return Ok(permit),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        Err(forbidden(
            refused.unwrap_or_else(|| self.no_session_message(tool)),
        ))
    }

    /// Returns why a call of an agent's run would not pass now, before a person is asked about it.
    /// Rejections are recorded in the sessions; the call itself is not.
    pub(crate) async fn check_gate(
        &self,
        agent: &AgentRun,
        by: &CallingStep,
        call: &ProposedCall,
        sent: &[Value],
    ) -> Result<(), Failure> {
        if self.0.pinned.is_exempt(agent, &call.tool) {
            return Ok(());
        }
        let each = match &call.batch {
            None => std::slice::from_ref(&call.arguments),
            Some(batch) => batch.arguments.as_slice(),
        };
        let mut calls = Vec::with_capacity(each.len());
        for (sent, written) in sent.iter().zip(each) {
            let written = self.redact_submitted(written.clone()).await;
            let tool = &call.tool;
            calls.push(GatedArguments {
                tool,
                sent,
                written,
                is_relayed_retry: false,
            });
        }
        let mut refused = None;
        for id in &agent.conversations {
            match self.check_gate_in(id, by, &calls).await {
                Ok(()) => return Ok(()),
                Err(why) => refused = refused.or(Some(why)),
            }
        }
        Err(forbidden(
            refused.unwrap_or_else(|| self.no_session_message(&call.tool)),
        ))
    }

    async fn check_gate_in(
        &self,
        id: &RunId,
        by: &CallingStep,
        calls: &[GatedArguments<'_>],
    ) -> Result<(), String> {
        for call in calls {
            let pass = self.gate_request(id, by, call).await?;
            let decide = |walk: &SopSession| {
                let turn = tramline_sop::check_call(walk, pass.clone());
                match turn.refusal {
                    Some(_) => turn,
                    None => SopDecision::default(),
                }
            };
            let tell = |_: &SopSession, turn: &SopDecision| turn.refusal.clone();
            let refusal = self.update_sop_session(id, decide, tell).await;
            if let Some(refusal) = refusal.map_err(|fault| not_called_message(call.tool, &fault))? {
                return Err(refusal_message(&refusal));
            }
        }
        Ok(())
    }

    /// A call of a run in the form that the gate of a session checks, if the session follows a
    /// pinned procedure.
    async fn gate_request(
        &self,
        id: &RunId,
        by: &CallingStep,
        call: &GatedArguments<'_>,
    ) -> Result<CallRequest, String> {
        let tool = call.tool;
        let says = |fault: Fault| not_called_message(tool, &fault);
        let begun = self.sop_session_start(id).await.map_err(says)?;
        if let Some(pins) = self.pins() {
            let follows = begun.pinned.as_ref();
            if !follows.is_some_and(|it| pins.procedures.contains(it)) {
                return Err(self.no_session_message(tool));
            }
            self.check_session_owner(id, &begun).await.map_err(says)?;
            if let Some(message) = self.reserved_tool_denial(&begun, tool) {
                return Err(message);
            }
        }
        Ok(CallRequest {
            tool: tool.clone(),
            arguments: call.sent.clone(),
            written: Some(call.written.clone()),
            repeats: None,
            confirmed: None,
            approval_run: None,
            requires_approval: false,
            bare_name_differs: self.is_ambiguous_tool(&begun, tool).await,
            step: Some(by.clone()),
            upstream: None,
        })
    }

    async fn pass_gate_in(
        &self,
        id: &RunId,
        agent: &AgentRun,
        by: &CallingStep,
        call: &GatedArguments<'_>,
    ) -> Result<CallPermit, String> {
        let tool = call.tool;
        let says = |fault: Fault| not_called_message(tool, &fault);
        let pass = self.gate_request(id, by, call).await?;
        if agent.asks {
            // The gate let it pass before the person was asked; edited arguments pass it again.
            let is_it = |it: &ToolCalled| it.run.as_ref() == Some(&by.run) && it.tool == *tool;
            let judge = |walk: &SopSession| {
                let asked = walk.open_calls.values().find(|it| is_it(it))?;
                Some(tramline_sop::announced_call_refusal(
                    walk,
                    &pass,
                    Some(asked.call),
                ))
            };
            if let Some(against) = self.read_sop_session(id, judge).await.map_err(says)? {
                return match against {
                    Some(refusal) => Err(refusal.message()),
                    None => Ok(CallPermit::Ungated),
                };
            }
        }
        let is_same_elsewhere = |it: &ToolCalled| {
            let is_ours = it.step.as_ref().is_some_and(|step| step.run == by.run);
            it.run.is_none() && !is_ours && tramline_sop::may_be_same_call(it, tool, call.sent)
        };
        let in_flight = &self.0.sop_sessions.in_flight;
        let same_elsewhere = |walk: &SopSession| {
            let is_open = walk.open_calls.values().any(is_same_elsewhere);
            is_open.then(|| in_flight.contains(walk, is_same_elsewhere))
        };
        // A call in doubt that was made through another tool is not repeated through this one.
        if let Some(is_running) = self
            .read_sop_session(id, same_elsewhere)
            .await
            .map_err(says)?
            && !self.is_repeatable(tool).await
        {
            if is_running {
                return Err(format!(
                    "{tool} was called with these arguments before in this session, and that call is still running"
                ));
            }
            return Err(format!(
                "{tool} was called with these arguments before in this session, and the result is unknown: check, \
                 and if it did not happen repeat it with sop_call and `again: true`"
            ));
        }
        let same = |walk: &SopSession| {
            let mut open = walk.open_calls.values();
            let found = open.find(|it| it.step.as_deref() == Some(by) && it.tool == *tool);
            found.map(|it| it.call)
        };
        let is_changed = |walk: &SopSession| {
            let recorded = same(walk).and_then(|it| walk.open_calls.get(&it));
            recorded.is_some_and(|it| !tramline_sop::may_be_same_call(it, tool, call.sent))
        };
        // A retry repeats the recorded call, and a setting in it may have changed.
        if self.read_sop_session(id, is_changed).await.map_err(says)? {
            return Err(format!(
                "a setting that this call of {tool} uses has changed since the call was recorded; start a new run"
            ));
        }
        let decide = |walk: &SopSession| match same(walk) {
            // After a crash or an approved retry, the same step finds the call that it recorded:
            // the session may be at another node by now.
            // If an agent approved the retry, limits count the call in doubt.
            Some(recorded) => SopDecision {
                refusal: tramline_sop::announced_call_refusal(
                    walk,
                    &pass,
                    Some(recorded).filter(|_| !call.is_relayed_retry),
                ),
                ..SopDecision::default()
            },
            None => tramline_sop::check_call(walk, pass.clone()),
        };
        let in_flight = &self.0.sop_sessions.in_flight;
        let tell = |walk: &SopSession, turn: &SopDecision| {
            let recorded = same(walk).filter(|_| turn.refusal.is_none());
            let marked = recorded.and_then(|it| Some((it, in_flight.begin(walk, it)?)));
            (turn.refusal.clone(), marked)
        };
        let (refusal, recorded) = self
            .update_sop_session(id, decide, tell)
            .await
            .map_err(says)?;
        match (refusal, recorded) {
            (Some(refusal), _) if call.is_relayed_retry => Err(format!(
                "{}; the call may have been made already, and only a person can repeat it",
                refusal_message(&refusal)
            )),
            (Some(refusal), _) => Err(refusal_message(&refusal)),
            (None, Some((recorded, in_flight))) => {
                Ok(CallPermit::Recorded(id.clone(), recorded, in_flight))
            }
            (None, None) => Err(format!(
                "cannot record the call of {tool} in {id}; try again"
            )),
        }
    }

    /// Whether a tool declares that its calls may be repeated. A tool that cannot be asked does
    /// not.
    async fn is_repeatable(&self, tool: &ToolName) -> bool {
        let found = self.0.tools.find(tool).await;
        found.is_ok_and(|found| found.hints.repeatable())
    }

    fn no_session_message(&self, tool: &ToolName) -> String {
        let names = self.pins().map(|pins| pins.procedures.join(", "));
        let names = names.map_or_else(String::new, |names| format!(" ({names})"));
        let several = match self.pins().is_some_and(|pins| pins.sessions_max > 1) {
            true => {
                ". If you have several sessions, name one as `sop_session_id` in `_meta` of the request"
            }
            false => "",
        };
        format!(
            "{tool} may only be called in a session of a pinned procedure{names}, and this run belongs to none: \
             start one with load_graph, go to a node that allows the tool, and start the run again{several}"
        )
    }

    /// Records the result of a call in the session that recorded the call.
    pub(crate) async fn record_gated_result(
        &self,
        permit: CallPermit,
        answer: &Result<Value, Failure>,
    ) {
        // Dropped when the result is recorded.
        let CallPermit::Recorded(id, call, _in_flight) = permit else {
            return;
        };
        let answer = match answer {
            Ok(output) => Ok(self.redact_submitted(output.clone()).await),
            Err(failure) => Err(failure.clone()),
        };
        let answered = ToolAnswered {
            call,
            redacted: answer
                .as_ref()
                .map_or_else(|_| Vec::new(), |it| self.redacted_places(it)),
            output: answer.as_ref().cloned().unwrap_or_default(),
            failure: answer.err(),
            by: None,
            edited_arguments: None,
        };
        // A session that has ended does not need it; the run has it in any case.
        let _ = self.record_answer(&id, answered).await;
    }
}

/// The message when a session cannot be asked about a call of a run.
fn not_called_message(tool: &ToolName, fault: &Fault) -> String {
    format!(
        "{tool} was not called: {fault}; start a session with load_graph, go to a node that allows the tool, \
         and start the run again"
    )
}

/// A rejection of a run's call, with what the agent can do instead.
fn refusal_message(refusal: &tramline_sop::SopRefusal) -> String {
    match refusal {
        tramline_sop::SopRefusal::ApprovalMissing { .. } => format!(
            "{}: call it with sop_call, which asks a person",
            refusal.message()
        ),
        other => other.message(),
    }
}

fn forbidden(message: String) -> Failure {
    let data = Value::object([("sent", false.into())]);
    Failure::new(FailureKind::Forbidden, message).with_data(data)
}
