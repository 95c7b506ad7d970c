//! Questions about a call: the call is worked out and recorded before somebody is asked about it.

use super::policy::Gate;
use super::{Came, Driver};
use crate::fault::Fault;
use crate::seams::Hints;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::failure::Failure;
use tramline_core::ids::{NodeIx, ToolName};
use tramline_core::journal::{Annotations, Event, Pause, ProposedCall};
use tramline_core::run::{Approval, Token};
use tramline_core::step;
use tramline_core::workflow::Action;

/// A server is asked what its tool does before a person is asked about a call, but no longer than
/// this: the question is worth more than the annotations.
const LOOK_UP_MAX: Duration = Duration::from_secs(10);

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
        let (moment, limits) = self.surroundings();
        let mut call = match step::propose(&self.run, token, moment, &limits) {
            Ok(call) => call.map(Box::new),
            Err(failure) => return self.fails(node, failure),
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
