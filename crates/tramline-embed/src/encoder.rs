//! A sentence encoder of the BERT family, such as all-MiniLM-L6-v2, with mean pooling.

use crate::embedder::TextEncoder;
use crate::tensors::Tensors;
use crate::wordpiece::WordPiece;
use ndarray::{Array1, Array2, Axis, Slice};

/// Longest text, in tokens, as in the training of sentence encoders. The cost grows with the square.
const TOKENS_MAX: usize = 128;
/// Width of an attention head in all models of this family that are small enough to use.
const HEAD_WIDTH: usize = 32;
/// Epsilon of the layer norm, as in the models' training.
const NORM_EPSILON: f32 = 1e-12;

/// The weights of an encoder.
pub(crate) struct BertEncoder {
    tokenizer: WordPiece,
    cls_sep: (usize, usize),
    word_embeddings: Array2<f32>,
    /// By position in the text, including the token type embedding.
    position_embeddings: Array2<f32>,
    norm: LayerNorm,
    layers: Vec<BertLayer>,
}

struct BertLayer {
    query: Linear,
    key: Linear,
    value: Linear,
    attn_out: Linear,
    attn_norm: LayerNorm,
    ffn_in: Linear,
    ffn_out: Linear,
    ffn_norm: LayerNorm,
}

struct Linear {
    /// Rows are inputs, columns outputs.
    weight: Array2<f32>,
    bias: Array1<f32>,
}

struct LayerNorm {
    weight: Array1<f32>,
    bias: Array1<f32>,
}

impl BertEncoder {
    pub(crate) fn new(tensors: &Tensors<'_>, tokenizer: WordPiece) -> Result<Self, String> {
        let words = matrix(tensors, "embeddings.word_embeddings.weight")?;
        let width = words.ncols();
        let mut places = matrix(tensors, "embeddings.position_embeddings.weight")?;
        let kinds = matrix(tensors, "embeddings.token_type_embeddings.weight")?;
        if places.ncols() != width || kinds.ncols() != width || width % HEAD_WIDTH != 0 {
            return Err("the embeddings of words and positions differ in width".to_owned());
        }
        if words.nrows() < tokenizer.token_count() || places.nrows() < TOKENS_MAX {
            return Err("fewer rows of embeddings than tokens or positions".to_owned());
        }
        places += &kinds.row(0);
        let count =
            (0..).take_while(|at| tensors.has(&BertLayer::name(*at, "output.dense.weight")));
        let layers: Vec<BertLayer> = count
            .map(|at| BertLayer::new(tensors, at, width))
            .collect::<Result<_, _>>()?;
        if layers.is_empty() {
            return Err("the encoder has no layers".to_owned());
        }
        let frame = tokenizer
            .cls_sep
            .ok_or("the vocabulary lacks [CLS] and [SEP]")?;
        let norm = LayerNorm::new(tensors, "embeddings.LayerNorm", width)?;
        Ok(Self {
            tokenizer,
            cls_sep: frame,
            word_embeddings: words,
            position_embeddings: places,
            norm,
            layers,
        })
    }
}

impl TextEncoder for BertEncoder {
    fn encode(&self, text: &str) -> Vec<f32> {
        let mut tokens = vec![self.cls_sep.0];
        tokens.extend(self.tokenizer.tokenize(text, TOKENS_MAX - 2));
        tokens.push(self.cls_sep.1);
        let mut states = self.word_embeddings.select(Axis(0), &tokens);
        states += &self
            .position_embeddings
            .slice_axis(Axis(0), Slice::from(..tokens.len()));
        self.norm.apply(&mut states);
        for layer in &self.layers {
            states = layer.apply(states);
        }
        states.sum_axis(Axis(0)).to_vec()
    }
}

impl BertLayer {
    fn name(at: usize, part: &str) -> String {
        format!("encoder.layer.{at}.{part}")
    }

