//! Re-ranks the best hits by the similarity of their texts and past requests to the query.
//!
//! Similarity is the weighted share of words that two texts have in common. Exact matches are found by a fingerprint of
//! the words, without a scan of all documents.

use super::COMPARED_HITS;
use super::confidence::HitFeatures;
use super::coverage::{CoverageCheck, RequestCoverage};
use super::document::SearchDocument;
use super::embedding::fingerprint;
use super::fusion::{QueryScores, RankedDocument};
use super::lexical::{DocTerms, LexicalIndex, QueryTerm};
use super::postings::{DocIx, Term};
use super::tokenize::stemmed_words;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Number of most similar past requests that vote.
const VOTES_MAX: usize = 8;
/// Largest lead by embedding that counts, in standard deviations. No single feature may make a hit certain.
const LEAD_MAX: f32 = 2.0;
/// A text with more than this many times the words of the query is about other things as well.
const LENGTH_RATIO_MAX: usize = 4;
/// Lowest similarity at which a past request counts as the same request.
pub(super) const SIMILAR_MIN: f32 = 0.4;

/// A hit that alone covers the whole request is the first if its score is at least this share of the best score.
const COMPLETE_SCORE_MIN: f32 = 0.5;
/// A request that mentions a smaller share of a candidate's name and description may mean something else.
const MENTIONED_MIN: f32 = 0.4;

/// The texts of all documents by the fingerprint of their words.
#[derive(Debug, Default)]
pub(super) struct ExactIndex {
    slots: HashMap<u128, Vec<DocIx>>,
}

impl ExactIndex {
    pub(super) fn put(&mut self, slot: DocIx, card: &SearchDocument) {
        for key in keys(card) {
            let slots = self.slots.entry(key).or_default();
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
    }

    pub(super) fn remove(&mut self, slot: DocIx, card: &SearchDocument) {
        for key in keys(card) {
            if let Some(slots) = self.slots.get_mut(&key) {
                slots.retain(|known| *known != slot);
                if slots.is_empty() {
                    self.slots.remove(&key);
                }
            }
        }
    }

    /// The documents that match a query exactly.
    pub(super) fn slots(&self, query: &str) -> Vec<DocIx> {
        self.slots.get(&key(query)).cloned().unwrap_or_default()
    }

    /// The approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * (size_of::<(u128, Vec<DocIx>)>() + size_of::<DocIx>())
    }
}

fn key(text: &str) -> u128 {
    fingerprint("", &stemmed_words(text).join(" "))
}

/// The texts by which a document can be matched exactly.
fn keys(card: &SearchDocument) -> impl Iterator<Item = u128> {
    let said = [&card.id, &card.name, &card.description];
    let said = said
        .into_iter()
        .chain(&card.title)
        .chain(card.past_requests());
    said.filter(|text| !text.is_empty()).map(|text| key(text))
}

/// The similarities of one hit to the query.
#[derive(Clone, Debug, Default)]
pub(super) struct HitSimilarity {
    /// The similarity of its name or description, whichever is larger.
    pub(super) own_texts: f32,
    /// The similarities of the past requests that count as the same request.
    pub(super) past_requests: Vec<f32>,
    /// The index of the most similar of them.
    pub(super) nearest_past_request: Option<usize>,
}

impl HitSimilarity {
    fn nearest_past_request(&self) -> f32 {
        self.past_requests.iter().copied().fold(0.0, f32::max)
    }

    fn nearest(&self) -> f32 {
        self.own_texts.max(self.nearest_past_request())
    }
}

/// The best hits compared with the query and with each other.
pub(super) struct Reranker {
    pub(super) similarities: Vec<HitSimilarity>,
    /// How much of the request each hit covers, for the first `COMPARED_HITS`.
    pub(super) checks: Vec<CoverageCheck>,
    words: Vec<f32>,
    meanings: Vec<Option<f32>>,
    deviation: Option<f32>,
    votes: Vec<f32>,
    exact: Vec<bool>,
}

impl Reranker {
    /// Compares the best hits, and ranks those higher that served a similar request before.
    pub(super) fn rerank(
        lexical: &LexicalIndex,
        asked: &[QueryTerm],
        field: &QueryScores,
        found: &mut Vec<RankedDocument>,
        by_id: impl Fn(DocIx, DocIx) -> Ordering,
        check: impl Fn(DocIx, &HitSimilarity) -> CoverageCheck,
    ) -> Self {
        let query = QueryTerms::new(asked);
        let top = found.iter().map(|one| one.score).fold(0.0, f32::max);
        let look = |mut one: RankedDocument| {
            let likes = query.similarities(lexical, lexical.document(one.slot));
            one.score += top * likes.nearest_past_request();
            (one, likes)
        };
        let mut looked: Vec<(RankedDocument, HitSimilarity)> = found.drain(..).map(look).collect();
        looked.sort_by(|(a, _), (b, _)| a.order(b).then_with(|| by_id(a.slot, b.slot)));
        let compared = looked.iter().take(COMPARED_HITS);
        let mut checks: Vec<CoverageCheck> = compared
            .map(|(one, likes)| check(one.slot, likes))
            .collect();
        if let Some(only) = only_complete(&checks)
            && looked[only].0.score >= COMPLETE_SCORE_MIN * looked[0].0.score
            && !looked[0].0.exact
        {
            looked[..=only].rotate_right(1);
            checks[..=only].rotate_right(1);
        }
        let similarities: Vec<HitSimilarity>;
        (*found, similarities) = looked.into_iter().unzip();
        Self {
            votes: votes(&similarities),
            similarities,
            checks,
            words: found.iter().map(|one| field.word(one.slot)).collect(),
            meanings: found.iter().map(|one| field.similarity(one.slot)).collect(),
            deviation: field
                .similarity_distribution()
                .map(|spread| spread.deviation),
            exact: found.iter().map(|one| one.exact).collect(),
        }
    }

