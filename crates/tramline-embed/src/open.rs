//! From a directory to an embedder: which kind of model it holds, and what is wrong with it if none.

use crate::embedder::{Local, Reads};
use crate::static_model::StaticModel;
use crate::tensors::Tensors;
use crate::wordpiece::WordPiece;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_engine::seams::Embedder;
use tramline_engine::search::fingerprint;

/// A larger file is no model that one would search with; it is read into memory whole.
const MODEL_BYTES_MAX: u64 = 2 * 1_024 * 1_024 * 1_024;
/// The largest vocabularies of today take a fifth of this.
const TOKENIZER_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// Why a directory holds no model for us.
#[derive(Debug, thiserror::Error)]
#[error("{}: {says}", path.display())]
pub struct Unreadable {
    /// The file in question.
    pub path: PathBuf,
    /// What is wrong with it, and what to do.
    pub says: String,
}

/// Opens the model in a directory: `model.safetensors` with `tokenizer.json` beside it.
pub fn open(directory: &Path) -> Result<Arc<dyn Embedder>, Unreadable> {
    let (tokens, model) = (
        directory.join("tokenizer.json"),
        directory.join("model.safetensors"),
    );
    let flawed = |path: &Path| {
        let path = path.to_path_buf();
        move |says: String| Unreadable { path, says }
    };
    let tokenizer = read(&tokens, TOKENIZER_BYTES_MAX)?;
    let tokenizer = WordPiece::parse(&tokenizer).map_err(flawed(&tokens))?;
    let bytes = read(&model, MODEL_BYTES_MAX)?;
    let name = name(directory, &bytes);
    let tensors = Tensors::read(&bytes).map_err(flawed(&model))?;
    let reads = reads(&tensors, tokenizer).map_err(flawed(&model))?;
    Ok(Arc::new(Local::new(name, reads)))
}

fn reads(tensors: &Tensors<'_>, tokenizer: WordPiece) -> Result<Box<dyn Reads>, String> {
    if tensors.has("embeddings") {
        return Ok(Box::new(StaticModel::new(tensors, tokenizer)?));
    }
    if tensors.has("embeddings.word_embeddings.weight") {
        return encoder(tensors, tokenizer);
    }
    let says = "neither a static model (a tensor `embeddings`) nor an encoder of the BERT family \
                (`embeddings.word_embeddings.weight`); see docs/search.md for models that are read";
    Err(says.to_owned())
}

#[cfg(feature = "minilm")]
fn encoder(tensors: &Tensors<'_>, tokenizer: WordPiece) -> Result<Box<dyn Reads>, String> {
    Ok(Box::new(crate::encoder::Encoder::new(tensors, tokenizer)?))
}

#[cfg(not(feature = "minilm"))]
fn encoder(_: &Tensors<'_>, _: WordPiece) -> Result<Box<dyn Reads>, String> {
    Err("a sentence encoder, which this build does not run; build with `--features minilm`, or use \
         a static model"
        .to_owned())
}

/// A model is known by its directory's name and what is in it, so that vectors of an older file
/// are never taken for its own.
fn name(directory: &Path, bytes: &[u8]) -> String {
    let called = directory.file_name().unwrap_or_default().to_string_lossy();
    // Weights differ everywhere: a sample of them tells files apart as well as all would.
    let step = (bytes.len() / 65_536).max(1);
    let sample: String = bytes
        .iter()
        .step_by(step)
        .map(|byte| char::from(*byte))
        .collect();
    let print = fingerprint(&bytes.len().to_string(), &sample);
    format!("{called}-{:08x}", print as u32)
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, Unreadable> {
    let unreadable = |says: String| Unreadable {
        path: path.to_path_buf(),
        says,
    };
    let bytes = std::fs::metadata(path).and_then(|about| match about.len() > most {
        true => Err(std::io::Error::other(format!(
            "it holds more than {most} bytes"
        ))),
        false => std::fs::read(path),
    });
    bytes.map_err(|error| {
        unreadable(format!(
            "{error}; a model is a directory with model.safetensors and tokenizer.json"
        ))
    })
}
