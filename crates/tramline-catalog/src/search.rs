//! Search over everything callable: by words, by past requests and, with an embedder, by embeddings.
//!
//! [`SearchIndex`] is pure: no clock, no I/O, and the same documents give the same results. [`Finder`] combines it with an
//! embedder. `docs/search.md` explains ranking and confidence.

mod concepts;
mod confidence;
mod coverage;
mod document;
mod embedder;
mod embedding;
mod finder;
mod fusion;
mod lexical;
mod lexicon;
mod name_search;
mod phrases;
mod postings;
mod reasons;
mod similarity;
mod tokenize;

pub use confidence::{Calibration, HitFeatures};
pub use coverage::RequestCoverage;
pub use document::{DocumentKind, PAST_REQUESTS_MAX, SearchDocument};
pub use embedder::Embedder;
pub use embedding::{Vector, fingerprint};
pub use finder::{EncodedVectors, Finder};
pub use name_search::{NameMatch, NameMatches};

use coverage::{CandidateProfile, CoverageCheck, RequestProfile};
use embedding::EmbeddingTable;
use fusion::{QueryScores, RankedDocument};
use lexical::LexicalIndex;
use postings::DocIx;
use similarity::{ExactIndex, HitSimilarity, Reranker};
use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;
use tramline_expr::Str;

/// Most documents in the index. A search reads one row for each, which at this size still takes only milliseconds.
pub const DOCUMENTS_MAX: usize = 100_000;
/// Most hits that a search returns.
pub const HITS_MAX: usize = 100;
/// Number of hits that are compared in detail, however few are requested. Confidence depends on the comparison.
const COMPARED_HITS: usize = 20;

/// The stems of the words of a text, in order, without numbers.
pub fn stemmed_words(text: &str) -> Vec<String> {
    let mut all = tokenize::stemmed_words(text);
    all.retain(|word| word.chars().any(char::is_alphabetic));
    all
}

/// A search index over everything callable.
#[derive(Debug, Default)]
pub struct SearchIndex {
    documents: Vec<Option<SearchDocument>>,
    /// The kinds of the documents, kept separately because every search reads all of them.
    kinds: Vec<Option<DocumentKind>>,
    /// What each document covers. Computed when it is compared for the first time: most documents never are.
    profiles: Vec<OnceLock<Box<CandidateProfile>>>,
    slots: HashMap<Str, DocIx>,
    free: Vec<DocIx>,
    lexical: LexicalIndex,
    embeddings: EmbeddingTable,
    exact: ExactIndex,
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// The document's id.
    pub id: Str,
    /// What the document describes.
    pub kind: DocumentKind,
    /// The ranking score. Comparable only within one search.
    pub score: f32,
    /// The probability that this hit is what was meant, from 0 to 1. A hit that leaves a word of the query uncovered
    /// has less than 0.95, see [`RequestCoverage`]. Of hits with at least 0.95, nine in ten are correct.
    pub confidence: f64,
    /// Why it was found, as short texts.
    pub reasons: Vec<String>,
    /// The features its confidence is computed from.
    pub features: HitFeatures,
}

/// The index has reached its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexFull;

impl fmt::Display for IndexFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "search is limited to {DOCUMENTS_MAX} tools; remove servers that are not used"
        )
    }
}

impl std::error::Error for IndexFull {}

