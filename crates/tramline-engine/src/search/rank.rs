//! One order out of two: how well cards meet the words of a query, and how near they are to its meaning.
//!
//! Both are put on one scale, in spreads from the mean of all cards, and added. Sums are of whole
//! numbers, so that the order in which cards came makes no difference.

use super::terms::Slot;
use std::cmp::Ordering;

/// The meaning of a text tells somewhat more than its words do.
const MEANING_WEIGHT: f32 = 1.4;
/// Steps in which scores are summed: finer than any two scores that tell cards apart.
const STEP: f32 = 1.0 / 65_536.0;

/// What all cards are to one query.
#[derive(Debug)]
pub(super) struct Field {
    /// By slot, how well its words are met; 0 where not at all.
    pub(super) words: Vec<f32>,
    /// By slot, how near it is in meaning, where there are vectors.
    pub(super) meanings: Option<Vec<Option<f32>>>,
    /// The cards that say exactly what the query says.
    pub(super) exact: Vec<Slot>,
}

/// A card that may be meant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) slot: Slot,
    pub(super) score: f32,
    pub(super) exact: bool,
}

impl Found {
    /// The better one first.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let exact = other.exact.cmp(&self.exact);
        exact.then(other.score.total_cmp(&self.score))
    }
}

impl Field {
    /// How well a card meets the words.
    pub(super) fn word(&self, slot: Slot) -> f32 {
        self.words.get(slot as usize).copied().unwrap_or(0.0)
    }

    /// How near a card is in meaning.
    pub(super) fn meaning(&self, slot: Slot) -> Option<f32> {
        self.meanings
            .as_ref()?
            .get(slot as usize)
            .copied()
            .flatten()
    }

    /// The best cards, best first. What says exactly what the query says comes before all else.
    pub(super) fn best(
        &self,
        wanted: impl Fn(Slot) -> bool,
        most: usize,
        by_id: impl Fn(Slot, Slot) -> Ordering,
    ) -> Vec<Found> {
        let order = |a: &Found, b: &Found| a.order(b).then_with(|| by_id(a.slot, b.slot));
        let mut found = match &self.meanings {
            None => self.by_words(wanted),
            Some(meanings) => self.by_both(meanings, wanted),
        };
        if found.len() > most {
            found.select_nth_unstable_by(most, order);
            found.truncate(most);
        }
        found.sort_by(order);
        found
    }

    fn found(&self, slot: Slot, score: f32) -> Found {
        let exact = self.exact.contains(&slot);
        Found { slot, score, exact }
    }

    fn by_words(&self, wanted: impl Fn(Slot) -> bool) -> Vec<Found> {
        let met = self
            .words
            .iter()
            .enumerate()
            .filter(|(_, score)| **score > 0.0);
        let met = met.map(|(slot, score)| (slot as Slot, *score));
        let met = met.filter(|(slot, _)| wanted(*slot));
        met.map(|(slot, score)| self.found(slot, score)).collect()
    }

    fn by_both(&self, meanings: &[Option<f32>], wanted: impl Fn(Slot) -> bool) -> Vec<Found> {
        let slots = (0..self.words.len() as Slot).filter(|slot| wanted(*slot));
        let slots: Vec<Slot> = slots.collect();
        let words = Spread::over(slots.iter().map(|slot| self.word(*slot)));
        let near = |slot: &Slot| meanings.get(*slot as usize).copied().flatten();
        let nears = Spread::over(slots.iter().filter_map(near));
        let score = |slot: &Slot| {
            let meaning = near(slot).map_or(0.0, |near| nears.place(near));
            words.place(self.word(*slot)) + MEANING_WEIGHT * meaning
        };
        let met = slots
            .iter()
            .filter(|slot| self.word(**slot) > 0.0 || near(slot).is_some());
        met.map(|slot| self.found(*slot, score(slot))).collect()
    }

    /// How widely meanings are spread over all cards; nothing without vectors.
    pub(super) fn meaning_spread(&self) -> Option<Spread> {
        let nears = self.meanings.as_ref()?;
        Some(Spread::over(nears.iter().copied().flatten()))
    }
}

/// The mean of many numbers and how far they lie from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    mean: f32,
    pub(super) deviation: f32,
}

impl Spread {
    fn over(numbers: impl Iterator<Item = f32>) -> Self {
        let (mut count, mut sum, mut squares) = (0_i128, 0_i128, 0_i128);
        for number in numbers {
            let whole = i128::from((number / STEP) as i64);
            count += 1;
            sum += whole;
            squares += whole * whole;
        }
        let count = count.max(1) as f64;
        let mean = sum as f64 / count;
        let variance = (squares as f64 / count - mean * mean).max(0.0);
        Self {
            mean: mean as f32 * STEP,
            deviation: (variance.sqrt() as f32 * STEP).max(STEP),
        }
    }

    /// Where a number lies, in deviations from the mean.
    fn place(&self, number: f32) -> f32 {
        (number - self.mean) / self.deviation
    }
}
