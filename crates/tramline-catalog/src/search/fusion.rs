//! Combines the scores by words and by embedding into one ranking.
//!
//! Both are standardized (standard deviations from the mean of all documents) and added. The sums are of integers, so
//! that the order of insertion makes no difference.

use super::postings::DocIx;
use std::cmp::Ordering;

/// Weight of the embedding score relative to the word score. Embeddings are somewhat more reliable.
const EMBEDDING_WEIGHT: f32 = 1.4;
/// Resolution in which scores are summed. It is finer than the difference between any two relevant scores.
const RESOLUTION: f32 = 1.0 / 65_536.0;

/// The scores of all documents for one query.
#[derive(Debug)]
pub(super) struct QueryScores {
    /// By slot, the word score; 0 without a match.
    pub(super) words: Vec<f32>,
    /// By slot, the similarity by embedding, if there are vectors.
    pub(super) similarities: Option<Vec<Option<f32>>>,
    /// The documents that match the query exactly.
    pub(super) exact: Vec<DocIx>,
}

/// A candidate hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankedDocument {
    pub(super) slot: DocIx,
    pub(super) score: f32,
    pub(super) exact: bool,
}

impl RankedDocument {
    /// Orders better hits first.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let exact = other.exact.cmp(&self.exact);
        exact.then(other.score.total_cmp(&self.score))
    }
}

impl QueryScores {
    /// The word score of a document.
    pub(super) fn word(&self, slot: DocIx) -> f32 {
        self.words.get(slot as usize).copied().unwrap_or(0.0)
    }

    /// The similarity of a document by embedding.
    pub(super) fn similarity(&self, slot: DocIx) -> Option<f32> {
        self.similarities
            .as_ref()?
            .get(slot as usize)
            .copied()
            .flatten()
    }

    /// The best documents, best first. Exact matches come before all others.
    pub(super) fn best(
        &self,
        wanted: impl Fn(DocIx) -> bool,
        most: usize,
        by_id: impl Fn(DocIx, DocIx) -> Ordering,
    ) -> Vec<RankedDocument> {
        let order =
            |a: &RankedDocument, b: &RankedDocument| a.order(b).then_with(|| by_id(a.slot, b.slot));
        let mut found = match &self.similarities {
            None => self.by_words(wanted),
            Some(meanings) => self.by_words_and_embedding(meanings, wanted),
        };
        if found.len() > most {
            found.select_nth_unstable_by(most, order);
            found.truncate(most);
        }
        found.sort_by(order);
        found
    }

    fn ranked(&self, slot: DocIx, score: f32) -> RankedDocument {
        let exact = self.exact.contains(&slot);
        RankedDocument { slot, score, exact }
    }

    fn by_words(&self, wanted: impl Fn(DocIx) -> bool) -> Vec<RankedDocument> {
        let met = self
            .words
            .iter()
            .enumerate()
            .filter(|(_, score)| **score > 0.0);
        let met = met.map(|(slot, score)| (slot as DocIx, *score));
        let met = met.filter(|(slot, _)| wanted(*slot));
        met.map(|(slot, score)| self.ranked(slot, score)).collect()
    }

    fn by_words_and_embedding(
        &self,
        meanings: &[Option<f32>],
        wanted: impl Fn(DocIx) -> bool,
    ) -> Vec<RankedDocument> {
        let slots = (0..self.words.len() as DocIx).filter(|slot| wanted(*slot));
        let slots: Vec<DocIx> = slots.collect();
        let words = Distribution::over(slots.iter().map(|slot| self.word(*slot)));
        let near = |slot: &DocIx| meanings.get(*slot as usize).copied().flatten();
        let nears = Distribution::over(slots.iter().filter_map(near));
        let score = |slot: &DocIx| {
            let meaning = near(slot).map_or(0.0, |near| nears.standard_score(near));
            words.standard_score(self.word(*slot)) + EMBEDDING_WEIGHT * meaning
        };
        let met = slots
            .iter()
            .filter(|slot| self.word(**slot) > 0.0 || near(slot).is_some());
        met.map(|slot| self.ranked(*slot, score(slot))).collect()
    }

    /// The distribution of similarities over all documents; `None` without vectors.
    pub(super) fn similarity_distribution(&self) -> Option<Distribution> {
        let nears = self.similarities.as_ref()?;
        Some(Distribution::over(nears.iter().copied().flatten()))
    }
}

/// The mean and standard deviation of many numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distribution {
    mean: f32,
    pub(super) deviation: f32,
}

impl Distribution {
    fn over(numbers: impl Iterator<Item = f32>) -> Self {
        let (mut count, mut sum, mut squares) = (0_i128, 0_i128, 0_i128);
        for number in numbers {
            let whole = i128::from((number / RESOLUTION) as i64);
            count += 1;
            sum += whole;
            squares += whole * whole;
        }
        let count = count.max(1) as f64;
        let mean = sum as f64 / count;
        let variance = (squares as f64 / count - mean * mean).max(0.0);
        Self {
            mean: mean as f32 * RESOLUTION,
            deviation: (variance.sqrt() as f32 * RESOLUTION).max(RESOLUTION),
        }
    }

    /// The standard score of a number.
    fn standard_score(&self, number: f32) -> f32 {
        (number - self.mean) / self.deviation
    }
}
