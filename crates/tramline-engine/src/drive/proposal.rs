//! Questions about a call: the call is worked out and recorded before somebody is asked about it.

use super::policy::Gate;
use super::{Came, Driver};
use crate::engine::Engine;
use crate::fault::Fault;
use crate::seams::Hints;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::failure::Failure;
use tramline_core::ids::{NodeIx, ToolName};
use tramline_core::journal::{Annotations, CallingStep, Event, Pause, ProposedCall};
use tramline_core::run::{Approval, Token};
use tramline_core::step;
use tramline_core::workflow::Action;

/// A server is asked what its tool does before a person is asked about a call, but no longer than
/// this: the question is worth more than the annotations.
const LOOK_UP_MAX: Duration = Duration::from_secs(10);

/// What the gate of a procedure says to a call that a visit would make.
pub(super) struct Judgement {
    token: Token,
    call: Box<ProposedCall>,
    refusal: Option<Failure>,
}

impl Judgement {
    pub(super) fn new(token: Token, call: Box<ProposedCall>, refusal: Option<Failure>) -> Self {
        Self {
            token,
            call,
            refusal,
        }
    }
}

/// Whether a person may be asked about a call.
enum Judged {
    Passes(Box<ProposedCall>),
    Refused(Failure),
    /// The gate is being asked.
    Later,
}

impl From<Hints> for Annotations {
    fn from(hints: Hints) -> Self {
        let Hints {
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
    /// Asks what the core wants to be asked, with the call that it is about.
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
        self.ask(pause)
    }

    /// Asks about the call that a visit is about to make. What may not or cannot be called fails
    /// instead: there is nothing to agree to.
    pub(super) fn propose(&mut self, mut pause: Pause, token: &Token) -> Result<(), Fault> {
        let node = token.node;
        let tool = match &self.run.graph.node(node).action {
            Action::Call { tool, .. } => tool.clone(),
            _ => return self.ask(pause),
        };
        if let Gate::Shut(failure) = self.gate(&tool, Approval::Full) {
            return self.fails(node, failure);
        }
        if self.looks_up(node, &tool) {
            return Ok(());
        }
        let mut call = match self.proposed(token) {
            Ok(call) => call,
            Err(failure) => return self.fails(node, failure),
        };
        call = match call.map(|call| self.judged(token, call)) {
            None => None,
            Some(Judged::Passes(call)) => Some(call),
            Some(Judged::Later) => return Ok(()),
            Some(Judged::Refused(failure)) => return self.fails(node, failure),
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
            | Pause::Budget { .. } => {}
        }
        let step = self.run.steps + 1;
        self.note(step, node, Event::Paused { pause }).map(drop)
    }

    /// The call that a visit would make. One that the gate has judged stays as it was judged.
    fn proposed(&mut self, token: &Token) -> Result<Option<Box<ProposedCall>>, Failure> {
        if let Some(judgement) = self.judged.get(&token.node)
            && judgement.token == *token
        {
            return Ok(Some(judgement.call.clone()));
        }
        let (moment, limits) = self.surroundings();
        let call = step::propose(&self.run, token, moment, &limits)?;
        Ok(call.map(Box::new))
    }

    /// What the gate of a pinned procedure says to a call about which a person is to be asked: they are
    /// not asked about what will be refused anyway. When the call leaves, the gate is asked again.
    fn judged(&mut self, token: &Token, call: Box<ProposedCall>) -> Judged {
        let started = &self.run.started;
        let Some(agent) = started.agent.as_ref().filter(|agent| !agent.asks) else {
            return Judged::Passes(call);
        };
        if !self.inner.pinned.holds(started) || self.is_workflow(&call.tool) {
            return Judged::Passes(call);
        }
        if let Some(judgement) = self.judged.remove(&token.node)
            && judgement.token == *token
        {
            return match judgement.refusal {
                None => Judged::Passes(judgement.call),
                Some(failure) => Judged::Refused(failure),
            };
        }
        let (engine, agent) = (Engine::of(Arc::clone(&self.inner)), agent.clone());
        let by = CallingStep {
            run: self.run.id.clone(),
            step: self.run.steps + 1,
        };
        let token = *token;
        self.preparing.push(token.node);
        self.under_way.push(Box::pin(async move {
            let refusal = engine.judge(&agent, &by, &call).await.err();
            Came::Judged(token, call, refusal)
        }));
        Judged::Later
    }

    fn fails(&mut self, node: NodeIx, failure: Failure) -> Result<(), Fault> {
        let event = Event::StepFailed {
            step: self.run.steps + 1,
            node,
            failure,
        };
        self.ledger.record(&mut self.run, event).map(drop)
    }

    fn annotate(&self, call: &mut ProposedCall) {
        let known = self.inner.tools.known(&call.tool);
        call.annotations = known.map(|tool| tool.hints.into());
    }

    /// Whether the server of a tool that nobody knows yet is being asked about it.
    fn looks_up(&mut self, node: NodeIx, tool: &ToolName) -> bool {
        let known = self.is_workflow(tool) || self.inner.tools.known(tool).is_some();
        if known || self.looked_up.contains(&node) {
            return false;
        }
        let (tools, tool) = (Arc::clone(&self.inner.tools), tool.clone());
        let patience = self.timeout(node).min(LOOK_UP_MAX);
        self.preparing.push(node);
        self.under_way.push(Box::pin(async move {
            // Without an answer the question is put without annotations.
            let _ = tokio::time::timeout(patience, tools.find(&tool)).await;
            Came::LookedUp(node)
        }));
        true
    }
}
