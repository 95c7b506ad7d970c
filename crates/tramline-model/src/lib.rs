//! Language models behind HTTP endpoints: the two dialects that nearly all of them speak.
//!
//! This crate alone knows how models are asked. It may not know graphs, MCP or stores, and no key
//! leaves it but in a request's header.

mod anthropic;
mod attempt;
mod cassette;
mod endpoint;
mod events;
mod openai;
mod redact;

pub use cassette::{Recorder, Replayer};
pub use endpoint::{Dialect, Endpoint, Key};
pub use redact::Redact;

use async_trait::async_trait;
use reqwest::Client;
use std::sync::OnceLock;
use tramline_core::failure::{Failure, FailureKind};
use tramline_engine::seams::{Answer, Model, Prompt};

/// A model behind an HTTP endpoint.
#[derive(Debug)]
pub struct HttpModel {
    endpoint: Endpoint,
    /// Made at the first request: loading certificates takes longer than a whole small run.
    client: OnceLock<Result<Client, String>>,
}

impl HttpModel {
    /// A model. Nothing is asked yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            client: OnceLock::new(),
        }
    }

    fn client(&self) -> Result<&Client, Failure> {
        let made = self.client.get_or_init(|| {
            // Fails only if a provider is installed already, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let mut builder = Client::builder().redirect(reqwest::redirect::Policy::none());
            if self.endpoint.is_here() {
                builder = builder.no_proxy();
            }
            builder.build().map_err(|error| error.to_string())
        });
        made.as_ref()
            .map_err(|error| Failure::new(FailureKind::Unavailable, error.clone()))
    }
}

#[async_trait]
impl Model for HttpModel {
    async fn complete(&self, prompt: Prompt) -> Result<Answer, Failure> {
        let client = self.client()?;
        attempt::complete(client, &self.endpoint, &prompt).await
    }
}
