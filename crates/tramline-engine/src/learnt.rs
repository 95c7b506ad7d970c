//! What was learnt from runs that ended well: which tools were called for which intent, and in which order.
//!
//! A bounded table in the store, which the planner's votes come from. Nothing secret is in it: of an
//! intent only words are kept, of a call only its tool.

mod words;

pub use words::keepable;

use crate::planner::{PRECEDENTS_MAX, Past, Precedent};
use crate::seams::{Store, StoreFault};
use crate::search::{fingerprint, said};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tramline_core::Str;

/// Under what it is kept, by a fingerprint of what it is.
const KIND: &str = "learnt";
/// What others learnt is read again after so long.
const READ_EVERY: Duration = Duration::from_secs(30);
/// Two intents that share so much of their words are one: what was done for it last corrects what was
/// done before.
const SAME_WORDS: f64 = 0.8;
/// So many go at once when the table is full, so that it is not sorted anew for each one.
const LET_GO: usize = PRECEDENTS_MAX / 20;

/// So much of a key is shown: enough to tell thousands apart.
const ID_CHARS: usize = 10;
/// A shorter beginning of a key could mean many.
const ID_CHARS_MIN: usize = 6;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Kept {
    intent: Str,
    tools: Vec<Str>,
    #[serde(default)]
    edges: Vec<(usize, usize)>,
    count: u64,
    last_ms: i64,
    /// The words of the intent, made when they are first compared.
    #[serde(skip)]
    words: OnceLock<BTreeSet<String>>,
}

impl Kept {
    fn words(&self) -> &BTreeSet<String> {
        let made = || said(&self.intent).into_iter().collect();
        self.words.get_or_init(made)
    }
}

#[derive(Default)]
struct Held {
    all: BTreeMap<String, Kept>,
    past: Arc<Past>,
    read: Option<Instant>,
}

/// Something that was learnt, as people look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// What it is known by: [`Learnt::forget_lesson`] takes it, or its beginning.
    pub id: String,
    /// The words that are kept of the intent.
    pub intent: Str,
    /// What was called, each after all that it waited for.
    pub tools: Vec<Str>,
    /// How often.
    pub count: u64,
    /// When last, in milliseconds since 1970.
    pub last_ms: i64,
}

/// What was learnt.
pub struct Learnt {
    store: Arc<dyn Store>,
    on: bool,
    held: Mutex<Held>,
}

impl Learnt {
    pub(crate) fn new(store: Arc<dyn Store>, on: bool) -> Self {
        Self {
            store,
            on,
            held: Mutex::default(),
        }
    }

    /// Whether anything is learnt, and what was learnt is used.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The precedents that plans are made from: none where learning is switched off.
    pub async fn past(&self) -> Result<Arc<Past>, StoreFault> {
        match self.on {
            true => self.known().await,
            false => Ok(Arc::default()),
        }
    }

    /// The precedents that are kept, whether they are used or not.
    pub async fn known(&self) -> Result<Arc<Past>, StoreFault> {
        self.refresh().await?;
        Ok(Arc::clone(&self.held().past))
    }

    /// Everything that was learnt, the latest first.
    pub async fn lessons(&self) -> Result<Vec<Lesson>, StoreFault> {
        self.refresh().await?;
        let held = self.held();
        let lesson = |(key, kept): (&String, &Kept)| Lesson {
            id: key.get(..ID_CHARS).unwrap_or(key).to_owned(),
            intent: kept.intent.clone(),
            tools: kept.tools.clone(),
            count: kept.count,
            last_ms: kept.last_ms,
        };
        let mut all: Vec<Lesson> = held.all.iter().map(lesson).collect();
        all.sort_by(|a, b| b.last_ms.cmp(&a.last_ms).then_with(|| a.id.cmp(&b.id)));
        Ok(all)
    }

    /// Learns from a run that ended well. It takes the place of what was done for the same intent with
    /// other tools: who does it another way corrects that.
    pub async fn learn(&self, precedent: Precedent, at_ms: i64) -> Result<(), StoreFault> {
        if !self.on || precedent.tools.is_empty() || !precedent.intent.contains(char::is_alphabetic)
        {
            return Ok(());
        }
        self.refresh().await?;
        let text = format!(
            "{}\n{:?}\n{:?}",
            precedent.intent, precedent.tools, precedent.edges
        );
        let key = format!("{:032x}", fingerprint("", &text));
        let kept = self.add_up(&key, &precedent, at_ms).await?;
        let corrected = self.corrected(&precedent);
        if !corrected.is_empty() {
            self.drop_all(&corrected).await?;
        }
        let full = {
            let mut held = self.held();
            let known = held.all.insert(key, kept).is_some();
            match known {
                // How often it was done counts too.
                true => held.past = Arc::new(past(&held.all)),
                false => Arc::make_mut(&mut held.past).put(&precedent),
            }
            held.all.len() > PRECEDENTS_MAX
        };
        match full {
            true => self.let_go().await,
            false => Ok(()),
        }
    }

