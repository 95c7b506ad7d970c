//! A static model: a vector for each token, and the sum of a text's tokens as its vector.
//!
//! The layout is model2vec's: `embeddings` has a row for each vector; the optional `weights` has the weight of each
//! token, and the optional `mapping` the row of each token.

use crate::embedder::TextEncoder;
use crate::tensors::{Tensor, Tensors};
use crate::wordpiece::WordPiece;

/// Longest text, in tokens. The rest is ignored.
const TOKENS_MAX: usize = 512;

/// A vector for each token.
pub(crate) struct StaticModel {
    tokenizer: WordPiece,
    width: usize,
    rows: Vec<f32>,
    weights: Option<Vec<f32>>,
    mapping: Option<Vec<usize>>,
}

impl StaticModel {
    pub(crate) fn new(tensors: &Tensors<'_>, tokenizer: WordPiece) -> Result<Self, String> {
        let table = tensors.get("embeddings")?;
        let (rows, width) = table.matrix_shape("embeddings")?;
        let side = |name: &str| tensors.has(name).then(|| tensors.get(name)).transpose();
        let weights = side("weights")?.map(|tensor| tensor.numbers);
        let mapping = side("mapping")?.map(row_numbers);
        let tokens = tokenizer.token_count();
        let short = |length: Option<usize>| length.is_some_and(|length| length < tokens);
        if short(weights.as_ref().map(Vec::len)) || short(mapping.as_ref().map(Vec::len)) {
            return Err("`weights` or `mapping` is shorter than the vocabulary".to_owned());
        }
        let last = mapping.iter().flatten().copied().max();
        if last.map_or(rows < tokens, |last| last >= rows) {
            return Err(format!(
                "{tokens} tokens, but only {rows} rows in `embeddings`"
            ));
        }
        Ok(Self {
            tokenizer,
            width,
            rows: table.numbers,
            weights,
            mapping,
        })
    }
}

fn row_numbers(tensor: Tensor) -> Vec<usize> {
    tensor.numbers.into_iter().map(|row| row as usize).collect()
}

impl TextEncoder for StaticModel {
    fn encode(&self, text: &str) -> Vec<f32> {
        let tokens = self.tokenizer.tokenize(text, TOKENS_MAX);
        // An unknown word has no vector to add.
        let known = tokens
            .into_iter()
            .filter(|token| *token != self.tokenizer.unknown);
        let mut sum = vec![0.0_f32; self.width];
        for token in known {
            let row = self
                .mapping
                .as_ref()
                .map_or(token, |mapping| mapping[token]);
            let weight = self.weights.as_ref().map_or(1.0, |weights| weights[token]);
            let row = &self.rows[row * self.width..(row + 1) * self.width];
            sum.iter_mut()
                .zip(row)
                .for_each(|(sum, number)| *sum += weight * number);
        }
        sum
    }
}
