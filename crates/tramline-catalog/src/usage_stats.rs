//! Usage statistics of tools and workflows: how often, when last and for which requests, kept small and without
//! secrets.
//!
//! The requests for which something was used successfully are the best data to find it again. They are written in the
//! background and added up in the store, so that several processes lose nothing.

mod run_counter;

pub(crate) use run_counter::RunCounter;

use crate::search::PAST_REQUESTS_MAX as KEPT_WISHES_MAX;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tramline_engine::ports::{Store, StoreFault};
use tramline_engine::scrub::scrub_request;
use tramline_expr::Str;

/// The kind of these documents in the store. The key is `server:tool`.
const KIND: &str = "uses";
/// How often the statistics of other processes are loaded.
const READ_EVERY: Duration = Duration::from_secs(30);
/// Most requests that are remembered until a tool is used for them. The oldest are dropped first.
const PENDING_SEARCHES_MAX: usize = 256;
/// How long a request is remembered if no tool is used for it.
const PENDING_SEARCH_TTL: Duration = Duration::from_secs(60 * 60);

/// Usage of one tool or workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUsage {
    /// Number of runs.
    pub runs: u64,
    /// When it was last used, in milliseconds since 1970.
    #[serde(default)]
    pub last_ms: i64,
    /// The last run that used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Str>,
    /// The requests it was used for, latest last.
    #[serde(default)]
    pub wishes: VecDeque<Str>,
}

impl ToolUsage {
    fn add(&mut self, other: Self) {
        self.runs += other.runs;
        if other.last_ms >= self.last_ms && other.last_run.is_some() {
            self.last_ms = other.last_ms;
            self.last_run = other.last_run;
        }
        for wish in other.wishes {
            self.wishes.retain(|known| *known != wish);
            self.wishes.push_back(wish);
        }
        while self.wishes.len() > KEPT_WISHES_MAX {
            self.wishes.pop_front();
        }
    }
}

/// A caller's search with its results.
struct PendingSearch {
    caller: Str,
    words: Str,
    found: Vec<Str>,
    at: Instant,
}

/// The usage statistics of all tools and workflows.
pub struct UsageStats {
    store: Arc<dyn Store>,
    stats: RwLock<BTreeMap<Str, ToolUsage>>,
    /// Incremented with every change of `held`.
    revision: AtomicU64,
    read: Mutex<Option<Instant>>,
    pending: Mutex<BTreeMap<Str, ToolUsage>>,
    /// Whether a task is about to write the pending changes.
    writing: AtomicBool,
    searches: Mutex<VecDeque<PendingSearch>>,
    /// Which caller ran which document successfully, as hashes.
    proven: Mutex<VecDeque<u64>>,
}

