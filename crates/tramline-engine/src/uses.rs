//! How often tools and workflows were used, when last, and for what: kept small, and without
//! secrets.
//!
//! What callers wanted when they used something with success is the best there is to find it by
//! again. It is written behind whoever runs something, and added up in the store, so that several
//! processes lose nothing of it.

pub(crate) mod words;

use crate::seams::{Store, StoreFault};
use crate::search::WISHES_MAX as KEPT_WISHES_MAX;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};
use tramline_core::Str;

/// Under what it is kept, by `server:tool`.
const KIND: &str = "uses";
/// What others used is read again after so long.
const READ_EVERY: Duration = Duration::from_secs(30);
/// So many wishes wait for something that is used; the oldest go first.
const WISHES_MAX: usize = 256;
/// A wish that nothing was used for in so long is forgotten.
const WISH_HOLDS: Duration = Duration::from_secs(60 * 60);

/// How something was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// How often.
    pub runs: u64,
    /// When last, in milliseconds since 1970.
    #[serde(default)]
    pub last_ms: i64,
    /// In which run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<Str>,
    /// For what, the latest last.
    #[serde(default)]
    pub wishes: VecDeque<Str>,
}

impl Use {
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

/// What somebody looked for, and what was found for it.
struct Wish {
    caller: Str,
    words: Str,
    found: Vec<Str>,
    at: Instant,
}

/// All uses.
pub struct Uses {
    store: Arc<dyn Store>,
    held: RwLock<BTreeMap<Str, Use>>,
    /// Counts the changes of what is held.
    revision: AtomicU64,
    read: Mutex<Option<Instant>>,
    pending: Mutex<BTreeMap<Str, Use>>,
    /// Whether somebody is about to write what is pending.
    writing: AtomicBool,
    wishes: Mutex<VecDeque<Wish>>,
    /// Who has run which document with success.
    proven: Mutex<VecDeque<u64>>,
}

impl Uses {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            held: RwLock::default(),
            revision: AtomicU64::new(0),
            read: Mutex::default(),
            pending: Mutex::default(),
            writing: AtomicBool::new(false),
            wishes: Mutex::default(),
            proven: Mutex::default(),
        }
    }

    /// Another number after every change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// What is held, to be changed.
    fn change(&self) -> RwLockWriteGuard<'_, BTreeMap<Str, Use>> {
        let held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        // Counted under the lock: a reader of the new number waits for the change itself.
        self.revision.fetch_add(1, Ordering::AcqRel);
        held
    }

    /// How one thing was used.
    pub fn of(&self, name: &str) -> Use {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        held.get(name).cloned().unwrap_or_default()
    }

    /// Remembers what a caller looks for and what it was shown, until it uses some of that.
    pub fn wished(&self, caller: &str, words: &str, found: impl IntoIterator<Item = Str>) {
        let words = words::harmless(words);
        if words.is_empty() {
            return;
        }
        let mut wishes = lock(&self.wishes);
        wishes.retain(|wish| wish.at.elapsed() < WISH_HOLDS);
        wishes.retain(|wish| wish.caller != caller || wish.words != words);
        wishes.push_back(Wish {
            caller: caller.into(),
            words: words.into(),
            found: found.into_iter().collect(),
            at: Instant::now(),
        });
        if wishes.len() > WISHES_MAX {
            wishes.pop_front();
        }
    }

    /// A caller has used these with success: they answer to what it last looked for and was shown
    /// them. Gives the names that a wish was found for.
    pub fn served(&self, caller: &str, names: &[Str]) -> usize {
        let wishes = lock(&self.wishes);
        let mut tied = 0;
        for name in names {
            let fits = |wish: &&Wish| wish.caller == caller && wish.found.contains(name);
            if let Some(wish) = wishes.iter().rev().find(fits) {
                let wishes = VecDeque::from([wish.words.clone()]);
                self.pend(
                    name.clone(),
                    Use {
                        wishes,
                        ..Use::default()
                    },
                );
                tied += 1;
            }
        }
        tied
    }

    /// A caller has run a document with success; what it saves of that answers to its wishes.
    pub fn proved(&self, caller: &str, text: &str) {
        let mut proven = lock(&self.proven);
        proven.push_back(proof(caller, text));
        if proven.len() > WISHES_MAX {
            proven.pop_front();
        }
    }

    /// A document was saved under a name by a caller: if it had run it with success, the workflow
    /// answers to what the caller last looked for that has to do with it.
    pub fn saved(&self, caller: &str, text: &str, name: &Str, tools: &[Str]) {
        if !lock(&self.proven).contains(&proof(caller, text)) {
            return;
        }
        let about = |wish: &&Wish| {
            let used = wish.found.iter().any(|found| tools.contains(found));
            wish.caller == caller && (used || words::share(&wish.words, text))
        };
        let wishes = lock(&self.wishes);
        let mut latest: VecDeque<_> = wishes.iter().rev().filter(about).take(2).collect();
        latest.make_contiguous().reverse();
        let wishes: VecDeque<_> = latest.iter().map(|wish| wish.words.clone()).collect();
        if !wishes.is_empty() {
            self.pend(
                name.clone(),
                Use {
                    wishes,
                    ..Use::default()
                },
            );
        }
    }

    /// Something is used in a run. Whether the caller has to see to it that it is written.
    pub(crate) fn ran(&self, name: Str, at_ms: i64, run: &str) -> bool {
        let used = Use {
            runs: 1,
            last_ms: at_ms,
            last_run: Some(run.into()),
            ..Use::default()
        };
        self.pend(name, used);
        !self.writing.swap(true, Ordering::AcqRel)
    }

    fn pend(&self, name: Str, used: Use) {
        let mut held = self.change();
        held.entry(name.clone()).or_default().add(used.clone());
        drop(held);
        lock(&self.pending).entry(name).or_default().add(used);
    }

    /// Writes what is pending.
    pub async fn write(&self) -> Result<(), StoreFault> {
        self.writing.store(false, Ordering::Release);
        let pending = std::mem::take(&mut *lock(&self.pending));
        for (name, used) in pending {
            let mut seen = self.store.get(KIND, &name).await?;
            loop {
                let mut all = decode(seen.as_deref());
                all.add(used.clone());
                let body = serde_json::to_vec(&all).unwrap_or_default();
                if self.store.note(KIND, &name, seen, body).await? {
                    break;
                }
                seen = self.store.get(KIND, &name).await?;
            }
        }
        Ok(())
    }

    /// Sees what other processes have used, now and then, and writes what is pending.
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

    fn forget_held(&self, name: &str) {
        let mut held = self.change();
        held.remove(name);
    }

    /// Forgets how something was used.
    pub async fn forget(&self, name: &str) -> Result<(), StoreFault> {
        lock(&self.pending).remove(name);
        self.forget_held(name);
        self.store.forget(KIND, &[name.to_owned()]).await
    }
}

