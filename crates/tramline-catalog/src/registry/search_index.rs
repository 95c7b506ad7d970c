//! Keeps the search index in sync with the registry's list, and searches it.

use super::ToolList;
use super::tool_cache::same_definition;
use super::vectors::VectorStore;
use crate::search::{
    DocumentKind, Embedder, EncodedVectors, Finder, SearchDocument, SearchIndex, Vector,
};
use crate::usage_stats::UsageStats;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};
use tokio::sync::Mutex;
use tramline_engine::ports::{Store, Tool};
use tramline_expr::Str;

/// A search hit.
#[derive(Clone, Debug)]
pub struct ToolHit {
    /// The tool that was found.
    pub tool: Arc<Tool>,
    /// The ranking score. Comparable only within one search.
    pub score: f32,
    /// The probability that it was meant, from 0 to 1.
    pub confidence: f64,
    /// Why it was found, as text.
    pub reasons: Vec<String>,
}

/// The matches of a pattern.
#[derive(Clone, Debug)]
pub struct PatternMatches {
    /// The best matches, best first.
    pub tools: Vec<Arc<Tool>>,
    /// The number of all matches.
    pub total: usize,
    /// A similar name, if nothing matches.
    pub did_you_mean: Option<Str>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchScope {
    All,
    Workflows,
}

impl SearchScope {
    fn has(self, kind: DocumentKind) -> bool {
        match self {
            Self::All => true,
            Self::Workflows => kind == DocumentKind::Workflow,
        }
    }
}

/// The search index with the tools it was built from.
pub(super) struct RegistrySearch {
    finder: Finder,
    known: Lock<HashMap<Str, IndexedTool>>,
    /// Serializes updates of the index. Holds the list and the revision of the usage statistics it reflects.
    update_lock: Mutex<Option<(Arc<ToolList>, u64)>>,
    /// The stored vectors, if there is an embedder.
    vectors: Option<VectorStore>,
}

struct IndexedTool {
    tool: Arc<Tool>,
    kind: DocumentKind,
    past_requests: Vec<Str>,
}

impl RegistrySearch {
    pub(super) fn new(store: Arc<dyn Store>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let model = embedder
            .as_ref()
            .map(|embedder| embedder.model().to_owned());
        Self {
            finder: Finder::new(embedder),
            known: Lock::default(),
            update_lock: Mutex::default(),
            vectors: model.map(|model| VectorStore::new(store, &model)),
        }
    }

    /// Updates the index for a list of everything, unless it already reflects that list.
    pub(super) async fn update_for_list(&self, list: &Arc<ToolList>, uses: &UsageStats) {
        let mut turn = self.update_lock.lock().await;
        // Read before the statistics: a change in between is picked up the next time.
        let revision = uses.revision();
        let same =
            |(known, then): &(Arc<ToolList>, u64)| Arc::ptr_eq(known, list) && *then == revision;
        if !turn.as_ref().is_some_and(same) {
            *turn = None;
            self.update(&list.tools, uses, SearchScope::All).await;
            *turn = Some((Arc::clone(list), revision));
        }
    }

    /// Updates the index for a list of workflows.
    pub(super) async fn update_for_workflows(&self, workflows: &[Arc<Tool>], uses: &UsageStats) {
        let mut turn = self.update_lock.lock().await;
        *turn = None;
        self.update(workflows, uses, SearchScope::Workflows).await;
    }

    /// Updates the index for a list. Only changes are indexed again.
    async fn update(&self, tools: &[Arc<Tool>], uses: &UsageStats, scope: SearchScope) {
        let mut there = HashSet::new();
        let mut cards = Vec::new();
        for tool in tools {
            let id = Str::from(tool.name.to_string());
            let wishes: Vec<Str> = uses.get(&id).wishes.into();
            there.insert(id.clone());
            if self.is_indexed(&id, tool, &wishes) {
                continue;
            }
            let kind = DocumentKind::of(&tool.name);
            let mut card = SearchDocument::of_tool(kind, tool);
            card.past_requests.clone_from(&wishes);
            cards.push(card);
            let tool = Arc::clone(tool);
            self.known().insert(
                id,
                IndexedTool {
                    tool,
                    kind,
                    past_requests: wishes,
                },
            );
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
            None => EncodedVectors::new(),
        };
        // Tools beyond the limit of the index are still listed, and found by name.
        let made = self.finder.put(cards, &kept).await;
        if let (Some(vectors), Ok(made)) = (&self.vectors, made) {
            vectors.save(kept, made).await;
        }
    }

    /// Whether the index already has this tool. The object may differ if its definition is equal.
    fn is_indexed(&self, id: &Str, tool: &Arc<Tool>, wishes: &[Str]) -> bool {
        let mut known = self.known();
        let Some(known) = known.get_mut(id) else {
            return false;
        };
        let same = Arc::ptr_eq(&known.tool, tool) || same_definition(&known.tool, tool);
        known.tool = Arc::clone(tool);
        same && known.past_requests == wishes
    }

    /// The best hits for a request.
    pub(super) async fn search(
        &self,
        words: &str,
        most: usize,
        scope: SearchScope,
    ) -> Vec<ToolHit> {
        let hits = self
            .finder
            .search(words, most, |kind| scope.has(kind))
            .await;
        let known = self.known();
        let told = |hit: crate::search::SearchHit| {
            Some(ToolHit {
                tool: Arc::clone(&known.get(&hit.id)?.tool),
                score: hit.score,
                confidence: hit.confidence,
                reasons: hit.reasons,
            })
        };
        hits.into_iter().filter_map(told).collect()
    }

    /// The embeddings of texts, one for each; empty without an embedder or if it fails.
    pub(super) async fn embeddings(&self, texts: &[String]) -> Vec<Option<Vector>> {
        self.finder.embeddings(texts).await
    }

    /// Gives read access to the index.
    pub(super) fn read_index<T>(&self, read: impl FnOnce(&SearchIndex) -> T) -> T {
        self.finder.read(read)
    }

    /// The tools that contain a text or match a pattern with `*`.
    pub(super) fn find_by_pattern(&self, pattern: &str, most: usize) -> PatternMatches {
        let names = self
            .finder
            .read(|index| index.find_names(pattern, most, |_| true));
        let known = self.known();
        let tools = names.matches.iter();
        let tools = tools.filter_map(|named| Some(Arc::clone(&known.get(&named.id)?.tool)));
        PatternMatches {
            tools: tools.collect(),
            total: names.total,
            did_you_mean: names.did_you_mean,
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Str, IndexedTool>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
