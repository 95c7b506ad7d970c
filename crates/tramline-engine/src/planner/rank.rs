//! Tools and texts by the words that they share with what is said: for prompts and memories, where no
//! index is kept.

use super::words;
use crate::seams::Tool;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tramline_core::Value;

/// The tools whose words are nearest to a wish, best first, at most so many. Where fewer fit, others
/// follow by name.
pub fn rank(wish: &str, tools: &[Arc<Tool>], most: usize) -> Vec<Arc<Tool>> {
    let by_name: HashMap<_, _> = tools.iter().map(|tool| (&tool.name, tool)).collect();
    let index = Index::new(tools);
    let wanted: BTreeSet<String> = words::all(wish).into_iter().collect();
    let score = |words: &HashMap<String, f64>| {
        let hit = |word: &String| Some(index.telling(word) * words.get(word)?);
        wanted.iter().filter_map(hit).sum::<f64>()
    };
    let scored = index.tools.iter();
    let mut scored: Vec<_> = scored.map(|(tool, words)| (score(words), tool)).collect();
    // They stand by name already, and stay so where they fit alike.
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let best = scored.into_iter().take(most);
    best.filter_map(|(_, tool)| by_name.get(&tool.name).map(|tool| Arc::clone(tool)))
        .collect()
}

/// The texts that share telling words with what is said, nearest first, each with how near it is.
pub fn near(said: &str, texts: &[&str], most: usize) -> Vec<(usize, f64)> {
    let wanted: BTreeSet<String> = words::all(said).into_iter().collect();
    let all: Vec<BTreeSet<String>> = texts
        .iter()
        .map(|text| words::all(text).into_iter().collect())
        .collect();
    let telling = |word: &String| {
        let count = all.iter().filter(|words| words.contains(word)).count();
        (1.0 + all.len() as f64 / (1.0 + count as f64)).ln()
    };
    let weighed: Vec<_> = wanted.iter().map(|word| (word, telling(word))).collect();
    let whole: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    let score = |words: &BTreeSet<String>| {
        let hits = weighed.iter().filter(|(word, _)| words.contains(*word));
        hits.map(|(_, weight)| weight).sum::<f64>() / whole.max(f64::MIN_POSITIVE)
    };
    let mut found: Vec<_> = all.iter().map(score).enumerate().collect();
    found.retain(|(_, score)| *score > 0.0);
    // Of two that are equally near, the later one counts more.
    found.sort_by(|(at, a), (other, b)| b.total_cmp(a).then_with(|| other.cmp(at)));
    found.truncate(most);
    found
}

/// The words of all tools, and how telling each is.
struct Index<'t> {
    tools: Vec<(&'t Tool, HashMap<String, f64>)>,
    found_in: HashMap<String, usize>,
}

impl<'t> Index<'t> {
    fn new(tools: &'t [Arc<Tool>]) -> Self {
        let mut found_in = HashMap::new();
        let mut weighed = Vec::new();
        for tool in tools {
            let words = weigh(tool);
            for word in words.keys() {
                *found_in.entry(word.clone()).or_default() += 1;
            }
            weighed.push((tool.as_ref(), words));
        }
        // Whatever order servers answer in, the plan is the same.
        weighed.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        Self {
            tools: weighed,
            found_in,
        }
    }

    /// Rare words tell more than common ones; those that no tool has tell most.
    fn telling(&self, word: &str) -> f64 {
        let count = self.found_in.get(word).copied().unwrap_or(0);
        (1.0 + self.tools.len() as f64 / (1.0 + count as f64)).ln()
    }
}

/// The words of a tool, each with how much it says of the tool.
fn weigh(tool: &Tool) -> HashMap<String, f64> {
    let mut words = HashMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in words::all(text) {
            let known: &mut f64 = words.entry(word).or_insert(0.0);
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
    words
}
