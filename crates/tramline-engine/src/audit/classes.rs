//! Where notes are kept: in classes with a bound each.
//!
//! An agent can command as often as it likes. What persons commanded and decided is therefore kept
//! apart from what agents did, and both from what was refused: a flood can push out only notes of its
//! own kind. The same refusal again is counted in one line.

use super::Note;
use crate::seams::{Store, StoreFault};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tramline_core::ids::RunId;

/// After so many notes of one process of a class it is looked whether there are too many.
const TRIM_EVERY: usize = 1_000;
/// The same refusal is counted in one line for so long, in milliseconds; then a new line begins, so
/// that the times in the trail stay close to what happened.
const COUNTED_MS: i64 = 60 * 60 * 1000;
/// So many different refusals are remembered to be counted; beyond that each has its own line.
const REPEATED_MAX: usize = 1_024;

/// A class of notes, which has a bound of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditClass {
    /// What persons commanded and decided.
    Persons,
    /// What agents commanded and relayed, if it was accepted.
    Agents,
    /// What was refused.
    Refused,
}

impl AuditClass {
    /// Every class.
    pub const ALL: [Self; 3] = [Self::Persons, Self::Agents, Self::Refused];

    /// Under what its notes are kept. The first one has the notes of earlier versions, too.
    fn kind(self) -> &'static str {
        match self {
            Self::Persons => "audit",
            Self::Agents => "audit-agents",
            Self::Refused => "audit-refused",
        }
    }

    /// So many notes are kept of it; the oldest go first.
    pub fn most(self) -> usize {
        match self {
            Self::Persons | Self::Agents => 100_000,
            // Not evidence of what happened, only of what was tried.
            Self::Refused => 20_000,
        }
    }

    /// What its notes are about, for messages.
    fn word(self) -> &'static str {
        match self {
            Self::Persons => "by persons",
            Self::Agents => "by agents",
            Self::Refused => "refused",
        }
    }

    /// Where a note belongs. A person's refused command is a person's.
    fn of(note: &Note) -> Self {
        match (note.person, note.result == "refused") {
            (true, _) => Self::Persons,
            (false, true) => Self::Refused,
            (false, false) => Self::Agents,
        }
    }
}

/// Writes notes, and knows of this process: how often it wrote, and which refusals it may see again.
#[derive(Default)]
pub(crate) struct AuditWriter {
    written: [AtomicUsize; 3],
    repeated: Mutex<HashMap<String, RepeatedRefusal>>,
}

/// A refusal that has a line.
#[derive(Clone)]
struct RepeatedRefusal {
    key: String,
    first_ms: i64,
    times: u64,
}

impl AuditWriter {
    fn repeated(&self) -> MutexGuard<'_, HashMap<String, RepeatedRefusal>> {
        self.repeated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a note. It is on the disk when this returns.
    pub(super) async fn keep(
        &self,
        store: &Arc<dyn Store>,
        note: &Note,
        written: usize,
    ) -> Result<(), StoreFault> {
        let class = AuditClass::of(note);
        let mut told = note.to_json();
        let mut key = note.key(written);
        if class == AuditClass::Refused
            && let Some(before) = self.counted(note, &told, &key)
        {
            told["times"] = before.times.into();
            told["last_at_ms"] = note.at_ms.into();
            told["at_ms"] = before.first_ms.into();
            key = before.key;
        }
        let body = told.to_string().into_bytes();
        store.put(class.kind(), &key, body).await?;
        let written = self.written[class as usize].fetch_add(1, Ordering::Relaxed) + 1;
        match written.is_multiple_of(TRIM_EVERY) {
            true => trim(store, class, class.most()).await,
            false => Ok(()),
        }
    }

    /// The line that the same refusal has already, with how often it came by now.
    fn counted(&self, note: &Note, told: &Json, key: &str) -> Option<RepeatedRefusal> {
        let mut same = told.clone();
        same["at_ms"] = Json::Null;
        let same = same.to_string();
        let mut repeated = self.repeated();
        let is_due = |it: &RepeatedRefusal| note.at_ms.saturating_sub(it.first_ms) >= COUNTED_MS;
        if let Some(before) = repeated.get_mut(&same).filter(|it| !is_due(it)) {
            before.times += 1;
            return Some(before.clone());
        }
        if repeated.len() >= REPEATED_MAX {
            repeated.retain(|_, it| !is_due(it));
        }
        if repeated.len() < REPEATED_MAX || repeated.contains_key(&same) {
            let first = RepeatedRefusal {
                key: key.to_owned(),
                first_ms: note.at_ms,
                times: 1,
            };
            repeated.insert(same, first);
        }
        None
    }
}

