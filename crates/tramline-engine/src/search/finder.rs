//! Search with an embedder: texts become vectors here, before the index sees them.

use super::card::{Card, Kind, embedded};
use super::meaning::{Vector, fingerprint};
use super::{Full, Hit, Index};
use crate::seams::Embedder;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tramline_core::failure::{Failure, FailureKind};

/// Vectors by the fingerprint of their text, as bytes: what the caller keeps between starts.
pub type Kept = HashMap<u128, Vec<u8>>;

/// An index, and who tells it what texts mean.
pub struct Finder {
    index: RwLock<Index>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl Finder {
    /// A finder of nothing yet. Without an embedder it searches by words and wishes.
    pub fn new(embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self {
            index: RwLock::default(),
            embedder,
        }
    }

    /// Puts cards in, each in place of the one with its id. Vectors that are `kept` are taken from
    /// there; those that had to be made are given back, to be kept.
    ///
    /// Where the embedder fails the cards are in nonetheless and found by their words, and the
    /// failure is told.
    pub async fn put(&self, cards: Vec<Card>, kept: &Kept) -> Result<Kept, PutFailure> {
        let made = match &self.embedder {
            Some(embedder) => make(embedder.as_ref(), &cards, kept).await,
            None => Ok(Kept::new()),
        };
        let (made, failure) = match made {
            Ok(made) => (made, None),
            Err(failure) => (Kept::new(), Some(failure)),
        };
        let model = self.embedder.as_ref().map(|embedder| embedder.model());
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        for card in cards {
            let known = |text: &str| {
                let key = fingerprint(model?, text);
                Vector::decode(made.get(&key).or_else(|| kept.get(&key))?)
            };
            let vector = known(&card.text()).map(|description| {
                let wishes: Vec<Vector> = card.wishes().filter_map(|wish| known(wish)).collect();
                Vector::of_card(&description, &wishes)
            });
            index.put(card, vector.as_ref())?;
        }
        match failure {
            None => Ok(made),
            Some(failure) => Err(failure.into()),
        }
    }

    /// Takes a card out; whether it was there.
    pub fn remove(&self, id: &str) -> bool {
        let mut index = self.index.write().unwrap_or_else(PoisonError::into_inner);
        index.remove(id)
    }

    /// The cards that meet a query best, of the kinds that are wanted. Where the embedder fails,
    /// words and wishes decide.
    pub async fn search(
        &self,
        query: &str,
        most: usize,
        wanted: impl Fn(Kind) -> bool,
    ) -> Vec<Hit> {
        let mut meanings = self.meanings(&[query.to_owned()]).await;
        let vector = meanings.pop().flatten();
        self.read(|index| index.search_kind(query, vector.as_ref(), most, wanted))
    }

    /// What texts mean, one answer for each; nothing where there is no embedder or it fails.
    pub async fn meanings(&self, texts: &[String]) -> Vec<Option<Vector>> {
        let Some(embedder) = &self.embedder else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for batch in texts.chunks(embedder.batch_max().max(1)) {
            let batch = batch.iter().map(|text| embedded(text).to_owned()).collect();
            match embed(embedder.as_ref(), batch).await {
                Ok(vectors) => all.extend(vectors),
                Err(_) => return Vec::new(),
            }
        }
        all
    }

    /// Reads the index.
    pub fn read<T>(&self, read: impl FnOnce(&Index) -> T) -> T {
        read(&self.index.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why cards are not in, or are in without their meaning.
#[derive(Debug, thiserror::Error)]
pub enum PutFailure {
    /// There are too many; the ones from here on are not in.
    #[error(transparent)]
    Full(#[from] Full),
    /// The embedder failed; the cards are found by their words.
    #[error("{0}")]
    Embedder(Failure),
}

impl From<Failure> for PutFailure {
    fn from(failure: Failure) -> Self {
        Self::Embedder(failure)
    }
}

/// The vectors of texts that are not kept yet, by the fingerprints of the texts.
async fn make(embedder: &dyn Embedder, cards: &[Card], kept: &Kept) -> Result<Kept, Failure> {
    let texts = cards.iter().flat_map(|card| {
        let wishes = card.wishes().map(|wish| wish.to_string());
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
    let mut made = Kept::new();
    for batch in missing.chunks(embedder.batch_max().max(1)) {
        let texts = batch
            .iter()
            .map(|(_, text)| embedded(text).to_owned())
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

/// A vector for each text; none where the text means nothing.
async fn embed(
    embedder: &dyn Embedder,
    texts: Vec<String>,
) -> Result<Vec<Option<Vector>>, Failure> {
    let count = texts.len();
    let vectors = embedder.embed(texts).await?;
    if vectors.len() != count {
        let message = format!(
            "the embedder gave {} vectors for {count} texts",
            vectors.len()
        );
        return Err(Failure::new(FailureKind::BadAnswer, message));
    }
    Ok(vectors.into_iter().map(Vector::new).collect())
}
