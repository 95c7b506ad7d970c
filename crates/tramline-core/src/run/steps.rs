//! What a step's events change: tokens are taken and sent on, outputs are kept.

use super::{Open, Run, Stage, Token};
use crate::failure::Failure;
use crate::formats::yaml_graph::BUILTIN;
use crate::graph::Graph;
use crate::ids::{NodeIx, StepNo};
use crate::journal::{Event, Item, Outcome};
use crate::workflow::{Action, DEFAULT_LABEL, ERROR_LABEL, Unhandled};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};

impl Run {
    pub(super) fn open_step(&mut self, step: StepNo) -> Result<&mut Open, String> {
        self.open
            .get_mut(&step)
            .ok_or_else(|| format!("step {step} is not open"))
    }

    /// Takes the token for a step, unless its start already did. Gives the item it was for.
    pub(super) fn enter(&mut self, step: StepNo, node: NodeIx) -> Result<Option<Item>, String> {
        if let Some(open) = self.open.remove(&step) {
            return Ok(open.of);
        }
        if self.spreads.remove(&step).is_some() {
            self.close_items(step);
            return Ok(None);
        }
        self.next_step(step, node)?;
        self.take(node)?;
        Ok(None)
    }

    /// Counts a step, which must be the next one.
    pub(super) fn next_step(&mut self, step: StepNo, node: NodeIx) -> Result<(), String> {
        if node.at() >= self.graph.len() || step != self.steps + 1 {
            return Err(format!(
                "step {step} at node {} is not the next one",
                node.0
            ));
        }
        self.steps = step;
        Ok(())
    }

    /// Takes the token that is about to enter a node.
    pub(super) fn take(&mut self, node: NodeIx) -> Result<Token, String> {
        let token = self.flow.take(node);
        let token = token.ok_or_else(|| self.nothing_enters(node))?;
        self.layer.left = self.layer.left.saturating_sub(1);
        self.forget_given(&token);
        self.agreed.remove(&token.leave.agreed);
        Ok(token)
    }

    /// Forgets an output that was given for a visit whose token is taken.
    pub(super) fn forget_given(&mut self, token: &Token) {
        if token.leave.given
            && let Some(at) = self.given.iter().position(|(at, _)| *at == token.node)
        {
            self.given.remove(at);
        }
    }

    pub(super) fn nothing_enters(&self, node: NodeIx) -> String {
        format!("nothing is about to enter `{}`", self.graph.node(node).id)
    }

    pub(super) fn step_started(&mut self, event: &Event) -> Result<(), String> {
        let Event::StepStarted {
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
        if let Some(open) = self.open.get_mut(step) {
            open.attempt = *attempt;
            open.stage = Stage::Calling;
            self.calls += 1;
            return Ok(());
        }
        self.next_step(*step, *node)?;
        let approval = match of {
            Some(item) => self.item_begins(*item)?,
            None => self.take(*node)?.leave.approval,
        };
        self.calls += 1;
        let open = Open {
            node: *node,
            attempt: *attempt,
            arguments: arguments.clone(),
            repeatable: *repeatable,
            of: *of,
            failed: 0,
            approval,
            stage: Stage::Calling,
        };
        self.open.insert(*step, open);
        Ok(())
    }

    pub(super) fn waiting(
        &mut self,
        step: StepNo,
        node: NodeIx,
        until_ms: i64,
    ) -> Result<(), String> {
        self.next_step(step, node)?;
        let token = self.take(node)?;
        // What it hands on is known now, and may be overtaken in the meantime.
        let arguments = self.history.before(token.from, 1).unwrap_or_default();
        let open = Open {
            node,
            attempt: 1,
            arguments,
            repeatable: true,
            of: None,
            failed: 0,
            approval: token.leave.approval,
            stage: Stage::Sleeping(until_ms),
        };
        self.open.insert(step, open);
        Ok(())
    }

    /// Counts what a model used for a step. Only tools of our own are believed: what a server says
    /// of itself must not end a run.
    pub(super) fn count_tokens(&mut self, node: NodeIx, output: &Value) {
        let node = self.graph.workflow.nodes.get(node.at());
        if let Some(Action::Call { tool, .. }) = node.map(|node| &node.action)
            && tool.server == BUILTIN
        {
            let used = output.get("usage").and_then(|usage| usage.get("tokens"));
            let used = used.and_then(Value::as_u64).unwrap_or(0);
            self.tokens = self.tokens.saturating_add(used);
        }
    }

    pub(super) fn step_ended(&mut self, node: NodeIx, label: Option<&Str>, output: Value) {
        let graph = Arc::clone(&self.graph);
        if let Value::Object(scope) = &mut self.scope {
            Arc::make_mut(scope).insert(graph.node(node).id.clone(), output.clone());
        }
        let visit = self.remember(&graph, node, output);
        let label = label.map_or(DEFAULT_LABEL, Str::as_str);
        self.leave(&graph, node, label, Some(visit));
    }

    /// Keeps an output for those who may ask for it.
    fn remember(&mut self, graph: &Graph, node: NodeIx, output: Value) -> u32 {
        let asked = self
            .watching
            .as_ref()
            .is_some_and(|watching| watching.looks_back);
        let keep = asked || graph.memory.keeps(node);
        self.history.add(node, output, keep)
    }

    pub(super) fn step_failed(&mut self, node: NodeIx, failure: &Failure) {
        let graph = Arc::clone(&self.graph);
        let handled = graph.outs(node).iter().any(|out| out.label == ERROR_LABEL);
        let visit = handled.then(|| {
            let output = failure_value(failure);
            if let Value::Object(scope) = &mut self.scope {
                Arc::make_mut(scope).insert(graph.node(node).id.clone(), output.clone());
            }
            self.remember(&graph, node, output)
        });
        self.layer.failed |= !handled;
        if !handled && graph.workflow.unhandled == Unhandled::EndsRun && self.verdict.is_none() {
            let failure = failure.clone();
            self.verdict = Some(Outcome::Failed {
                failure,
                node: Some(node),
            });
        }
        self.leave(&graph, node, ERROR_LABEL, visit);
    }

    pub(super) fn leave(&mut self, graph: &Graph, node: NodeIx, label: &str, visit: Option<u32>) {
        self.flow.leave(graph, node, label, visit);
        if graph.can_grow() {
            self.trail.push((node, label.into(), visit));
        }
        // The input is there before the first layer: handing it on is none of its own.
        if graph.node(node).action == Action::Entry {
            self.layer.left = self.flow.ready.len();
        }
        if let (Action::Exit, None) = (&graph.node(node).action, &self.verdict) {
            let result = visit
                .and_then(|at| self.history.before(Some(at), 1))
                .unwrap_or_default();
            self.verdict = Some(Outcome::Completed { result });
        }
    }
}

/// What an `error` edge's target sees as the failed node's output.
pub(crate) fn failure_value(failure: &Failure) -> Value {
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
