//! A model in this process as an `Embedder`. Computation runs on blocking threads.

use async_trait::async_trait;
use std::sync::Arc;
use tramline_catalog::search::Embedder;
use tramline_workflow::failure::{Failure, FailureKind};

/// Most texts per call. An encoder needs a second or two for them.
const BATCH_MAX: usize = 64;

/// A model that embeds texts.
pub(crate) trait TextEncoder: Send + Sync + 'static {
    /// The text's vector; all zero if the model knows none of its words.
    fn encode(&self, text: &str) -> Vec<f32>;
}

/// A model in this process.
pub(crate) struct LocalEmbedder {
    name: String,
    encoder: Arc<dyn TextEncoder>,
}

impl LocalEmbedder {
    pub(crate) fn new(name: String, reads: Box<dyn TextEncoder>) -> Self {
        Self {
            name,
            encoder: reads.into(),
        }
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    fn batch_max(&self) -> usize {
        BATCH_MAX
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Failure> {
        if texts.len() > BATCH_MAX {
            let message = format!("{} texts at once; the limit is {BATCH_MAX}", texts.len());
            return Err(Failure::new(FailureKind::BadArguments, message));
        }
        let reads = self.encoder.clone();
        let work = move || texts.iter().map(|text| reads.encode(text)).collect();
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Failure::new(FailureKind::Unavailable, format!("the model: {error}")))
    }
}
