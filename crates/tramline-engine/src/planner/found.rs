//! What search found for a wish: for all of it, and for each of its clauses.

use super::{literals, words};
use crate::seams::Tool;
use crate::search::{Card, Index, Kind, said};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tramline_core::Value;

/// So many hits are looked at for the whole wish.
pub const HITS: usize = 40;
/// So many hits are looked at for a clause.
const CLAUSE_HITS: usize = 8;
/// Longer wishes are cut, in clauses.
const CLAUSES_MAX: usize = 32;
/// A tool that fits worse is none at all.
const FIT_MIN: f64 = 0.15;

/// What was found for a wish.
#[derive(Debug, Default)]
pub struct Found {
    /// The tools that meet all of it best, best first, with what they were ranked by.
    pub(super) tools: Vec<(Arc<Tool>, f32)>,
    /// Its clauses, in their order.
    pub(super) clauses: Vec<Clause>,
    telling: HashMap<String, f64>,
}

/// A clause of a wish.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) text: String,
    pub(super) words: Vec<String>,
    /// The tool that it speaks of, and how well it fits.
    pub(super) best: Option<(Arc<Tool>, f64)>,
}

impl Found {
    /// What an index has for a wish, beside the hits for all of it. `lookup` gives the tool of a card,
    /// if it may be used.
    pub fn new(
        wish: &str,
        hits: Vec<(Arc<Tool>, f32)>,
        index: &Index,
        lookup: impl Fn(&str) -> Option<Arc<Tool>>,
    ) -> Self {
        let clauses = words::clauses(wish).into_iter().take(CLAUSES_MAX);
        let clauses = clauses.map(|text| clause(text, index, &lookup)).collect();
        let all = said(wish);
        let telling = all.into_iter().map(|word| {
            let telling = index.telling(&word);
            (word, telling)
        });
        Self {
            telling: telling.collect(),
            tools: hits,
            clauses,
        }
    }

    /// What some tools have for a wish, where no index is kept of them.
    pub fn among(wish: &str, tools: &[Arc<Tool>]) -> Self {
        let mut index = Index::new();
        let by_name: HashMap<String, &Arc<Tool>> = tools
            .iter()
            .map(|tool| (tool.name.to_string(), tool))
            .collect();
        for tool in tools {
            // More than the index holds are found by nobody.
            let _ = index.put(Card::of_tool(Kind::Tool, tool), None);
        }
        let lookup = |name: &str| by_name.get(name).map(|tool| Arc::clone(tool));
        let hits = index.search(wish, None, HITS).into_iter();
        let hits = hits.filter_map(|hit| Some((lookup(&hit.id)?, hit.score)));
        Self::new(wish, hits.collect(), &index, lookup)
    }

    /// How much a word of the wish tells.
    pub(super) fn telling(&self, word: &str) -> f64 {
        self.telling.get(word).copied().unwrap_or(0.0)
    }
}

fn clause(text: String, index: &Index, lookup: &impl Fn(&str) -> Option<Arc<Tool>>) -> Clause {
    let bare = literals::without(&text);
    let wanted: BTreeSet<String> = said(&bare).into_iter().collect();
    let telling = |word: &String| {
        let cards = index.len() as f64;
        (1.0 + cards / (1.0 + index.having(word) as f64)).ln()
    };
    let all: f64 = wanted.iter().map(telling).sum();
    let mut best: Option<(Arc<Tool>, f64)> = None;
    let hits = index.search(&bare, None, CLAUSE_HITS);
    for tool in hits.iter().filter_map(|hit| lookup(&hit.id)) {
        let words = weigh(&tool);
        let hit = |word: &String| Some(telling(word) * words.get(word)?);
        let fit = wanted.iter().filter_map(hit).sum::<f64>() / all.max(f64::MIN_POSITIVE);
        let better = |(known, most): &(Arc<Tool>, f64)| {
            fit > *most || (fit == *most && tool.name < known.name)
        };
        if fit >= FIT_MIN && best.as_ref().is_none_or(better) {
            best = Some((tool, fit.min(1.0)));
        }
    }
    Clause {
        words: said(&text),
        text,
        best,
    }
}

/// The words of a tool, each with how much it says of the tool.
fn weigh(tool: &Tool) -> HashMap<String, f64> {
    let mut all = HashMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in said(text) {
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
