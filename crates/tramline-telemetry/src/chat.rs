//! A model that tells of each time it is asked.

use crate::ids;
use crate::otlp::Kind;
use crate::watch::{Watch, error_type};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::Instant;
use tramline_core::Str;
use tramline_core::failure::Failure;
use tramline_engine::clock;
use tramline_engine::seams::{Answer, Model, Prompt};

/// A model that tells of each time it is asked.
pub(crate) struct Told {
    pub(crate) model: Arc<dyn Model>,
    /// What it is called where a prompt does not say so.
    pub(crate) name: Str,
    /// Whose manner of speaking it has, in the conventions' words.
    pub(crate) provider: Option<&'static str>,
    pub(crate) watch: Arc<Watch>,
}

#[async_trait]
impl Model for Told {
    async fn complete(&self, prompt: Prompt) -> Result<Answer, Failure> {
        let name = prompt.model.clone().unwrap_or_else(|| self.name.clone());
        let upstream = prompt.upstream.clone();
        let (began_ms, began) = (clock::now_ms(), Instant::now());
        let answer = self.model.complete(prompt).await;
        let kind = answer
            .as_ref()
            .err()
            .map(|failure| error_type(failure.kind));
        let metrics = &self.watch.metrics;
        let values = ["chat", &name, kind.unwrap_or_default()];
        metrics.chats.took(&values, began.elapsed());
        let tokens = answer.as_ref().map_or(0, |answer| answer.tokens);
        metrics.tokens.add(&[&name], tokens);
        tracing::debug!(target: "tramline::model", model = %name, tokens, error = kind, "asked");
        let place = self.watch.place_among(upstream.as_ref());
        if place.sampled {
            let span = place.span(ids::by_chance(), place.within);
            let mut span = span.during(began_ms, clock::now_ms());
            span.named(Kind::Client, "chat", &name);
            span.text("gen_ai.operation.name", "chat");
            span.text("gen_ai.request.model", &name);
            if let Some(provider) = self.provider {
                span.text("gen_ai.provider.name", provider);
            }
            span.number("tramline.tokens", tokens);
            if let Err(failure) = &answer {
                self.watch.failed(&mut span, failure);
            }
            self.watch.push(span);
        }
        answer
    }
}
