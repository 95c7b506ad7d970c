//! What search found for a wish: for all of it, and for each of its clauses.

use super::dropped::Part;
use super::{literals, words};
use crate::seams::Tool;
use crate::search::{Card, HITS_MAX, Index, Kind, Vector, said};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tramline_core::Value;

/// So many hits are looked at for the whole wish.
const HITS: usize = 40;
/// So many hits are looked at for a clause.
const CLAUSE_HITS: usize = 20;
/// So many of them may be the one that a clause speaks of.
const SPOKEN_OF: usize = 8;
/// The meanings of so many clauses are looked up: each costs an embedding.
const MEANT_MAX: usize = 8;
/// Longer wishes are cut, in clauses.
const CLAUSES_MAX: usize = 32;
/// So many parts of a clause are looked at: each costs a search.
const PARTS_MAX: usize = 16;
/// A tool that fits worse is none at all.
const FIT_MIN: f64 = 0.15;

/// What was found for a wish.
#[derive(Debug, Default)]
pub struct Found {
    /// The tools that meet all of it best, best first, with what they were ranked by.
    pub(super) tools: Vec<(Arc<Tool>, f32)>,
    /// Its clauses, in their order.
    pub(super) clauses: Vec<Clause>,
    /// Whether the tools were found by what they mean, too.
    pub(super) meant: bool,
    telling: HashMap<String, f64>,
    /// By word of a name, how much it tells.
    names: HashMap<String, f64>,
}

/// A clause of a wish.
#[derive(Debug)]
pub(super) struct Clause {
    pub(super) text: String,
    pub(super) words: Vec<String>,
    /// The tool that it speaks of, and how well it fits.
    pub(super) best: Option<(Arc<Tool>, f64)>,
    /// What was found for it, best first, each next to the best, from 0 to 1.
    pub(super) hits: Vec<(Arc<Tool>, f64)>,
    /// How sure search is of the tool that the clause speaks of, where the clause says exactly that.
    pub(super) sure: f64,
    /// The same in finer parts, for telling what a plan leaves out.
    pub(super) parts: Vec<Part>,
}

impl Found {
    /// The texts whose meanings [`Found::new`] takes: the wish, then its clauses.
    pub fn texts(wish: &str) -> Vec<String> {
        let clauses = words::clauses(wish).into_iter().take(MEANT_MAX);
        let bare = clauses.map(|clause| literals::without(&clause));
        std::iter::once(wish.to_owned()).chain(bare).collect()
    }

    /// What an index has for a wish. `meanings` are those of its [`texts`](Found::texts), as far as
    /// they are known; `lookup` gives the tool of a card, if it may be used.
    pub fn new(
        wish: &str,
        meanings: &[Option<Vector>],
        index: &Index,
        lookup: impl Fn(&str) -> Option<Arc<Tool>>,
    ) -> Self {
        let meaning = |at: usize| meanings.get(at).and_then(Option::as_ref);
        let hits = index.rank(wish, meaning(0), HITS_MAX).into_iter();
        let hits = hits.filter_map(|hit| Some((lookup(&hit.id)?, hit.score)));
        let clauses = words::clauses(wish).into_iter().take(CLAUSES_MAX);
        let clauses = clauses.enumerate();
        let clauses = clauses.map(|(at, text)| clause(text, meaning(at + 1), index, &lookup));
        let telling = said(wish).into_iter().map(|word| {
            let telling = index.telling(&word);
            (word, telling)
        });
        let tools: Vec<_> = hits.take(HITS).collect();
        let clauses: Vec<Clause> = clauses.collect();
        let looked_at = tools.iter().map(|(tool, _)| tool);
        let looked_at = looked_at.chain(clauses.iter().flat_map(Clause::tools));
        let names = looked_at.flat_map(|tool| said(&tool.name.tool));
        let names = names.map(|word| {
            let telling = index.telling(&word);
            (word, telling)
        });
        Self {
            telling: telling.collect(),
            names: names.collect(),
            tools,
            clauses,
            meant: meaning(0).is_some(),
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
        Self::new(wish, &[], &index, lookup)
    }

    /// How much a word of a tool's name tells; a usual word's worth where nobody knows.
    pub(super) fn usual(&self, word: &str) -> f64 {
        self.names.get(word).copied().unwrap_or(3.0)
    }

    /// How much a word of the wish tells.
    pub(super) fn telling(&self, word: &str) -> f64 {
        self.telling.get(word).copied().unwrap_or(0.0)
    }
}

impl Clause {
    fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        let hits = self.hits.iter().take(1).map(|(tool, _)| tool);
        hits.chain(self.best.iter().map(|(tool, _)| tool))
    }
}

