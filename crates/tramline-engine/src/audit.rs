//! What was commanded, by whom, why and with what result: kept in the store, apart from the runs.
//!
//! A journal tells what happened in a run. This tells also what was refused, and outlives the run.
//! Notes are written behind the reply, so that nobody waits for them; a process that is killed may
//! lose its last ones.

use crate::clock;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::seams::Store;
use futures_util::future::join_all;
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use tokio::sync::mpsc;
use tramline_core::ids::RunId;

/// Under what notes are kept.
const KIND: &str = "audit";
/// So many notes are kept; the oldest go first.
pub const NOTES_MAX: usize = 100_000;
/// After so many notes of one process it is looked whether there are too many.
const TRIM_EVERY: usize = 1_000;
/// So many notes may wait to be written; more wait for room without keeping anybody waiting.
const QUEUE_MAX: usize = 4_096;
/// So many are written at once and share one disk sync.
const BATCH_MAX: usize = 256;
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
        told.into()
    }

    /// A place among all notes: by time, and with its run to be found by.
    fn key(&self) -> String {
        let run = self
            .run
            .as_deref()
            .and_then(|run| run.parse::<RunId>().ok());
        let run = run.as_ref().map_or("-", RunId::as_str);
        format!("{:015}/{run}/{:016x}", self.at_ms.max(0), clock::random())
    }
}

/// Writes notes down behind whoever makes them.
#[derive(Clone)]
pub struct Notebook {
    queue: mpsc::Sender<Note>,
    engine: Engine,
}

impl Notebook {
    /// Takes a note. It is on the disk soon.
    pub fn note(&self, note: Note) {
        let note = self.engine.discreet_note(note);
        if let Err(mpsc::error::TrySendError::Full(note)) = self.queue.try_send(note) {
            let queue = self.queue.clone();
            tokio::spawn(async move { queue.send(note).await });
        }
    }
}

impl Engine {
    /// A notebook over this engine's store. It is written to the end before the engine is closed.
    pub fn notebook(&self) -> Notebook {
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let store = Arc::clone(self.store());
        self.beside(|stop| async move {
            let writing = write(store, queue, stop);
            writing.await;
        });
        Notebook {
            queue: sender,
            engine: self.clone(),
        }
    }

    /// Writes a note at once.
    pub async fn note(&self, note: Note) -> Result<(), Fault> {
        Ok(put(self.store(), &self.discreet_note(note)).await?)
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

async fn put(store: &Arc<dyn Store>, note: &Note) -> Result<(), crate::seams::StoreFault> {
    let body = note.to_json().to_string().into_bytes();
    store.put(KIND, &note.key(), body).await
}

/// Writes what is queued until told to stop, and then what is left.
async fn write(
    store: Arc<dyn Store>,
    mut queue: mpsc::Receiver<Note>,
    stop: tokio_util::sync::CancellationToken,
) {
    let (mut batch, mut written) = (Vec::new(), 0);
    loop {
        let count = tokio::select! {
            biased;
            count = queue.recv_many(&mut batch, BATCH_MAX) => count,
            () = stop.cancelled() => {
                queue.close();
                queue.recv_many(&mut batch, BATCH_MAX).await
            }
        };
        if count == 0 {
            return;
        }
        // A store that fails says so to whoever runs something; nobody is here to hear it.
        let _ = join_all(batch.iter().map(|note| put(&store, note))).await;
        batch.clear();
        written += count;
        if written >= TRIM_EVERY {
            written = 0;
            let _ = trim(&store).await;
        }
    }
}

/// Forgets the oldest notes beyond the bound.
async fn trim(store: &Arc<dyn Store>) -> Result<(), crate::seams::StoreFault> {
    let mut keys = store.list(KIND).await?;
    let surplus = keys.len().saturating_sub(NOTES_MAX);
    keys.truncate(surplus);
    if keys.is_empty() {
        return Ok(());
    }
    store.forget(KIND, &keys).await
}
