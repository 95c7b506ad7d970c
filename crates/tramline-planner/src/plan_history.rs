//! The plan history: which tools were called for which intent, and in which order, in successful runs.
//!
//! A bounded table in the store from which the planner's votes come. It contains no secrets: of an intent only words
//! are stored, of a call only its tool.

mod executed_plan;

use crate::planner::{PRECEDENTS_MAX, Precedent, PrecedentIndex};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tramline_catalog::search::{fingerprint, stemmed_words};
use tramline_engine::ports::{DocumentTable, StoreFault};
use tramline_expr::Str;

/// How often entries of other processes are loaded.
const READ_EVERY: Duration = Duration::from_secs(30);
/// Share of common words at which two intents count as one: the latest plan corrects the earlier one.
const SAME_INTENT_MIN: f64 = 0.8;
/// Number of entries dropped at once when the table is full, so that it is not sorted for each new entry.
const EVICTED_AT_ONCE: usize = PRECEDENTS_MAX / 20;

/// Length of a displayed id, in characters: enough to distinguish thousands of entries.
const ID_CHARS: usize = 10;
/// Shortest prefix of an id that is accepted. A shorter one could match many entries.
const ID_CHARS_MIN: usize = 6;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct StoredPlan {
    intent: Str,
    tools: Vec<Str>,
    #[serde(default)]
    edges: Vec<(usize, usize)>,
    count: u64,
    last_ms: i64,
    /// The words of the intent, computed on first use.
    #[serde(skip)]
    words: OnceLock<BTreeSet<String>>,
}

impl StoredPlan {
    fn words(&self) -> &BTreeSet<String> {
        let made = || stemmed_words(&self.intent).into_iter().collect();
        self.words.get_or_init(made)
    }
}

#[derive(Default)]
struct PlanHistoryState {
    all: BTreeMap<String, StoredPlan>,
    precedents: Arc<PrecedentIndex>,
    read: Option<Instant>,
}

/// A learned plan, as shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LearnedPlan {
    /// Its id. `tramline learn forget` accepts the id or a prefix of it.
    pub id: String,
    /// The stored words of the intent.
    pub intent: Str,
    /// The tools that were called, each after those it waited for.
    pub tools: Vec<Str>,
    /// How often the plan was used.
    pub count: u64,
    /// When it was last used, in milliseconds since 1970.
    pub last_ms: i64,
}

/// The plan history.
pub struct PlanHistory {
    documents: DocumentTable,
    on: bool,
    state: Mutex<PlanHistoryState>,
}

impl PlanHistory {
    /// The kind of these documents in the store. The key is a fingerprint of the entry.
    pub(crate) const KIND: &'static str = "learnt";

    pub(crate) fn new(documents: DocumentTable, on: bool) -> Self {
        Self {
            documents,
            on,
            state: Mutex::default(),
        }
    }

    /// Whether plans are learned and used.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The precedents for planning; none if learning is off.
    pub async fn precedents(&self) -> Result<Arc<PrecedentIndex>, StoreFault> {
        match self.on {
            true => self.stored_precedents().await,
            false => Ok(Arc::default()),
        }
    }

    /// The stored precedents, whether they are used or not.
    pub async fn stored_precedents(&self) -> Result<Arc<PrecedentIndex>, StoreFault> {
        self.refresh().await?;
        Ok(Arc::clone(&self.state().precedents))
    }

    /// All learned plans, latest first.
    pub async fn learned_plans(&self) -> Result<Vec<LearnedPlan>, StoreFault> {
        self.refresh().await?;
        let held = self.state();
        let lesson = |(key, kept): (&String, &StoredPlan)| LearnedPlan {
            id: key.get(..ID_CHARS).unwrap_or(key).to_owned(),
            intent: kept.intent.clone(),
            tools: kept.tools.clone(),
            count: kept.count,
            last_ms: kept.last_ms,
        };
        let mut all: Vec<LearnedPlan> = held.all.iter().map(lesson).collect();
        all.sort_by(|a, b| b.last_ms.cmp(&a.last_ms).then_with(|| a.id.cmp(&b.id)));
        Ok(all)
    }

