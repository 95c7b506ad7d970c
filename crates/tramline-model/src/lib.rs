//! Language models behind HTTP endpoints, in the two common API dialects.
//!
//! The only crate that knows the APIs of models. It must not know graphs, MCP or stores, and a key leaves it only in
//! the header of a request.

mod anthropic;
mod cassette;
mod endpoint;
mod key_parts;
mod openai;
mod redact;
mod retry;
mod sse;

pub use cassette::{Recorder, Replayer};
pub use endpoint::{ApiKey, Dialect, Endpoint};
pub use redact::Redact;

use async_trait::async_trait;
use reqwest::Client;
use std::sync::OnceLock;
use tramline_engine::ports::{Model, ModelAnswer, Prompt};
use tramline_workflow::failure::{Failure, FailureKind};

/// A model behind an HTTP endpoint.
#[derive(Debug)]
pub struct HttpModel {
    endpoint: Endpoint,
    /// Created with the first request: loading certificates takes longer than a whole small run.
    client: OnceLock<Result<Client, String>>,
}

impl HttpModel {
    /// A model. Sends nothing yet.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            client: OnceLock::new(),
        }
    }

    fn client(&self) -> Result<&Client, Failure> {
        let made = self.client.get_or_init(|| {
            // Fails only if a provider is already installed, which is fine.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let mut builder = Client::builder().redirect(reqwest::redirect::Policy::none());
            if self.endpoint.is_local() {
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
    async fn complete(&self, prompt: Prompt) -> Result<ModelAnswer, Failure> {
        let client = self.client()?;
        retry::complete_with_retries(client, &self.endpoint, &prompt).await
    }
}
