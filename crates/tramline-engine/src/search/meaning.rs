//! Search by meaning: one vector for each card, compared with the query's.
//!
//! Who makes vectors is behind the `Embedder` seam. They are kept by the caller, as bytes under the
//! fingerprint of their text, so that a cold start embeds only what is new.

use super::terms::Slot;

/// No model gives longer vectors.
const DIMENSIONS_MAX: usize = 4_096;
/// The first byte of an encoded vector; another layout gets another number.
const LAYOUT: u8 = 1;
/// How much past wishes weigh against the description when there are many of them.
const WISHES_WEIGHT: f32 = 2.0;
/// With so many wishes they have half of that weight: one alone is an anecdote.
const WISHES_HALF: f32 = 3.0;

/// What a text means: a direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Box<[f32]>);

impl Vector {
    /// A vector of length one. There is none where the numbers are too many, not finite, or all zero.
    pub fn new(mut numbers: Vec<f32>) -> Option<Self> {
        let length = dot(&numbers, &numbers).sqrt();
        let sound = length.is_finite() && length > 0.0 && numbers.len() <= DIMENSIONS_MAX;
        sound.then(|| {
            numbers.iter_mut().for_each(|number| *number /= length);
            Self(numbers.into())
        })
    }

    /// What a card means, as its description and its past wishes say.
    pub fn of_card(description: &Self, wishes: &[Self]) -> Self {
        let same = |wish: &&Self| wish.0.len() == description.0.len();
        let count = wishes.iter().filter(same).count() as f32;
        let weight = WISHES_WEIGHT * count / (count + WISHES_HALF);
        let mut mean = vec![0.0; description.0.len()];
        for wish in wishes.iter().filter(same) {
            mean.iter_mut()
                .zip(&wish.0)
                .for_each(|(sum, one)| *sum += one);
        }
        let Some(mean) = Self::new(mean) else {
            return description.clone();
        };
        let both = description.0.iter().zip(&mean.0);
        let both = both.map(|(said, wished)| said + weight * wished).collect();
        Self::new(both).unwrap_or_else(|| description.clone())
    }

    /// How near two texts are in meaning, from -1 to 1; nothing where they are of different models.
    pub fn nearness(&self, other: &Self) -> Option<f32> {
        (self.0.len() == other.0.len()).then(|| dot(&self.0, &other.0))
    }

    /// The vector as bytes, to be kept.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = self.0.iter().flat_map(|number| number.to_le_bytes());
        std::iter::once(LAYOUT).chain(numbers).collect()
    }

    /// A vector from bytes; nothing where they are none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (LAYOUT, numbers) = bytes.split_first().map(|(layout, rest)| (*layout, rest))? else {
            return None;
        };
        let (numbers, rest) = numbers.as_chunks::<4>();
        let numbers = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes));
        rest.is_empty().then(|| Self::new(numbers.collect()))?
    }
}

/// What a vector is kept under: the model that made it, and the text. The same on every machine and
/// in every version (FNV-1a of 128 bits).
pub fn fingerprint(model: &str, text: &str) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const FACTOR: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = model.bytes().chain([0]).chain(text.bytes());
    bytes.fold(START, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(FACTOR)
    })
}

/// The vectors of all cards, one row for each slot.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    /// Whichever vector came first says how long they are.
    width: usize,
    rows: Vec<f32>,
    has: Vec<bool>,
}

impl Meaning {
    /// Keeps a card's vector. One of another length is of another model and not kept.
    pub(super) fn put(&mut self, slot: Slot, vector: &Vector) {
        if !self.has.contains(&true) {
            self.width = vector.0.len();
            self.rows.clear();
            self.has.clear();
        }
        if vector.0.len() != self.width {
            return;
        }
        let at = slot as usize;
        if self.has.len() <= at {
            self.has.resize(at + 1, false);
            self.rows.resize((at + 1) * self.width, 0.0);
        }
        self.rows[at * self.width..(at + 1) * self.width].copy_from_slice(&vector.0);
        self.has[at] = true;
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        if let Some(has) = self.has.get_mut(slot as usize) {
            *has = false;
        }
    }

    /// How near each slot is to a query; nothing where vectors and query are of different models.
    pub(super) fn nearness(&self, query: &Vector) -> Option<Vec<Option<f32>>> {
        let comparable = self.width == query.0.len() && self.has.contains(&true);
        comparable.then(|| {
            let rows = self.rows.chunks_exact(self.width).zip(&self.has);
            rows.map(|(row, has)| has.then(|| dot(row, &query.0)))
                .collect()
        })
    }

    /// How many bytes it all takes.
    pub(super) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<f32>() + self.has.capacity()
    }
}

/// Sums in eight lanes, which the compiler turns into the machine's wide instructions.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_back_from_their_bytes() {
        let vector = Vector::new(vec![3.0, 4.0]).unwrap();
        assert_eq!(Vector::decode(&vector.encode()), Some(vector));
        assert_eq!(Vector::decode(&[]), None);
        assert_eq!(Vector::decode(&[9, 0, 0, 0, 0]), None);
        assert_eq!(Vector::decode(&[LAYOUT, 0, 0, 0]), None);
        assert_eq!(Vector::new(vec![0.0; 4]), None);
        assert_eq!(Vector::new(vec![f32::NAN]), None);
    }

    #[test]
    fn a_fingerprint_tells_models_and_texts_apart() {
        assert_eq!(fingerprint("", ""), fingerprint("", ""));
        assert_ne!(fingerprint("a", "b"), fingerprint("ab", ""));
        // Kept vectors are found again by the next version.
        assert_eq!(
            fingerprint("model", "text"),
            0x01fb_0b1b_3124_203a_0869_d925_b048_5efd
        );
    }

    #[test]
    fn wishes_move_a_card_towards_them() {
        let said = Vector::new(vec![1.0, 0.0]).unwrap();
        let wished = Vector::new(vec![0.0, 1.0]).unwrap();
        let near = |count: usize| {
            let wishes = vec![wished.clone(); count];
            Vector::of_card(&said, &wishes).nearness(&wished).unwrap()
        };
        assert_eq!(near(0), 0.0);
        assert!(near(1) > 0.0 && near(30) > near(1) && near(30) < 1.0);
    }
}
