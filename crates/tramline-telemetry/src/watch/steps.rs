//! Steps and their attempts as spans and counts.

use super::open::{Begun, Step};
use super::tell::error_type;
use super::{Place, Scene, Watch, of_run};
use crate::metrics::between;
use crate::otlp::{Kind, Span, TEXT_BYTES_MAX, cut};
use tramline_core::Value;
use tramline_core::failure::Failure;
use tramline_core::ids::{NodeIx, StepNo, ToolName};
use tramline_core::workflow::{Action, WORKFLOW_SERVER};

/// What a step or an attempt came to.
pub(super) type Came<'a> = Result<&'a Value, &'a Failure>;

/// A call of a tool that is over.
pub(super) struct Called<'a> {
    /// Its span, and the one that is within.
    pub(super) id: u64,
    pub(super) within: Option<u64>,
    pub(super) tool: &'a ToolName,
    /// What it was called with, where that is told.
    pub(super) arguments: &'a Value,
    /// From when until when.
    pub(super) during_ms: (i64, i64),
}

impl Watch {
    /// The end of a step, and of the attempt that is under way.
    pub(super) fn step(
        &self,
        scene: &Scene<'_>,
        begun: &Begun,
        (step, node): (StepNo, NodeIx),
        at_ms: i64,
        came: &Came<'_>,
    ) {
        let Scene { run, ids, place } = scene;
        let open = begun.steps.get(&step);
        if let Some(open) = open {
            self.attempt(scene, step, open, at_ms, came);
        }
        let at = run.graph.node(node);
        let [action, named] = action(&at.action);
        let outcome = if came.is_ok() { "finished" } else { "failed" };
        self.metrics.steps.add(&[action, outcome], 1);
        if let Err(failure) = came {
            let values = ["step", failure.kind.code()];
            self.metrics.failures.add(&values, 1);
        }
        // What only passes through is no work.
        let passes = matches!(at.action, Action::Entry | Action::Exit) && came.is_ok();
        if !place.sampled || passes {
            return;
        }
        let within = match open.and_then(|open| open.of) {
            Some(item) => ids.step(item.step),
            None => ids.run(),
        };
        let since_ms = open.map_or(at_ms, |open| open.since_ms);
        let mut span = place
            .span(ids.step(step), Some(within))
            .during(since_ms, at_ms);
        span.named(Kind::Internal, named, at.id.as_str());
        of_run(&mut span, &run.id);
        span.text("tramline.node", at.id.as_str());
        span.number("tramline.step", step);
        if let Some(open) = open.filter(|open| open.attempt > 1) {
            span.number("tramline.attempts", open.attempt);
        }
        if let Some(item) = open.and_then(|open| open.of) {
            span.number("tramline.item", item.index);
        }
        if let Err(failure) = came {
            self.failed(&mut span, failure);
        }
        self.push(span);
    }

    /// The end of an attempt, if one is under way and it is a call of a tool.
    pub(super) fn attempt(
        &self,
        Scene { run, ids, place }: &Scene<'_>,
        step: StepNo,
        open: &Step,
        at_ms: i64,
        came: &Came<'_>,
    ) {
        let (Some(since_ms), Action::Call { tool, .. }) =
            (open.calling_ms, &run.graph.node(open.node).action)
        else {
            return;
        };
        // The run of a workflow that was called stands for the call.
        if tool.server == WORKFLOW_SERVER {
            return;
        }
        let called = Called {
            id: ids.attempt(step, open.attempt),
            within: Some(ids.step(step)),
            tool,
            arguments: &open.arguments,
            during_ms: (since_ms, at_ms),
        };
        if let Some(mut span) = self.call(place, &called, came) {
            of_run(&mut span, &run.id);
            span.text("tramline.node", run.graph.node(open.node).id.as_str());
            span.number("tramline.attempt", open.attempt);
            self.push(span);
        }
    }

    /// Counts a call of a tool, and makes its span if it is recorded.
    pub(super) fn call(&self, place: &Place, called: &Called<'_>, came: &Came<'_>) -> Option<Span> {
        let tool = called.tool;
        let (began_ms, ended_ms) = called.during_ms;
        let transport = (self.transport)(&tool.server);
        let kind = came.err().map_or("", |failure| error_type(failure.kind));
        if let Some(transport) = transport {
            let values = ["tools/call", &tool.tool, transport, &tool.server, kind];
            self.metrics
                .calls
                .took(&values, between(began_ms, ended_ms));
        }
        if !place.sampled {
            return None;
        }
        let mut span = place
            .span(called.id, called.within)
            .during(began_ms, ended_ms);
        span.text("gen_ai.operation.name", "execute_tool");
        span.text("gen_ai.tool.name", &tool.tool);
        span.text("tramline.server", &tool.server);
        match transport {
            Some(transport) => {
                span.named(Kind::Client, "tools/call", &tool.tool);
                span.text("mcp.method.name", "tools/call");
                span.text("network.transport", transport);
            }
            None => span.named(Kind::Internal, "execute_tool", &tool.tool),
        }
        if let Err(failure) = came {
            self.failed(&mut span, failure);
        }
        if self.content {
            if !called.arguments.is_null() {
                self.shown(&mut span, "gen_ai.tool.call.arguments", called.arguments);
            }
            if let Ok(output) = came {
                self.shown(&mut span, "gen_ai.tool.call.result", output);
            }
        }
        Some(span)
    }

    /// Adds what went wrong.
    pub(crate) fn failed(&self, span: &mut Span, failure: &Failure) {
        span.text("error.type", error_type(failure.kind));
        span.text("tramline.failure.code", failure.kind.code());
        span.failed(&(self.redact)(&failure.message));
    }

    fn shown(&self, span: &mut Span, name: &'static str, value: &Value) {
        // Redacted before it is cut: half a secret would not be found.
        let text = (self.redact)(&value.to_json());
        span.text(name, cut(&text, TEXT_BYTES_MAX));
    }
}

/// What a node does, in a word and as its steps' spans are named.
fn action(action: &Action) -> [&'static str; 2] {
    match action {
        Action::Entry => ["entry", "tramline.entry"],
        Action::Call { tool, .. } if tool.server == WORKFLOW_SERVER => {
            ["workflow", "tramline.workflow"]
        }
        Action::Call { .. } => ["call", "tramline.call"],
        Action::Compute { .. } => ["compute", "tramline.compute"],
        Action::Choose { .. } => ["choose", "tramline.choose"],
        Action::Wait(_) => ["wait", "tramline.wait"],
        Action::Exit => ["exit", "tramline.exit"],
    }
}
