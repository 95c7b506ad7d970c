//! The audit: which command was given, by whom, why and with what result, stored separately from
//! the runs.
//!
//! A journal records what happened in a run. The audit also records what was rejected, and outlives
//! the run. A note is stored before the first effect of its command, and complete and durable before
//! the command returns; concurrent notes share a disk sync.
//!
//! Notes are kept in classes with a limit each, so that an agent cannot push out the trail of
//! people with many commands: see [`AuditClass`].

mod classes;
mod command_scope;
mod scope;

pub use classes::AuditClass;
pub(crate) use classes::AuditWriter;
pub use scope::audited_by_front_end;
pub(crate) use scope::{AuditDecision, CommandNote};

use crate::clock;
use crate::engine::Engine;
use crate::fault::Fault;
use serde_json::{Map, Value as Json};
use std::sync::atomic::{AtomicUsize, Ordering};
use tramline_workflow::ids::RunId;

/// Bytes of the arguments in a note; longer ones are cut. People read notes, and the journal has
/// everything.
const ARGUMENTS_BYTES_MAX: usize = 2_000;
/// Characters of a text in a note; longer ones are cut, because people read notes.
const TEXT_CHARS_MAX: usize = 2_000;

/// The result of a command that was rejected before it changed anything.
const REFUSED: &str = "refused";

/// One command and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditNote {
    /// The time, in milliseconds since 1970.
    pub at_ms: i64,
    /// The command.
    pub command: String,
    /// The run, as the caller named it: it need not exist.
    pub run: Option<String>,
    /// Who gave it.
    pub by: String,
    /// The channel: `mcp`, `http`, `command-line`, or the channel of an answer.
    pub channel: Option<String>,
    /// The arguments, with secrets redacted.
    pub arguments: Option<Json>,
    /// The decisions on the run's pauses.
    pub decisions: Vec<Json>,
    /// The plan that was made for it, if its arguments hold only an intent.
    pub plan: Option<Json>,
    /// The runs that it started.
    pub started: Vec<String>,
    /// The session label.
    pub session: Option<String>,
    /// The caller's reason.
    pub why: Option<String>,
    /// The result: the status of the run, or `refused` if nothing happened. `started` if the
    /// process died before the command ended.
    pub result: String,
    /// Why it was rejected.
    pub error: Option<String>,
    /// Whether a person gave or decided it, as far as the channel shows: command line, studio, a
    /// form, or a token that stands for a person.
    pub person: bool,
}

impl AuditNote {
    /// A note with the current time.
    pub fn new(command: impl Into<String>, by: impl Into<String>) -> Self {
        Self {
            at_ms: clock::now_ms(),
            command: command.into(),
            by: by.into(),
            ..Self::default()
        }
    }

    /// The note as JSON, as stored and printed.
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
        text("door", self.channel.as_deref());
        if let Some(arguments) = &self.arguments {
            told.insert("arguments".into(), arguments.clone());
        }
        if let Some(plan) = &self.plan {
            told.insert("plan".into(), plan.clone());
        }
        if !self.decisions.is_empty() {
            told.insert("decisions".into(), self.decisions.clone().into());
        }
        // A command that starts its own run names it as the run.
        if self
            .started
            .iter()
            .any(|run| Some(run) != self.run.as_ref())
        {
            told.insert("started".into(), self.started.clone().into());
        }
        told.into()
    }

    /// The store key: ordered by time, and searchable by run.
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

/// Counts the notes of this process, so that those of one millisecond stay in order.
static NOTES_WRITTEN: AtomicUsize = AtomicUsize::new(0);

impl Engine {
    /// Writes a note, which is durable when this returns. The same rejection within an hour is
    /// counted in its existing note.
    pub async fn write_audit_note(&self, note: AuditNote) -> Result<(), Fault> {
        let written = NOTES_WRITTEN.fetch_add(1, Ordering::Relaxed) + 1;
        let note = self.redact_note(note);
        Ok(self
            .audit_writer()
            .write(self.store(), &note, written)
            .await?)
    }

    /// The notes since a time, optionally of one run, oldest first.
    pub async fn audit_notes(
        &self,
        since_ms: i64,
        run: Option<&RunId>,
    ) -> Result<Vec<Json>, Fault> {
        Ok(classes::read(self.store(), since_ms.max(0), run).await?)
    }
}