fn clause(
    text: String,
    meaning: Option<&Vector>,
    index: &Index,
    lookup: &impl Fn(&str) -> Option<Arc<Tool>>,
) -> Clause {
    let bare = literals::without(&text);
    let hits = index.rank(&bare, meaning, CLAUSE_HITS);
    // How sure search is of a hit says nothing of a plan, unless the clause says exactly what the
    // tool says of itself.
    let first = hits.first().filter(|hit| hit.signs.exact);
    let first = first.map(|hit| (hit.id.clone(), hit.confidence));
    let hits: Vec<(Arc<Tool>, f32)> = hits
        .into_iter()
        .filter_map(|hit| Some((lookup(&hit.id)?, hit.score)))
        .collect();
    let by_words = meaning.map(|_| index.rank(&bare, None, SPOKEN_OF));
    let spoken: Vec<Arc<Tool>> = match by_words {
        Some(hits) => hits.iter().filter_map(|hit| lookup(&hit.id)).collect(),
        None => hits
            .iter()
            .take(SPOKEN_OF)
            .map(|(tool, _)| Arc::clone(tool))
            .collect(),
    };
    let best = best(&bare, spoken, index);
    let sure = match (&first, &best) {
        (Some((id, sure)), Some((tool, _))) if *id == tool.name.to_string() => *sure,
        _ => 0.0,
    };
    let mut clause = Clause {
        words: said(&text),
        best,
        sure,
        hits: next_to_best(hits),
        parts: Vec::new(),
        text,
    };
    let parts = words::parts(&clause.text);
    clause.parts = match parts.len() {
        0 | 1 => vec![clause.whole()],
        _ => {
            let part = |text: String| {
                let hits = index.rank(&literals::without(&text), None, SPOKEN_OF);
                let hits = hits.into_iter();
                let hits = hits.filter_map(|hit| Some((lookup(&hit.id)?, hit.score)));
                Part {
                    hits: next_to_best(hits.collect()),
                    text,
                }
            };
            parts.into_iter().take(PARTS_MAX).map(part).collect()
        }
    };
    clause
}

/// Scores as shares of the best one.
fn next_to_best(hits: Vec<(Arc<Tool>, f32)>) -> Vec<(Arc<Tool>, f64)> {
    let top = hits
        .first()
        .map_or(1.0, |(_, score)| *score)
        .max(f32::MIN_POSITIVE);
    let next = |(tool, score): (Arc<Tool>, f32)| (tool, f64::from((score / top).clamp(0.0, 1.0)));
    hits.into_iter().map(next).collect()
}

/// Of some tools the one whose words say most of a clause.
fn best(bare: &str, tools: Vec<Arc<Tool>>, index: &Index) -> Option<(Arc<Tool>, f64)> {
    let wanted: BTreeSet<String> = said(bare).into_iter().collect();
    let telling = |word: &String| {
        let cards = index.len() as f64;
        (1.0 + cards / (1.0 + index.having(word) as f64)).ln()
    };
    let all: f64 = wanted.iter().map(telling).sum();
    let mut best: Option<(Arc<Tool>, f64)> = None;
    for tool in tools {
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
    best
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
