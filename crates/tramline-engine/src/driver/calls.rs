//! The calls of a driver: when they may be sent, and how their results are handled.

use super::claim_check::ClaimCheck;
use super::policy_gate::check_late_annotations;
use super::proposal::GateJudgement;
use super::{Completion, Driver, InFlightCall};
use crate::attempt::{self, Attempt};
use crate::engine::{CallPermit, ChildCall, ChildOutcome, Engine, GatedArguments, child_key};
use crate::fault::Fault;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::{NodeIx, Seq, StepNo, ToolName};
use tramline_workflow::journal::{AgentRun, CallingStep, Event, ParentStep, Pause, RunEvent};
use tramline_workflow::run::{Approval, OpenStep};
use tramline_workflow::trace_context::TraceContext;
use tramline_workflow::workflow::{Action, ItemFailures, WORKFLOW_SERVER};

impl Driver {
    /// Whether a call may be repeated; `None` while its server is being asked.
    pub(super) fn repeatable(&mut self, node: NodeIx, tool: &ToolName) -> Option<bool> {
        // A cautious workflow needs to know whether each tool is destructive.
        let word = self.run.graph.node(node).repeatable;
        if word.is_some() && !self.run.graph.workflow.cautious {
            return word;
        }
        // A repeated workflow call returns to the same child run.
        if self.is_workflow(tool) {
            return word.or(Some(true));
        }
        if let Some(known) = self.inner.tools.known(tool) {
            return word.or_else(|| Some(known.hints.repeatable()));
        }
        if self.not_found.contains_key(&node) {
            // It fails before it is sent, so a repetition has no effect.
            return word.or(Some(true));
        }
        let (tools, tool) = (Arc::clone(&self.inner.tools), tool.clone());
        let patience = self.timeout(node);
        self.preparing.push(node);
        self.in_flight.push(Box::pin(async move {
            let found = tokio::time::timeout(patience, tools.find(&tool)).await;
            Completion::ToolListed(
                node,
                found.unwrap_or_else(|_| {
                    let ms = patience.as_millis();
                    let message = format!("the server of {tool} was not ready within {ms} ms");
                    Err(Failure::new(FailureKind::Timeout, message))
                }),
            )
        }));
        None
    }

    pub(super) fn timeout(&self, node: NodeIx) -> Duration {
        self.run
            .graph
            .node(node)
            .timeout_ms
            .map_or(self.inner.options.call_timeout, Duration::from_millis)
    }

    /// Sends a recorded call, or holds it back until its record is durable.
    pub(super) fn send_or_hold(&mut self, step: StepNo, announced: Seq) -> Result<(), Fault> {
        let Some(open) = self.run.open_steps.get(&step) else {
            return Ok(());
        };
        // Its server may have connected while the run waited for approval.
        let unknown = match &self.run.graph.node(open.node).action {
            Action::Call { tool, .. } => self.inner.tools.known(tool).is_none(),
            _ => true,
        };
        if let Some(failure) = self.not_found.remove(&open.node).filter(|_| unknown) {
            return self.attempt_failed(step, failure);
        }
        if let Some(failure) = self.policy_denial(step) {
            return self.attempt_failed(step, failure);
        }
        // A child run is found by its step, so the step must not change.
        let is_child = match &self.run.graph.node(open.node).action {
            Action::Call { tool, .. } => self.is_workflow(tool),
            _ => false,
        };
        // Until the first append of a resumed run succeeds, its copy may be stale, and then every step
        // is decided again. A gate counts calls, so it must not see one twice.
        let is_gated = self.inner.pinned.is_gated(&self.run.started);
        let may_be_stale = is_gated && !self.journal.is_claimed() && self.journal.durable > 0;
        // A repeatable call waits only for the results of non-repeatable ones: after a crash these
        // must not be in doubt.
        let needed = if open.repeatable && !is_child && !may_be_stale {
            self.settled_at
        } else {
            announced
        };
        if needed <= self.journal.durable {
            self.send_call(step);
        } else {
            self.held_calls.push((needed, step));
        }
        Ok(())
    }

    /// Sends the calls whose records have become durable.
    pub(super) fn release_held(&mut self) {
        let durable = self.journal.durable;
        let (go, stay) = std::mem::take(&mut self.held_calls)
            .into_iter()
            .partition(|(at, _)| *at <= durable);
        self.held_calls = stay;
        let go: Vec<(Seq, StepNo)> = go;
        for (_, step) in go {
            self.send_call(step);
        }
    }

