//! Vectors of texts, kept so that a start need not make thousands of them again.
//!
//! They lie in a few documents, by the first bits of their text's fingerprint. Losing one costs the
//! time to make its vectors anew and nothing else, so what cannot be read or written is let be.

use crate::seams::Store;
use crate::search::{Kept, fingerprint};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Under what they are kept.
const KIND: &str = "vectors";
/// How many documents there are for one model.
const DRAWERS: u128 = 64;
/// A fingerprint's bytes.
const KEY_BYTES: usize = 16;
/// The bytes that say how long a vector is.
const LENGTH_BYTES: usize = 4;

/// The vectors of one model.
pub(super) struct Vectors {
    store: Arc<dyn Store>,
    /// The model, short enough for a key.
    model: String,
}

impl Vectors {
    pub(super) fn new(store: Arc<dyn Store>, model: &str) -> Self {
        let model = format!("{:016x}", fingerprint(model, "") >> 64);
        Self { store, model }
    }

    /// All that are kept.
    pub(super) async fn read(&self) -> Kept {
        let mut kept = Kept::new();
        for drawer in 0..DRAWERS {
            if let Ok(Some(body)) = self.store.get(KIND, &self.key(drawer)).await {
                unpack(&body, &mut kept);
            }
        }
        kept
    }

    /// Keeps those that were made beside the others.
    pub(super) async fn keep(&self, mut kept: Kept, made: Kept) {
        let changed: BTreeSet<u128> = made.keys().map(|key| key % DRAWERS).collect();
        kept.extend(made);
        for drawer in changed {
            let own = kept.iter().filter(|(key, _)| *key % DRAWERS == drawer);
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

/// Reads what [`Vectors::keep`] wrote, up to where it makes no sense any more.
fn unpack(mut body: &[u8], kept: &mut Kept) {
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
    use crate::testing::MemoryStore;

    #[tokio::test]
    async fn what_was_made_is_there_the_next_time() {
        let store = Arc::new(MemoryStore::new());
        let vectors = Vectors::new(store.clone(), "small");
        let first: Kept = (0..200).map(|key| (key, vec![key as u8; 5])).collect();
        vectors.keep(Kept::new(), first.clone()).await;
        let again = Vectors::new(store.clone(), "small").read().await;
        assert_eq!(again, first);
        let more = Kept::from([(7, vec![1]), (1_000, vec![2, 3])]);
        vectors.keep(again, more).await;
        let all = vectors.read().await;
        assert_eq!((all.len(), all[&7].len(), all[&1_000].len()), (201, 1, 2));
        assert!(Vectors::new(store, "other").read().await.is_empty());
    }

    #[test]
    fn a_torn_document_gives_what_is_whole() {
        let mut kept = Kept::new();
        let mut body = 5_u128.to_be_bytes().to_vec();
        body.extend([0, 0, 0, 1, 9]);
        body.extend([1, 2, 3]);
        unpack(&body, &mut kept);
        assert_eq!(kept, Kept::from([(5, vec![9])]));
    }
}
