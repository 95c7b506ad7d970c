//! What was commanded, by whom, why and with what result: kept in the store, apart from the runs.
//!
//! A journal tells what happened in a run. This tells also what was refused, and outlives the run.
//! A note is durable before the command is answered; notes of one moment share a disk sync.

mod scope;

pub(crate) use scope::Decision;

use crate::clock;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::seams::Store;
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_core::ids::RunId;

/// Under what notes are kept.
const KIND: &str = "audit";
/// So many notes are kept; the oldest go first.
pub const NOTES_MAX: usize = 100_000;
/// After so many notes of one process it is looked whether there are too many.
const TRIM_EVERY: usize = 1_000;
/// Larger arguments are cut, in bytes: a note is read by people, and the journal has all of them.
const ARGUMENTS_BYTES_MAX: usize = 2_000;
/// Longer texts are cut, in characters: a note is read by people.
const TEXT_CHARS_MAX: usize = 2_000;

/// One command and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What was commanded.
    pub command: String,
    /// About which run, in the caller's words: it need not exist.
    pub run: Option<String>,
    /// By whom.
    pub by: String,
    /// By which door: `mcp`, `http`, `command-line`, or the channel of an answer.
    pub door: Option<String>,
    /// With what, without secrets.
    pub arguments: Option<Json>,
    /// What was decided about the run's questions.
    pub decisions: Vec<Json>,
    /// Under which label.
    pub session: Option<String>,
    /// Why, as the caller says.
    pub why: Option<String>,
    /// What came of it: how the run stands, or `refused`.
    pub result: String,
    /// Why it was refused.
    pub error: Option<String>,
}

impl Note {
    /// A note of now.
    pub fn new(command: impl Into<String>, by: impl Into<String>) -> Self {
        Self {
            at_ms: clock::now_ms(),
            command: command.into(),
            by: by.into(),
            ..Self::default()
        }
    }

    /// The note as JSON, as it is kept and printed.
    pub fn to_json(&self) -> Json {
        let mut told = Map::new();
        told.insert("at_ms".into(), self.at_ms.into());
        let mut text = |key: &str, value: Option<&str>| {
            if let Some(value) = value {
                let value: String = value.chars().take(TEXT_CHARS_MAX).collect();
                told.insert(key.to_owned(), value.into());
            }
        };
        text("command", Some(&self.command));
        text("run_id", self.run.as_deref());
        text("by", Some(&self.by));
        text("session_id", self.session.as_deref());
        text("why", self.why.as_deref());
        text("result", Some(&self.result));
        text("error", self.error.as_deref());
        text("door", self.door.as_deref());
        if let Some(arguments) = &self.arguments {
            told.insert("arguments".into(), arguments.clone());
        }
        if !self.decisions.is_empty() {
            told.insert("decisions".into(), self.decisions.clone().into());
        }
        told.into()
    }

    /// A place among all notes: by time, and with its run to be found by.
    fn key(&self, written: usize) -> String {
        let run = self
            .run
            .as_deref()
            .and_then(|run| run.parse::<RunId>().ok());
        let run = run.as_ref().map_or("-", RunId::as_str);
        let at_ms = self.at_ms.max(0);
        format!(
            "{at_ms:015}/{written:08x}/{run}/{:08x}",
            clock::random() as u32
        )
    }
}

/// Counts the notes of this process: those of one millisecond stay in their order, and now and then
/// it is looked whether there are too many.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

impl Engine {
    /// Writes a note. It is on the disk when this returns.
    pub async fn note(&self, note: Note) -> Result<(), Fault> {
        let store = self.store();
        let written = WRITTEN.fetch_add(1, Ordering::Relaxed) + 1;
        put(store, &self.discreet_note(note), written).await?;
        if written.is_multiple_of(TRIM_EVERY) {
            trim(store).await?;
        }
        Ok(())
    }

    /// The notes since a moment, of one run if one is named, oldest first.
    pub async fn notes(&self, since_ms: i64, run: Option<&RunId>) -> Result<Vec<Json>, Fault> {
        let store = self.store();
        let since = format!("{:015}", since_ms.max(0));
        let mut found = Vec::new();
        for key in store.list(KIND).await? {
            let of_run = run.is_none_or(|run| key.contains(&format!("/{run}/")));
            if key < since || !of_run {
                continue;
            }
            // One that was forgotten meanwhile is passed over.
            if let Some(body) = store.get(KIND, &key).await?
                && let Ok(note) = serde_json::from_slice(&body)
            {
                found.push(note);
            }
        }
        Ok(found)
    }
}

async fn put(
    store: &Arc<dyn Store>,
    note: &Note,
    written: usize,
) -> Result<(), crate::seams::StoreFault> {
    let body = note.to_json().to_string().into_bytes();
    store.put(KIND, &note.key(written), body).await
}

/// Forgets the oldest notes beyond the bound.
async fn trim(store: &Arc<dyn Store>) -> Result<(), crate::seams::StoreFault> {
    let mut keys = store.list(KIND).await?;
    let surplus = keys.len().saturating_sub(NOTES_MAX);
    keys.truncate(surplus);
    if keys.is_empty() {
        return Ok(());
    }
    store.forget(KIND, &keys).await?;
    // What is gone is said, so that nobody takes the rest for all there was.
    let mut note = Note::new("audit", "tramline");
    note.result = "trimmed".to_owned();
    note.why = Some(format!(
        "{surplus} notes were forgotten: the latest {NOTES_MAX} are kept"
    ));
    put(store, &note, 0).await
}