    /// Learns from a successful run. The plan replaces other plans for the same intent, since a different plan is a
    /// correction.
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
        let kept = self.increment(&key, &precedent, at_ms).await?;
        let corrected = self.corrected_entries(&precedent);
        if !corrected.is_empty() {
            self.delete(&corrected).await?;
        }
        let full = {
            let mut held = self.state();
            let known = held.all.insert(key, kept).is_some();
            match known {
                // The count has changed too.
                true => held.precedents = Arc::new(past(&held.all)),
                false => Arc::make_mut(&mut held.precedents).insert(&precedent),
            }
            held.all.len() > PRECEDENTS_MAX
        };
        match full {
            true => self.evict_oldest().await,
            false => Ok(()),
        }
    }

    /// The entries with other tools for the same intent.
    fn corrected_entries(&self, by: &Precedent) -> Vec<String> {
        let wanted: BTreeSet<String> = stemmed_words(&by.intent).into_iter().collect();
        let same = |other: &BTreeSet<String>| {
            let both = wanted.intersection(other).count();
            let all = wanted.len() + other.len() - both;
            both as f64 >= SAME_INTENT_MIN * all as f64
        };
        let held = self.state();
        let others = held.all.iter().filter(|(_, kept)| kept.tools != by.tools);
        let others = others.filter(|(_, kept)| same(kept.words()));
        others.map(|(key, _)| key.clone()).collect()
    }

    async fn increment(
        &self,
        key: &str,
        one: &Precedent,
        at_ms: i64,
    ) -> Result<StoredPlan, StoreFault> {
        loop {
            let seen = self.documents.get(key).await?;
            let before = decode(seen.as_deref()).map_or(0, |kept| kept.count);
            let kept = StoredPlan {
                intent: one.intent.clone(),
                tools: one.tools.clone(),
                edges: one.edges.clone(),
                count: before + 1,
                last_ms: at_ms,
                words: OnceLock::new(),
            };
            let body = serde_json::to_vec(&kept).unwrap_or_default();
            if self.documents.swap_relaxed(key, seen, body).await? {
                return Ok(kept);
            }
        }
    }

    /// Drops the entries that were not used for the longest time.
    async fn evict_oldest(&self) -> Result<(), StoreFault> {
        let mut by_age: Vec<(i64, String)> = {
            let held = self.state();
            let all = held.all.iter();
            all.map(|(key, kept)| (kept.last_ms, key.clone())).collect()
        };
        by_age.sort();
        by_age.truncate(
            by_age
                .len()
                .saturating_sub(PRECEDENTS_MAX - EVICTED_AT_ONCE),
        );
        let keys: Vec<String> = by_age.into_iter().map(|(_, key)| key).collect();
        self.delete(&keys).await
    }

    async fn delete(&self, keys: &[String]) -> Result<(), StoreFault> {
        self.documents.delete(keys).await?;
        let mut held = self.state();
        held.all.retain(|key, _| !keys.contains(key));
        held.precedents = Arc::new(past(&held.all));
        Ok(())
    }

    /// Deletes all entries, or those that use a tool; returns how many.
    pub async fn forget(&self, tool: Option<&str>) -> Result<usize, StoreFault> {
        self.state().read = None;
        self.refresh().await?;
        let keys: Vec<String> = {
            let held = self.state();
            let of = |kept: &StoredPlan| {
                tool.is_none_or(|tool| kept.tools.iter().any(|one| one == tool))
            };
            let all = held.all.iter().filter(|(_, kept)| of(kept));
            all.map(|(key, _)| key.clone()).collect()
        };
        self.delete(&keys).await?;
        Ok(keys.len())
    }

    /// Deletes the entry with an id or a prefix of it; returns how many.
    pub async fn forget_plan(&self, id: &str) -> Result<usize, StoreFault> {
        if id.len() < ID_CHARS_MIN {
            return Ok(0);
        }
        self.state().read = None;
        self.refresh().await?;
        let keys: Vec<String> = {
            let held = self.state();
            let all = held.all.keys().filter(|key| key.starts_with(id));
            all.cloned().collect()
        };
        self.delete(&keys).await?;
        Ok(keys.len())
    }

    /// Loads changes of other processes, at most every `READ_EVERY`.
    async fn refresh(&self) -> Result<(), StoreFault> {
        {
            let mut held = self.state();
            if held.read.is_some_and(|read| read.elapsed() < READ_EVERY) {
                return Ok(());
            }
            held.read = Some(Instant::now());
        }
        let keys: BTreeSet<String> = self.documents.list().await?.into_iter().collect();
        let fresh: Vec<String> = {
            let held = self.state();
            let new = keys.iter().filter(|key| !held.all.contains_key(*key));
            new.cloned().collect()
        };
        let mut found = Vec::new();
        for key in fresh {
            // Entries that cannot be read are ignored: the history is only an aid.
            if let Some(kept) = decode(self.documents.get(&key).await?.as_deref()) {
                found.push((key, kept));
            }
        }
        let mut held = self.state();
        let before = held.all.len();
        held.all.retain(|key, _| keys.contains(key));
        if held.all.len() != before || !found.is_empty() {
            held.all.extend(found);
            held.precedents = Arc::new(past(&held.all));
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, PlanHistoryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn past(all: &BTreeMap<String, StoredPlan>) -> PrecedentIndex {
    PrecedentIndex::new(all.values().map(|kept| Precedent {
        intent: kept.intent.clone(),
        tools: kept.tools.clone(),
        edges: kept.edges.clone(),
        count: kept.count,
    }))
}

fn decode(body: Option<&[u8]>) -> Option<StoredPlan> {
    serde_json::from_slice(body?).ok()
}
