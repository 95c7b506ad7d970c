//! A model that tells of each time it is asked.

use crate::watch::{Watch, error_type};
use crate::{ids, metrics};
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
        let values = metrics::labels(["chat", &name, kind.unwrap_or_default()]);
        self.watch.metrics.chats.took(values, began.elapsed());
        let tokens = answer.as_ref().map_or(0, |answer| answer.tokens);
        let values = metrics::labels([&name]);
        self.watch.metrics.tokens.add(values, tokens);
        tracing::debug!(target: "tramline::model", model = %name, tokens, error = kind, "asked");
        let place = self.watch.place_among(upstream.as_ref());
        if place.sampled {
            let title = format!("chat {name}");
            let within = place.within;
            let mut span = place.span(ids::by_chance(), within, title, began_ms, clock::now_ms());
            span.kind = crate::span::Kind::Client;
            span.text("gen_ai.operation.name", "chat");
            span.text("gen_ai.request.model", name);
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
