//! Tells what texts mean, by model files that the user supplies.
//!
//! A directory with `model.safetensors` and `tokenizer.json` is opened by [`open`]. Two kinds of model
//! are read: *static* ones, which have a vector for each token (the layout of model2vec) and take
//! microseconds per text, and with the feature `minilm` sentence encoders of the BERT family.
//! Nothing is ever fetched, and no weights are part of the program.

mod embedder;
mod open;
mod static_model;
mod tensors;
mod wordpiece;

#[cfg(feature = "minilm")]
mod encoder;

pub use open::{Unreadable, open};
