//! A model wrapper that records a span and metrics for each request.

use crate::ids;
use crate::observer::{TelemetryObserver, error_type};
use crate::otlp::SpanKind;
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Instant;
use tramline_engine::clock;
use tramline_engine::ports::{Model, ModelAnswer, Prompt};
use tramline_expr::Str;
use tramline_workflow::failure::Failure;

/// A model that records a span and metrics for each request.
pub(crate) struct TracedModel {
    pub(crate) model: Arc<dyn Model>,
    /// The model's name if a prompt does not name one.
    pub(crate) name: Str,
    /// The provider's name in the semantic conventions.
    pub(crate) provider: Option<&'static str>,
    pub(crate) observer: Arc<TelemetryObserver>,
}

#[async_trait]
impl Model for TracedModel {
    async fn complete(&self, prompt: Prompt) -> Result<ModelAnswer, Failure> {
        let name = prompt.model.clone().unwrap_or_else(|| self.name.clone());
        let upstream = prompt.upstream.clone();
        let (began_ms, began) = (clock::now_ms(), Instant::now());
        let answer = self.model.complete(prompt).await;
        let kind = answer
            .as_ref()
            .err()
            .map(|failure| error_type(failure.kind));
        let metrics = &self.observer.metrics;
        let values = ["chat", &name, kind.unwrap_or_default()];
        metrics.chats.observe(&values, began.elapsed());
        let tokens = answer.as_ref().map_or(0, |answer| answer.tokens);
        metrics.tokens.add(&[&name], tokens);
        tracing::debug!(target: "tramline::model", model = %name, tokens, error = kind, "model answered");
        let place = self.observer.context_without_run(upstream.as_ref());
        if place.sampled {
            let span = place.span(ids::random_id(), place.parent);
            let mut span = span.with_times(began_ms, clock::now_ms());
            span.set_name(SpanKind::Client, "chat", &name);
            span.text("gen_ai.operation.name", "chat");
            span.text("gen_ai.request.model", &name);
            if let Some(provider) = self.provider {
                span.text("gen_ai.provider.name", provider);
            }
            span.number("tramline.tokens", tokens);
            if let Err(failure) = &answer {
                self.observer.failed(&mut span, failure);
            }
            self.observer.push(span);
        }
        answer
    }
}
