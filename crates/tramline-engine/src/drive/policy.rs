//! The gate before calls: what policy forbids, and what a person must agree to first.

use super::Driver;
use crate::fault::Fault;
use crate::policy::Verdict;
use crate::seams::Tools;
use tramline_core::Str;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{StepNo, ToolName};
use tramline_core::journal::{Event, Pause};
use tramline_core::run::Token;
use tramline_core::workflow::Action;

/// What stands before a call.
enum Gate {
    /// Nothing.
    Open,
    /// A person must agree: this is why.
    Ask(Str),
    /// It may not be made.
    Shut(Failure),
}

impl Driver {
    /// What stands before a call of a tool, as far as its hints are known.
    fn gate(&self, tool: &ToolName, approved: bool) -> Gate {
        match self.inner.options.policy.verdict(tool) {
            Verdict::Deny(pattern) => {
                let message = format!("policy denies {tool} (`{pattern}`); the operator sets it");
                return Gate::Shut(Failure::new(FailureKind::Forbidden, message));
            }
            Verdict::Ask(pattern) if !approved => {
                return Gate::Ask(format!("policy asks about {tool} (`{pattern}`)").into());
            }
            Verdict::Ask(_) | Verdict::Free => {}
        }
        let destroys = || {
            let known = self.inner.tools.known(tool);
            known.is_some_and(|known| known.hints.destructive == Some(true))
        };
        if self.run.graph.workflow.cautious && !approved && destroys() {
            return Gate::Ask(format!("{tool} is annotated as destructive").into());
        }
        Gate::Open
    }

    /// Whether the call that a visit is about to make may be repeated; nothing while its server is
    /// asked, a person is asked, or it may not be made at all.
    pub(super) fn cleared(
        &mut self,
        token: &Token,
        tool: &ToolName,
    ) -> Result<Option<bool>, Fault> {
        // What is denied does not even start its server.
        if self.is_stopped(token, tool)? {
            return Ok(None);
        }
        let Some(repeatable) = self.repeatable(token.node, tool) else {
            return Ok(None);
        };
        let stopped = self.run.graph.workflow.cautious && self.is_stopped(token, tool)?;
        Ok((!stopped).then_some(repeatable))
    }

    /// Asks or fails before a visit begins, if its call may not just leave. Whether so.
    fn is_stopped(&mut self, token: &Token, tool: &ToolName) -> Result<bool, Fault> {
        let (step, node) = (self.run.steps + 1, token.node);
        match self.gate(tool, token.is_approved()) {
            Gate::Open => Ok(false),
            Gate::Ask(reason) => {
                self.ask(Pause::Approval { node, reason })?;
                Ok(true)
            }
            Gate::Shut(failure) => {
                let event = Event::StepFailed {
                    step,
                    node,
                    failure,
                };
                self.ledger.record(&mut self.run, event)?;
                Ok(true)
            }
        }
    }

    /// The last look before an announced call leaves: hints that came late, or a policy that is
    /// stricter than the one under which the step began, still count. It is too late to ask.
    pub(super) fn barred(&self, step: StepNo) -> Option<Failure> {
        let open = self.run.open.get(&step)?;
        let Action::Call { tool, .. } = &self.run.graph.node(open.node).action else {
            return None;
        };
        match self.gate(tool, open.approved) {
            Gate::Open => None,
            Gate::Shut(failure) => Some(failure),
            Gate::Ask(reason) => {
                let message = format!("{reason}, and nobody was asked before; run it again");
                Some(Failure::new(FailureKind::Forbidden, message))
            }
        }
    }
}

/// Asks what a tool does whose server could not be asked before, in a run that wants to know.
pub(super) async fn looked_at(tools: &dyn Tools, tool: &ToolName) -> Result<(), Failure> {
    let found = tools.find(tool).await?;
    if found.hints.destructive == Some(true) {
        let message = format!(
            "{tool} is annotated as destructive, which was not known when it could be asked about; \
             run it again"
        );
        return Err(Failure::new(FailureKind::Forbidden, message));
    }
    Ok(())
}
