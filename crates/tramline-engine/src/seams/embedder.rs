//! `Embedder`: tells what texts mean, as vectors that lie near each other where the meanings do.

use async_trait::async_trait;
use tramline_core::failure::Failure;

impl std::fmt::Debug for dyn Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Embedder").field(&self.model()).finish()
    }
}

/// Turns texts into vectors.
#[async_trait]
pub trait Embedder: Send + Sync + 'static {
    /// Which model this is. Vectors of different models cannot be compared, so a model that
    /// changes gets another name.
    fn model(&self) -> &str;

    /// The most texts that one call takes.
    fn batch_max(&self) -> usize;

    /// A vector for each text, in their order and all of one length. The same text gives the same
    /// vector, whatever is embedded beside it.
    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Failure>;
}