    fn send_call(&mut self, step: StepNo) {
        let Some(open) = self.run.open_steps.get(&step) else {
            return;
        };
        let Action::Call { tool, arguments } = &self.run.graph.node(open.node).action else {
            return;
        };
        let cancel = CancellationToken::new();
        self.next_ticket += 1;
        let number = self.next_ticket;
        if self.is_workflow(tool) {
            if tramline_workflow::setting_references::uses_settings(arguments) {
                self.calls.insert(step, InFlightCall { number, cancel });
                self.in_flight.push(Box::pin(async move {
                    Completion::CallEnded(
                        step,
                        number,
                        ChildOutcome::Answer(Err(settings_not_passed())),
                    )
                }));
                return;
            }
            let call = self.child_call(step, open, &tool.tool, cancel.clone());
            let most = self.run.graph.node(open.node).timeout_ms;
            self.calls.insert(step, InFlightCall { number, cancel });
            let engine = Engine::from_inner(Arc::clone(&self.inner));
            self.in_flight.push(Box::pin(async move {
                Completion::CallEnded(
                    step,
                    number,
                    attempt::attempt_workflow(&engine, call, most).await,
                )
            }));
            return;
        }
        let attempt = Attempt {
            upstream: self.trace_context(step, open.attempt),
            tool: tool.clone(),
            arguments: open.arguments.clone(),
            key: attempt::idempotency_key(&self.run.id, step),
            timeout: self.timeout(open.node),
            total_timeout: self
                .run
                .graph
                .node(open.node)
                .timeout_ms
                .map(Duration::from_millis),
            cancel: cancel.clone(),
        };
        self.calls.insert(step, InFlightCall { number, cancel });
        let tools = Arc::clone(&self.inner.tools);
        let gate = self.gate_of(step);
        let settings = self.settings_of(open.node);
        let approved = open.approved_settings.clone();
        let cautious = self.run.graph.workflow.cautious && open.approval == Approval::None;
        let unseen = cautious && tools.known(&attempt.tool).is_none();
        let claim = ClaimCheck::before_call(&self.inner, &self.run.id, &self.journal, open);
        self.in_flight.push(Box::pin(async move {
            let mut attempt = attempt;
            let mut written = attempt.arguments.clone();
            if let Some(settings) = settings {
                // The gate and the call get the values; journals have the names of secrets.
                match settings.fill_in(&written, approved.as_ref()).await {
                    Ok(filled) => (attempt.arguments, written) = (filled.sent, filled.written),
                    Err(failure) => {
                        return Completion::CallEnded(
                            step,
                            number,
                            ChildOutcome::Answer(Err(failure)),
                        );
                    }
                }
            }
            if unseen && let Err(failure) = check_late_annotations(&*tools, &attempt.tool).await {
                return Completion::CallEnded(step, number, ChildOutcome::Answer(Err(failure)));
            }
            let permit = match gate.pass(&attempt, written).await {
                Ok(permit) => permit,
                Err(failure) => {
                    return Completion::CallEnded(step, number, ChildOutcome::Answer(Err(failure)));
                }
            };
            if !claim.is_still_ours().await {
                return Completion::ClaimLost;
            }
            let answer = attempt::attempt(tools, attempt, &permit).await;
            gate.record_result(permit, &answer).await;
            Completion::CallEnded(step, number, ChildOutcome::Answer(answer))
        }));
    }

    /// The gate for a step's call: none, unless an agent started the run while procedures were
    /// pinned.
    fn gate_of(&self, step: StepNo) -> StepGate {
        let started = &self.run.started;
        if !self.inner.pinned.is_gated(started) {
            return StepGate(None);
        }
        StepGate(started.agent.clone().map(|agent| {
            let engine = Engine::from_inner(Arc::clone(&self.inner));
            let run = self.run.id.clone();
            let by = CallingStep { run, step };
            let open = self.run.open_steps.get(&step);
            (
                engine,
                agent,
                by,
                open.is_some_and(|it| it.is_relayed_retry),
            )
        }))
    }

    /// Whether a tool is a workflow that runs as a child run here.
    pub(super) fn is_workflow(&self, tool: &ToolName) -> bool {
        tool.server == WORKFLOW_SERVER && self.inner.runs_workflows()
    }