    /// The features of a hit.
    pub(super) fn features(&self, rank: usize) -> HitFeatures {
        let ahead = |values: &[f32]| {
            let others = values
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != rank);
            let other = others.map(|(_, value)| *value).fold(0.0, f32::max);
            (values[rank] - other, values[rank].max(other))
        };
        let (lead, top) = ahead(&self.words);
        let nearest: Vec<f32> = self
            .similarities
            .iter()
            .map(HitSimilarity::nearest)
            .collect();
        let meanings: Vec<f32> = self
            .meanings
            .iter()
            .map(|near| near.unwrap_or(0.0))
            .collect();
        HitFeatures {
            margin: if top > 0.0 { lead / top } else { 0.0 },
            similarity: nearest[rank],
            vote: self.votes[rank],
            embedding_lead: self
                .deviation
                .map(|by| (ahead(&meanings).0 / by).clamp(-LEAD_MAX, LEAD_MAX)),
            is_most_similar: ahead(&nearest).0 > 0.0,
            exact: self.exact[rank] && self.exact.iter().filter(|exact| **exact).count() == 1,
            coverage: self.coverage(rank),
        }
    }

    fn coverage(&self, rank: usize) -> RequestCoverage {
        let Some(check) = self.checks.get(rank) else {
            return RequestCoverage::Unknown;
        };
        let others = self.checks.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != rank);
        if check.is_contrary {
            RequestCoverage::Contrary
        } else if !check.is_complete() {
            RequestCoverage::Partial
        } else if others.any(|(_, other)| other.is_complete()) {
            RequestCoverage::Shared
        } else if check.has_action && check.mentioned >= MENTIONED_MIN {
            RequestCoverage::Distinct
        } else {
            RequestCoverage::Complete
        }
    }
}

/// The only hit that covers the whole request with its action.
fn only_complete(checks: &[CoverageCheck]) -> Option<usize> {
    let complete = |(_, check): &(usize, &CoverageCheck)| check.is_complete() && check.has_action;
    let mut complete = checks.iter().enumerate().filter(complete);
    let (first, _) = complete.next()?;
    complete.next().is_none().then_some(first)
}

/// The share of each hit in the most similar past requests, weighted by similarity.
fn votes(likes: &[HitSimilarity]) -> Vec<f32> {
    let each = |(rank, likes): (usize, &HitSimilarity)| {
        let wished = likes.past_requests.clone();
        wished.into_iter().map(move |like| (like, rank))
    };
    let mut all: Vec<(f32, usize)> = likes.iter().enumerate().flat_map(each).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.truncate(VOTES_MAX);
    let mut votes = vec![0.0; likes.len()];
    let sum: f32 = all.iter().map(|(like, _)| like).sum();
    for (like, rank) in all {
        votes[rank] += like / sum;
    }
    votes
}

/// The terms of a query, prepared for comparison.
struct QueryTerms {
    /// Sorted by term.
    terms: Vec<(Term, f32)>,
    /// The total weight of its words, including those in no document.
    weight: f32,
}

impl QueryTerms {
    fn new(asked: &[QueryTerm]) -> Self {
        let known = asked.iter().filter_map(|one| Some((one.term?, one.weight)));
        let mut terms: Vec<_> = known.collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        let weight = asked.iter().map(|one| one.weight).sum();
        Self { terms, weight }
    }

    fn similarities(&self, lexical: &LexicalIndex, sheet: &DocTerms) -> HitSimilarity {
        let like = |text: &[Term]| self.similarity(lexical, text);
        let wished = sheet.past_requests.iter().map(|wish| like(wish));
        let similar = wished.enumerate().filter(|(_, like)| *like >= SIMILAR_MIN);
        let similar: Vec<(usize, f32)> = similar.collect();
        let nearest = similar.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        HitSimilarity {
            own_texts: like(&sheet.name).max(like(&sheet.description)),
            nearest_past_request: nearest.map(|(at, _)| *at),
            past_requests: similar.into_iter().map(|(_, like)| like).collect(),
        }
    }

    /// The weighted share of common words, from 0 to 1.
    fn similarity(&self, lexical: &LexicalIndex, text: &[Term]) -> f32 {
        if text.len() > LENGTH_RATIO_MAX * (self.terms.len() + 1) {
            return 0.0;
        }
        let shared =
            |(term, telling): &(Term, f32)| text.binary_search(term).is_ok().then_some(*telling);
        let shared: f32 = self.terms.iter().filter_map(shared).sum();
        if shared == 0.0 {
            return 0.0;
        }
        let text: f32 = text
            .iter()
            .map(|term| lexical.term_weight(Some(*term)))
            .sum();
        2.0 * shared / (self.weight + text)
    }
}