impl SearchIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document, replacing the one with the same id. The vector is its embedding, see [`SearchDocument`].
    pub fn put(&mut self, card: SearchDocument, vector: Option<&Vector>) -> Result<(), IndexFull> {
        self.remove(&card.id);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.documents.len() >= DOCUMENTS_MAX => return Err(IndexFull),
            None => {
                self.documents.push(None);
                self.kinds.push(None);
                self.profiles.push(OnceLock::new());
                (self.documents.len() - 1) as DocIx
            }
        };
        self.lexical.put(slot, &card);
        self.exact.put(slot, &card);
        if let Some(vector) = vector {
            self.embeddings.put(slot, vector);
        }
        self.slots.insert(card.id.clone(), slot);
        self.kinds[slot as usize] = Some(card.kind);
        self.profiles[slot as usize] = OnceLock::new();
        self.documents[slot as usize] = Some(card);
        Ok(())
    }

    /// Removes a document; `false` if there was none.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(slot) = self.slots.remove(id) else {
            return false;
        };
        if let Some(card) = self.documents[slot as usize].take() {
            self.exact.remove(slot, &card);
        }
        self.kinds[slot as usize] = None;
        self.profiles[slot as usize] = OnceLock::new();
        self.lexical.remove(slot);
        self.embeddings.remove(slot);
        self.free.push(slot);
        true
    }

    /// The document with an id.
    pub fn get(&self, id: &str) -> Option<&SearchDocument> {
        let slot = self.slots.get(id)?;
        self.documents[*slot as usize].as_ref()
    }

    /// The term weight of a word, in the form that [`said`] returns.
    pub fn term_weight(&self, word: &str) -> f64 {
        f64::from(self.lexical.term_weight(self.lexical.terms.get(word)))
    }

    /// The number of documents that contain a word, in the form that [`said`] returns.
    pub fn document_frequency(&self, word: &str) -> usize {
        let term = self.lexical.terms.get(word);
        term.map_or(0, |term| self.lexical.terms.postings(term).len())
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The approximate size in bytes, without the documents' own texts.
    pub fn bytes(&self) -> usize {
        self.lexical.bytes() + self.embeddings.bytes() + self.exact.bytes()
    }

    /// The documents that match a query best, best first. Only the beginning of a very long query is read; a query
    /// without words finds nothing.
    pub fn search(&self, query: &str, vector: Option<&Vector>, most: usize) -> Vec<SearchHit> {
        self.search_kind(query, vector, most, |_| true)
    }

    /// Like `search`, but without reasons, which cost more than the search itself.
    pub fn rank(&self, query: &str, vector: Option<&Vector>, most: usize) -> Vec<SearchHit> {
        self.search_with(query, vector, most, |_| true, false)
    }

    /// Like `search`, but only for the wanted kinds of documents.
    pub fn search_kind(
        &self,
        query: &str,
        vector: Option<&Vector>,
        most: usize,
        wanted: impl Fn(DocumentKind) -> bool,
    ) -> Vec<SearchHit> {
        self.search_with(query, vector, most, wanted, true)
    }

    fn search_with(
        &self,
        query: &str,
        vector: Option<&Vector>,
        most: usize,
        wanted: impl Fn(DocumentKind) -> bool,
        why: bool,
    ) -> Vec<SearchHit> {
        let asked = self.lexical.query_terms(query);
        if asked.is_empty() {
            return Vec::new();
        }
        let field = QueryScores {
            words: self.lexical.scores(&asked),
            similarities: vector.and_then(|vector| self.embeddings.similarities(vector)),
            exact: self.exact.slots(query),
        };
        let wanted = |slot: DocIx| self.kinds[slot as usize].is_some_and(&wanted);
        let most = most.min(HITS_MAX);
        let by_id = |a: DocIx, b: DocIx| self.id(a).cmp(self.id(b));
        let mut found = field.best(wanted, most.max(COMPARED_HITS), by_id);
        let request = RequestProfile::new(query);
        let check = |slot: DocIx, likes: &HitSimilarity| self.check(&request, slot, likes);
        let closely = Reranker::rerank(&self.lexical, &asked, &field, &mut found, by_id, check);
        found.truncate(most);
        let mut hits = self.hits(&found, &closely);
        if why {
            for (rank, (hit, found)) in hits.iter_mut().zip(&found).enumerate() {
                let likes = &closely.similarities[rank];
                hit.reasons = reasons::hit_reasons(&self.lexical, &asked, &field, found, likes);
                let check = closely.checks.get(rank);
                hit.reasons.extend(check.and_then(CoverageCheck::reason));
            }
        }
        hits
    }

    /// How much of a request a document covers.
    fn check(&self, request: &RequestProfile, slot: DocIx, likes: &HitSimilarity) -> CoverageCheck {
        let Some(card) = &self.documents[slot as usize] else {
            return CoverageCheck::default();
        };
        let profile = &self.profiles[slot as usize];
        let profile = profile.get_or_init(|| Box::new(CandidateProfile::new(card)));
        let past = likes.nearest_past_request;
        let past = past.and_then(|at| card.past_requests().nth(at));
        request.check(profile, past.map(|past| past.as_str()))
    }

    fn id(&self, slot: DocIx) -> &str {
        self.documents[slot as usize]
            .as_ref()
            .map_or("", |card| &card.id)
    }

    /// The hits with their confidence.
    fn hits(&self, found: &[RankedDocument], closely: &Reranker) -> Vec<SearchHit> {
        let mut ceiling = 1.0_f64;
        let hit = |(rank, found): (usize, &RankedDocument)| {
            let signs = closely.features(rank);
            // A lower-ranked hit cannot have a higher confidence than one above it.
            ceiling = ceiling.min(signs.confidence());
            SearchHit {
                id: self.id(found.slot).into(),
                kind: self.kinds[found.slot as usize].unwrap_or(DocumentKind::Tool),
                score: found.score,
                confidence: ceiling,
                reasons: Vec::new(),
                features: signs,
            }
        };
        found.iter().enumerate().map(hit).collect()
    }
}

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod tests;
