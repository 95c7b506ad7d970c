//! Storage of audit notes, in classes with a limit each.
//!
//! An agent can give any number of commands. The commands and decisions of people are therefore
//! stored separately from those of agents, and both from rejected ones: a flood can only push out
//! notes of its own class. A repeated rejection is counted in one note.

use super::AuditNote;
use crate::ports::{Store, StoreFault};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tramline_workflow::ids::RunId;

/// Notes of one class that a process writes between two checks of the limit.
const TRIM_EVERY: usize = 1_000;
/// Time, in milliseconds, for which the same rejection is counted in one note; then a new note
/// starts, so that the times in the trail stay close to what happened.
const REPEAT_WINDOW_MS: i64 = 60 * 60 * 1000;
/// Different rejections that are tracked for counting; further ones get a note each.
const REPEATS_TRACKED_MAX: usize = 1_024;

/// A class of notes with its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditClass {
    /// Commands and decisions of people.
    Persons,
    /// Accepted commands and relayed answers of agents.
    Agents,
    /// Rejected commands.
    Refused,
}

impl AuditClass {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Persons, Self::Agents, Self::Refused];

    /// The document kind of its notes. The first one also has the notes of earlier versions.
    fn kind(self) -> &'static str {
        match self {
            Self::Persons => "audit",
            Self::Agents => "audit-agents",
            Self::Refused => "audit-refused",
        }
    }

    /// How many notes of it are kept; the oldest are removed first.
    pub fn notes_max(self) -> usize {
        match self {
            Self::Persons | Self::Agents => 100_000,
            // Not evidence of what happened, only of what was attempted.
            Self::Refused => 20_000,
        }
    }

    /// How messages describe its notes.
    fn description(self) -> &'static str {
        match self {
            Self::Persons => "by persons",
            Self::Agents => "by agents",
            Self::Refused => "refused",
        }
    }

    /// The class of a note. A person's rejected command belongs to the person.
    fn of(note: &AuditNote) -> Self {
        match (note.person, note.result == super::REFUSED) {
            (true, _) => Self::Persons,
            (false, true) => Self::Refused,
            (false, false) => Self::Agents,
        }
    }
}

/// Writes notes, and tracks how many this process wrote and which rejections may repeat.
#[derive(Default)]
pub(crate) struct AuditWriter {
    written: [AtomicUsize; 3],
    repeated: Mutex<HashMap<String, RepeatedRefusal>>,
}

/// A note that is stored before its command is over.
#[derive(Debug)]
pub(super) struct StoredNote {
    class: AuditClass,
    key: String,
    body: Vec<u8>,
}