impl UsageStats {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            stats: RwLock::default(),
            revision: AtomicU64::new(0),
            read: Mutex::default(),
            pending: Mutex::default(),
            writing: AtomicBool::new(false),
            searches: Mutex::default(),
            proven: Mutex::default(),
        }
    }

    /// A number that changes with every change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Locks the statistics for a change.
    fn change(&self) -> RwLockWriteGuard<'_, BTreeMap<Str, ToolUsage>> {
        let held = self.stats.write().unwrap_or_else(PoisonError::into_inner);
        // Incremented under the lock: a reader of the new number waits for the change itself.
        self.revision.fetch_add(1, Ordering::AcqRel);
        held
    }

    /// The usage of one tool or workflow.
    pub fn get(&self, name: &str) -> ToolUsage {
        let held = self.stats.read().unwrap_or_else(PoisonError::into_inner);
        held.get(name).cloned().unwrap_or_default()
    }

    /// Remembers a caller's search and its results until the caller uses one of them.
    pub fn record_search(&self, caller: &str, words: &str, found: impl IntoIterator<Item = Str>) {
        let words = scrub_request(words);
        if words.is_empty() {
            return;
        }
        let mut wishes = lock(&self.searches);
        wishes.retain(|wish| wish.at.elapsed() < PENDING_SEARCH_TTL);
        wishes.retain(|wish| wish.caller != caller || wish.words != words);
        wishes.push_back(PendingSearch {
            caller: caller.into(),
            words: words.into(),
            found: found.into_iter().collect(),
            at: Instant::now(),
        });
        if wishes.len() > PENDING_SEARCHES_MAX {
            wishes.pop_front();
        }
    }

    /// Records that a caller used these successfully: they are linked to the caller's last search that found them, or
    /// else to the last one that has a word of their name. Returns how many were linked.
    pub fn record_success(&self, caller: &str, names: &[Str]) -> usize {
        let wishes = lock(&self.searches);
        let mut tied = 0;
        for name in names {
            let own = || wishes.iter().rev().filter(|wish| wish.caller == caller);
            let bare = name.split_once(':').map_or(name.as_str(), |(_, bare)| bare);
            let found = own().find(|wish| wish.found.contains(name));
            if let Some(wish) = found.or_else(|| own().find(|wish| share_word(&wish.words, bare))) {
                let wishes = VecDeque::from([wish.words.clone()]);
                self.add_pending(
                    name.clone(),
                    ToolUsage {
                        wishes,
                        ..ToolUsage::default()
                    },
                );
                tied += 1;
            }
        }
        tied
    }

    /// Records that a caller ran a document successfully; if the caller saves it, it is linked to the caller's
    /// searches.
    pub fn record_document_run(&self, caller: &str, text: &str) {
        let mut proven = lock(&self.proven);
        proven.push_back(proof(caller, text));
        if proven.len() > PENDING_SEARCHES_MAX {
            proven.pop_front();
        }
    }

    /// Records that a caller saved a document. If the caller ran it successfully, the workflow is linked to the
    /// caller's latest related searches.
    pub fn record_save(&self, caller: &str, text: &str, name: &Str, tools: &[Str]) {
        if !lock(&self.proven).contains(&proof(caller, text)) {
            return;
        }
        let about = |wish: &&PendingSearch| {
            let used = wish.found.iter().any(|found| tools.contains(found));
            wish.caller == caller && (used || share_word(&wish.words, text))
        };
        let wishes = lock(&self.searches);
        let mut latest: VecDeque<_> = wishes.iter().rev().filter(about).take(2).collect();
        latest.make_contiguous().reverse();
        let wishes: VecDeque<_> = latest.iter().map(|wish| wish.words.clone()).collect();
        if !wishes.is_empty() {
            self.add_pending(
                name.clone(),
                ToolUsage {
                    wishes,
                    ..ToolUsage::default()
                },
            );
        }
    }

    /// Records that a run uses something. Returns whether the caller must trigger the write.
    pub(crate) fn record_run(&self, name: Str, at_ms: i64, run: &str) -> bool {
        let used = ToolUsage {
            runs: 1,
            last_ms: at_ms,
            last_run: Some(run.into()),
            ..ToolUsage::default()
        };
        self.add_pending(name, used);
        !self.writing.swap(true, Ordering::AcqRel)
    }

    fn add_pending(&self, name: Str, used: ToolUsage) {
        let mut held = self.change();
        held.entry(name.clone()).or_default().add(used.clone());
        drop(held);
        lock(&self.pending).entry(name).or_default().add(used);
    }

    /// Writes the pending changes.
    pub async fn write(&self) -> Result<(), StoreFault> {
        self.writing.store(false, Ordering::Release);
        let pending = std::mem::take(&mut *lock(&self.pending));
        for (name, used) in pending {
            let mut seen = self.store.get(KIND, &name).await?;
            loop {
                let mut all = decode(seen.as_deref());
                all.add(used.clone());
                let body = serde_json::to_vec(&all).unwrap_or_default();
                if self.store.swap_relaxed(KIND, &name, seen, body).await? {
                    break;
                }
                seen = self.store.get(KIND, &name).await?;
            }
        }
        Ok(())
    }

    /// Writes the pending changes and loads those of other processes, at most every `READ_EVERY`.
    pub async fn refresh(&self) -> Result<(), StoreFault> {
        self.write().await?;
        {
            let mut read = lock(&self.read);
            if read.is_some_and(|read| read.elapsed() < READ_EVERY) {
                return Ok(());
            }
            *read = Some(Instant::now());
        }
        let mut found = BTreeMap::new();
        for name in self.store.list(KIND).await? {
            let body = self.store.get(KIND, &name).await?;
            found.insert(Str::from(name), decode(body.as_deref()));
        }
        let mut held = self.change();
        *held = found;
        Ok(())
    }

    fn remove_cached(&self, name: &str) {
        let mut held = self.change();
        held.remove(name);
    }

    /// Deletes the usage of something.
    pub async fn forget(&self, name: &str) -> Result<(), StoreFault> {
        lock(&self.pending).remove(name);
        self.remove_cached(name);
        self.store.delete(KIND, &[name.to_owned()]).await
    }
}

