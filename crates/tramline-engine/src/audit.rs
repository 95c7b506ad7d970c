//! What was commanded, by whom, why and with what result: kept in the store, apart from the runs.
//!
//! A journal tells what happened in a run. This tells also what was refused, and outlives the run.
//! A note is durable before the command is answered; notes of one moment share a disk sync.
//!
//! Notes are kept in classes with a bound each, so that no agent can push out the trail of persons by
//! commanding a lot: see [`AuditClass`].

mod classes;
mod scope;

pub use classes::AuditClass;
pub(crate) use classes::AuditWriter;
pub use scope::noted_by_door;
pub(crate) use scope::{CommandNote, Decision};

use crate::clock;
use crate::engine::Engine;
use crate::fault::Fault;
use serde_json::{Map, Value as Json};
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_core::ids::RunId;

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
    /// Whether a person commanded or decided it, as far as the door can tell: by the command line, the
    /// studio, a form or a token that stands for a person.
    pub person: bool,
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

/// Counts the notes of this process: those of one millisecond stay in their order.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);

impl Engine {
    /// Writes a note. It is on the disk when this returns. The same refusal within an hour is counted in
    /// the line that it has already.
    pub async fn note(&self, note: Note) -> Result<(), Fault> {
        let written = WRITTEN.fetch_add(1, Ordering::Relaxed) + 1;
        let note = self.discreet_note(note);
        Ok(self
            .audit_writer()
            .keep(self.store(), &note, written)
            .await?)
    }

    /// The notes since a moment, of one run if one is named, oldest first.
    pub async fn notes(&self, since_ms: i64, run: Option<&RunId>) -> Result<Vec<Json>, Fault> {
        Ok(classes::read(self.store(), since_ms.max(0), run).await?)
    }
}
