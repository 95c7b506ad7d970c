//! Steps and their attempts as spans and counts.

use super::open::{Begun, Step};
use super::tell::error_type;
use super::{Place, Watch, of_run};
use crate::ids;
use crate::metrics::{between, labels};
use crate::span::{Kind, Span, TEXT_BYTES_MAX, cut};
use tramline_core::Value;
use tramline_core::failure::Failure;
use tramline_core::ids::{NodeIx, StepNo, ToolName};
use tramline_core::run::Run;
use tramline_core::workflow::{Action, WORKFLOW_SERVER};

/// What a step or an attempt came to.
pub(super) type Came<'a> = Result<&'a Value, &'a Failure>;

impl Watch {
    /// The end of a step, and of the attempt that is under way.
    #[expect(
        clippy::too_many_arguments,
        reason = "an event's fields, and where it happened"
    )]
    pub(super) fn step(
        &self,
        run: &Run,
        place: &Place,
        begun: &Begun,
        step: StepNo,
        node: NodeIx,
        at_ms: i64,
        came: &Came<'_>,
    ) {
        let open = begun.steps.get(&step);
        if let Some(open) = open {
            self.attempt(run, place, step, open, at_ms, came);
        }
        let at = run.graph.node(node);
        let action = action(&at.action);
        let outcome = if came.is_ok() { "finished" } else { "failed" };
        self.metrics.steps.add(labels([action, outcome]), 1);
        if let Err(failure) = came {
            let values = labels(["step", failure.kind.code()]);
            self.metrics.failures.add(values, 1);
        }
        // What only passes through is no work.
        let passes = matches!(at.action, Action::Entry | Action::Exit) && came.is_ok();
        if !place.sampled || passes {
            return;
        }
        let within = match open.and_then(|open| open.of) {
            Some(item) => ids::step(&run.id, item.step),
            None => ids::run(&run.id),
        };
        let since_ms = open.map_or(at_ms, |open| open.since_ms);
        let name = format!("tramline.{action} {}", at.id);
        let id = ids::step(&run.id, step);
        let mut span = place.span(id, Some(within), name, since_ms, at_ms);
        of_run(&mut span, &run.id);
        span.text("tramline.node", at.id.clone());
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
        run: &Run,
        place: &Place,
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
        let id = ids::attempt(&run.id, step, open.attempt);
        let within = Some(ids::step(&run.id, step));
        let span = place.span(id, within, String::new(), since_ms, at_ms);
        if let Some(mut span) = self.call(place, span, tool, &open.arguments, came) {
            of_run(&mut span, &run.id);
            span.text("tramline.node", run.graph.node(open.node).id.clone());
            span.number("tramline.attempt", open.attempt);
            self.push(span);
        }
    }

    /// Counts a call of a tool, and makes its span if it is recorded.
    pub(super) fn call(
        &self,
        place: &Place,
        mut span: Span,
        tool: &ToolName,
        arguments: &Value,
        came: &Came<'_>,
    ) -> Option<Span> {
        let transport = (self.transport)(&tool.server);
        let kind = came.err().map_or("", |failure| error_type(failure.kind));
        if let Some(transport) = transport {
            let values = labels(["tools/call", &tool.tool, transport, &tool.server, kind]);
            let took = between(span.began_ms, span.ended_ms);
            self.metrics.calls.took(values, took);
        }
        if !place.sampled {
            return None;
        }
        span.text("gen_ai.operation.name", "execute_tool");
        span.text("gen_ai.tool.name", tool.tool.clone());
        span.text("tramline.server", tool.server.clone());
        match transport {
            Some(transport) => {
                span.name = format!("tools/call {}", tool.tool);
                span.kind = Kind::Client;
                span.text("mcp.method.name", "tools/call");
                span.text("network.transport", transport);
            }
            None => span.name = format!("execute_tool {}", tool.tool),
        }
        if let Err(failure) = came {
            self.failed(&mut span, failure);
        }
        if self.content {
            if !arguments.is_null() {
                span.text("gen_ai.tool.call.arguments", self.shown(arguments));
            }
            if let Ok(output) = came {
                span.text("gen_ai.tool.call.result", self.shown(output));
            }
        }
        Some(span)
    }

    /// Adds what went wrong.
    pub(crate) fn failed(&self, span: &mut Span, failure: &Failure) {
        span.text("error.type", error_type(failure.kind));
        span.text("tramline.failure.code", failure.kind.code());
        span.error = Some(self.says(&failure.message));
    }

    fn shown(&self, value: &Value) -> String {
        // Redacted before it is cut: half a secret would not be found.
        let text = (self.redact)(&value.to_json());
        cut(&text, TEXT_BYTES_MAX).to_owned()
    }
}

/// What a node does, in a word.
fn action(action: &Action) -> &'static str {
    match action {
        Action::Entry => "entry",
        Action::Call { tool, .. } if tool.server == WORKFLOW_SERVER => "workflow",
        Action::Call { .. } => "call",
        Action::Compute { .. } => "compute",
        Action::Choose { .. } => "choose",
        Action::Wait(_) => "wait",
        Action::Exit => "exit",
    }
}