    fn new(tensors: &Tensors<'_>, at: usize, width: usize) -> Result<Self, String> {
        let linear = |part: &str| Linear::new(tensors, &Self::name(at, part));
        let norm = |part: &str| LayerNorm::new(tensors, &Self::name(at, part), width);
        let layer = Self {
            query: linear("attention.self.query")?,
            key: linear("attention.self.key")?,
            value: linear("attention.self.value")?,
            attn_out: linear("attention.output.dense")?,
            attn_norm: norm("attention.output.LayerNorm")?,
            ffn_in: linear("intermediate.dense")?,
            ffn_out: linear("output.dense")?,
            ffn_norm: norm("output.LayerNorm")?,
        };
        let wide = layer.ffn_in.bias.len();
        let fits = |linear: &Linear, from, to| linear.weight.dim() == (from, to);
        let square = [&layer.query, &layer.key, &layer.value, &layer.attn_out];
        let sound = square.iter().all(|linear| fits(linear, width, width));
        match sound && fits(&layer.ffn_in, width, wide) && fits(&layer.ffn_out, wide, width) {
            true => Ok(layer),
            false => Err(format!(
                "the matrices of layer {at} have inconsistent shapes"
            )),
        }
    }

    fn apply(&self, states: Array2<f32>) -> Array2<f32> {
        let mut mixed = self.attn_out.apply(&self.self_attention(&states));
        mixed += &states;
        self.attn_norm.apply(&mut mixed);
        let mut wide = self.ffn_in.apply(&mixed);
        wide.mapv_inplace(gelu);
        let mut out = self.ffn_out.apply(&wide);
        out += &mixed;
        self.ffn_norm.apply(&mut out);
        out
    }

    /// Multi-head self-attention.
    fn self_attention(&self, states: &Array2<f32>) -> Array2<f32> {
        let (query, key, value) = (
            self.query.apply(states),
            self.key.apply(states),
            self.value.apply(states),
        );
        let mut out = Array2::zeros(states.dim());
        for from in (0..states.ncols()).step_by(HEAD_WIDTH) {
            let head = Slice::from(from..from + HEAD_WIDTH);
            let part = |all: &Array2<f32>| all.slice_axis(Axis(1), head).to_owned();
            let mut shares = part(&query).dot(&part(&key).t());
            shares /= (HEAD_WIDTH as f32).sqrt();
            shares.rows_mut().into_iter().for_each(|mut row| {
                let most = row.fold(f32::NEG_INFINITY, |most, share| most.max(*share));
                row.mapv_inplace(|share| (share - most).exp());
                let sum = row.sum();
                row /= sum;
            });
            out.slice_axis_mut(Axis(1), head)
                .assign(&shares.dot(&part(&value)));
        }
        out
    }
}

impl Linear {
    fn new(tensors: &Tensors<'_>, name: &str) -> Result<Self, String> {
        let weight = matrix(tensors, &format!("{name}.weight"))?;
        let bias = tensors.of_shape(&format!("{name}.bias"), &[weight.nrows()])?;
        // Files store it by output; products are faster by input.
        let weight = weight.t().as_standard_layout().into_owned();
        Ok(Self {
            weight,
            bias: bias.into(),
        })
    }

    fn apply(&self, states: &Array2<f32>) -> Array2<f32> {
        let mut out = states.dot(&self.weight);
        out += &self.bias;
        out
    }
}

impl LayerNorm {
    fn new(tensors: &Tensors<'_>, name: &str, width: usize) -> Result<Self, String> {
        let part = |part: &str| tensors.of_shape(&format!("{name}.{part}"), &[width]);
        Ok(Self {
            weight: part("weight")?.into(),
            bias: part("bias")?.into(),
        })
    }

    fn apply(&self, states: &mut Array2<f32>) {
        for mut row in states.rows_mut() {
            let count = row.len() as f32;
            let mean = row.sum() / count;
            row -= mean;
            let variance = row.fold(0.0, |sum, number| sum + number * number) / count;
            row /= (variance + NORM_EPSILON).sqrt();
            row *= &self.weight;
            row += &self.bias;
        }
    }
}

fn matrix(tensors: &Tensors<'_>, name: &str) -> Result<Array2<f32>, String> {
    let tensor = tensors.get(name)?;
    let sides = tensor.matrix_shape(name)?;
    Array2::from_shape_vec(sides, tensor.numbers).map_err(|error| format!("`{name}`: {error}"))
}

/// GELU in the tanh approximation, which differs in the fourth decimal at most.
fn gelu(x: f32) -> f32 {
    const SLOPE: f32 = 0.797_884_6;
    0.5 * x * (1.0 + (SLOPE * (x + 0.044_715 * x * x * x)).tanh())
}
