//! Text embeddings from model files that the user supplies.
//!
//! [`open`] opens a directory with `model.safetensors` and `tokenizer.json`. Two kinds of models are supported:
//! *static* ones, which have a vector for each token (the layout of model2vec) and take microseconds per text, and with
//! the feature `minilm` sentence encoders of the BERT family. Nothing is ever downloaded, and no weights are part of
//! the program.

mod embedder;
mod open;
mod static_model;
mod tensors;
mod wordpiece;

#[cfg(feature = "minilm")]
mod encoder;

pub use open::{ModelError, open};