/// The notes of all classes since a moment, of one run if one is named, oldest first.
pub(super) async fn read(
    store: &Arc<dyn Store>,
    since_ms: i64,
    run: Option<&RunId>,
) -> Result<Vec<Json>, StoreFault> {
    // A line that counts may have begun before and been repeated since.
    let since = format!("{:015}", since_ms.saturating_sub(COUNTED_MS).max(0));
    let mut keys = Vec::new();
    for class in AuditClass::ALL {
        let all = store.list(class.kind()).await?;
        keys.extend(all.into_iter().map(|key| (key, class)));
    }
    keys.sort_by(|one, other| one.0.cmp(&other.0));
    let mut found = Vec::new();
    for (key, class) in keys {
        let of_run = run.is_none_or(|run| key.contains(&format!("/{run}/")));
        if key < since || !of_run {
            continue;
        }
        // One that was forgotten meanwhile is passed over.
        if let Some(body) = store.get(class.kind(), &key).await?
            && let Ok(note) = serde_json::from_slice::<Json>(&body)
        {
            let at = |key: &str| note[key].as_i64();
            if at("last_at_ms").or(at("at_ms")) >= Some(since_ms) {
                found.push(note);
            }
        }
    }
    Ok(found)
}

/// Forgets the oldest notes of a class beyond its bound.
async fn trim(store: &Arc<dyn Store>, class: AuditClass, most: usize) -> Result<(), StoreFault> {
    let mut keys = store.list(class.kind()).await?;
    let surplus = keys.len().saturating_sub(most);
    keys.truncate(surplus);
    if keys.is_empty() {
        return Ok(());
    }
    store.forget(class.kind(), &keys).await?;
    // What is gone is said, so that nobody takes the rest for all there was.
    let mut note = Note::new("audit", "tramline");
    note.result = "trimmed".to_owned();
    note.why = Some(format!(
        "{surplus} notes {} were forgotten: the latest {most} are kept",
        class.word()
    ));
    let body = note.to_json().to_string().into_bytes();
    // After everything else of this millisecond.
    let key = note.key(u32::MAX as usize);
    store.put(class.kind(), &key, body).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemoryStore;

    fn note(command: &str, result: &str, person: bool) -> Note {
        let mut note = Note::new(command, "somebody");
        note.result = result.to_owned();
        note.person = person;
        note
    }

    #[tokio::test]
    async fn a_flood_pushes_out_only_its_own_kind() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let writer = AuditWriter::default();
        let mut number = 0;
        let mut keep = async |note: Note| {
            number += 1;
            writer.keep(&store, &note, number).await.unwrap();
        };
        keep(note("approve", "answered", true)).await;
        keep(note("execute_dag", "complete", false)).await;
        for at in 0..30 {
            let mut refused = note("approval_response", "refused", false);
            refused.error = Some(format!("another reason {at}"));
            keep(refused).await;
        }
        trim(&store, AuditClass::Refused, 10).await.unwrap();
        let left = read(&store, 0, None).await.unwrap();
        let commands: Vec<&str> = left
            .iter()
            .filter_map(|it| it["command"].as_str())
            .collect();
        assert_eq!(&commands[..2], ["approve", "execute_dag"]);
        assert_eq!(commands.len(), 2 + 10 + 1, "{commands:?}");
        let said: Vec<&str> = left.iter().filter_map(|it| it["why"].as_str()).collect();
        assert_eq!(
            said,
            ["20 notes refused were forgotten: the latest 10 are kept"]
        );
    }

    #[tokio::test]
    async fn the_same_refusal_is_counted_in_one_line_for_an_hour() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let writer = AuditWriter::default();
        let refused = |at_ms: i64| Note {
            at_ms,
            ..note("continue", "refused", false)
        };
        for at in 0..50 {
            writer.keep(&store, &refused(1_000 + at), 1).await.unwrap();
        }
        let lines = read(&store, 0, None).await.unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["times"], 50);
        assert_eq!(
            (&lines[0]["at_ms"], &lines[0]["last_at_ms"]),
            (&1_000.into(), &1_049.into())
        );
        // It is found by when it came last.
        assert_eq!(read(&store, 1_040, None).await.unwrap().len(), 1);
        assert_eq!(read(&store, 1_050, None).await.unwrap().len(), 0);
        let later = refused(1_000 + COUNTED_MS);
        writer.keep(&store, &later, 2).await.unwrap();
        assert_eq!(read(&store, 0, None).await.unwrap().len(), 2);
    }
}
