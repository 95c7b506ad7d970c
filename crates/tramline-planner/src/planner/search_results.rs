//! What search found for a request: for the whole request and for each of its clauses.

use super::uncovered::ClausePart;
use super::{literals, text};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tramline_catalog::search::{
    DocumentKind, HITS_MAX, SearchDocument, SearchIndex, Vector, stemmed_words,
};
use tramline_engine::ports::Tool;
use tramline_expr::Value;

/// Number of hits examined for the whole request.
const REQUEST_HITS_MAX: usize = 40;
/// Number of hits examined for a clause.
const CLAUSE_HITS_MAX: usize = 20;
/// Number of hits that may be the best tool of a clause.
const CLAUSE_CANDIDATES_MAX: usize = 8;
/// Number of clauses that are embedded. Each costs one call of the embedder.
const EMBEDDED_CLAUSES_MAX: usize = 8;
/// Most clauses of a request. The rest of a longer request is ignored.
const CLAUSES_MAX: usize = 32;
/// Most parts of a clause that are examined. Each costs a search.
const PARTS_MAX: usize = 16;
/// Lowest fit of a clause's best tool.
const FIT_MIN: f64 = 0.15;

/// The search results for a request.
#[derive(Debug, Default)]
pub struct SearchResults {
    /// The best tools for the whole request with their search scores, best first.
    pub(super) tools: Vec<(Arc<Tool>, f32)>,
    /// Its clauses, in order.
    pub(super) clauses: Vec<Clause>,
    /// Whether search also used embeddings.
    pub(super) used_embeddings: bool,
    term_weights: HashMap<String, f64>,
    /// By word of a tool name, its term weight.
    name_term_weights: HashMap<String, f64>,
}

/// A clause of a request.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) text: String,
    pub(super) words: Vec<String>,
    /// The tool it matches best, and how well.
    pub(super) best: Option<(Arc<Tool>, f64)>,
    /// The hits for it, best first, with scores relative to the best, from 0 to 1.
    pub(super) hits: Vec<(Arc<Tool>, f64)>,
    /// The confidence of search in the best tool, if the clause matches that tool exactly; otherwise 0.
    pub(super) confidence: f64,
    /// The clause in smaller parts, to report which of them a plan does not cover.
    pub(super) parts: Vec<ClausePart>,
}

impl SearchResults {
    /// The texts to embed for [`Self::new`]: the request, then its clauses.
    pub fn texts(wish: &str) -> Vec<String> {
        let clauses = text::clauses(wish).into_iter().take(EMBEDDED_CLAUSES_MAX);
        let bare = clauses.map(|clause| literals::without_literals(&clause));
        std::iter::once(wish.to_owned()).chain(bare).collect()
    }

    /// Searches an index for a request. `meanings` are the embeddings of its [`texts`](Self::texts), as far as they
    /// are available; `lookup` returns the tool of a document, if it may be used.
    pub fn new(
        wish: &str,
        meanings: &[Option<Vector>],
        index: &SearchIndex,
        lookup: impl Fn(&str) -> Option<Arc<Tool>>,
    ) -> Self {
        let meaning = |at: usize| meanings.get(at).and_then(Option::as_ref);
        let hits = index.rank(wish, meaning(0), HITS_MAX).into_iter();
        let hits = hits.filter_map(|hit| Some((lookup(&hit.id)?, hit.score)));
        let clauses = text::clauses(wish).into_iter().take(CLAUSES_MAX);
        let clauses = clauses.enumerate();
        let clauses =
            clauses.map(|(at, text)| search_clause(text, meaning(at + 1), index, &lookup));
        let telling = stemmed_words(wish).into_iter().map(|word| {
            let telling = index.term_weight(&word);
            (word, telling)
        });
        let tools: Vec<_> = hits.take(REQUEST_HITS_MAX).collect();
        let clauses: Vec<Clause> = clauses.collect();
        let looked_at = tools.iter().map(|(tool, _)| tool);
        let looked_at = looked_at.chain(clauses.iter().flat_map(Clause::tools));
        let names = looked_at.flat_map(|tool| stemmed_words(&tool.name.tool));
        let names = names.map(|word| {
            let telling = index.term_weight(&word);
            (word, telling)
        });
        Self {
            term_weights: telling.collect(),
            name_term_weights: names.collect(),
            tools,
            clauses,
            used_embeddings: meaning(0).is_some(),
        }
    }

    /// Searches some tools for a request, where no index exists.
    pub fn among(wish: &str, tools: &[Arc<Tool>]) -> Self {
        let mut index = SearchIndex::new();
        let by_name: HashMap<String, &Arc<Tool>> = tools
            .iter()
            .map(|tool| (tool.name.to_string(), tool))
            .collect();
        for tool in tools {
            // Tools beyond the limit of the index are not found.
            let _ = index.put(SearchDocument::of_tool(DocumentKind::Tool, tool), None);
        }
        let lookup = |name: &str| by_name.get(name).map(|tool| Arc::clone(tool));
        Self::new(wish, &[], &index, lookup)
    }