fn proof(caller: &str, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (caller, text).hash(&mut hasher);
    hasher.finish()
}

/// Entries that cannot be read are ignored: the statistics are only an aid.
fn decode(body: Option<&[u8]>) -> ToolUsage {
    body.and_then(|body| serde_json::from_slice(body).ok())
        .unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a request and a text share a significant word.
fn share_word(wish: &str, text: &str) -> bool {
    /// Shorter words occur in any text.
    const TELLING_CHARS_MIN: usize = 4;
    let text = text.to_lowercase();
    let words = wish.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() >= TELLING_CHARS_MIN)
        .any(|word| text.contains(&word.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;
    use tramline_engine::testing::MemoryStore;

    #[tokio::test]
    async fn a_search_is_linked_to_the_tool_used_for_it() {
        let store = MemoryStore::new();
        let uses = UsageStats::new(Arc::new(store.clone()));
        let name = Str::from("files:count");
        uses.record_search("ann", "how many files are there", [name.clone()]);
        uses.record_search("ann", "send a letter", ["post:send".into()]);
        assert_eq!(
            uses.record_success("bob", from_ref(&name)),
            0,
            "another caller's search"
        );
        assert_eq!(uses.record_success("ann", from_ref(&name)), 1);
        assert!(uses.record_run(name.clone(), 5, "run_a"));
        uses.write().await.unwrap();
        let other = UsageStats::new(Arc::new(store));
        other.record_run(name.clone(), 7, "run_b");
        other.refresh().await.unwrap();
        let used = other.get(&name);
        assert_eq!(used.wishes, ["how many files are there"]);
        assert_eq!((used.runs, used.last_run.as_deref()), (2, Some("run_b")));
    }

    #[tokio::test]
    async fn a_tool_that_no_search_showed_is_linked_by_its_name() {
        let uses = UsageStats::new(Arc::new(MemoryStore::new()));
        let name = Str::from("files:archive_reports");
        uses.record_search(
            "ann",
            "archive what was written last year",
            ["post:send".into()],
        );
        uses.record_search("ann", "send a letter", ["post:send".into()]);
        assert_eq!(uses.record_success("ann", from_ref(&name)), 1);
        assert_eq!(
            uses.get(&name).wishes,
            ["archive what was written last year"]
        );
        let other = Str::from("post:weigh");
        assert_eq!(uses.record_success("ann", from_ref(&other)), 0);
    }

    #[tokio::test]
    async fn past_requests_stay_few() {
        let uses = UsageStats::new(Arc::new(MemoryStore::new()));
        let name = Str::from("a:b");
        for n in 0..100 {
            uses.record_search("ann", &format!("wish number {n}"), [name.clone()]);
            uses.record_success("ann", from_ref(&name));
        }
        let used = uses.get(&name);
        assert_eq!(used.wishes.len(), KEPT_WISHES_MAX);
        assert_eq!(used.wishes.back().unwrap(), "wish number 99");
    }
}
