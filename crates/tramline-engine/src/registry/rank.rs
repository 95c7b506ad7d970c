//! Finds what can be called by a wish: keeps the index of search in step with the list.

use super::List;
use super::kept::alike;
use super::vectors::Vectors;
use crate::planner::Found;
use crate::seams::{Embedder, Store, Tool};
use crate::search::{Card, Finder, Kept, Kind};
use crate::uses::Uses;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};
use tokio::sync::Mutex;
use tramline_core::Str;

/// What was found, how sure that is, and why.
#[derive(Clone, Debug)]
pub struct Hit {
    /// What was found.
    pub tool: Arc<Tool>,
    /// What it was ranked by; only good for comparing hits of one search.
    pub score: f32,
    /// How sure it is that it was meant, from 0 to 1.
    pub confidence: f64,
    /// What speaks for it, in words.
    pub reasons: Vec<String>,
}

/// What a pattern fits.
#[derive(Clone, Debug)]
pub struct Fitting {
    /// The best of it, best first.
    pub tools: Vec<Arc<Tool>>,
    /// How many there are.
    pub total: usize,
    /// Where there are none: what was probably meant.
    pub did_you_mean: Option<Str>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Workflows,
}

impl Scope {
    fn has(self, kind: Kind) -> bool {
        match self {
            Self::All => true,
            Self::Workflows => kind == Kind::Workflow,
        }
    }
}

/// The index of search, with what it was made from.
pub(super) struct Seeker {
    finder: Finder,
    known: Lock<HashMap<Str, Known>>,
    /// One at a time brings the index up to date: with this list, and with this revision of uses.
    turn: Mutex<Option<(Arc<List>, u64)>>,
    /// The vectors that were made before, where there is an embedder.
    vectors: Option<Vectors>,
}

struct Known {
    tool: Arc<Tool>,
    kind: Kind,
    wishes: Vec<Str>,
}

impl Seeker {
    pub(super) fn new(store: Arc<dyn Store>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let model = embedder
            .as_ref()
            .map(|embedder| embedder.model().to_owned());
        Self {
            finder: Finder::new(embedder),
            known: Lock::default(),
            turn: Mutex::default(),
            vectors: model.map(|model| Vectors::new(store, &model)),
        }
    }

    /// Brings the index in step with a list of everything, unless it was in step with it before.
    pub(super) async fn follow_list(&self, list: &Arc<List>, uses: &Uses) {
        let mut turn = self.turn.lock().await;
        // Read before the uses are: a change in between is seen the next time.
        let revision = uses.revision();
        let same = |(known, then): &(Arc<List>, u64)| Arc::ptr_eq(known, list) && *then == revision;
        if !turn.as_ref().is_some_and(same) {
            *turn = None;
            self.follow(&list.tools, uses, Scope::All).await;
            *turn = Some((Arc::clone(list), revision));
        }
    }

    /// Brings the index in step with a list of workflows.
    pub(super) async fn follow_workflows(&self, workflows: &[Arc<Tool>], uses: &Uses) {
        let mut turn = self.turn.lock().await;
        *turn = None;
        self.follow(workflows, uses, Scope::Workflows).await;
    }

    /// Brings the index in step with a list: only what has changed is put in anew.
    async fn follow(&self, tools: &[Arc<Tool>], uses: &Uses, scope: Scope) {
        let mut there = HashSet::new();
        let mut cards = Vec::new();
        for tool in tools {
            let id = Str::from(tool.name.to_string());
            let wishes: Vec<Str> = uses.of(&id).wishes.into();
            there.insert(id.clone());
            if self.knows(&id, tool, &wishes) {
                continue;
            }
            let kind = Kind::of(&tool.name);
            let mut card = Card::of_tool(kind, tool);
            card.wishes.clone_from(&wishes);
            cards.push(card);
            let tool = Arc::clone(tool);
            self.known().insert(id, Known { tool, kind, wishes });
        }
        self.known().retain(|id, known| {
            let stays = there.contains(id) || !scope.has(known.kind);
            if !stays {
                self.finder.remove(id);
            }
            stays
        });
        if cards.is_empty() {
            return;
        }
        let kept = match &self.vectors {
            Some(vectors) => vectors.read().await,
            None => Kept::new(),
        };
        // More than the index holds are listed all the same, and found by their names.
        let made = self.finder.put(cards, &kept).await;
        if let (Some(vectors), Ok(made)) = (&self.vectors, made) {
            vectors.keep(kept, made).await;
        }
    }

    /// Whether the index has this already. The tool itself may be another that says the same.
    fn knows(&self, id: &Str, tool: &Arc<Tool>, wishes: &[Str]) -> bool {
        let mut known = self.known();
        let Some(known) = known.get_mut(id) else {
            return false;
        };
        let same = Arc::ptr_eq(&known.tool, tool) || alike(&known.tool, tool);
        known.tool = Arc::clone(tool);
        same && known.wishes == wishes
    }

    /// What meets a wish best.
    pub(super) async fn search(&self, words: &str, most: usize, scope: Scope) -> Vec<Hit> {
        let hits = self
            .finder
            .search(words, most, |kind| scope.has(kind))
            .await;
        let known = self.known();
        let told = |hit: crate::search::Hit| {
            Some(Hit {
                tool: Arc::clone(&known.get(&hit.id)?.tool),
                score: hit.score,
                confidence: hit.confidence,
                reasons: hit.reasons,
            })
        };
        hits.into_iter().filter_map(told).collect()
    }

    /// What the index has for a wish, among what `lookup` gives.
    pub(super) async fn found(
        &self,
        wish: &str,
        lookup: impl Fn(&str) -> Option<Arc<Tool>>,
    ) -> Found {
        let meanings = self.finder.meanings(&Found::texts(wish)).await;
        self.finder
            .read(|index| Found::new(wish, &meanings, index, lookup))
    }

    /// What has a text in it, or fits a pattern with `*`.
    pub(super) fn fitting(&self, pattern: &str, most: usize) -> Fitting {
        let names = self
            .finder
            .read(|index| index.names(pattern, most, |_| true));
        let known = self.known();
        let tools = names.found.iter();
        let tools = tools.filter_map(|named| Some(Arc::clone(&known.get(&named.id)?.tool)));
        Fitting {
            tools: tools.collect(),
            total: names.total,
            did_you_mean: names.did_you_mean,
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Str, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
