//! Export of a run as one file, and import as a run that has ended.
//!
//! Imported runs can only be inspected. An open run is ended on import, so that no process drives
//! it.

mod import_file;
mod redact_export;

use super::{Engine, RunOwner};
use crate::clock;
use crate::fault::Fault;
use crate::journal_writer;
use crate::long_work::long_work;
use crate::ports::{Append, AppendError, ClaimChange, JournalChunk, RunIndexRow, RunStatus};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tramline_expr::Value;
use tramline_sop::SopSession;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{self, Entry, Event, Outcome, RunEvent, SopEvent};
use tramline_workflow::sop::Sop;

/// Bytes of an export file; larger files are rejected, because a file is held in memory as a whole.
pub const EXPORT_BYTES_MAX: usize = 64 << 20;
/// Values in an export file. Most take far more memory than text: a file of small values would take gigabytes.
const EXPORT_VALUES_MAX: usize = 2_000_000;
/// Imports that run at once.
static IMPORTS: Semaphore = Semaphore::const_new(1);
/// The version of the file format.
const EXPORT_VERSION: u32 = 1;
/// The latest time of an event, the end of the year 9999, in milliseconds since 1970. Later times
/// overflow in calculations.
const EVENT_TIME_MS_MAX: i64 = 253_402_300_799_999;
/// Characters of an error about an import file, which may contain text of any length.
const IMPORT_ERROR_CHARS_MAX: usize = 300;

/// An exported run.
#[derive(Serialize)]
struct ExportFile {
    /// The version; this field also identifies the file format.
    tramline_run: u32,
    run_id: String,
    kind: String,
    exported_ms: i64,
    /// The journal: time and event.
    journal: Vec<(i64, Event)>,
    /// The events of a damaged journal that could not be read. Later events are included all the
    /// same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<UnreadableEvent>,
}

/// An event that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableEvent {
    /// Its sequence number.
    pub seq: Seq,
    /// What is wrong with it.
    pub why: String,
}

impl Engine {
    /// A run as a JSON file: metadata and journal, redacted as it is stored.
    pub async fn export(&self, id: &RunId) -> Result<Vec<u8>, Fault> {
        let entries = self.entries(id).await?;
        self.export_file(id, entries, Vec::new()).await
    }

    /// The readable part of a run as such a file, with the sequence numbers of unreadable events.
    /// For an undamaged run the result is the same as [`export`](Engine::export).
    pub async fn export_readable(
        &self,
        id: &RunId,
    ) -> Result<(Vec<u8>, Vec<UnreadableEvent>), Fault> {
        let chunks = self.0.store.read_intact(id).await?;
        let last = self.0.store.row(id).await?.map(|row| row.last);
        let last = last.ok_or_else(|| Fault::NotFound(id.clone()))?;
        let (entries, unreadable) = self.readable_events(id, &chunks, last).await;
        let file = self.export_file(id, entries, unreadable.clone()).await?;
        Ok((file, unreadable))
    }

    /// The readable events of some chunks, and the unreadable sequence numbers up to `last`.
    async fn readable_events(
        &self,
        id: &RunId,
        chunks: &[JournalChunk],
        last: Seq,
    ) -> (Vec<Entry>, Vec<UnreadableEvent>) {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        let mut next = 1;
        let lost = |from: Seq, to: Seq| {
            (from..to).map(|seq| UnreadableEvent {
                seq,
                why: "it is missing or damaged".to_owned(),
            })
        };
        for chunk in chunks {
            unreadable.extend(lost(next, chunk.first));
            let lines = chunk.body.split(|&byte| byte == b'\n');
            let lines = lines.filter(|line| !line.is_empty());
            for (line, seq) in lines.zip(chunk.first..) {
                match self.decode_event(id, seq, line).await {
                    Ok(entry) => entries.push(entry),
                    Err(why) => unreadable.push(UnreadableEvent { seq, why }),
                }
            }
            next = next.max(chunk.last + 1);
        }
        unreadable.extend(lost(next, last + 1));
        (entries, unreadable)
    }

    /// One event with the documents that it refers to, or why it cannot be read.
    async fn decode_event(&self, id: &RunId, seq: Seq, line: &[u8]) -> Result<Entry, String> {
        if seq == 1
            && let Some((at_ms, beginning)) = journal::decode_first_event(line)
        {
            let event = self.0.with_documents(id, beginning).await;
            let event = event.map_err(|fault| fault.to_string())?;
            return Ok(Entry { seq, at_ms, event });
        }
        let read = journal::decode(seq, line).map_err(|error| error.message)?;
        let first = read.into_iter().next();
        first.ok_or_else(|| "it is empty".to_owned())
    }

    async fn export_file(
        &self,
        id: &RunId,
        entries: Vec<Entry>,
        unreadable: Vec<UnreadableEvent>,
    ) -> Result<Vec<u8>, Fault> {
        let first = entries.first().map(|entry| &entry.event);
        let guided = matches!(first, Some(Event::Sop(SopEvent::SopStarted(_))));
        let file = ExportFile {
            tramline_run: EXPORT_VERSION,
            run_id: id.to_string(),
            kind: if guided { "guided" } else { "graph" }.to_owned(),
            exported_ms: clock::now_ms(),
            journal: entries
                .into_iter()
                .map(|entry| (entry.at_ms, entry.event))
                .collect(),
            unreadable,
        };
        let text = serde_json::to_string(&file).unwrap_or_default();
        // Also redact what became a secret after it was journaled.
        let text = self.redact_file(text).await?;
        if text.len() > EXPORT_BYTES_MAX {
            return Err(Fault::Rejected(format!(
                "{id} has {} bytes; an export file may have at most {EXPORT_BYTES_MAX}",
                text.len()
            )));
        }
        Ok(text.into_bytes())
    }

