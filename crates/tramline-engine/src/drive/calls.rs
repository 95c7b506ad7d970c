//! The calls of a driver: when they may leave, and what becomes of their answers.

use super::policy::looked_at;
use super::proposal::Judgement;
use super::{Came, Driver, Ticket};
use crate::engine::{Called, ChildCall, Engine, Permit, child_key};
use crate::fault::Fault;
use crate::perform::{self, Attempt};
use crate::settings::Settings;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::graph::Graph;
use tramline_core::ids::{NodeIx, Seq, StepNo, ToolName};
use tramline_core::journal::{AgentRun, CallingStep, Event, Parent, Pause};
use tramline_core::run::{Approval, Open};
use tramline_core::upstream::Upstream;
use tramline_core::workflow::{Action, ItemFailures, WORKFLOW_SERVER};
use tramline_core::{Str, Value};

impl Driver {
    /// Whether a call may be repeated; nothing while its server is still being asked.
    pub(super) fn repeatable(&mut self, node: NodeIx, tool: &ToolName) -> Option<bool> {
        // A cautious workflow wants to know of every tool whether it destroys anything.
        let word = self.run.graph.node(node).repeatable;
        if word.is_some() && !self.run.graph.workflow.cautious {
            return word;
        }
        // A call of a workflow that is made again comes back to the same run.
        if self.is_workflow(tool) {
            return word.or(Some(true));
        }
        if let Some(known) = self.inner.tools.known(tool) {
            return word.or_else(|| Some(known.hints.repeatable()));
        }
        if self.unfound.contains_key(&node) {
            // It will fail before it leaves, so repeating it repeats nothing.
            return word.or(Some(true));
        }
        let (tools, tool) = (Arc::clone(&self.inner.tools), tool.clone());
        let patience = self.timeout(node);
        self.preparing.push(node);
        self.under_way.push(Box::pin(async move {
            let found = tokio::time::timeout(patience, tools.find(&tool)).await;
            Came::Found(
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

    /// Lets an announced call go, or holds it back until its announcement is durable.
    pub(super) fn call(&mut self, step: StepNo, announced: Seq) -> Result<(), Fault> {
        let Some(open) = self.run.open.get(&step) else {
            return Ok(());
        };
        // While a person was asked, its server may have come.
        let unknown = match &self.run.graph.node(open.node).action {
            Action::Call { tool, .. } => self.inner.tools.known(tool).is_none(),
            _ => true,
        };
        if let Some(failure) = self.unfound.remove(&open.node).filter(|_| unknown) {
            return self.attempt_failed(step, failure);
        }
        if let Some(failure) = self.barred(step) {
            return self.attempt_failed(step, failure);
        }
        // A workflow is found again by its step, so that must not change under it.
        let is_child = match &self.run.graph.node(open.node).action {
            Action::Call { tool, .. } => self.is_workflow(tool),
            _ => false,
        };
        // What may be repeated waits only for the ends of calls that may not be: a process that dies
        // now must not have to ask about them.
        let needed = if open.repeatable && !is_child {
            self.settled_at
        } else {
            announced
        };
        if needed <= self.ledger.durable {
            self.leave(step);
        } else {
            self.held.push((needed, step));
        }
        Ok(())
    }

    /// Lets the calls go whose announcements have become durable.
    pub(super) fn release_held(&mut self) {
        let durable = self.ledger.durable;
        let (go, stay) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|(at, _)| *at <= durable);
        self.held = stay;
        let go: Vec<(Seq, StepNo)> = go;
        for (_, step) in go {
            self.leave(step);
        }
    }

    fn leave(&mut self, step: StepNo) {
        let Some(open) = self.run.open.get(&step) else {
            return;
        };
        let Action::Call { tool, arguments } = &self.run.graph.node(open.node).action else {
            return;
        };
        let cancel = CancellationToken::new();
        self.tickets += 1;
        let number = self.tickets;
        if self.is_workflow(tool) {
            if tramline_core::settings::is_used(arguments) {
                self.calls.insert(step, Ticket { number, cancel });
                self.under_way.push(Box::pin(async move {
                    Came::Answer(step, number, Called::Answer(Err(handed_on())))
                }));
                return;
            }
            let call = self.child_call(step, open, &tool.tool, cancel.clone());
            let most = self.run.graph.node(open.node).timeout_ms;
            self.calls.insert(step, Ticket { number, cancel });
            let engine = Engine::of(Arc::clone(&self.inner));
            self.under_way.push(Box::pin(async move {
                Came::Answer(step, number, perform::workflow(&engine, call, most).await)
            }));
            return;
        }
        let attempt = Attempt {
            upstream: self.beneath(step, open.attempt),
            tool: tool.clone(),
            arguments: open.arguments.clone(),
            key: perform::key(&self.run.id, step),
            timeout: self.timeout(open.node),
            most: self
                .run
                .graph
                .node(open.node)
                .timeout_ms
                .map(Duration::from_millis),
            cancel: cancel.clone(),
        };
        self.calls.insert(step, Ticket { number, cancel });
        let tools = Arc::clone(&self.inner.tools);
        let gate = self.gate_of(step, &open.arguments);
        let filling = self.settings_of(open.node);
        let cautious = self.run.graph.workflow.cautious && open.approval == Approval::None;
        let unseen = cautious && tools.known(&attempt.tool).is_none();
        self.under_way.push(Box::pin(async move {
            let mut attempt = attempt;
            if let Some((settings, graph, node)) = filling
                && let Action::Call { arguments, .. } = &graph.node(node).action
            {
                // Only the call gets the values; the journal has their names.
                match settings.fill_in(arguments, &attempt.arguments).await {
                    Ok(filled) => attempt.arguments = filled,
                    Err(failure) => {
                        return Came::Answer(step, number, Called::Answer(Err(failure)));
                    }
                }
            }
            if unseen && let Err(failure) = looked_at(&*tools, &attempt.tool).await {
                return Came::Answer(step, number, Called::Answer(Err(failure)));
            }
            let permit = match gate.pass(&attempt).await {
                Ok(permit) => permit,
                Err(failure) => return Came::Answer(step, number, Called::Answer(Err(failure))),
            };
            let answer = perform::attempt(tools, attempt, &permit).await;
            gate.came_back(permit, &answer).await;
            Came::Answer(step, number, Called::Answer(answer))
        }));
    }

    /// What lets a step's call pass: nobody, unless an agent began the run while procedures were
    /// pinned.
    fn gate_of(&self, step: StepNo, arguments: &Value) -> StepGate {
        let started = &self.run.started;
        if !self.inner.pinned.holds(started) {
            return StepGate(None);
        }
        StepGate(started.agent.clone().map(|agent| {
            let engine = Engine::of(Arc::clone(&self.inner));
            let run = self.run.id.clone();
            let by = CallingStep { run, step };
            (engine, agent, by, arguments.clone())
        }))
    }

    /// What fills in the settings that a node's call names, if it names any.
    fn settings_of(&self, node: NodeIx) -> Option<(Settings, Arc<Graph>, NodeIx)> {
        let settings = self.inner.options.settings.as_ref()?;
        let Action::Call { arguments, .. } = &self.run.graph.node(node).action else {
            return None;
        };
        let used = tramline_core::settings::is_used(arguments);
        used.then(|| (settings.clone(), Arc::clone(&self.run.graph), node))
    }

    /// Whether a tool is a workflow that is run here as a run of its own.
    pub(super) fn is_workflow(&self, tool: &ToolName) -> bool {
        tool.server == WORKFLOW_SERVER && self.inner.runs_workflows()
    }

    fn child_call(
        &self,
        step: StepNo,
        open: &Open,
        name: &Str,
        cancel: CancellationToken,
    ) -> ChildCall {
        let above = self.run.started.parent.as_ref();
        ChildCall {
            name: name.clone(),
            arguments: open.arguments.clone(),
            parent: Parent {
                run: self.run.id.clone(),
                step,
                depth: above.map_or(1, |parent| parent.depth + 1),
            },
            born_ms: self.run.started_ms,
            key: child_key(&self.run.id, step, open.failed),
            session: self.run.started.session.clone(),
            owner: self.run.started.owner.clone(),
            budget: self.budget_left(),
            operator_budget: self.operator_budget_left(),
            origin: self.run.started.origin.clone(),
            // A caller's span is handed down whoever is told of ours.
            upstream: self
                .beneath(step, open.attempt)
                .or_else(|| self.run.started.upstream.as_deref().cloned()),
            agent: self.run.started.agent.clone(),
            cancel,
        }
    }

    /// What goes with a call, for who is called.
    fn beneath(&self, step: StepNo, attempt: u32) -> Option<Upstream> {
        self.inner.observer()?.beneath(&self.run, step, attempt)
    }

    /// Another attempt of a step that is open already.
    pub(super) fn again(&mut self, step: StepNo) -> Result<(), Fault> {
        let Some(open) = self.run.open.get(&step) else {
            return Ok(());
        };
        let event = Event::StepStarted {
            step,
            node: open.node,
            attempt: open.attempt + 1,
            arguments: Value::Null,
            repeatable: open.repeatable,
            of: open.of,
        };
        let seq = self.ledger.record(&mut self.run, event)?;
        self.call(step, seq)
    }

    /// Takes what came back from something under way.
    pub(super) fn came(&mut self, came: Came) -> Result<(), Fault> {
        match came {
            Came::Found(node, found) => {
                self.preparing.retain(|at| *at != node);
                if let Err(failure) = found {
                    self.unfound.insert(node, failure);
                }
                Ok(())
            }
            Came::LookedUp(node) => {
                self.preparing.retain(|at| *at != node);
                self.looked_up.insert(node);
                Ok(())
            }
            Came::Judged(token, call, refusal) => {
                self.preparing.retain(|at| *at != token.node);
                self.judged
                    .insert(token.node, Judgement::new(token, call, refusal));
                Ok(())
            }
            Came::Rested(step) => self.rested(step),
            Came::Answer(step, number, answer) => {
                if self
                    .calls
                    .get(&step)
                    .is_none_or(|call| call.number != number)
                {
                    return Ok(());
                }
                self.calls.remove(&step);
                match (self.run.open.get(&step), answer) {
                    // The run ended, or somebody decided about the step while it was under way.
                    (None, _) => Ok(()),
                    (Some(open), Called::Waits(run)) => {
                        let node = open.node;
                        self.ask(Pause::Child { step, node, run })
                    }
                    (Some(open), Called::Answer(Ok(output))) => {
                        let (node, repeatable) = (open.node, open.repeatable);
                        let event = Event::StepFinished {
                            step,
                            node,
                            label: None,
                            output,
                        };
                        self.note(step, node, event)?;
                        if !repeatable {
                            self.settled_at = self.run.seq;
                        }
                        Ok(())
                    }
                    (Some(_), Called::Answer(Err(failure))) => self.attempt_failed(step, failure),
                }
            }
        }
    }

    fn attempt_failed(&mut self, step: StepNo, mut failure: Failure) -> Result<(), Fault> {
        let Some(open) = self.run.open.get(&step) else {
            return Ok(());
        };
        let (node, attempt) = (open.node, open.attempt);
        // After these the call may have happened: only what may be repeated is.
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
        // Unless whoever called knows that it never left.
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
            let event = Event::AttemptFailed {
                step,
                failure,
                wait_ms: 0,
                in_doubt: true,
            };
            return self.note(step, node, event).map(drop);
        }
        if let (Some(wait_ms), true, false) = (wait_ms, failure.kind.may_pass(), barred) {
            let event = Event::AttemptFailed {
                step,
                failure,
                wait_ms,
                in_doubt: false,
            };
            if self.note(step, node, event)?.is_none() {
                return Ok(());
            }
            self.rest(step, Duration::from_millis(wait_ms));
            return Ok(());
        }
        if wait_ms.is_some() && barred {
            failure.message.push_str(
                "; not retried, since the call may have happened: \
                 write `idempotent: true` at the node if it may be repeated",
            );
        }
        let event = Event::StepFailed {
            step,
            node,
            failure,
        };
        self.note(step, node, event)?;
        // A failed item may have ended the others.
        self.forget_closed();
        Ok(())
    }
}

/// The gate that a step's call passes, with what it is judged by: its arguments without secrets.
struct StepGate(Option<(Engine, Box<AgentRun>, CallingStep, Value)>);

impl StepGate {
    async fn pass(&self, attempt: &Attempt) -> Result<Permit, Failure> {
        match &self.0 {
            None => Ok(Permit::Free),
            Some((engine, agent, by, arguments)) => {
                engine
                    .pass(agent, by.clone(), &attempt.tool, arguments)
                    .await
            }
        }
    }

    async fn came_back(&self, permit: Permit, answer: &Result<Value, Failure>) {
        if let Some((engine, ..)) = &self.0 {
            engine.came_back(permit, answer).await;
        }
    }
}

impl Driver {
    /// Whether a call must not be made again unasked. A workflow that is called again after it
    /// failed is another run, so what may have happened in it would be repeated, too.
    fn is_unrepeatable(&self, open: &Open) -> bool {
        let node = self.run.graph.node(open.node);
        let is_child = match &node.action {
            Action::Call { tool, .. } => self.is_workflow(tool),
            Action::Entry
            | Action::Compute { .. }
            | Action::Choose { .. }
            | Action::Wait(_)
            | Action::Exit => false,
        };
        !open.repeatable || is_child && node.repeatable != Some(true)
    }

    /// Whether its document says what happens after a step's call has failed.
    fn is_handled(&self, open: &Open) -> bool {
        let graph = &self.run.graph;
        let keeps = open.of.is_some()
            && graph
                .node(open.node)
                .each
                .as_ref()
                .map(|each| each.failures)
                == Some(ItemFailures::Keep);
        keeps || graph.handles_failure(open.node)
    }
}

/// Why a called workflow is not given a setting: its input stands in its journal.
fn handed_on() -> Failure {
    let message = "a workflow that is called gets no settings, since its input is written down: \
                   name the setting in the called workflow itself";
    Failure::new(FailureKind::Forbidden, message)
}