    /// What was done otherwise for the same intent.
    fn corrected(&self, by: &Precedent) -> Vec<String> {
        let wanted: BTreeSet<String> = said(&by.intent).into_iter().collect();
        let same = |other: &BTreeSet<String>| {
            let both = wanted.intersection(other).count();
            let all = wanted.len() + other.len() - both;
            both as f64 >= SAME_WORDS * all as f64
        };
        let held = self.held();
        let others = held.all.iter().filter(|(_, kept)| kept.tools != by.tools);
        let others = others.filter(|(_, kept)| same(kept.words()));
        others.map(|(key, _)| key.clone()).collect()
    }

    async fn add_up(&self, key: &str, one: &Precedent, at_ms: i64) -> Result<Kept, StoreFault> {
        loop {
            let seen = self.store.get(KIND, key).await?;
            let before = decode(seen.as_deref()).map_or(0, |kept| kept.count);
            let kept = Kept {
                intent: one.intent.clone(),
                tools: one.tools.clone(),
                edges: one.edges.clone(),
                count: before + 1,
                last_ms: at_ms,
                words: OnceLock::new(),
            };
            let body = serde_json::to_vec(&kept).unwrap_or_default();
            if self.store.note(KIND, key, seen, body).await? {
                return Ok(kept);
            }
        }
    }

    /// Forgets what was longest not done again.
    async fn let_go(&self) -> Result<(), StoreFault> {
        let mut by_age: Vec<(i64, String)> = {
            let held = self.held();
            let all = held.all.iter();
            all.map(|(key, kept)| (kept.last_ms, key.clone())).collect()
        };
        by_age.sort();
        by_age.truncate(by_age.len().saturating_sub(PRECEDENTS_MAX - LET_GO));
        let keys: Vec<String> = by_age.into_iter().map(|(_, key)| key).collect();
        self.drop_all(&keys).await
    }

    async fn drop_all(&self, keys: &[String]) -> Result<(), StoreFault> {
        self.store.forget(KIND, keys).await?;
        let mut held = self.held();
        held.all.retain(|key, _| !keys.contains(key));
        held.past = Arc::new(past(&held.all));
        Ok(())
    }

    /// Forgets everything, or all in which a tool was called; how much that was.
    pub async fn forget(&self, tool: Option<&str>) -> Result<usize, StoreFault> {
        self.held().read = None;
        self.refresh().await?;
        let keys: Vec<String> = {
            let held = self.held();
            let of = |kept: &Kept| tool.is_none_or(|tool| kept.tools.iter().any(|one| one == tool));
            let all = held.all.iter().filter(|(_, kept)| of(kept));
            all.map(|(key, _)| key.clone()).collect()
        };
        self.drop_all(&keys).await?;
        Ok(keys.len())
    }

    /// Forgets one thing that was learnt, by its id or the beginning of it; how much that was.
    pub async fn forget_lesson(&self, id: &str) -> Result<usize, StoreFault> {
        if id.len() < ID_CHARS_MIN {
            return Ok(0);
        }
        self.held().read = None;
        self.refresh().await?;
        let keys: Vec<String> = {
            let held = self.held();
            let all = held.all.keys().filter(|key| key.starts_with(id));
            all.cloned().collect()
        };
        self.drop_all(&keys).await?;
        Ok(keys.len())
    }

    /// Sees what other processes have learnt and forgotten, now and then.
    async fn refresh(&self) -> Result<(), StoreFault> {
        {
            let mut held = self.held();
            if held.read.is_some_and(|read| read.elapsed() < READ_EVERY) {
                return Ok(());
            }
            held.read = Some(Instant::now());
        }
        let keys: BTreeSet<String> = self.store.list(KIND).await?.into_iter().collect();
        let fresh: Vec<String> = {
            let held = self.held();
            let new = keys.iter().filter(|key| !held.all.contains_key(*key));
            new.cloned().collect()
        };
        let mut found = Vec::new();
        for key in fresh {
            // What cannot be read counts for nothing: it is no more than a help.
            if let Some(kept) = decode(self.store.get(KIND, &key).await?.as_deref()) {
                found.push((key, kept));
            }
        }
        let mut held = self.held();
        let before = held.all.len();
        held.all.retain(|key, _| keys.contains(key));
        if held.all.len() != before || !found.is_empty() {
            held.all.extend(found);
            held.past = Arc::new(past(&held.all));
        }
        Ok(())
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn past(all: &BTreeMap<String, Kept>) -> Past {
    Past::new(all.values().map(|kept| Precedent {
        intent: kept.intent.clone(),
        tools: kept.tools.clone(),
        edges: kept.edges.clone(),
        count: kept.count,
    }))
}

fn decode(body: Option<&[u8]>) -> Option<Kept> {
    serde_json::from_slice(body?).ok()
}