fn proof(caller: &str, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (caller, text).hash(&mut hasher);
    hasher.finish()
}

/// What cannot be read counts for nothing: it is no more than a help.
fn decode(body: Option<&[u8]>) -> Use {
    body.and_then(|body| serde_json::from_slice(body).ok())
        .unwrap_or_default()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemoryStore;
    use std::slice::from_ref;

    #[tokio::test]
    async fn a_wish_is_tied_to_what_was_used_for_it() {
        let store = MemoryStore::new();
        let uses = Uses::new(Arc::new(store.clone()));
        let name = Str::from("files:count");
        uses.wished("ann", "how many files are there", [name.clone()]);
        uses.wished("ann", "send a letter", ["post:send".into()]);
        assert_eq!(uses.served("bob", from_ref(&name)), 0, "not his wish");
        assert_eq!(uses.served("ann", from_ref(&name)), 1);
        assert!(uses.ran(name.clone(), 5, "run_a"));
        uses.write().await.unwrap();
        let other = Uses::new(Arc::new(store));
        other.ran(name.clone(), 7, "run_b");
        other.refresh().await.unwrap();
        let used = other.of(&name);
        assert_eq!(used.wishes, ["how many files are there"]);
        assert_eq!((used.runs, used.last_run.as_deref()), (2, Some("run_b")));
    }

    #[tokio::test]
    async fn wishes_stay_few() {
        let uses = Uses::new(Arc::new(MemoryStore::new()));
        let name = Str::from("a:b");
        for n in 0..100 {
            uses.wished("ann", &format!("wish number {n}"), [name.clone()]);
            uses.served("ann", from_ref(&name));
        }
        let used = uses.of(&name);
        assert_eq!(used.wishes.len(), KEPT_WISHES_MAX);
        assert_eq!(used.wishes.back().unwrap(), "wish number 99");
    }
}
