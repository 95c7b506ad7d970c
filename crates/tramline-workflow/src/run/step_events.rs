//! Applies step events: takes and sends tokens, and keeps outputs.

use super::{OpenStep, Run, StepStage, TaskEnd, Token};
use crate::failure::Failure;
use crate::graph::Graph;
use crate::ids::BUILTIN;
use crate::ids::{NodeIx, StepNo};
use crate::journal::{FanOutItem, Outcome, RunEvent};
use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, UnhandledFailure};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

impl Run {
    pub(super) fn open_step(&mut self, step: StepNo) -> Result<&mut OpenStep, String> {
        self.open_steps
            .get_mut(&step)
            .ok_or_else(|| format!("step {step} is not open"))
    }

    /// Takes the token for a step, unless its start already did. Returns the item it was for.
    pub(super) fn take_step(
        &mut self,
        step: StepNo,
        node: NodeIx,
    ) -> Result<Option<FanOutItem>, String> {
        // The journal may be an imported file.
        if node.index() >= self.graph.len() {
            return Err(format!(
                "step {step} ends at node {}, which does not exist",
                node.0
            ));
        }
        if let Some(open) = self.open_steps.remove(&step) {
            return Ok(open.item);
        }
        if self.fan_outs.remove(&step).is_some() {
            self.drop_items(step);
            return Ok(None);
        }
        self.count_step(step, node)?;
        self.take_token(node)?;
        // A step that only computes has no start event: it started when the previous event happened.
        self.records.start(node, self.updated_ms);
        Ok(None)
    }

    /// Counts a step, which must be the next one.
    pub(super) fn count_step(&mut self, step: StepNo, node: NodeIx) -> Result<(), String> {
        if node.index() >= self.graph.len() || step != self.step_count + 1 {
            return Err(format!(
                "step {step} at node {} is not the next one",
                node.0
            ));
        }
        self.step_count = step;
        Ok(())
    }

    /// Takes the token that is about to enter a node.
    pub(super) fn take_token(&mut self, node: NodeIx) -> Result<Token, String> {
        let token = self.flow.take(node);
        let token = token.ok_or_else(|| self.no_token_message(node))?;
        self.layer.left = self.layer.left.saturating_sub(1);
        self.drop_given_output(&token);
        self.approved_calls.remove(&token.clearance.approved_pause);
        self.records.start(node, self.event_ms);
        Ok(token)
    }

    /// Drops an output that was given for a visit whose token is taken.
    pub(super) fn drop_given_output(&mut self, token: &Token) {
        self.given_outputs.remove(&token.clearance.given_at);
    }

    pub(super) fn no_token_message(&self, node: NodeIx) -> String {
        format!(
            "no token is waiting to enter `{}`",
            self.graph.node(node).id
        )
    }

    pub(super) fn step_started(&mut self, event: &RunEvent) -> Result<(), String> {
        let RunEvent::StepStarted {
            step,
            node,
            attempt,
            arguments,
            repeatable,
            of,
        } = event
        else {
            return Ok(());
        };
        if let Some(open) = self.open_steps.get_mut(step) {
            open.attempt = *attempt;
            open.stage = StepStage::Calling;
            self.call_count += 1;
            return Ok(());
        }
        self.count_step(*step, *node)?;
        let (approval, approved_settings) = match of {
            Some(item) => self.start_item(*item)?,
            None => {
                let approved = self.next_approved_call(*node).map(|it| it.settings.clone());
                (self.take_token(*node)?.clearance.approval, approved)
            }
        };
        self.call_count += 1;
        let open = OpenStep {
            node: *node,
            attempt: *attempt,
            arguments: arguments.clone(),
            repeatable: *repeatable,
            item: *of,
            failed_attempts: 0,
            approval,
            approved_settings,
            is_relayed_retry: false,
            stage: StepStage::Calling,
        };
        self.open_steps.insert(*step, open);
        Ok(())
    }

