//! A run as one file: taken out whole, and brought in as a run that is over.
//!
//! What is brought in is only looked at. Whatever had not ended is ended on the way in, so that
//! no process ever drives it.

mod discreet;

use super::{Engine, Owner};
use crate::clock;
use crate::fault::Fault;
use crate::ledger;
use crate::seams::{Append, AppendError, Chunk, Head, Hold, Status};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_core::Value;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{self, Entry, Event, Outcome};
use tramline_core::navigate::Walk;
use tramline_core::sop::Sop;

/// Larger files are refused, in bytes.
pub const PORT_BYTES_MAX: usize = 64 << 20;
/// The version of such files.
const VERSION: u32 = 1;
/// No event happened later: the end of the year 9999, in milliseconds since 1970. Beyond it times
/// cannot be reckoned with.
const AT_MS_MAX: i64 = 253_402_300_799_999;
/// So much is said of what is wrong with a file, which may have words of any length, in characters.
const SAYS_CHARS_MAX: usize = 300;

/// A run as a file.
#[derive(Serialize, Deserialize)]
struct File {
    /// The version; what it is a file of.
    tramline_run: u32,
    run_id: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    exported_ms: i64,
    /// The journal: when, and what.
    journal: Vec<(i64, Event)>,
    /// The events that could not be read, of a journal that is damaged. Those after them are told
    /// all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<Unreadable>,
}

/// An event that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// Its place in the journal.
    pub seq: Seq,
    /// What is wrong with it.
    pub why: String,
}

impl Engine {
    /// A run as one file of JSON: its journal after a head, redacted as it is kept.
    pub async fn export(&self, id: &RunId) -> Result<Vec<u8>, Fault> {
        let entries = self.entries(id).await?;
        self.written(id, entries, Vec::new()).await
    }

    /// What can be read of a run as such a file, with the events that cannot be read by their
    /// places. A run that is not damaged is the same as by [`export`](Engine::export).
    pub async fn export_readable(&self, id: &RunId) -> Result<(Vec<u8>, Vec<Unreadable>), Fault> {
        let chunks = self.0.store.salvage(id).await?;
        let last = self.0.store.row(id).await?.map(|row| row.last);
        let last = last.ok_or_else(|| Fault::NotFound(id.clone()))?;
        let (entries, unreadable) = self.readable(id, &chunks, last).await;
        let file = self.written(id, entries, unreadable.clone()).await?;
        Ok((file, unreadable))
    }

    /// The events that can be read of some chunks, and the places up to `last` of those that cannot.
    async fn readable(
        &self,
        id: &RunId,
        chunks: &[Chunk],
        last: Seq,
    ) -> (Vec<Entry>, Vec<Unreadable>) {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        let mut next = 1;
        let lost = |from: Seq, to: Seq| {
            (from..to).map(|seq| Unreadable {
                seq,
                why: "it is missing, or not as it was written".to_owned(),
            })
        };
        for chunk in chunks {
            unreadable.extend(lost(next, chunk.first));
            let lines = chunk.body.split(|&byte| byte == b'\n');
            let lines = lines.filter(|line| !line.is_empty());
            for (line, seq) in lines.zip(chunk.first..) {
                match self.event(id, seq, line).await {
                    Ok(entry) => entries.push(entry),
                    Err(why) => unreadable.push(Unreadable { seq, why }),
                }
            }
            next = next.max(chunk.last + 1);
        }
        unreadable.extend(lost(next, last + 1));
        (entries, unreadable)
    }

    /// One event, with the documents that it refers to, or why it cannot be read.
    async fn event(&self, id: &RunId, seq: Seq, line: &[u8]) -> Result<Entry, String> {
        if seq == 1
            && let Some((at_ms, beginning)) = journal::decode_beginning(line)
        {
            let event = self.0.whole(id, beginning).await;
            let event = event.map_err(|fault| fault.to_string())?;
            return Ok(Entry { seq, at_ms, event });
        }
        let read = journal::decode(seq, line).map_err(|error| error.message)?;
        let first = read.into_iter().next();
        first.ok_or_else(|| "it is empty".to_owned())
    }