    fn child_call(
        &self,
        step: StepNo,
        open: &OpenStep,
        name: &Str,
        cancel: CancellationToken,
    ) -> Box<ChildCall> {
        let above = self.run.started.parent.as_ref();
        Box::new(ChildCall {
            name: name.clone(),
            arguments: open.arguments.clone(),
            parent: ParentStep {
                run: self.run.id.clone(),
                step,
                depth: above.map_or(1, |parent| parent.depth + 1),
            },
            created_ms: self.run.started_ms,
            key: child_key(&self.run.id, step, open.failed_attempts),
            session: self.run.started.session.clone(),
            owner: self.run.started.owner.clone(),
            by: self.run.started.by.clone(),
            budget: self.budget_left(),
            operator_budget: self.operator_budget_left(),
            origin: self.run.started.origin.clone(),
            // The caller's span is passed on even if ours are not exported.
            upstream: self
                .trace_context(step, open.attempt)
                .or_else(|| self.run.started.upstream.as_deref().cloned()),
            agent: self.run.started.agent.clone(),
            cancel,
        })
    }

    /// The trace context to send with a call.
    fn trace_context(&self, step: StepNo, attempt: u32) -> Option<TraceContext> {
        self.inner
            .observer()?
            .trace_context(&self.run, step, attempt)
    }

    /// Starts another attempt of an open step.
    pub(super) fn start_attempt(&mut self, step: StepNo) -> Result<(), Fault> {
        let Some(open) = self.run.open_steps.get(&step) else {
            return Ok(());
        };
        let event = Event::Run(RunEvent::StepStarted {
            step,
            node: open.node,
            attempt: open.attempt + 1,
            arguments: Value::Null,
            repeatable: open.repeatable,
            of: open.item,
        });
        let seq = self.journal.record(&mut self.run, event)?;
        self.send_or_hold(step, seq)
    }

    /// Handles the completion of an operation in flight.
    pub(super) fn on_completion(&mut self, came: Completion) -> Result<(), Fault> {
        match came {
            Completion::ToolListed(node, found) => {
                self.preparing.retain(|at| *at != node);
                if let Err(failure) = found {
                    self.not_found.insert(node, failure);
                }
                Ok(())
            }
            Completion::ToolLookedUp(node) => {
                self.preparing.retain(|at| *at != node);
                self.looked_up.insert(node);
                Ok(())
            }
            Completion::SettingsRead(node) => {
                self.preparing.retain(|at| *at != node);
                self.settings_read.insert(node);
                Ok(())
            }
            Completion::GateJudged(token, call, refusal) => {
                self.preparing.retain(|at| *at != token.node);
                self.judgements
                    .insert(token.node, GateJudgement::new(token, call, refusal));
                Ok(())
            }
            Completion::ClaimLost => {
                let run = self.run.id.clone();
                let owner = "another replica, because our lease had run out".into();
                Err(Fault::Elsewhere { run, owner })
            }
            Completion::FormListed(token, form, listed) => {
                self.preparing.retain(|at| *at != token.node);
                listed?;
                self.listed_forms.insert(token.node, (token, form));
                Ok(())
            }
            Completion::TimerFired(step) => self.on_timer(step),
            Completion::CallEnded(step, number, answer) => {
                if self
                    .calls
                    .get(&step)
                    .is_none_or(|call| call.number != number)
                {
                    return Ok(());
                }
                self.calls.remove(&step);
                match (self.run.open_steps.get(&step), answer) {
                    // The run ended, or the step was decided on while the call was in flight.
                    (None, _) => Ok(()),
                    (Some(open), ChildOutcome::Paused(run)) => {
                        let node = open.node;
                        self.record_pause(Pause::Child { step, node, run })
                    }
                    (Some(open), ChildOutcome::Answer(Ok(output))) => {
                        let (node, repeatable) = (open.node, open.repeatable);
                        let event = Event::Run(RunEvent::StepFinished {
                            step,
                            node,
                            label: None,
                            output,
                        });
                        self.record_step_event(step, node, event)?;
                        if !repeatable {
                            self.settled_at = self.run.seq;
                        }
                        Ok(())
                    }
                    (Some(_), ChildOutcome::Answer(Err(failure))) => {
                        self.attempt_failed(step, failure)
                    }
                }
            }
        }
    }

