//! `Embedder`: turns texts into vectors that are close if the meanings are.

use async_trait::async_trait;
use tramline_workflow::failure::Failure;

impl std::fmt::Debug for dyn Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Embedder").field(&self.model()).finish()
    }
}

/// Turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// The name of the model. Vectors of different models cannot be compared, so a changed model
    /// gets another name.
    fn model(&self) -> &str;

    /// The most texts that one call accepts.
    fn batch_max(&self) -> usize;

    /// A vector for each text, in order and all of one length. The same text gives the same vector,
    /// whatever else is in the batch.
    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Failure>;
}
