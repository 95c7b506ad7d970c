//! A sentence encoder of the BERT family, such as all-MiniLM-L6-v2: each word is read in the light
//! of the others, and a text is the mean of its words.

use crate::embedder::Reads;
use crate::tensors::Tensors;
use crate::wordpiece::WordPiece;
use ndarray::{Array1, Array2, Axis, Slice};

/// What sentence encoders are trained to read; the cost grows with the square.
const TOKENS_MAX: usize = 128;
/// Each head has so many numbers in every model of this family that is small enough to be used.
const HEAD_WIDTH: usize = 32;
/// What keeps a norm from dividing by nothing; the family's own value.
const NORM_FLOOR: f32 = 1e-12;

/// The weights of an encoder.
pub(crate) struct Encoder {
    tokenizer: WordPiece,
    frame: (usize, usize),
    words: Array2<f32>,
    /// By place in the text, the kind of text added.
    places: Array2<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    mix: Linear,
    mix_norm: Norm,
    widen: Linear,
    narrow: Linear,
    norm: Norm,
}

struct Linear {
    /// By input, then by output.
    weight: Array2<f32>,
    bias: Array1<f32>,
}

struct Norm {
    weight: Array1<f32>,
    bias: Array1<f32>,
}

impl Encoder {
    pub(crate) fn new(tensors: &Tensors<'_>, tokenizer: WordPiece) -> Result<Self, String> {
        let words = table(tensors, "embeddings.word_embeddings.weight")?;
        let width = words.ncols();
        let mut places = table(tensors, "embeddings.position_embeddings.weight")?;
        let kinds = table(tensors, "embeddings.token_type_embeddings.weight")?;
        if places.ncols() != width || kinds.ncols() != width || width % HEAD_WIDTH != 0 {
            return Err("the embeddings of words and places differ in width".to_owned());
        }
        if words.nrows() < tokenizer.tokens() || places.nrows() < TOKENS_MAX {
            return Err("fewer rows of embeddings than tokens or places".to_owned());
        }
        places += &kinds.row(0);
        let count = (0..).take_while(|at| tensors.has(&Layer::name(*at, "output.dense.weight")));
        let layers: Vec<Layer> = count
            .map(|at| Layer::new(tensors, at, width))
            .collect::<Result<_, _>>()?;
        if layers.is_empty() {
            return Err("an encoder without layers".to_owned());
        }
        let frame = tokenizer
            .frame
            .ok_or("the vocabulary lacks [CLS] and [SEP]")?;
        let norm = Norm::new(tensors, "embeddings.LayerNorm", width)?;
        Ok(Self {
            tokenizer,
            frame,
            words,
            places,
            norm,
            layers,
        })
    }
}

impl Reads for Encoder {
    fn read(&self, text: &str) -> Vec<f32> {
        let mut tokens = vec![self.frame.0];
        tokens.extend(self.tokenizer.read(text, TOKENS_MAX - 2));
        tokens.push(self.frame.1);
        let mut states = self.words.select(Axis(0), &tokens);
        states += &self.places.slice_axis(Axis(0), Slice::from(..tokens.len()));
        self.norm.apply(&mut states);
        for layer in &self.layers {
            states = layer.apply(states);
        }
        states.sum_axis(Axis(0)).to_vec()
    }
}

impl Layer {
    fn name(at: usize, part: &str) -> String {
        format!("encoder.layer.{at}.{part}")
    }

    fn new(tensors: &Tensors<'_>, at: usize, width: usize) -> Result<Self, String> {
        let linear = |part: &str| Linear::new(tensors, &Self::name(at, part));
        let norm = |part: &str| Norm::new(tensors, &Self::name(at, part), width);
        let layer = Self {
            query: linear("attention.self.query")?,
            key: linear("attention.self.key")?,
            value: linear("attention.self.value")?,
            mix: linear("attention.output.dense")?,
            mix_norm: norm("attention.output.LayerNorm")?,
            widen: linear("intermediate.dense")?,
            narrow: linear("output.dense")?,
            norm: norm("output.LayerNorm")?,
        };
        let wide = layer.widen.bias.len();
        let fits = |linear: &Linear, from, to| linear.weight.dim() == (from, to);
        let square = [&layer.query, &layer.key, &layer.value, &layer.mix];
        let sound = square.iter().all(|linear| fits(linear, width, width));
        match sound && fits(&layer.widen, width, wide) && fits(&layer.narrow, wide, width) {
            true => Ok(layer),
            false => Err(format!("the tables of layer {at} do not fit together")),
        }
    }

    fn apply(&self, states: Array2<f32>) -> Array2<f32> {
        let mut mixed = self.mix.apply(&self.attend(&states));
        mixed += &states;
        self.mix_norm.apply(&mut mixed);
        let mut wide = self.widen.apply(&mixed);
        wide.mapv_inplace(gelu);
        let mut out = self.narrow.apply(&wide);
        out += &mixed;
        self.norm.apply(&mut out);
        out
    }

    /// Every word takes from every other as much as they have to do with each other.
    fn attend(&self, states: &Array2<f32>) -> Array2<f32> {
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
        let weight = table(tensors, &format!("{name}.weight"))?;
        let bias = tensors.of_shape(&format!("{name}.bias"), &[weight.nrows()])?;
        // Files have it by output; products are faster by input.
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

impl Norm {
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
            row /= (variance + NORM_FLOOR).sqrt();
            row *= &self.weight;
            row += &self.bias;
        }
    }
}

fn table(tensors: &Tensors<'_>, name: &str) -> Result<Array2<f32>, String> {
    let tensor = tensors.get(name)?;
    let sides = tensor.sides(name)?;
    Array2::from_shape_vec(sides, tensor.numbers).map_err(|error| format!("`{name}`: {error}"))
}

/// The family's curve, by its usual approximation: it differs in the fourth decimal at most.
fn gelu(x: f32) -> f32 {
    const SLOPE: f32 = 0.797_884_6;
    0.5 * x * (1.0 + (SLOPE * (x + 0.044_715 * x * x * x)).tanh())
}