    fn attempt_failed(&mut self, step: StepNo, mut failure: Failure) -> Result<(), Fault> {
        let Some(open) = self.run.open_steps.get(&step) else {
            return Ok(());
        };
        let (node, attempt) = (open.node, open.attempt);
        // After these failures the call may have happened, so only repeatable calls are repeated.
        let in_doubt = match failure.kind {
            FailureKind::Timeout | FailureKind::Unavailable | FailureKind::BadAnswer => true,
            FailureKind::Tool
            | FailureKind::UnknownTool
            | FailureKind::BadArguments
            | FailureKind::Expression
            | FailureKind::Forbidden
            | FailureKind::Cancelled
            | FailureKind::Schema
            | FailureKind::Limit
            | FailureKind::Stalled
            | FailureKind::Rejected
            | FailureKind::NotRecorded => false,
        };
        // Unless the tool reports that the call was never sent.
        let sent = failure
            .data
            .as_ref()
            .and_then(|data| data.get("sent")?.as_bool());
        let doubtful = failure.may_have_happened && self.is_unrepeatable(open);
        let barred = doubtful || in_doubt && sent != Some(false) && !open.repeatable;
        let own = self.run.graph.node(node).retry;
        let away = matches!(
            failure.kind,
            FailureKind::Unavailable | FailureKind::Timeout
        );
        let usual = self.run.graph.workflow.transient;
        let retry = own.or_else(|| usual.filter(|_| away && !barred));
        let wait_ms = retry.and_then(|retry| retry.wait_ms(attempt));
        if doubtful && !self.is_handled(open) {
            let event = Event::Run(RunEvent::AttemptFailed {
                step,
                failure,
                wait_ms: 0,
                in_doubt: true,
            });
            return self.record_step_event(step, node, event).map(drop);
        }
        if let (Some(wait_ms), true, false) = (wait_ms, failure.kind.is_retryable(), barred) {
            let event = Event::Run(RunEvent::AttemptFailed {
                step,
                failure,
                wait_ms,
                in_doubt: false,
            });
            if self.record_step_event(step, node, event)?.is_none() {
                return Ok(());
            }
            self.start_timer(step, Duration::from_millis(wait_ms));
            return Ok(());
        }
        if wait_ms.is_some() && barred {
            failure.message.push_str(
                "; not retried, because the call may have happened: \
                 set `idempotent: true` on the node if it may be repeated",
            );
        }
        let event = Event::Run(RunEvent::StepFailed {
            step,
            node,
            failure,
        });
        self.record_step_event(step, node, event)?;
        // A failed item may have ended the others.
        self.cancel_closed_calls();
        Ok(())
    }
}

/// The gate for a step's call.
struct StepGate(Option<(Engine, Box<AgentRun>, CallingStep, bool)>);

impl StepGate {
    /// Checks the call as it is sent; `written` are its arguments with secrets by name.
    async fn pass(&self, attempt: &Attempt, written: Value) -> Result<CallPermit, Failure> {
        match &self.0 {
            None => Ok(CallPermit::Ungated),
            Some((engine, agent, by, is_relayed_retry)) => {
                let call = GatedArguments {
                    tool: &attempt.tool,
                    sent: &attempt.arguments,
                    written,
                    is_relayed_retry: *is_relayed_retry,
                };
                engine.pass_gate(agent, by.clone(), call).await
            }
        }
    }

    async fn record_result(&self, permit: CallPermit, answer: &Result<Value, Failure>) {
        if let Some((engine, ..)) = &self.0 {
            engine.record_gated_result(permit, answer).await;
        }
    }
}

impl Driver {
    /// Whether a call must not be repeated without confirmation. Calling a workflow again after it
    /// failed starts another run, so calls in it would be repeated too.
    fn is_unrepeatable(&self, open: &OpenStep) -> bool {
        let node = self.run.graph.node(open.node);
        let is_child = node
            .action
            .tool()
            .is_some_and(|tool| self.is_workflow(tool));
        !open.repeatable || is_child && node.repeatable != Some(true)
    }

    /// Whether the document handles a failure of the step's call.
    fn is_handled(&self, open: &OpenStep) -> bool {
        let graph = &self.run.graph;
        let keeps = open.item.is_some()
            && graph
                .node(open.node)
                .each
                .as_ref()
                .map(|each| each.failures)
                == Some(ItemFailures::Keep);
        keeps || graph.handles_failure(open.node)
    }
}

/// The failure of a workflow call with a setting: its input would be stored in the journal.
fn settings_not_passed() -> Failure {
    let message = "settings cannot be passed to a called workflow, because its input is stored: \
                   refer to the setting in the called workflow itself";
    Failure::new(FailureKind::Forbidden, message)
}