    pub(super) fn waiting(
        &mut self,
        step: StepNo,
        node: NodeIx,
        until_ms: i64,
    ) -> Result<(), String> {
        self.count_step(step, node)?;
        let token = self.take_token(node)?;
        // The output it passes on is fixed now, because it may be superseded while the step waits.
        let arguments = self.history.before(token.from, 1).unwrap_or_default();
        let open = OpenStep {
            node,
            attempt: 1,
            arguments,
            repeatable: true,
            item: None,
            failed_attempts: 0,
            approval: token.clearance.approval,
            approved_settings: None,
            is_relayed_retry: false,
            stage: StepStage::Sleeping(until_ms),
        };
        self.open_steps.insert(step, open);
        Ok(())
    }

    /// Counts the model tokens of a step. Only built-in tools are trusted: a value that another
    /// server reports must not end a run.
    pub(super) fn count_tokens(&mut self, node: NodeIx, output: &Value) {
        let node = self.graph.workflow.nodes.get(node.index());
        if let Some(Action::Call { tool, .. }) = node.map(|node| &node.action)
            && tool.server == BUILTIN
        {
            let used = output.get("usage").and_then(|usage| usage.get("tokens"));
            let used = used.and_then(Value::as_u64).unwrap_or(0);
            self.model_tokens = self.model_tokens.saturating_add(used);
        }
    }

    pub(super) fn step_ended(&mut self, node: NodeIx, label: Option<&Str>, output: Value) {
        let graph = Arc::clone(&self.graph);
        if let Value::Object(scope) = &mut self.scope {
            Arc::make_mut(scope).insert(graph.node(node).id.clone(), output.clone());
        }
        self.records.finish(node, TaskEnd::Succeeded, self.event_ms);
        let visit = self.store_output(&graph, node, output);
        let label = label.map_or(DEFAULT_LABEL, Str::as_str);
        self.finish_visit(&graph, node, label, Some(visit));
    }

    /// Stores an output if an expression may use it later.
    fn store_output(&mut self, graph: &Graph, node: NodeIx, output: Value) -> u32 {
        let asked = self
            .breakpoints
            .as_ref()
            .is_some_and(|watching| watching.looks_back);
        let keep = asked || graph.retention.keeps(node);
        self.history.add(node, output, keep)
    }

    pub(super) fn step_failed(&mut self, node: NodeIx, failure: &Failure) {
        let graph = Arc::clone(&self.graph);
        let handled = graph
            .out_edges(node)
            .iter()
            .any(|out| out.label == ERROR_LABEL);
        let visit = handled.then(|| {
            let output = failure_value(failure);
            if let Value::Object(scope) = &mut self.scope {
                Arc::make_mut(scope).insert(graph.node(node).id.clone(), output.clone());
            }
            self.store_output(&graph, node, output)
        });
        let end = TaskEnd::Failed(Box::new(failure.clone()));
        self.records.finish(node, end, self.event_ms);
        self.layer.failed |= !handled;
        if !handled
            && graph.workflow.unhandled == UnhandledFailure::EndsRun
            && self.pending_outcome.is_none()
        {
            let failure = failure.clone();
            self.pending_outcome = Some(Outcome::Failed {
                failure,
                node: Some(node),
            });
        }
        self.finish_visit(&graph, node, ERROR_LABEL, visit);
    }

    pub(super) fn finish_visit(
        &mut self,
        graph: &Graph,
        node: NodeIx,
        label: &str,
        visit: Option<u32>,
    ) {
        self.flow.finish_visit(graph, node, label, visit);
        if graph.is_extensible() {
            self.visit_trail.push((node, label.into(), visit));
        }
        // The entry does not count as a layer: the nodes after it form the first one.
        if graph.node(node).action == Action::Entry {
            self.layer.left = self.flow.ready.len();
        }
        if let (Action::Exit, None) = (&graph.node(node).action, &self.pending_outcome) {
            let result = visit
                .and_then(|at| self.history.before(Some(at), 1))
                .unwrap_or_default();
            self.pending_outcome = Some(Outcome::Completed { result });
        }
    }
}

/// The failed node's output as seen by the target of an `error` edge.
pub fn failure_value(failure: &Failure) -> Value {
    let mut error = Map::new();
    error.insert("code", failure.kind.code().into());
    error.insert("message", failure.message.as_str().into());
    if let Some(data) = &failure.data {
        error.insert("data", data.clone());
    }
    if failure.may_have_happened {
        error.insert("may_have_happened", true.into());
    }
    Value::object([("error", error.into())])
}