/// A rejection that already has a note.
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

    /// Stores a note, which is durable when this returns.
    pub(super) async fn write(
        &self,
        store: &Arc<dyn Store>,
        note: &AuditNote,
        written: usize,
    ) -> Result<(), StoreFault> {
        let class = AuditClass::of(note);
        let mut told = note.to_json();
        let mut key = note.key(written);
        if class == AuditClass::Refused
            && let Some(before) = self.existing_note(note, &told, &key)
        {
            told["times"] = before.times.into();
            told["last_at_ms"] = note.at_ms.into();
            told["at_ms"] = before.first_ms.into();
            key = before.key;
        }
        let body = told.to_string().into_bytes();
        store.put(class.kind(), &key, body).await?;
        self.count_and_trim(store, class).await
    }

    /// Stores a note whose command is not over, in place of what was stored of it before. It
    /// survives a crash of the process at once, and a power loss when a later append has returned.
    pub(super) async fn announce(
        &self,
        store: &Arc<dyn Store>,
        note: &AuditNote,
        before: Option<StoredNote>,
        written: usize,
    ) -> Result<StoredNote, StoreFault> {
        let class = AuditClass::of(note);
        let body = note.to_json().to_string().into_bytes();
        let (key, seen, moved) = match before {
            Some(before) if before.class == class => (before.key, Some(before.body), None),
            other => (note.key(written), None, other),
        };
        store
            .swap_relaxed(class.kind(), &key, seen, body.clone())
            .await?;
        remove(store, moved).await?;
        Ok(StoredNote { class, key, body })
    }

    /// Completes an announced note, which is durable when this returns.
    pub(super) async fn complete(
        &self,
        store: &Arc<dyn Store>,
        note: &AuditNote,
        before: StoredNote,
        written: usize,
    ) -> Result<(), StoreFault> {
        let class = AuditClass::of(note);
        if class != before.class {
            self.write(store, note, written).await?;
            return remove(store, Some(before)).await;
        }
        let body = note.to_json().to_string().into_bytes();
        store.put(class.kind(), &before.key, body).await?;
        self.count_and_trim(store, class).await
    }

    /// Counts a note, and trims its class from time to time.
    async fn count_and_trim(
        &self,
        store: &Arc<dyn Store>,
        class: AuditClass,
    ) -> Result<(), StoreFault> {
        let written = self.written[class as usize].fetch_add(1, Ordering::Relaxed) + 1;
        match written.is_multiple_of(TRIM_EVERY) {
            true => trim(store, class, class.notes_max()).await,
            false => Ok(()),
        }
    }

    /// The existing note of the same rejection, with the new count.
    fn existing_note(&self, note: &AuditNote, told: &Json, key: &str) -> Option<RepeatedRefusal> {
        let mut same = told.clone();
        same["at_ms"] = Json::Null;
        let same = same.to_string();
        let mut repeated = self.repeated();
        let is_due =
            |it: &RepeatedRefusal| note.at_ms.saturating_sub(it.first_ms) >= REPEAT_WINDOW_MS;
        if let Some(before) = repeated.get_mut(&same).filter(|it| !is_due(it)) {
            before.times += 1;
            return Some(before.clone());
        }
        if repeated.len() >= REPEATS_TRACKED_MAX {
            repeated.retain(|_, it| !is_due(it));
        }
        if repeated.len() < REPEATS_TRACKED_MAX || repeated.contains_key(&same) {
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

/// Removes an announced note that is stored in another class now.
async fn remove(store: &Arc<dyn Store>, note: Option<StoredNote>) -> Result<(), StoreFault> {
    match note {
        Some(note) => store.delete(note.class.kind(), &[note.key]).await.map(drop),
        None => Ok(()),
    }
}

/// The notes of all classes since a time, optionally of one run, oldest first.
pub(super) async fn read(
    store: &Arc<dyn Store>,
    since_ms: i64,
    run: Option<&RunId>,
) -> Result<Vec<Json>, StoreFault> {
    // A counting note may have started before and been repeated since.
    let since = format!("{:015}", since_ms.saturating_sub(REPEAT_WINDOW_MS).max(0));
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
        // A note that has been removed in the meantime is skipped.
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

/// Removes the oldest notes of a class above its limit.
async fn trim(store: &Arc<dyn Store>, class: AuditClass, most: usize) -> Result<(), StoreFault> {
    let mut keys = store.list(class.kind()).await?;
    let surplus = keys.len().saturating_sub(most);
    keys.truncate(surplus);
    if keys.is_empty() {
        return Ok(());
    }
    store.delete(class.kind(), &keys).await?;
    // Record the removal, so that the rest is not taken for everything.
    let mut note = AuditNote::new("audit", "tramline");
    note.result = "trimmed".to_owned();
    note.why = Some(format!(
        "{surplus} notes {} were removed: the latest {most} are kept",
        class.description()
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

    fn note(command: &str, result: &str, person: bool) -> AuditNote {
        let mut note = AuditNote::new(command, "somebody");
        note.result = result.to_owned();
        note.person = person;
        note
    }

    #[tokio::test]
    async fn a_flood_pushes_out_only_its_own_kind() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let writer = AuditWriter::default();
        let mut number = 0;
        let mut keep = async |note: AuditNote| {
            number += 1;
            writer.write(&store, &note, number).await.unwrap();
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
            ["20 notes refused were removed: the latest 10 are kept"]
        );
    }

    #[tokio::test]
    async fn the_same_refusal_is_counted_in_one_line_for_an_hour() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let writer = AuditWriter::default();
        let refused = |at_ms: i64| AuditNote {
            at_ms,
            ..note("continue", "refused", false)
        };
        for at in 0..50 {
            writer.write(&store, &refused(1_000 + at), 1).await.unwrap();
        }
        let lines = read(&store, 0, None).await.unwrap();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["times"], 50);
        assert_eq!(
            (&lines[0]["at_ms"], &lines[0]["last_at_ms"]),
            (&1_000.into(), &1_049.into())
        );
        // It is found by the time of its last repetition.
        assert_eq!(read(&store, 1_040, None).await.unwrap().len(), 1);
        assert_eq!(read(&store, 1_050, None).await.unwrap().len(), 0);
        let later = refused(1_000 + REPEAT_WINDOW_MS);
        writer.write(&store, &later, 2).await.unwrap();
        assert_eq!(read(&store, 0, None).await.unwrap().len(), 2);
    }
}
