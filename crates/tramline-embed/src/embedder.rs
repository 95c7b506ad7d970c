//! A model in this process as an `Embedder`: computing is kept off the threads that wait.

use async_trait::async_trait;
use std::sync::Arc;
use tramline_core::failure::{Failure, FailureKind};
use tramline_engine::seams::Embedder;

/// So many texts per call: an encoder has them done in a second or two.
const BATCH_MAX: usize = 64;

/// What a text means to a model.
pub(crate) trait Reads: Send + Sync + 'static {
    /// The text's vector; all zero where it has no word that the model knows.
    fn read(&self, text: &str) -> Vec<f32>;
}

/// A model in this process.
pub(crate) struct Local {
    name: String,
    reads: Arc<dyn Reads>,
}

impl Local {
    pub(crate) fn new(name: String, reads: Box<dyn Reads>) -> Self {
        Self {
            name,
            reads: reads.into(),
        }
    }
}

#[async_trait]
impl Embedder for Local {
    fn model(&self) -> &str {
        &self.name
    }

    fn batch_max(&self) -> usize {
        BATCH_MAX
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Failure> {
        if texts.len() > BATCH_MAX {
            let message = format!("{} texts at once; {BATCH_MAX} are taken", texts.len());
            return Err(Failure::new(FailureKind::BadArguments, message));
        }
        let reads = self.reads.clone();
        let work = move || texts.iter().map(|text| reads.read(text)).collect();
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Failure::new(FailureKind::Unavailable, format!("the model: {error}")))
    }
}
