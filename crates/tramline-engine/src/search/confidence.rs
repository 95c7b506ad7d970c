//! How sure a hit is: the signs that speak for it, weighed as outcomes have shown.
//!
//! The weights were fitted by `cargo xtask bench search --calibrate` to queries whose right answers are
//! known, and are held to other queries of the same sets by `bench search`. No score or nearness
//! alone is a confidence: they say which hit is best and not whether it is right.

/// A hit that alone says exactly what was asked for.
const EXACT: f64 = 0.97;
/// A hit that alone says nearly what was asked for, and how alike that is.
const NEARLY: f64 = 0.95;
const NEARLY_LIKENESS: f32 = 0.9;
/// A hit that has less in common with the query than this is never sure: long requests for several
/// things have leaders that are right less often than they look.
const COMMON_MIN: f32 = 0.4;
const UNSURE: f64 = 0.9;

/// What speaks for a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// How far it is ahead of its best rival by words, as a share: below 0 it is behind.
    pub margin: f32,
    /// How alike its name, its description or a past wish is to the query, from 0 to 1.
    pub likeness: f32,
    /// Its share of the past wishes that are most alike.
    pub vote: f32,
    /// How far it is ahead of its best rival by meaning, in deviations; none without an embedder.
    pub meaning: Option<f32>,
    /// Whether no rival is as alike.
    pub alone: bool,
    /// Whether it alone says exactly what the query says.
    pub exact: bool,
}

/// How much each sign weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// What holds without any sign.
    pub bias: f64,
    /// By [`Signs::weighed`].
    pub weights: [f64; Signs::WEIGHED],
}

impl Calibration {
    /// For searches by words and wishes.
    pub const WORDS: Self = Self {
        bias: -1.08,
        weights: [3.70, 3.33, 0.15, 0.00],
    };
    /// For searches by meaning too.
    pub const MEANING: Self = Self {
        bias: -0.27,
        weights: [2.13, 2.53, 0.00, 0.98],
    };

    /// The chance that a hit with these signs is right.
    pub fn chance(&self, signs: &Signs) -> f64 {
        let weighed = self.weights.iter().zip(signs.weighed());
        let sum = weighed.fold(self.bias, |sum, (weight, sign)| sum + weight * sign);
        1.0 / (1.0 + (-sum).exp())
    }
}

impl Signs {
    /// How many signs are weighed.
    pub const WEIGHED: usize = 4;

    /// The signs that are weighed, in the order of the weights.
    pub fn weighed(&self) -> [f64; Self::WEIGHED] {
        let meaning = self.meaning.unwrap_or(0.0);
        [self.margin, self.likeness, self.vote, meaning].map(f64::from)
    }

    /// How sure a hit with these signs is.
    pub fn confidence(&self) -> f64 {
        let calibration = match self.meaning {
            None => Calibration::WORDS,
            Some(_) => Calibration::MEANING,
        };
        let chance = calibration.chance(self).max(self.floor());
        match self.likeness < COMMON_MIN && !self.exact {
            true => chance.min(UNSURE),
            false => chance,
        }
    }

    /// What exact words are worth, whatever else is there.
    pub fn floor(&self) -> f64 {
        if self.exact {
            EXACT
        } else if self.alone && self.likeness >= NEARLY_LIKENESS {
            NEARLY
        } else {
            0.0
        }
    }
}
