//! Ranks what can be called by the words of a wish: the one place that knows how.

use crate::seams::Tool;
use crate::uses::Uses;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tramline_core::Value;

/// What was found, how sure that is, and why.
#[derive(Clone, Debug)]
pub struct Hit {
    /// What was found.
    pub tool: Arc<Tool>,
    /// How sure it is that it was meant, from 0 to 1.
    pub confidence: f64,
    /// What speaks for it, in words.
    pub reasons: Vec<String>,
}

/// Words of everything that can be called.
pub(super) struct Index {
    items: Vec<Item>,
    /// How many items have a word.
    common: BTreeMap<String, usize>,
}

struct Item {
    tool: Arc<Tool>,
    name: BTreeSet<String>,
    text: BTreeSet<String>,
    wishes: Vec<BTreeSet<String>>,
}

impl Index {
    pub(super) fn new(tools: &[Arc<Tool>], uses: &Uses) -> Self {
        let items: Vec<_> = tools.iter().map(|tool| item(tool, uses)).collect();
        let mut common = BTreeMap::new();
        for word in items.iter().flat_map(|item| item.name.union(&item.text)) {
            *common.entry(word.clone()).or_insert(0) += 1;
        }
        Self { items, common }
    }

    pub(super) fn search(&self, wish: &str, most: usize) -> Vec<Hit> {
        let wanted = words(wish);
        let all: f64 = wanted.iter().map(|word| self.weight(word)).sum();
        if all == 0.0 {
            return Vec::new();
        }
        let mut hits: Vec<_> = self
            .items
            .iter()
            .filter_map(|item| self.judge(item, &wanted, all))
            .collect();
        hits.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        hits.truncate(most);
        hits
    }

    /// Rare words say more.
    fn weight(&self, word: &str) -> f64 {
        let count = self.common.get(word).copied().unwrap_or(0) as f64;
        (1.0 + self.items.len() as f64 / (1.0 + count)).ln()
    }

    fn judge(&self, item: &Item, wanted: &BTreeSet<String>, all: f64) -> Option<Hit> {
        let (mut score, mut shared) = (0.0, Vec::new());
        for word in wanted {
            let part = match (item.name.contains(word), item.text.contains(word)) {
                (true, _) => 1.0,
                (false, true) => 0.8,
                (false, false) => continue,
            };
            score += part * self.weight(word);
            shared.push(word.as_str());
        }
        let alike = |wish: &BTreeSet<String>| {
            let both = wish.intersection(wanted).count() as f64;
            both / wish.union(wanted).count().max(1) as f64
        };
        let used = item.wishes.iter().map(alike).fold(0.0, f64::max);
        let mut confidence = 0.9 * score / all;
        let mut reasons = Vec::new();
        if !shared.is_empty() {
            reasons.push(format!("has the words {}", shared.join(", ")));
        }
        if used > 0.5 {
            confidence = confidence.max(0.97 * used);
            reasons.push("was used with success for a wish like this".into());
        }
        (confidence > 0.05).then(|| Hit {
            tool: Arc::clone(&item.tool),
            confidence,
            reasons,
        })
    }
}

fn item(tool: &Arc<Tool>, uses: &Uses) -> Item {
    let name = format!("{} {}", tool.name.server, tool.name.tool);
    let mut text = words(tool.description.as_deref().unwrap_or_default());
    text.extend(words(tool.title.as_deref().unwrap_or_default()));
    let fields = tool.input_schema.get("properties");
    for field in fields
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|map| map.keys())
    {
        text.extend(words(field));
    }
    let wishes = uses.of(&tool.name.to_string()).wishes;
    Item {
        tool: Arc::clone(tool),
        name: words(&name),
        text,
        wishes: wishes.iter().map(|wish| words(wish)).collect(),
    }
}

/// The words of a text, lowercase, with camelCase and snake_case taken apart and plurals cut.
fn words(text: &str) -> BTreeSet<String> {
    const STOP: [&str; 16] = [
        "a", "an", "the", "of", "to", "in", "and", "or", "for", "with", "is", "it", "all", "my",
        "from", "on",
    ];
    let mut apart = String::new();
    let mut lower = false;
    for c in text.chars() {
        if c.is_uppercase() && lower {
            apart.push(' ');
        }
        lower = c.is_lowercase() || c.is_ascii_digit();
        apart.extend(c.to_lowercase());
    }
    let parts = apart.split(|c: char| !c.is_alphanumeric());
    let plain = |word: &str| match word.strip_suffix('s') {
        Some(cut) if cut.len() >= 3 && !cut.ends_with('s') => cut.to_owned(),
        _ => word.to_owned(),
    };
    parts
        .filter(|word| !word.is_empty() && !STOP.contains(word))
        .map(plain)
        .collect()
}
