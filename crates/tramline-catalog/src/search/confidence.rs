//! The confidence of a hit: its features with fitted weights.
//!
//! `cargo xtask bench search --calibrate` fitted the weights on queries with known answers, and `bench search` measures
//! them on other queries of the same sets. A score or a similarity alone is not a confidence: it shows which hit is
//! best, not whether that hit is correct.

use super::coverage::RequestCoverage;

/// Confidence of the only hit that matches the query exactly.
const EXACT_CONFIDENCE: f64 = 0.97;
/// Confidence of the only hit that nearly matches the query. `NEARLY_LIKENESS` is the lowest similarity for that.
const NEAR_EXACT_CONFIDENCE: f64 = 0.95;
const NEAR_EXACT_SIMILARITY: f32 = 0.9;
/// A hit with less similarity to the query gets at most `UNSURE_CONFIDENCE_MAX`: the top hits of long requests for
/// several things are correct less often than their features suggest.
const SIMILARITY_MIN: f32 = 0.4;
/// Highest confidence of a hit below `SIMILARITY_MIN`.
const UNSURE_CONFIDENCE_MAX: f64 = 0.9;

/// Highest confidence of a hit that does not cover the whole query, or covers it as well as another hit does. Below
/// 0.95, from which callers may act without asking.
const PARTIAL_CONFIDENCE_MAX: f64 = 0.9;
/// Highest confidence of a hit that does the opposite of what is asked.
const CONTRARY_CONFIDENCE_MAX: f64 = 0.4;
/// Lowest confidence of the only hit that covers the whole query with its action and object.
const DISTINCT_CONFIDENCE: f64 = 0.95;

/// The features of a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HitFeatures {
    /// Its lead over the best other hit by words, as a share; negative if it is behind.
    pub margin: f32,
    /// The similarity of its name, its description or a past request to the query, from 0 to 1.
    pub similarity: f32,
    /// Its share of the most similar past requests.
    pub vote: f32,
    /// Its lead over the best other hit by embedding, in standard deviations; `None` without an embedder.
    pub embedding_lead: Option<f32>,
    /// Whether no other hit is as similar.
    pub is_most_similar: bool,
    /// Whether it is the only exact match.
    pub exact: bool,
    /// How much of the query it covers.
    pub coverage: RequestCoverage,
}

/// The weights of the features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// The weight of the constant.
    pub bias: f64,
    /// The weights in the order of [`HitFeatures::weighted`].
    pub weights: [f64; HitFeatures::WEIGHED],
}

impl Calibration {
    /// For searches by words and past requests.
    pub const WORDS: Self = Self {
        bias: -1.08,
        weights: [3.70, 3.33, 0.15, 0.00],
    };
    /// For searches that also use embeddings.
    pub const MEANING: Self = Self {
        bias: -0.27,
        weights: [2.13, 2.53, 0.00, 0.98],
    };

    /// The probability that a hit with these features is correct.
    pub fn probability(&self, signs: &HitFeatures) -> f64 {
        let weighed = self.weights.iter().zip(signs.weighted());
        let sum = weighed.fold(self.bias, |sum, (weight, sign)| sum + weight * sign);
        1.0 / (1.0 + (-sum).exp())
    }
}

impl HitFeatures {
    /// Number of weighted features.
    pub const WEIGHED: usize = 4;

    /// The weighted features, in the order of the weights.
    pub fn weighted(&self) -> [f64; Self::WEIGHED] {
        let meaning = self.embedding_lead.unwrap_or(0.0);
        [self.margin, self.similarity, self.vote, meaning].map(f64::from)
    }

    /// The confidence of a hit with these features.
    pub fn confidence(&self) -> f64 {
        let calibration = match self.embedding_lead {
            None => Calibration::WORDS,
            Some(_) => Calibration::MEANING,
        };
        let chance = calibration.probability(self).max(self.exact_match_floor());
        let chance = match self.similarity < SIMILARITY_MIN && !self.exact {
            true => chance.min(UNSURE_CONFIDENCE_MAX),
            false => chance,
        };
        match self.coverage {
            RequestCoverage::Contrary => chance.min(CONTRARY_CONFIDENCE_MAX),
            RequestCoverage::Unknown | RequestCoverage::Partial => {
                chance.min(PARTIAL_CONFIDENCE_MAX)
            }
            RequestCoverage::Shared if !self.exact => chance.min(PARTIAL_CONFIDENCE_MAX),
            RequestCoverage::Shared | RequestCoverage::Complete => chance,
            RequestCoverage::Distinct => chance.max(DISTINCT_CONFIDENCE),
        }
    }

    /// The lowest confidence of an exact or nearly exact match, whatever the other features are.
    pub fn exact_match_floor(&self) -> f64 {
        if self.exact {
            EXACT_CONFIDENCE
        } else if self.is_most_similar && self.similarity >= NEAR_EXACT_SIMILARITY {
            NEAR_EXACT_CONFIDENCE
        } else {
            0.0
        }
    }
}
