//! The chat memory: the messages of a chat session, stored and searched.
//!
//! One document per chat session, replaced by compare-and-swap, so that concurrent requests, even in several processes,
//! never lose messages.

use super::request::{LoopRequest, message_text};
use super::state::LoopState;
use crate::planner;
use crate::planning::Planner;
use tramline_engine::Fault;
use tramline_engine::ports::DocumentTable;
use tramline_expr::{Map, Value};

mod embeddings;

/// The kind of these documents in the store.
const KIND: &str = "messages";
/// Most messages that are stored of one chat session. The oldest are dropped first.
const STORED_MESSAGES_MAX: usize = 200;
/// Most bytes that are stored of one chat session. The oldest messages are dropped first.
const STORED_BYTES_MAX: usize = 256 << 10;
/// Number of latest messages that are recalled.
const RECENT_MAX: usize = 10;
/// Number of similar messages that are recalled.
const MATCHES_MAX: usize = 5;
/// Number of latest messages that are searched. Each costs one embedding.
const SEARCHED_MAX: usize = 64;
/// Lowest similarity of a recalled message.
const SIMILARITY_MIN: f64 = 0.3;

/// What is recalled of a chat session.
#[derive(Clone, Debug, Default)]
pub(super) struct RecalledMessages {
    /// The latest messages.
    pub(super) recent: Vec<Value>,
    /// The messages similar to the last one, each with its `score`.
    pub(super) matches: Vec<Value>,
    /// The embedding of the last message, if there is an embedder.
    pub(super) embedding: Option<Vec<f32>>,
    /// Why there is no embedding.
    pub(super) no_embedding: Option<String>,
}

/// The key of a chat session. Sessions of different owners are separate even if their names are equal.
fn key(owner: Option<&str>, session: &str) -> String {
    format!("{}\u{1f}{session}", owner.unwrap_or_default())
}

/// Recalls what belongs to a request.
pub(super) async fn recall(
    planner: &Planner,
    owner: Option<&str>,
    request: &LoopRequest,
) -> Result<RecalledMessages, Fault> {
    let kept = stored_messages(&planner.documents(KIND), owner, request).await?;
    let before = &request.messages[..request.messages.len().saturating_sub(1)];
    let all: Vec<_> = kept.iter().chain(before).collect();
    let recent = all.iter().skip(all.len().saturating_sub(RECENT_MAX));
    let recent = recent.map(|message| (*message).clone()).collect();
    let all = &all[all.len().saturating_sub(SEARCHED_MAX)..];
    let texts: Vec<_> = all.iter().map(|message| message_text(message)).collect();
    let said = request.last_message();
    let key = request.session.as_ref().map(|session| key(owner, session));
    let nearest = embeddings::similar_messages(planner, key.as_deref(), said, &texts);
    let (meaning, why, found) = match nearest.await {
        Ok((meaning, found)) => (Some(meaning), None, found),
        Err(why) => {
            let found = planner::similar_texts(said, &texts, MATCHES_MAX);
            (None, Some(why), found)
        }
    };
    Ok(RecalledMessages {
        recent,
        matches: found.into_iter().map(|hit| with_score(all, hit)).collect(),
        embedding: meaning,
        no_embedding: why,
    })
}

/// A message with its similarity.
fn with_score(all: &[&Value], (at, score): (usize, f64)) -> Value {
    let mut told: Map = all[at].as_object().cloned().unwrap_or_default();
    told.insert("score", ((score * 1_000.0).round() / 1_000.0).into());
    told.into()
}

async fn stored_messages(
    documents: &DocumentTable,
    owner: Option<&str>,
    request: &LoopRequest,
) -> Result<Vec<Value>, Fault> {
    let Some(session) = &request.session else {
        return Ok(Vec::new());
    };
    let body = documents.get(&key(owner, session)).await?;
    Ok(decode_messages(body.as_deref()))
}

/// Decodes the stored messages of a chat session.
fn decode_messages(body: Option<&[u8]>) -> Vec<Value> {
    let text = body.and_then(|body| str::from_utf8(body).ok());
    let value = text.and_then(|text| Value::from_json(text).ok());
    let list = value.as_ref().and_then(Value::as_array);
    list.map(<[Value]>::to_vec).unwrap_or_default()
}

/// Stores the messages and the answer of a request.
pub(super) async fn store_messages(
    planner: &Planner,
    owner: Option<&str>,
    course: &LoopState,
    answer: Option<&str>,
) -> Result<(), Fault> {
    let request = &course.request;
    let Some(session) = &request.session else {
        return Ok(());
    };
    let (key, documents) = (key(owner, session), planner.documents(KIND));
    // The swap fails only if another writer succeeded.
    loop {
        let seen = documents.get(&key).await?;
        let mut all = decode_messages(seen.as_deref());
        let messages: &[Value] = match course.is_remembered {
            true => &[],
            false => &request.messages,
        };
        let fresh = new_messages(&all, messages, answer);
        if fresh.is_empty() {
            return Ok(());
        }
        all.extend(fresh);
        if documents
            .swap_relaxed(&key, seen, encode_bounded(all))
            .await?
        {
            return Ok(());
        }
    }
}

/// The messages to add to a chat session.
fn new_messages(all: &[Value], messages: &[Value], answer: Option<&str>) -> Vec<Value> {
    // A caller that sends the whole history each time must not have it stored twice.
    let unknown = messages.iter().filter(|one| !all.contains(one));
    let mut fresh: Vec<_> = unknown.cloned().collect();
    // The last message may repeat an earlier one, unless it was just stored and the request is only a retry.
    let at_end = |message: &Value| all.iter().rev().take(2).any(|one| one == message);
    if let (true, Some(last)) = (fresh.is_empty(), messages.last())
        && !at_end(last)
    {
        fresh.push(last.clone());
    }
    if let Some(answer) = answer {
        let role = ("role", Value::from("assistant"));
        let answer = Value::object([role, ("content", answer.into())]);
        if !(fresh.is_empty() && at_end(&answer)) {
            fresh.push(answer);
        }
    }
    fresh
}

/// A chat session in its stored form, without messages beyond the limits.
fn encode_bounded(all: Vec<Value>) -> Vec<u8> {
    let mut from = all.len().saturating_sub(STORED_MESSAGES_MAX);
    let sizes: Vec<_> = all.iter().map(|message| message.to_json().len()).collect();
    while sizes[from..].iter().sum::<usize>() > STORED_BYTES_MAX && from + 1 < all.len() {
        from += 1;
    }
    let kept = Value::array(all.into_iter().skip(from));
    kept.to_json().into_bytes()
}
