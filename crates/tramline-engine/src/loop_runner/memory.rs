//! What was said before: the messages of a conversation, kept in the store and found again.
//!
//! One document for each conversation. It is exchanged for the next only if it is still the one that
//! was seen, so that of many requests at once, in whichever processes, none loses its messages.

use super::request::{Request, content};
use crate::fault::Fault;
use crate::planner;
use crate::seams::{Embedder, Store};
use std::sync::Arc;
use tramline_core::{Map, Value};

mod meanings;

/// Under what messages are kept.
const KIND: &str = "messages";
/// So many messages of one conversation are kept; the oldest go first.
const KEPT_MAX: usize = 200;
/// So many bytes of one conversation are kept; the oldest messages go first.
const KEPT_BYTES_MAX: usize = 256 << 10;
/// So many of the latest messages are recalled.
const RECENT_MAX: usize = 10;
/// So many near ones are recalled.
const MATCHES_MAX: usize = 5;
/// So many of the latest are looked through: each costs an embedding.
const SEARCHED_MAX: usize = 64;
/// What means less of the same is not near.
const LIKENESS_MIN: f64 = 0.3;

/// What is recalled of a conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Recalled {
    /// The latest messages.
    pub(super) recent: Vec<Value>,
    /// Those that are near to the last one, each with its `score`.
    pub(super) matches: Vec<Value>,
    /// What the last message means, where something here tells.
    pub(super) meaning: Option<Vec<f32>>,
}

/// The key of a conversation. Another owner's session of the same name is another one.
fn key(owner: Option<&str>, session: &str) -> String {
    format!("{}\u{1f}{session}", owner.unwrap_or_default())
}

/// Recalls what belongs to a request.
pub(super) async fn recall(
    store: &Arc<dyn Store>,
    embedder: Option<&Arc<dyn Embedder>>,
    owner: Option<&str>,
    request: &Request,
) -> Result<Recalled, Fault> {
    let kept = kept(store, owner, request).await?;
    let before = &request.messages[..request.messages.len().saturating_sub(1)];
    let all: Vec<_> = kept.iter().chain(before).collect();
    let recent = all.iter().skip(all.len().saturating_sub(RECENT_MAX));
    let recent = recent.map(|message| (*message).clone()).collect();
    let all = &all[all.len().saturating_sub(SEARCHED_MAX)..];
    let texts: Vec<_> = all.iter().map(|message| content(message)).collect();
    let said = request.last();
    let key = request.session.as_ref().map(|session| key(owner, session));
    let nearest = meanings::nearest(store, embedder, key.as_deref(), said, &texts);
    let (meaning, found) = match nearest.await {
        Some((meaning, found)) => (Some(meaning), found),
        None => (None, planner::near(said, &texts, MATCHES_MAX)),
    };
    Ok(Recalled {
        recent,
        matches: found.into_iter().map(|hit| told(all, hit)).collect(),
        meaning,
    })
}

/// A message with how near it is.
fn told(all: &[&Value], (at, score): (usize, f64)) -> Value {
    let mut told: Map = all[at].as_object().cloned().unwrap_or_default();
    told.insert("score", ((score * 1_000.0).round() / 1_000.0).into());
    told.into()
}

async fn kept(
    store: &Arc<dyn Store>,
    owner: Option<&str>,
    request: &Request,
) -> Result<Vec<Value>, Fault> {
    let Some(session) = &request.session else {
        return Ok(Vec::new());
    };
    let body = store.get(KIND, &key(owner, session)).await?;
    Ok(read(body.as_deref()))
}

/// The messages of a conversation as they are kept.
fn read(body: Option<&[u8]>) -> Vec<Value> {
    let text = body.and_then(|body| str::from_utf8(body).ok());
    let value = text.and_then(|text| Value::from_json(text).ok());
    let list = value.as_ref().and_then(Value::as_array);
    list.map(<[Value]>::to_vec).unwrap_or_default()
}

/// Keeps what was said in a conversation, and what was answered.
pub(super) async fn keep(
    store: &Arc<dyn Store>,
    owner: Option<&str>,
    request: &Request,
    answer: Option<&str>,
) -> Result<(), Fault> {
    let Some(session) = &request.session else {
        return Ok(());
    };
    let key = key(owner, session);
    // Each time it is too late, another has come through.
    loop {
        let seen = store.get(KIND, &key).await?;
        let mut all = read(seen.as_deref());
        let fresh = fresh(&all, request, answer);
        if fresh.is_empty() {
            return Ok(());
        }
        all.extend(fresh);
        if store.note(KIND, &key, seen, bounded(all)).await? {
            return Ok(());
        }
    }
}

/// What is to be added to a conversation.
fn fresh(all: &[Value], request: &Request, answer: Option<&str>) -> Vec<Value> {
    // A caller that sends the whole conversation each time does not have it kept twice.
    let messages = request.messages.iter();
    let mut fresh: Vec<_> = messages.filter(|one| !all.contains(one)).cloned().collect();
    // Said before, and said again now; unless this was kept already and is only told once more.
    let at_end = |message: &Value| all.iter().rev().take(2).any(|one| one == message);
    if let (true, Some(last)) = (fresh.is_empty(), request.messages.last())
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

/// A conversation as it is kept, without what is too old or too much.
fn bounded(all: Vec<Value>) -> Vec<u8> {
    let mut from = all.len().saturating_sub(KEPT_MAX);
    let sizes: Vec<_> = all.iter().map(|message| message.to_json().len()).collect();
    while sizes[from..].iter().sum::<usize>() > KEPT_BYTES_MAX && from + 1 < all.len() {
        from += 1;
    }
    let kept = Value::array(all.into_iter().skip(from));
    kept.to_json().into_bytes()
}
