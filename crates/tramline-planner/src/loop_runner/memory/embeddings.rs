//! Embeddings of chat messages, stored with them so that each message is embedded only once.
//!
//! Losing them only costs time, so of two concurrent writers one may lose.

use super::{MATCHES_MAX, SIMILARITY_MIN};
use crate::planning::Planner;
use std::collections::HashMap;
use tramline_catalog::search::{Vector, fingerprint};

/// The kind of these documents in the store.
const KIND: &str = "meanings";

/// The embedding of `said` and the texts similar to it; without an embedder or if it fails the reason, in which case
/// words are compared. With a chat session's key, embeddings are read from and written to the store.
pub(super) async fn similar_messages(
    planner: &Planner,
    key: Option<&str>,
    said: &str,
    texts: &[&str],
) -> Result<(Vec<f32>, Vec<(usize, f64)>), String> {
    let Some(embedder) = planner.embedder.as_ref() else {
        return Err("no `embedder` is configured".to_owned());
    };
    if said.is_empty() {
        return Err("the message is empty".to_owned());
    }
    let documents = planner.documents(KIND);
    let seen = match key {
        Some(key) => documents.get(key).await.ok().flatten(),
        None => None,
    };
    let mut known = decode(seen.as_deref().unwrap_or_default());
    let print = |text: &str| fingerprint(embedder.model(), text);
    let mut asked = vec![said.to_owned()];
    for text in texts {
        let is_known = known.contains_key(&print(text));
        if !is_known && !asked.iter().any(|one| one == text) {
            asked.push((*text).to_owned());
        }
    }
    let mut vectors = Vec::new();
    for batch in asked.chunks(embedder.batch_max().max(1)) {
        let made = embedder.embed(batch.to_vec()).await;
        vectors.extend(made.map_err(|why| format!("the embedder failed: {why}"))?);
    }
    let meaning = vectors.first().cloned();
    let meaning = meaning.ok_or_else(|| "the embedder returned nothing".to_owned())?;
    let made = asked.iter().zip(vectors);
    known.extend(made.filter_map(|(text, vector)| Some((print(text), Vector::new(vector)?))));
    if let Some(key) = key {
        let wanted = texts.iter().copied().chain([said]).map(print);
        // If this fails, the embeddings are computed again.
        let _ = documents
            .swap_relaxed(key, seen, encode(wanted, &known))
            .await;
    }
    let near = most_similar(
        known.get(&print(said)),
        texts.iter().map(|text| known.get(&print(text))),
    );
    Ok((meaning, near))
}

/// The most similar vectors, by index.
fn most_similar<'v>(
    said: Option<&Vector>,
    all: impl Iterator<Item = Option<&'v Vector>>,
) -> Vec<(usize, f64)> {
    let likeness = |one: Option<&Vector>| Some(f64::from(said?.cosine_similarity(one?)?));
    let mut found: Vec<_> = all
        .enumerate()
        .filter_map(|(at, one)| Some((at, likeness(one)?)))
        .filter(|(_, likeness)| *likeness >= SIMILARITY_MIN)
        .collect();
    found.sort_by(|(at, a), (other, b)| b.total_cmp(a).then_with(|| other.cmp(at)));
    found.truncate(MATCHES_MAX);
    found
}

/// Each vector, preceded by its fingerprint and its length.
fn encode(wanted: impl Iterator<Item = u128>, known: &HashMap<u128, Vector>) -> Vec<u8> {
    let mut wanted: Vec<_> = wanted.collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut bytes = Vec::new();
    for print in wanted {
        let Some(vector) = known.get(&print) else {
            continue;
        };
        let vector = vector.encode();
        bytes.extend(print.to_le_bytes());
        bytes.extend((vector.len() as u32).to_le_bytes());
        bytes.extend(vector);
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> HashMap<u128, Vector> {
    let mut known = HashMap::new();
    while let Some((print, rest)) = bytes.split_first_chunk::<16>() {
        let Some((length, rest)) = rest.split_first_chunk::<4>() else {
            break;
        };
        let Some((vector, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)
        else {
            break;
        };
        if let Some(vector) = Vector::decode(vector) {
            known.insert(u128::from_le_bytes(*print), vector);
        }
        bytes = rest;
    }
    known
}