    async fn written(
        &self,
        id: &RunId,
        entries: Vec<Entry>,
        unreadable: Vec<Unreadable>,
    ) -> Result<Vec<u8>, Fault> {
        let first = entries.first().map(|entry| &entry.event);
        let guided = matches!(first, Some(Event::Guided(_)));
        let file = File {
            tramline_run: VERSION,
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
        // What became a secret after it was written down is one all the same.
        let text = self.discreet_file(text).await?;
        if text.len() > PORT_BYTES_MAX {
            return Err(Fault::Refused(format!(
                "{id} has {} bytes, more than the {PORT_BYTES_MAX} that one file may",
                text.len()
            )));
        }
        Ok(text.into_bytes())
    }

    /// Brings a run in from such a file, under an id of its own.
    pub async fn import(&self, file: &str, owner: Owner) -> Result<(RunId, Status), Fault> {
        if file.len() > PORT_BYTES_MAX {
            let bytes = file.len();
            return Err(bad(format!(
                "it has {bytes} bytes, and {PORT_BYTES_MAX} at most are read"
            )));
        }
        let text = self.discreet_file(file.to_owned()).await?;
        let read: File = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if read.tramline_run != VERSION {
            let version = read.tramline_run;
            return Err(bad(format!("version {version} is not known; {VERSION} is")));
        }
        let entries = over(read.journal, owner).map_err(bad)?;
        let at_ms = clock::now_ms();
        let chance = u128::from(clock::random()) << 64 | u128::from(clock::random());
        let id = RunId::new(at_ms, chance);
        let head = self.head_of(&id, &entries).map_err(bad)?;
        let mut body = Vec::new();
        let mut documents = Vec::new();
        for entry in &entries {
            documents.extend(self.0.encode(entry, &mut body)?);
        }
        let _room = self.room().await?;
        let status = head.status;
        let append = Append {
            run: id.clone(),
            seen: 0,
            last: entries.len() as u64,
            body,
            head,
            hold: Hold::Keep,
            documents,
        };
        match self.0.store.append(append).await {
            Ok(()) => Ok((id, status)),
            Err(AppendError::Store(fault)) => Err(fault.into()),
            Err(AppendError::Moved { .. } | AppendError::Elsewhere { .. }) => {
                Err(Fault::Refused("the run is there already; try again".into()))
            }
        }
    }

    /// What the list shows of a journal, if it is one.
    fn head_of(&self, id: &RunId, entries: &[Entry]) -> Result<Head, String> {
        if !matches!(
            entries.first().map(|entry| &entry.event),
            Some(Event::Guided(_))
        ) {
            let run = self.fold(id, entries).map_err(|fault| {
                // The file is at fault, and no run of that name is there to be removed.
                if let Fault::Damaged { message, .. } = fault {
                    return message;
                }
                fault.to_string()
            })?;
            return Ok(ledger::head(&run));
        }
        let build = |sop: &Arc<Sop>| self.0.documents.procedures.built(sop);
        let walk = Walk::fold(id.clone(), entries.iter().cloned(), build);
        let walk = walk.map_err(|illegal| illegal.to_string())?;
        let outcome = walk.outcome.as_ref();
        Ok(Head {
            status: outcome.map_or(Status::Aborted, ledger::ended),
            workflow: walk.sop().name.clone(),
            session: walk.begun.session.clone(),
            started_ms: walk.started_ms,
            updated_ms: walk.updated_ms,
        })
    }
}

fn bad(what: String) -> Fault {
    let cut = what.char_indices().nth(SAYS_CHARS_MAX);
    let what = cut.map_or(what.as_str(), |(at, _)| &what[..at]);
    Fault::Refused(format!("this is no exported run: {what}"))
}

/// The journal of a run that is over and belongs to who brings it in. Where its servers were is
/// nobody's business here.
fn over(journal: Vec<(i64, Event)>, owner: Owner) -> Result<Vec<Entry>, String> {
    if let Some((at_ms, _)) = journal
        .iter()
        .find(|(at_ms, _)| !(0..=AT_MS_MAX).contains(at_ms))
    {
        return Err(format!("{at_ms} is no time that an event can have"));
    }
    let places = (1..).zip(journal);
    let mut entries: Vec<Entry> = places
        .map(|(seq, (at_ms, event))| Entry { seq, at_ms, event })
        .collect();
    match entries.first_mut().map(|entry| &mut entry.event) {
        Some(Event::Started(started)) => {
            started.owner = owner.0;
            started.origin = Value::Null;
            started.parent = None;
        }
        Some(Event::Guided(begun)) => {
            begun.owner = owner.0;
            begun.origin = Value::Null;
            begun.pinned = None;
        }
        Some(_) | None => return Err("its journal has no beginning".to_owned()),
    }
    let last = entries.last().map(|entry| (entry.seq, entry.at_ms));
    let ended = entries
        .last()
        .is_some_and(|entry| matches!(entry.event, Event::Finished { .. }));
    if let (Some((seq, at_ms)), false) = (last, ended) {
        let outcome = Outcome::Aborted {
            by: "import".into(),
            why: Some("it had not ended when it was exported".to_owned()),
        };
        entries.push(Entry {
            seq: seq + 1,
            at_ms,
            event: Event::Finished { outcome },
        });
    }
    Ok(entries)
}
