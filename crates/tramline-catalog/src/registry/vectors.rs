//! Stored embedding vectors, so that a start need not compute thousands of them again.
//!
//! They are spread over a few documents by the low bits of their fingerprints. Losing a document only costs the time to
//! compute its vectors again, so store errors are ignored.

use crate::search::{EncodedVectors, fingerprint};
use std::collections::BTreeSet;
use std::sync::Arc;
use tramline_engine::ports::Store;

/// The kind of these documents in the store.
const KIND: &str = "vectors";
/// Number of documents per model.
const SHARDS: u128 = 64;
/// Size of a fingerprint in bytes.
const KEY_BYTES: usize = 16;
/// Size of a vector's length prefix in bytes.
const LENGTH_BYTES: usize = 4;

/// The vectors of one model.
pub(super) struct VectorStore {
    store: Arc<dyn Store>,
    /// A short hash of the model's name, used as a key.
    model: String,
}

impl VectorStore {
    pub(super) fn new(store: Arc<dyn Store>, model: &str) -> Self {
        let model = format!("{:016x}", fingerprint(model, "") >> 64);
        Self { store, model }
    }

    /// All stored vectors.
    pub(super) async fn read(&self) -> EncodedVectors {
        let mut kept = EncodedVectors::new();
        for drawer in 0..SHARDS {
            if let Ok(Some(body)) = self.store.get(KIND, &self.key(drawer)).await {
                decode(&body, &mut kept);
            }
        }
        kept
    }

    /// Stores new vectors together with the existing ones.
    pub(super) async fn save(&self, mut kept: EncodedVectors, made: EncodedVectors) {
        let changed: BTreeSet<u128> = made.keys().map(|key| key % SHARDS).collect();
        kept.extend(made);
        for drawer in changed {
            let own = kept.iter().filter(|(key, _)| *key % SHARDS == drawer);
            let mut body = Vec::new();
            for (key, vector) in own {
                body.extend_from_slice(&key.to_be_bytes());
                body.extend_from_slice(&(vector.len() as u32).to_be_bytes());
                body.extend_from_slice(vector);
            }
            let _ = self.store.put(KIND, &self.key(drawer), body).await;
        }
    }

    fn key(&self, drawer: u128) -> String {
        format!("{}-{drawer:02}", self.model)
    }
}

/// Decodes what [`Vectors::keep`] wrote, up to the first incomplete entry.
fn decode(mut body: &[u8], kept: &mut EncodedVectors) {
    while let Some((key, rest)) = body.split_first_chunk::<KEY_BYTES>()
        && let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>()
        && let Some((vector, rest)) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)
    {
        kept.insert(u128::from_be_bytes(*key), vector.to_vec());
        body = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_engine::testing::MemoryStore;

    #[tokio::test]
    async fn what_was_made_is_there_the_next_time() {
        let store = Arc::new(MemoryStore::new());
        let vectors = VectorStore::new(store.clone(), "small");
        let first: EncodedVectors = (0..200).map(|key| (key, vec![key as u8; 5])).collect();
        vectors.save(EncodedVectors::new(), first.clone()).await;
        let again = VectorStore::new(store.clone(), "small").read().await;
        assert_eq!(again, first);
        let more = EncodedVectors::from([(7, vec![1]), (1_000, vec![2, 3])]);
        vectors.save(again, more).await;
        let all = vectors.read().await;
        assert_eq!((all.len(), all[&7].len(), all[&1_000].len()), (201, 1, 2));
        assert!(VectorStore::new(store, "other").read().await.is_empty());
    }

    #[test]
    fn a_torn_document_gives_what_is_whole() {
        let mut kept = EncodedVectors::new();
        let mut body = 5_u128.to_be_bytes().to_vec();
        body.extend([0, 0, 0, 1, 9]);
        body.extend([1, 2, 3]);
        decode(&body, &mut kept);
        assert_eq!(kept, EncodedVectors::from([(5, vec![9])]));
    }
}
