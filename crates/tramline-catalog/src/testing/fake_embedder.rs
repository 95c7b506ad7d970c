//! An embedder without a model: texts are close if they share letters.

use crate::search::Embedder;
use crate::search::fingerprint;
use async_trait::async_trait;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_workflow::failure::Failure;

/// The dimensions of the vectors.
const WIDTH: usize = 64;

/// Counts the groups of three letters in a text.
#[derive(Debug, Default)]
pub struct FakeEmbedder {
    embedded: AtomicUsize,
}

impl FakeEmbedder {
    /// How many texts it has embedded.
    pub fn embedded(&self) -> usize {
        self.embedded.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Embedder for FakeEmbedder {
    fn model(&self) -> &str {
        "letters"
    }

    fn batch_max(&self) -> usize {
        8
    }

    async fn embed(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, Failure> {
        self.embedded.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(texts.iter().map(|text| vector(text)).collect())
    }
}

fn vector(text: &str) -> Vec<f32> {
    let letters: Vec<char> = text.to_lowercase().chars().collect();
    let mut vector = vec![0.01; WIDTH];
    for group in letters.windows(3) {
        let group: String = group.iter().collect();
        vector[(fingerprint("", &group) % WIDTH as u128) as usize] += 1.0;
    }
    vector
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::embedder_contract;
    use std::sync::Arc;

    #[tokio::test]
    async fn keeps_the_contract() {
        embedder_contract(Arc::new(FakeEmbedder::default())).await;
    }
}
