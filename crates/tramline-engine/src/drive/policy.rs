//! The gate before calls: what policy forbids, and what a person must agree to first.

use super::Driver;
use crate::fault::Fault;
use crate::policy::{Pattern, Verdict};
use crate::seams::Tools;
use tramline_core::Str;
use tramline_core::authority::ApprovalSource;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::{StepNo, ToolName};
use tramline_core::journal::{Event, Pause};
use tramline_core::run::{Approval, Token};
use tramline_core::workflow::Action;

/// What stands before a call.
pub(super) enum Gate {
    /// Nothing.
    Open,
    /// A person must agree: who demands it, and why.
    Ask(ApprovalSource, Str),
    /// It may not be made.
    Shut(Failure),
}

impl Driver {
    /// What stands before a call of a tool, as far as its hints are known.
    pub(super) fn gate(&self, tool: &ToolName, approval: Approval) -> Gate {
        match self.inner.options.policy.verdict(tool) {
            Verdict::Deny(pattern) => {
                let message = format!("policy denies {tool} (`{pattern}`); the operator sets it");
                return Gate::Shut(Failure::new(FailureKind::Forbidden, message));
            }
            Verdict::Ask(pattern) if approval != Approval::Full => {
                return Gate::Ask(ApprovalSource::Policy, policy_asks(tool, pattern).into());
            }
            Verdict::Ask(_) | Verdict::Free => {}
        }
        let destroys = || {
            let known = self.inner.tools.known(tool);
            known.is_some_and(|known| known.hints.destructive == Some(true))
        };
        if self.run.graph.workflow.cautious && approval == Approval::None && destroys() {
            let says = format!("{tool} is annotated as destructive");
            return Gate::Ask(ApprovalSource::Destructive, says.into());
        }
        Gate::Open
    }

    /// A question, put under the operator's name where its call is also one that the policy asks
    /// about: one answer then covers both, and only a person can give it.
    pub(super) fn under_policy(&self, pause: Pause) -> Pause {
        let Pause::Approval {
            node,
            reason,
            source: Some(ApprovalSource::Document | ApprovalSource::Destructive) | None,
            ..
        } = &pause
        else {
            return pause;
        };
        let Action::Call { tool, .. } = &self.run.graph.node(*node).action else {
            return pause;
        };
        let Verdict::Ask(pattern) = self.inner.options.policy.verdict(tool) else {
            return pause;
        };
        Pause::Approval {
            node: *node,
            reason: format!("{reason}; {}", policy_asks(tool, pattern)).into(),
            source: Some(ApprovalSource::Policy),
            call: None,
        }
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
        match self.gate(tool, token.approval()) {
            Gate::Open => Ok(false),
            Gate::Ask(source, reason) => {
                let pause = Pause::Approval {
                    node,
                    reason,
                    source: Some(source),
                    call: None,
                };
                self.propose(pause, token)?;
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
        match self.gate(tool, open.approval) {
            Gate::Open => None,
            Gate::Shut(failure) => Some(failure),
            Gate::Ask(_, reason) => {
                let message = format!("{reason}, and nobody was asked before; run it again");
                Some(Failure::new(FailureKind::Forbidden, message))
            }
        }
    }
}

fn policy_asks(tool: &ToolName, pattern: &Pattern) -> String {
    format!("policy asks about {tool} (`{pattern}`)")
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
