//! The question for a plan, kept until the calling agent answers.
//!
//! A question is a document of the store, so that any process takes the answer.

use super::Terms;
use super::course::Course;
use crate::clock;
use crate::fault::Fault;
use crate::seams::Store;
use std::sync::Arc;
use tramline_core::ids::RunId;
use tramline_core::text::shown;
use tramline_core::{Map, Value};

/// Under what questions are kept.
const KIND: &str = "plan_requests";
/// So many open questions are kept; the oldest go first.
const QUESTIONS_MAX: usize = 1_000;
/// A question is open so long, in milliseconds: an agent that has not answered in a day will not.
const OPEN_MS: i64 = 24 * 60 * 60 * 1_000;
/// How handles begin.
const PREFIX: &str = "plan_";
/// What a handle asks for.
#[derive(Debug)]
pub enum Asked {
    /// The plan of a loop.
    Loop(Box<Course>),
    /// The plan of a front end's own, in its words.
    Else(Value),
}

/// Keeps a question, and gives the handle it is answered by.
pub(super) async fn keep(
    store: &Arc<dyn Store>,
    asked: Asked,
    terms: &Terms,
) -> Result<String, Fault> {
    let at_ms = clock::now_ms();
    let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
    let id = RunId::new(at_ms, chance);
    let handle = id.as_str().replacen("run_", PREFIX, 1);
    let mut body = Map::new();
    body.insert("at_ms", at_ms.into());
    let owner = terms.owner.clone().map_or(Value::Null, Value::from);
    body.insert("owner", owner);
    match asked {
        Asked::Loop(course) => body.insert("course", course.to_value()),
        Asked::Else(about) => body.insert("about", about),
    };
    let body = Value::from(body).to_json().into_bytes();
    store.put(KIND, &handle, body).await?;
    trim(store).await?;
    Ok(handle)
}

/// Forgets the oldest questions beyond the bound: handles sort by birth.
async fn trim(store: &Arc<dyn Store>) -> Result<(), Fault> {
    let mut keys = store.list(KIND).await?;
    keys.truncate(keys.len().saturating_sub(QUESTIONS_MAX));
    if !keys.is_empty() {
        store.forget(KIND, &keys).await?;
    }
    Ok(())
}

/// What a handle asks for. Another owner's handle is none.
pub(super) async fn take(
    store: &Arc<dyn Store>,
    handle: &str,
    terms: &Terms,
) -> Result<Asked, Fault> {
    let none = || {
        let handle = shown(handle);
        let message = format!("`{handle}` asks for no plan, or not any more; ask for one again");
        Fault::Refused(message)
    };
    if !handle.starts_with(PREFIX) || handle.len() > 64 {
        return Err(none());
    }
    let body = store.get(KIND, handle).await?.ok_or_else(none)?;
    let text = String::from_utf8(body).map_err(|_| none())?;
    let value = Value::from_json(&text).map_err(|_| none())?;
    let at_ms = value.get("at_ms").and_then(Value::as_i64).unwrap_or(0);
    let owner = value.get("owner").and_then(Value::as_str);
    if owner != terms.owner.as_deref() || clock::now_ms() - at_ms > OPEN_MS {
        return Err(none());
    }
    match (value.get("course"), value.get("about")) {
        (Some(course), _) => {
            let course = Course::read(course).ok_or_else(none)?;
            Ok(Asked::Loop(Box::new(course)))
        }
        (None, Some(about)) => Ok(Asked::Else(about.clone())),
        (None, None) => Err(none()),
    }
}

/// Forgets a question that was answered.
pub(super) async fn forget(store: &Arc<dyn Store>, handle: &str) -> Result<(), Fault> {
    Ok(store.forget(KIND, &[handle.to_owned()]).await?)
}