    /// Imports a run from such a file, under a new id.
    pub async fn import(&self, file: &str, owner: RunOwner) -> Result<(RunId, RunStatus), Fault> {
        if file.len() > EXPORT_BYTES_MAX {
            let bytes = file.len();
            return Err(invalid_file(format!(
                "it has {bytes} bytes; at most {EXPORT_BYTES_MAX} are allowed"
            )));
        }
        // One at a time: the values of a file take many times the memory of its text.
        let _turn = IMPORTS.acquire().await;
        self.refresh_settings().await;
        let mut read = Err(invalid_file("it was not read".to_owned()));
        long_work(&mut || read = import_file::read(file, self.settings()).map_err(invalid_file));
        let journal = read?;
        let entries = end_imported(journal, owner).map_err(invalid_file)?;
        let at_ms = clock::now_ms();
        let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
        let id = RunId::new(at_ms, chance);
        let head = self.index_row_of(&id, &entries).map_err(invalid_file)?;
        let mut body = Vec::new();
        let mut documents = Vec::new();
        for entry in &entries {
            documents.extend(self.0.encode(entry, &mut body)?);
        }
        let _room = self.reserve_run().await?;
        let status = head.status;
        let append = Append {
            run: id.clone(),
            seen: 0,
            last: entries.len() as u64,
            body,
            index_row: head,
            claim: ClaimChange::Keep,
            documents,
        };
        match self.0.store.append(append).await {
            Ok(_) => Ok((id, status)),
            Err(AppendError::Store(fault)) => Err(fault.into()),
            Err(AppendError::Conflict { .. } | AppendError::Elsewhere { .. }) => Err(
                Fault::Rejected("a run with this id already exists; try again".into()),
            ),
        }
    }

    /// The run index entry of a journal, if the journal is valid.
    fn index_row_of(&self, id: &RunId, entries: &[Entry]) -> Result<RunIndexRow, String> {
        if !matches!(
            entries.first().map(|entry| &entry.event),
            Some(Event::Sop(SopEvent::SopStarted(_)))
        ) {
            let run = self.fold(id, entries).map_err(|fault| {
                // The file is invalid; there is no run of that id to remove.
                if let Fault::Damaged { message, .. } = fault {
                    return message;
                }
                fault.to_string()
            })?;
            return Ok(journal_writer::index_row(&run));
        }
        let build = |sop: &Arc<Sop>| self.0.documents.procedures.built(sop);
        let walk = SopSession::fold(id.clone(), entries.iter().cloned(), build);
        let walk = walk.map_err(|illegal| illegal.to_string())?;
        let outcome = walk.outcome.as_ref();
        Ok(RunIndexRow {
            status: outcome.map_or(RunStatus::Aborted, journal_writer::outcome_status),
            workflow: walk.sop().name.clone(),
            session: walk.started.session.clone(),
            started_ms: walk.started_ms,
            updated_ms: walk.updated_ms,
        })
    }
}

fn invalid_file(what: String) -> Fault {
    let cut = what.char_indices().nth(IMPORT_ERROR_CHARS_MAX);
    let what = cut.map_or(what.as_str(), |(at, _)| &what[..at]);
    Fault::Rejected(format!("invalid export file: {what}"))
}

/// The journal of an ended run that belongs to its importer. The origin of its servers is removed.
fn end_imported(journal: Vec<(i64, Event)>, owner: RunOwner) -> Result<Vec<Entry>, String> {
    if let Some((at_ms, _)) = journal
        .iter()
        .find(|(at_ms, _)| !(0..=EVENT_TIME_MS_MAX).contains(at_ms))
    {
        return Err(format!("{at_ms} is not a valid event time"));
    }
    let places = (1..).zip(journal);
    let mut entries: Vec<Entry> = places
        .map(|(seq, (at_ms, event))| Entry { seq, at_ms, event })
        .collect();
    let first = entries.first_mut().map(|entry| &mut entry.event);
    if let Some(Event::Run(RunEvent::Started(started))) = first {
        started.owner = owner.0;
        started.origin = Value::Null;
        started.parent = None;
    } else if let Some(Event::Sop(SopEvent::SopStarted(begun))) = first {
        begun.owner = owner.0;
        begun.origin = Value::Null;
        begun.pinned = None;
    } else {
        return Err("its journal has no first event".to_owned());
    }
    let last = entries.last().map(|entry| (entry.seq, entry.at_ms));
    let ended = entries
        .last()
        .is_some_and(|entry| entry.event.outcome().is_some());
    if let (Some((seq, at_ms)), false) = (last, ended) {
        let outcome = Outcome::Aborted {
            by: "import".into(),
            why: Some("it had not ended when it was exported".to_owned()),
        };
        entries.push(Entry {
            seq: seq + 1,
            at_ms,
            event: Event::Run(RunEvent::Finished { outcome }),
        });
    }
    Ok(entries)
}
