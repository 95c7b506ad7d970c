//! Steps and their attempts as spans and metrics.

use super::open_spans::OpenSpans;
use super::spans::error_type;
use super::{ObservedRun, SpanContext, TelemetryObserver, set_run_attributes};
use crate::metrics::elapsed;
use crate::otlp::{OtlpSpan, SpanKind, TEXT_BYTES_MAX, truncate};
use tramline_expr::Value;
use tramline_views::step_tracker::TrackedStep;
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::{Action, WORKFLOW_SERVER};

/// The result of a step or an attempt.
pub(super) type CallResult<'a> = Result<&'a Value, &'a Failure>;

/// A tool call that has ended.
pub(super) struct EndedCall<'a> {
    /// Its span and the parent span.
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) tool: &'a ToolName,
    /// Its arguments, if content is exported.
    pub(super) arguments: &'a Value,
    /// When it started and ended, in milliseconds since 1970.
    pub(super) during_ms: (i64, i64),
}

impl TelemetryObserver {
    /// The end of a step, and of its attempt in flight.
    pub(super) fn step(
        &self,
        scene: &ObservedRun<'_>,
        begun: &mut OpenSpans,
        open: &TrackedStep,
        at_ms: i64,
        came: &CallResult<'_>,
    ) {
        let ObservedRun {
            run,
            ids,
            context: place,
        } = scene;
        let step = open.step;
        let arguments = begun.arguments(step, true);
        self.attempt(scene, open, &arguments, at_ms, came);
        let at = run.graph.node(open.node);
        let [action, named] = action_names(&at.action);
        // A step that was cancelled from outside did not fail.
        let failed = came.as_ref().err();
        let failed = failed.filter(|failure| failure.kind != FailureKind::Cancelled);
        let outcome = match (came, failed) {
            (Ok(_), _) => "finished",
            (Err(_), Some(_)) => "failed",
            (Err(_), None) => "cancelled",
        };
        self.metrics.steps.add(&[action, outcome], 1);
        if let Some(failure) = failed {
            let values = ["step", failure.kind.code()];
            self.metrics.failures.add(&values, 1);
        }
        // Entry and exit nodes do no work.
        let passes = at.action.kind().is_end && came.is_ok();
        if !place.sampled || passes {
            return;
        }
        let within = match open.item {
            Some(item) => ids.step(item.step),
            None => ids.run(),
        };
        let mut span = place
            .span(ids.step(step), Some(within))
            .with_times(open.since_ms, at_ms);
        span.set_name(SpanKind::Internal, named, at.id.as_str());
        set_run_attributes(&mut span, &run.id);
        span.text("tramline.node", at.id.as_str());
        span.number("tramline.step", step);
        if open.attempt > 1 {
            span.number("tramline.attempts", open.attempt);
        }
        if let Some(item) = open.item {
            span.number("tramline.item", item.index);
        }
        if let Err(failure) = came {
            self.failed(&mut span, failure);
        }
        self.push(span);
    }

    /// The end of an attempt, if one is in flight and it is a tool call.
    pub(super) fn attempt(
        &self,
        ObservedRun {
            run,
            ids,
            context: place,
        }: &ObservedRun<'_>,
        open: &TrackedStep,
        arguments: &Value,
        at_ms: i64,
        came: &CallResult<'_>,
    ) {
        let (Some(since_ms), Action::Call { tool, .. }) =
            (open.calling_ms, &run.graph.node(open.node).action)
        else {
            return;
        };
        // The run of the called workflow represents the call.
        if tool.server == WORKFLOW_SERVER {
            return;
        }
        let called = EndedCall {
            id: ids.attempt(open.step, open.attempt),
            parent: Some(ids.step(open.step)),
            tool,
            arguments,
            during_ms: (since_ms, at_ms),
        };
        if let Some(mut span) = self.call(place, &called, came) {
            set_run_attributes(&mut span, &run.id);
            span.text("tramline.node", run.graph.node(open.node).id.as_str());
            span.number("tramline.attempt", open.attempt);
            self.push(span);
        }
    }

    /// Counts a tool call, and creates its span if it is recorded.
    pub(super) fn call(
        &self,
        place: &SpanContext,
        called: &EndedCall<'_>,
        came: &CallResult<'_>,
    ) -> Option<OtlpSpan> {
        let tool = called.tool;
        let (began_ms, ended_ms) = called.during_ms;
        let transport = (self.transport)(&tool.server);
        let kind = came.err().map_or("", |failure| error_type(failure.kind));
        if let Some(transport) = transport {
            let values = ["tools/call", &tool.tool, transport, &tool.server, kind];
            self.metrics
                .calls
                .observe(&values, elapsed(began_ms, ended_ms));
        }
        if !place.sampled {
            return None;
        }
        let mut span = place
            .span(called.id, called.parent)
            .with_times(began_ms, ended_ms);
        span.text("gen_ai.operation.name", "execute_tool");
        span.text("gen_ai.tool.name", &tool.tool);
        span.text("tramline.server", &tool.server);
        match transport {
            Some(transport) => {
                span.set_name(SpanKind::Client, "tools/call", &tool.tool);
                span.text("mcp.method.name", "tools/call");
                span.text("network.transport", transport);
            }
            None => span.set_name(SpanKind::Internal, "execute_tool", &tool.tool),
        }
        if let Err(failure) = came {
            self.failed(&mut span, failure);
        }
        if self.capture_content {
            if !called.arguments.is_null() {
                self.add_content(&mut span, "gen_ai.tool.call.arguments", called.arguments);
            }
            if let Ok(output) = came {
                self.add_content(&mut span, "gen_ai.tool.call.result", output);
            }
        }
        Some(span)
    }

    /// Adds the failure to a span.
    pub(crate) fn failed(&self, span: &mut OtlpSpan, failure: &Failure) {
        span.text("error.type", error_type(failure.kind));
        span.text("tramline.failure.code", failure.kind.code());
        span.failed(&(self.redact)(&failure.message));
    }

    fn add_content(&self, span: &mut OtlpSpan, name: &'static str, value: &Value) {
        // Redacted before it is cut: half a secret would not be found.
        let text = (self.redact)(&value.to_json());
        span.text(name, truncate(&text, TEXT_BYTES_MAX));
    }
}

/// The action of a node as a metric label and as a span name.
fn action_names(action: &Action) -> [&'static str; 2] {
    match action.is_workflow_call() {
        true => ["workflow", "tramline.workflow"],
        false => [action.kind().name, action.kind().span],
    }
}
