//! The policy check before calls: what is denied, and what needs approval.

use super::Driver;
use crate::fault::Fault;
use crate::policy::{PolicyVerdict, ToolPattern};
use crate::ports::Tools;
use tramline_expr::Str;
use tramline_workflow::authority::ApprovalSource;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::{StepNo, ToolName};
use tramline_workflow::journal::{Event, Pause, RunEvent};
use tramline_workflow::run::{Approval, Token};
use tramline_workflow::workflow::Action;

/// The decision about a call.
pub(super) enum PolicyGate {
    /// It may be made.
    Open,
    /// It needs approval: by whose rule, and why.
    Ask(ApprovalSource, Str),
    /// It may not be made.
    Denied(Failure),
}

impl Driver {
    /// Decides about a call of a tool, as far as its annotations are known.
    pub(super) fn policy_gate(&self, tool: &ToolName, approval: Approval) -> PolicyGate {
        match self.inner.options.policy.verdict(tool) {
            PolicyVerdict::Deny(pattern) => {
                let message =
                    format!("policy denies {tool} (`{pattern}`); ask the operator to change it");
                return PolicyGate::Denied(Failure::new(FailureKind::Forbidden, message));
            }
            PolicyVerdict::Ask(pattern) if approval != Approval::Full => {
                return PolicyGate::Ask(
                    ApprovalSource::Policy,
                    policy_reason(tool, pattern).into(),
                );
            }
            PolicyVerdict::Ask(_) | PolicyVerdict::Allow => {}
        }
        let destroys = || {
            let known = self.inner.tools.known(tool);
            known.is_some_and(|known| known.hints.destructive == Some(true))
        };
        if self.run.graph.workflow.cautious && approval == Approval::None && destroys() {
            let says = format!("{tool} is annotated as destructive");
            return PolicyGate::Ask(ApprovalSource::Destructive, says.into());
        }
        PolicyGate::Open
    }

    /// Attributes a pause to the operator if the policy also requires approval of its call: one
    /// answer then covers both, and only a person can give it.
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
        let PolicyVerdict::Ask(pattern) = self.inner.options.policy.verdict(tool) else {
            return pause;
        };
        Pause::Approval {
            node: *node,
            reason: format!("{reason}; {}", policy_reason(tool, pattern)).into(),
            source: Some(ApprovalSource::Policy),
            call: None,
        }
    }

    /// Whether the call of a visit may be repeated; `None` while its server is being asked, while
    /// it waits for approval, or if it may not be made at all.
    pub(super) fn preflight(
        &mut self,
        token: &Token,
        tool: &ToolName,
    ) -> Result<Option<bool>, Fault> {
        // A denied call does not even start its server.
        if self.pause_or_fail(token, tool)? {
            return Ok(None);
        }
        let Some(repeatable) = self.repeatable(token.node, tool) else {
            return Ok(None);
        };
        let stopped = self.run.graph.workflow.cautious && self.pause_or_fail(token, tool)?;
        Ok((!stopped).then_some(repeatable))
    }

    /// Pauses or fails before a visit starts, if its call may not be sent. Returns whether it did.
    fn pause_or_fail(&mut self, token: &Token, tool: &ToolName) -> Result<bool, Fault> {
        let (step, node) = (self.run.step_count + 1, token.node);
        match self.policy_gate(tool, token.approval()) {
            PolicyGate::Open => Ok(false),
            PolicyGate::Ask(source, reason) => {
                let pause = Pause::Approval {
                    node,
                    reason,
                    source: Some(source),
                    call: None,
                };
                self.propose(pause, token)?;
                Ok(true)
            }
            PolicyGate::Denied(failure) => {
                let event = Event::Run(RunEvent::StepFailed {
                    step,
                    node,
                    failure,
                });
                self.journal.record(&mut self.run, event)?;
                Ok(true)
            }
        }
    }

    /// The last check before a recorded call is sent: late annotations, or a policy stricter than
    /// when the step started, still count. It is too late to ask for approval.
    pub(super) fn policy_denial(&self, step: StepNo) -> Option<Failure> {
        let open = self.run.open_steps.get(&step)?;
        let Action::Call { tool, .. } = &self.run.graph.node(open.node).action else {
            return None;
        };
        match self.policy_gate(tool, open.approval) {
            PolicyGate::Open => None,
            PolicyGate::Denied(failure) => Some(failure),
            PolicyGate::Ask(_, reason) => {
                let message = format!(
                    "{reason}, but approval was not requested before this step; start a new run"
                );
                Some(Failure::new(FailureKind::Forbidden, message))
            }
        }
    }
}

fn policy_reason(tool: &ToolName, pattern: &ToolPattern) -> String {
    format!("policy requires approval of {tool} (`{pattern}`)")
}

/// Checks the annotations of a tool whose server could not be asked before, in a cautious run.
pub(super) async fn check_late_annotations(
    tools: &dyn Tools,
    tool: &ToolName,
) -> Result<(), Failure> {
    let found = tools.find(tool).await?;
    if found.hints.destructive == Some(true) {
        let message = format!(
            "{tool} is annotated as destructive, which was not known before this step; \
             start a new run"
        );
        return Err(Failure::new(FailureKind::Forbidden, message));
    }
    Ok(())
}
