//! Opens the model in a directory as an embedder, or reports what is wrong with it.

use crate::embedder::{LocalEmbedder, TextEncoder};
use crate::static_model::StaticModel;
use crate::tensors::Tensors;
use crate::wordpiece::WordPiece;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_catalog::search::Embedder;
use tramline_catalog::search::fingerprint;
use tramline_workflow::text::io_reason;

/// Largest model file, in bytes. It is read into memory; larger models are not used for search.
const MODEL_BYTES_MAX: u64 = 2 * 1_024 * 1_024 * 1_024;
/// Largest tokenizer file, in bytes: five times the largest current vocabularies.
const TOKENIZER_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// Why a directory does not contain a usable model.
#[derive(Debug, thiserror::Error)]
#[error("{}: {message}", path.display())]
pub struct ModelError {
    /// The file with the problem.
    pub path: PathBuf,
    /// What is wrong with it, and what to do.
    pub message: String,
}

/// Opens the model in a directory: `model.safetensors` with `tokenizer.json` beside it.
pub fn open(directory: &Path) -> Result<Arc<dyn Embedder>, ModelError> {
    let (tokens, model) = (
        directory.join("tokenizer.json"),
        directory.join("model.safetensors"),
    );
    let flawed = |path: &Path| {
        let path = path.to_path_buf();
        move |says: String| ModelError {
            path,
            message: says,
        }
    };
    let tokenizer = read(&tokens, TOKENIZER_BYTES_MAX)?;
    let tokenizer = WordPiece::parse(&tokenizer).map_err(flawed(&tokens))?;
    let bytes = read(&model, MODEL_BYTES_MAX)?;
    let name = model_name(directory, &bytes);
    let tensors = Tensors::read(&bytes).map_err(flawed(&model))?;
    let reads = text_encoder(&tensors, tokenizer).map_err(flawed(&model))?;
    Ok(Arc::new(LocalEmbedder::new(name, reads)))
}

fn text_encoder(
    tensors: &Tensors<'_>,
    tokenizer: WordPiece,
) -> Result<Box<dyn TextEncoder>, String> {
    if tensors.has("embeddings") {
        return Ok(Box::new(StaticModel::new(tensors, tokenizer)?));
    }
    if tensors.has("embeddings.word_embeddings.weight") {
        return encoder(tensors, tokenizer);
    }
    let says = "neither a static model (a tensor `embeddings`) nor an encoder of the BERT family \
                (`embeddings.word_embeddings.weight`); see docs/search.md for supported models";
    Err(says.to_owned())
}

#[cfg(feature = "minilm")]
fn encoder(tensors: &Tensors<'_>, tokenizer: WordPiece) -> Result<Box<dyn TextEncoder>, String> {
    Ok(Box::new(crate::encoder::BertEncoder::new(
        tensors, tokenizer,
    )?))
}

#[cfg(not(feature = "minilm"))]
fn encoder(_: &Tensors<'_>, _: WordPiece) -> Result<Box<dyn TextEncoder>, String> {
    Err("a sentence encoder, which this build does not support; build with `--features minilm`, or use \
         a static model"
        .to_owned())
}

/// A model is identified by its directory's name and its content, so that vectors of an older file are never reused.
fn model_name(directory: &Path, bytes: &[u8]) -> String {
    let called = directory.file_name().unwrap_or_default().to_string_lossy();
    // Weights differ everywhere: a sample distinguishes files as well as all of them would.
    let step = (bytes.len() / 65_536).max(1);
    let sample: String = bytes
        .iter()
        .step_by(step)
        .map(|byte| char::from(*byte))
        .collect();
    let print = fingerprint(&bytes.len().to_string(), &sample);
    format!("{called}-{:08x}", print as u32)
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, ModelError> {
    let unreadable = |says: String| ModelError {
        path: path.to_path_buf(),
        message: says,
    };
    let bytes = std::fs::metadata(path).and_then(|about| match about.len() > most {
        true => Err(std::io::Error::other(format!(
            "it has more than {most} bytes"
        ))),
        false => std::fs::read(path),
    });
    bytes.map_err(|error| {
        unreadable(format!(
            "{}; a model is a directory with model.safetensors and tokenizer.json",
            io_reason(&error)
        ))
    })
}
