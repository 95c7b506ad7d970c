//! Search with an embedder: computes the embeddings of texts for the index.

use super::Embedder;
use super::document::{DocumentKind, SearchDocument, embedded_prefix};
use super::embedding::{Vector, fingerprint};
use super::{IndexFull, SearchHit, SearchIndex};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tramline_workflow::failure::{Failure, FailureKind};

/// Encoded vectors by the fingerprint of their text. The caller stores them between starts.
pub type EncodedVectors = HashMap<u128, Vec<u8>>;

/// An index with its embedder.
pub struct Finder {
    index: RwLock<SearchIndex>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl Finder {
    /// An empty finder. Without an embedder it searches by words and past requests.
    pub fn new(embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self {
            index: RwLock::default(),
            embedder,
        }
    }

    /// Adds documents, each replacing the one with the same id. Vectors in `kept` are reused; new ones are returned, so
    /// that the caller can store them.
    ///
    /// If the embedder fails, the documents are still added and found by their words, and the failure is returned.
    pub async fn put(
        &self,
        cards: Vec<SearchDocument>,
        kept: &EncodedVectors,
    ) -> Result<EncodedVectors, PutError> {
        let made = match &self.embedder {
            Some(embedder) => embed_missing(embedder.as_ref(), &cards, kept).await,
            None => Ok(EncodedVectors::new()),
        };
        let (made, failure) = match made {
            Ok(made) => (made, None),
            Err(failure) => (EncodedVectors::new(), Some(failure)),
        };
        let model = self.embedder.as_ref().map(|embedder| embedder.model());
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        for card in cards {
            let known = |text: &str| {
                let key = fingerprint(model?, text);
                Vector::decode(made.get(&key).or_else(|| kept.get(&key))?)
            };
            let vector = known(&card.text()).map(|description| {
                let wishes: Vec<Vector> = card
                    .past_requests()
                    .filter_map(|wish| known(wish))
                    .collect();
                Vector::of_document(&description, &wishes)
            });
            index.put(card, vector.as_ref())?;
        }
        match failure {
            None => Ok(made),
            Some(failure) => Err(failure.into()),
        }
    }

    /// Removes a document; `false` if there was none.
    pub fn remove(&self, id: &str) -> bool {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.remove(id)
    }

    /// The documents of the wanted kinds that match a query best. If the embedder fails, words and past requests
    /// decide.
    pub async fn search(
        &self,
        query: &str,
        most: usize,
        wanted: impl Fn(DocumentKind) -> bool,
    ) -> Vec<SearchHit> {
        let mut meanings = self.embeddings(&[query.to_owned()]).await;
        let vector = meanings.pop().flatten();
        self.read(|index| index.search_kind(query, vector.as_ref(), most, wanted))
    }

    /// The embeddings of texts, one for each; empty without an embedder or if it fails.
    pub async fn embeddings(&self, texts: &[String]) -> Vec<Option<Vector>> {
        let Some(embedder) = &self.embedder else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for batch in texts.chunks(embedder.batch_max().max(1)) {
            let batch = batch
                .iter()
                .map(|text| embedded_prefix(text).to_owned())
                .collect();
            match embed(embedder.as_ref(), batch).await {
                Ok(vectors) => all.extend(vectors),
                Err(_) => return Vec::new(),
            }
        }
        all
    }

    /// Gives read access to the index.
    pub fn read<T>(&self, read: impl FnOnce(&SearchIndex) -> T) -> T {
        read(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why documents were not added, or were added without embeddings.
#[derive(Debug, thiserror::Error)]
pub enum PutError {
    /// The index is full; the remaining documents were not added.
    #[error(transparent)]
    Full(#[from] IndexFull),
    /// The embedder failed; the documents are found by their words.
    #[error("{0}")]
    Embedder(Failure),
}

impl From<Failure> for PutError {
    fn from(failure: Failure) -> Self {
        Self::Embedder(failure)
    }
}

/// The vectors of texts that are not stored yet, by the fingerprints of the texts.
async fn embed_missing(
    embedder: &dyn Embedder,
    cards: &[SearchDocument],
    kept: &EncodedVectors,
) -> Result<EncodedVectors, Failure> {
    let texts = cards.iter().flat_map(|card| {
        let wishes = card.past_requests().map(|wish| wish.to_string());
        std::iter::once(card.text()).chain(wishes)
    });
    let mut missing: HashMap<u128, String> = HashMap::new();
    for text in texts {
        let key = fingerprint(embedder.model(), &text);
        if !kept.contains_key(&key) {
            missing.insert(key, text);
        }
    }
    let mut missing: Vec<(u128, String)> = missing.into_iter().collect();
    missing.sort_unstable();
    let mut made = EncodedVectors::new();
    for batch in missing.chunks(embedder.batch_max().max(1)) {
        let texts = batch
            .iter()
            .map(|(_, text)| embedded_prefix(text).to_owned())
            .collect();
        let vectors = embed(embedder, texts).await?;
        for ((key, _), vector) in batch.iter().zip(vectors) {
            if let Some(vector) = vector {
                made.insert(*key, vector.encode());
            }
        }
    }
    Ok(made)
}

/// A vector for each text; `None` if the embedder returned no usable vector.
async fn embed(
    embedder: &dyn Embedder,
    texts: Vec<String>,
) -> Result<Vec<Option<Vector>>, Failure> {
    let count = texts.len();
    let vectors = embedder.embed(texts).await?;
    if vectors.len() != count {
        let message = format!(
            "the embedder returned {} vectors for {count} texts",
            vectors.len()
        );
        return Err(Failure::new(FailureKind::BadAnswer, message));
    }
    Ok(vectors.into_iter().map(Vector::new).collect())
}
