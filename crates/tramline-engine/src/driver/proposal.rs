//! Approvals of calls: the call is computed and recorded before a person is asked.

use super::call_settings::sent_arguments;
use super::policy_gate::PolicyGate;
use super::{Completion, Driver};
use crate::engine::Engine;
use crate::fault::Fault;
use crate::ports::ToolHints;
use std::sync::Arc;
use std::time::Duration;
use tramline_workflow::failure::Failure;
use tramline_workflow::ids::{NodeIx, ToolName};
use tramline_workflow::journal::{Annotations, CallingStep, Event, Pause, ProposedCall, RunEvent};
use tramline_workflow::run::{Approval, Token};
use tramline_workflow::step;
use tramline_workflow::workflow::Action;

/// Time for a server to describe its tool before a call of it is proposed: the question matters
/// more than the annotations.
const ANNOTATION_LOOKUP_MAX: Duration = Duration::from_secs(10);

/// The judgement of a procedure's gate on the call of a visit.
pub(super) struct GateJudgement {
    token: Token,
    call: Box<ProposedCall>,
    refusal: Option<Failure>,
}

impl GateJudgement {
    pub(super) fn new(token: Token, call: Box<ProposedCall>, refusal: Option<Failure>) -> Self {
        Self {
            token,
            call,
            refusal,
        }
    }
}

/// Whether a call may be proposed for approval.
enum ApprovalCheck {
    Passes(Box<ProposedCall>),
    Refused(Failure),
    /// The gate is still being asked.
    Pending,
}

impl From<ToolHints> for Annotations {
    fn from(hints: ToolHints) -> Self {
        let ToolHints {
            read_only,
            destructive,
            idempotent,
            open_world,
        } = hints;
        Self {
            read_only,
            destructive,
            idempotent,
            open_world,
        }
    }
}

impl Driver {
    /// Records the pause that the core requests, with its proposed call.
    pub(super) fn ask_next(&mut self, pause: Pause) -> Result<(), Fault> {
        let mut pause = self.under_policy(pause);
        if let Pause::Approval { node, .. } = &pause
            && let Some(token) = self.run.unapproved(*node)
        {
            return self.propose(pause, &token);
        }
        if let Pause::InDoubt {
            call: Some(call), ..
        } = &mut pause
        {
            self.annotate(call);
        }
        self.record_pause(pause)
    }

    /// Proposes the call of a visit. A call that is denied or cannot be made fails instead: there
    /// is nothing to approve.
    pub(super) fn propose(&mut self, mut pause: Pause, token: &Token) -> Result<(), Fault> {
        let node = token.node;
        let tool = match &self.run.graph.node(node).action {
            Action::Call { tool, .. } => tool.clone(),
            _ => return self.record_pause(pause),
        };
        if let PolicyGate::Denied(failure) = self.policy_gate(&tool, Approval::Full) {
            return self.fail_node(node, failure);
        }
        if self.is_looking_up(node, &tool) {
            return Ok(());
        }
        let mut call = match self.proposed(token) {
            Ok(call) => call,
            Err(failure) => return self.fail_node(node, failure),
        };
        call = match call.map(|call| self.check_approval(token, call)) {
            None => None,
            Some(ApprovalCheck::Passes(call)) => Some(call),
            Some(ApprovalCheck::Pending) => return Ok(()),
            Some(ApprovalCheck::Refused(failure)) => return self.fail_node(node, failure),
        };
        if let Some(call) = &mut call {
            self.annotate(call);
        }
        match &mut pause {
            Pause::Approval { call: place, .. } | Pause::Effect { call: place, .. } => {
                *place = call
            }
            Pause::Layer { .. }
            | Pause::InDoubt { .. }
            | Pause::Break { .. }
            | Pause::Child { .. }
            | Pause::Form { .. }
            | Pause::Budget { .. } => {}
        }
        let step = self.run.step_count + 1;
        self.record_step_event(step, node, Event::Run(RunEvent::Paused { pause }))
            .map(drop)
    }

    /// The call that a visit would make. A call that the gate has judged stays unchanged.
    fn proposed(&mut self, token: &Token) -> Result<Option<Box<ProposedCall>>, Failure> {
        if let Some(judgement) = self.judgements.get(&token.node)
            && judgement.token == *token
        {
            return Ok(Some(judgement.call.clone()));
        }
        let (moment, limits) = self.evaluation_context();
        let call = step::proposed_call(&self.run, token, moment, &limits)?;
        Ok(call.map(Box::new))
    }

    /// Fixes the call that a person is asked about: with the values of its settings, and only if a
    /// pinned procedure lets it pass. The gate is asked again when the call is sent.
    fn check_approval(&mut self, token: &Token, mut call: Box<ProposedCall>) -> ApprovalCheck {
        let started = &self.run.started;
        let is_gated = self.inner.pinned.is_gated(started) && !self.is_workflow(&call.tool);
        let agent = started.agent.as_ref().filter(|agent| !agent.asks);
        let agent = agent.filter(|_| is_gated).cloned();
        let settings = self.settings_of(token.node);
        if agent.is_none() && settings.is_none() {
            return ApprovalCheck::Passes(call);
        }
        if let Some(judgement) = self.judgements.remove(&token.node)
            && judgement.token == *token
        {
            return match judgement.refusal {
                None => ApprovalCheck::Passes(judgement.call),
                Some(failure) => ApprovalCheck::Refused(failure),
            };
        }
        let engine = Engine::from_inner(Arc::clone(&self.inner));
        let by = CallingStep {
            run: self.run.id.clone(),
            step: self.run.step_count + 1,
        };
        let token = *token;
        self.preparing.push(token.node);
        self.in_flight.push(Box::pin(async move {
            let sent = match settings {
                None => Ok(sent_arguments(&call)),
                Some(settings) => settings.resolve(&mut call).await,
            };
            let refusal = match (sent, agent) {
                (Err(failure), _) => Some(failure),
                (Ok(_), None) => None,
                (Ok(sent), Some(agent)) => engine.check_gate(&agent, &by, &call, &sent).await.err(),
            };
            Completion::GateJudged(token, call, refusal)
        }));
        ApprovalCheck::Pending
    }

    fn fail_node(&mut self, node: NodeIx, failure: Failure) -> Result<(), Fault> {
        let event = Event::Run(RunEvent::StepFailed {
            step: self.run.step_count + 1,
            node,
            failure,
        });
        self.journal.record(&mut self.run, event).map(drop)
    }

    fn annotate(&self, call: &mut ProposedCall) {
        let known = self.inner.tools.known(&call.tool);
        call.annotations = known.map(|tool| tool.hints.into());
    }

    /// Whether the server of an unknown tool is being asked about it.
    fn is_looking_up(&mut self, node: NodeIx, tool: &ToolName) -> bool {
        let known = self.is_workflow(tool) || self.inner.tools.known(tool).is_some();
        if known || self.looked_up.contains(&node) {
            return false;
        }
        let (tools, tool) = (Arc::clone(&self.inner.tools), tool.clone());
        let patience = self.timeout(node).min(ANNOTATION_LOOKUP_MAX);
        self.preparing.push(node);
        self.in_flight.push(Box::pin(async move {
            // Without an answer the pause has no annotations.
            let _ = tokio::time::timeout(patience, tools.find(&tool)).await;
            Completion::ToolLookedUp(node)
        }));
        true
    }
}