    /// The term weight of a word in a tool's name; an average one if it is unknown.
    pub(super) fn name_term_weight(&self, word: &str) -> f64 {
        self.name_term_weights.get(word).copied().unwrap_or(3.0)
    }

    /// The term weight of a word in the request.
    pub(super) fn term_weight(&self, word: &str) -> f64 {
        self.term_weights.get(word).copied().unwrap_or(0.0)
    }
}

impl Clause {
    fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        let hits = self.hits.iter().take(1).map(|(tool, _)| tool);
        hits.chain(self.best.iter().map(|(tool, _)| tool))
    }
}

fn search_clause(
    text: String,
    meaning: Option<&Vector>,
    index: &SearchIndex,
    lookup: &impl Fn(&str) -> Option<Arc<Tool>>,
) -> Clause {
    let bare = literals::without_literals(&text);
    let hits = index.rank(&bare, meaning, CLAUSE_HITS_MAX);
    // The confidence of a search hit says nothing about a plan, unless the clause exactly matches the tool's own words.
    let first = hits.first().filter(|hit| hit.features.exact);
    let first = first.map(|hit| (hit.id.clone(), hit.confidence));
    let hits: Vec<(Arc<Tool>, f32)> = hits
        .into_iter()
        .filter_map(|hit| Some((lookup(&hit.id)?, hit.score)))
        .collect();
    let by_words = meaning.map(|_| index.rank(&bare, None, CLAUSE_CANDIDATES_MAX));
    let spoken: Vec<Arc<Tool>> = match by_words {
        Some(hits) => hits.iter().filter_map(|hit| lookup(&hit.id)).collect(),
        None => hits
            .iter()
            .take(CLAUSE_CANDIDATES_MAX)
            .map(|(tool, _)| Arc::clone(tool))
            .collect(),
    };
    let best = best_tool(&bare, spoken, index);
    let sure = match (&first, &best) {
        (Some((id, sure)), Some((tool, _))) if *id == tool.name.to_string() => *sure,
        _ => 0.0,
    };
    let mut clause = Clause {
        words: stemmed_words(&text),
        best,
        confidence: sure,
        hits: relative_scores(hits),
        parts: Vec::new(),
        text,
    };
    let parts = text::parts(&clause.text);
    clause.parts = match parts.len() {
        0 | 1 => vec![clause.as_part()],
        _ => {
            let part = |text: String| {
                let hits = index.rank(
                    &literals::without_literals(&text),
                    None,
                    CLAUSE_CANDIDATES_MAX,
                );
                let hits = hits.into_iter();
                let hits = hits.filter_map(|hit| Some((lookup(&hit.id)?, hit.score)));
                ClausePart {
                    hits: relative_scores(hits.collect()),
                    text,
                }
            };
            parts.into_iter().take(PARTS_MAX).map(part).collect()
        }
    };
    clause
}

/// Scores relative to the best one.
fn relative_scores(hits: Vec<(Arc<Tool>, f32)>) -> Vec<(Arc<Tool>, f64)> {
    let top = hits
        .first()
        .map_or(1.0, |(_, score)| *score)
        .max(f32::MIN_POSITIVE);
    let next = |(tool, score): (Arc<Tool>, f32)| (tool, f64::from((score / top).clamp(0.0, 1.0)));
    hits.into_iter().map(next).collect()
}

/// The tool whose words cover most of a clause.
fn best_tool(bare: &str, tools: Vec<Arc<Tool>>, index: &SearchIndex) -> Option<(Arc<Tool>, f64)> {
    let wanted: BTreeSet<String> = stemmed_words(bare).into_iter().collect();
    let telling = |word: &String| {
        let cards = index.len() as f64;
        (1.0 + cards / (1.0 + index.document_frequency(word) as f64)).ln()
    };
    let all: f64 = wanted.iter().map(telling).sum();
    let mut best: Option<(Arc<Tool>, f64)> = None;
    for tool in tools {
        let words = tool_words(&tool);
        let hit = |word: &String| Some(telling(word) * words.get(word)?);
        let fit = wanted.iter().filter_map(hit).sum::<f64>() / all.max(f64::MIN_POSITIVE);
        let better = |(known, most): &(Arc<Tool>, f64)| {
            fit > *most || (fit == *most && tool.name < known.name)
        };
        if fit >= FIT_MIN && best.as_ref().is_none_or(better) {
            best = Some((tool, fit.min(1.0)));
        }
    }
    best
}

/// The words of a tool, each with its weight.
fn tool_words(tool: &Tool) -> HashMap<String, f64> {
    let mut all = HashMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in stemmed_words(text) {
            let known: &mut f64 = all.entry(word).or_insert(0.0);
            *known = known.max(weight);
        }
    };
    let properties = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    for name in properties.into_iter().flat_map(|map| map.keys()) {
        add(name, 0.4);
    }
    add(tool.description.as_deref().unwrap_or_default(), 0.7);
    add(tool.title.as_deref().unwrap_or_default(), 0.9);
    add(&tool.name.server, 0.8);
    add(&tool.name.tool, 1.0);
    all
}
