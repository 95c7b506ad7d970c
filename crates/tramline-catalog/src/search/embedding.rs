//! Search by embeddings: one vector per document, compared with the query's.
//!
//! The `Embedder` trait computes the vectors. The caller stores them as bytes under the fingerprint of their text, so
//! that a cold start embeds only new texts.

use super::postings::DocIx;

/// Most dimensions of a vector. No known model returns more.
const DIMENSIONS_MAX: usize = 4_096;
/// The first byte of an encoded vector: the layout version.
const LAYOUT: u8 = 1;
/// Weight of many past requests relative to the description.
const PAST_REQUESTS_WEIGHT: f32 = 2.0;
/// Number of past requests at which they have half of that weight. A single one is only an anecdote.
const PAST_REQUESTS_HALF: f32 = 3.0;

/// The embedding of a text, normalized to length 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Box<[f32]>);

impl Vector {
    /// Normalizes a vector; `None` if it has too many numbers, is not finite, or is zero.
    pub fn new(mut numbers: Vec<f32>) -> Option<Self> {
        let length = dot(&numbers, &numbers).sqrt();
        let sound = length.is_finite() && length > 0.0 && numbers.len() <= DIMENSIONS_MAX;
        sound.then(|| {
            numbers.iter_mut().for_each(|number| *number /= length);
            Self(numbers.into())
        })
    }

    /// The embedding of a document, combined from its description and its past requests.
    pub fn of_document(description: &Self, wishes: &[Self]) -> Self {
        let same = |wish: &&Self| wish.0.len() == description.0.len();
        let count = wishes.iter().filter(same).count() as f32;
        let weight = PAST_REQUESTS_WEIGHT * count / (count + PAST_REQUESTS_HALF);
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

    /// The cosine similarity of two vectors, from -1 to 1; `None` if their dimensions differ.
    pub fn cosine_similarity(&self, other: &Self) -> Option<f32> {
        (self.0.len() == other.0.len()).then(|| dot(&self.0, &other.0))
    }

    /// Encodes the vector for storage.
    pub fn encode(&self) -> Vec<u8> {
        let numbers = self.0.iter().flat_map(|number| number.to_le_bytes());
        std::iter::once(LAYOUT).chain(numbers).collect()
    }

    /// Decodes a vector; `None` if the bytes are not a valid encoding.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (LAYOUT, numbers) = bytes.split_first().map(|(layout, rest)| (*layout, rest))? else {
            return None;
        };
        let (numbers, rest) = numbers.as_chunks::<4>();
        let numbers = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes));
        rest.is_empty().then(|| Self::new(numbers.collect()))?
    }
}

/// The storage key of a vector: a hash of the model and the text (128-bit FNV-1a), the same on every machine and in
/// every version.
pub fn fingerprint(model: &str, text: &str) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const FACTOR: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let bytes = model.bytes().chain([0]).chain(text.bytes());
    bytes.fold(START, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(FACTOR)
    })
}

/// The vectors of all documents, one row per slot.
#[derive(Debug, Default)]
pub(super) struct EmbeddingTable {
    /// The dimension, set by the first vector.
    width: usize,
    rows: Vec<f32>,
    has: Vec<bool>,
}

impl EmbeddingTable {
    /// Stores a document's vector. A vector of another dimension comes from another model and is ignored.
    pub(super) fn put(&mut self, slot: DocIx, vector: &Vector) {
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

    pub(super) fn remove(&mut self, slot: DocIx) {
        if let Some(has) = self.has.get_mut(slot as usize) {
            *has = false;
        }
    }

    /// The similarity of each slot to a query; `None` if the dimensions differ or there are no vectors.
    pub(super) fn similarities(&self, query: &Vector) -> Option<Vec<Option<f32>>> {
        let comparable = self.width == query.0.len() && self.has.contains(&true);
        comparable.then(|| {
            let rows = self.rows.chunks_exact(self.width).zip(&self.has);
            rows.map(|(row, has)| has.then(|| dot(row, &query.0)))
                .collect()
        })
    }

    /// The size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<f32>() + self.has.capacity()
    }
}

/// Sums in eight lanes, so that the compiler uses SIMD instructions.
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
        // The fingerprint must not change, or stored vectors are lost with the next version.
        assert_eq!(
            fingerprint("model", "text"),
            0x01fb_0b1b_3124_203a_0869_d925_b048_5efd
        );
    }

    #[test]
    fn past_requests_move_a_document_towards_them() {
        let said = Vector::new(vec![1.0, 0.0]).unwrap();
        let wished = Vector::new(vec![0.0, 1.0]).unwrap();
        let near = |count: usize| {
            let wishes = vec![wished.clone(); count];
            Vector::of_document(&said, &wishes)
                .cosine_similarity(&wished)
                .unwrap()
        };
        assert_eq!(near(0), 0.0);
        assert!(near(1) > 0.0 && near(30) > near(1) && near(30) < 1.0);
    }
}
