//! An index of precedents: which tools were called for which intent.
//!
//! Pure: no clock, no store. A word's weight is how much it predicts the tools: a word that occurs only with one tool
//! weighs much, one that occurs with all of them weighs almost nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use tramline_catalog::search::stemmed_words;
use tramline_expr::Str;

/// Most precedents in the index. The owner of the index drops the oldest first.
pub const PRECEDENTS_MAX: usize = 5_000;
/// Most tools of a precedent that votes. Longer ones are programs and do not resemble a request.
const TOOLS_MAX: usize = 16;
/// Smoothing: the number of uses after which a word's own counts outweigh the average of all words.
const SMOOTHING: f64 = 3.0;
/// Lowest weight of a word. If all precedents are alike, words must still show how close a request is.
const WEIGHT_MIN: f64 = 0.1;

/// A plan that succeeded for an intent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precedent {
    /// The intent, without values that must not be stored.
    pub intent: Str,
    /// The tools that were called, each after those it waited for.
    pub tools: Vec<Str>,
    /// Pairs of indices into `tools`: the second waited for the first.
    pub edges: Vec<(usize, usize)>,
    /// How often the plan was used.
    pub count: u64,
}

/// The number of a tool among all tools that were ever used.
pub(super) type ToolNo = u32;

#[derive(Clone, Debug)]
pub(super) struct PrecedentRow {
    pub(super) tools: Vec<ToolNo>,
    pub(super) edges: Vec<(usize, usize)>,
    /// How often the plan was used.
    pub(super) count: u64,
    words: Vec<(u32, f32)>,
    norm: f32,
}

#[derive(Clone, Debug, Default)]
struct IndexedWord {
    /// The rows that contain it, with its term frequency.
    rows: Vec<(u32, f32)>,
    tools: BTreeMap<ToolNo, u32>,
    weight: f32,
}

/// The index of precedents.
#[derive(Clone, Debug, Default)]
pub struct PrecedentIndex {
    rows: Vec<PrecedentRow>,
    words: Vec<IndexedWord>,
    numbers: HashMap<String, u32>,
    tools: Vec<Str>,
    tool_numbers: HashMap<Str, ToolNo>,
    used: Vec<u32>,
    uses: u64,
    before: HashMap<(ToolNo, ToolNo), u32>,
    follows: HashMap<(ToolNo, ToolNo), u32>,
    linked: HashMap<(ToolNo, ToolNo), u32>,
}

impl PrecedentIndex {
    /// Builds the index. The order of the precedents does not matter.
    pub fn new(precedents: impl IntoIterator<Item = Precedent>) -> Self {
        let mut all: Vec<Precedent> = precedents.into_iter().collect();
        all.sort_by(|a, b| (&a.intent, &a.tools).cmp(&(&b.intent, &b.tools)));
        all.truncate(PRECEDENTS_MAX);
        let mut past = Self::default();
        for one in &all {
            past.add(one);
        }
        past.recompute_weights();
        past
    }

    /// Adds a precedent.
    pub fn insert(&mut self, precedent: &Precedent) {
        if self.rows.len() < PRECEDENTS_MAX {
            self.add(precedent);
            self.recompute_weights();
        }
    }

    /// The number of precedents.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no precedents.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn add(&mut self, precedent: &Precedent) {
        if precedent.tools.is_empty() || precedent.tools.len() > TOOLS_MAX {
            return;
        }
        let named = precedent.tools.iter();
        let tools: Vec<ToolNo> = named.map(|name| self.tool_number(name)).collect();
        let row = self.rows.len() as u32;
        let distinct: BTreeSet<ToolNo> = tools.iter().copied().collect();
        for tool in &distinct {
            self.used[*tool as usize] += 1;
            self.uses += 1;
        }
        self.count_orders(&tools, &precedent.edges);
        let mut said_often: BTreeMap<u32, f32> = BTreeMap::new();
        for word in stemmed_words(&precedent.intent) {
            *said_often.entry(self.word_number(&word)).or_default() += 1.0;
        }
        for (word, count) in &mut said_often {
            *count = 1.0 + count.ln();
            let word = &mut self.words[*word as usize];
            word.rows.push((row, *count));
            for tool in &distinct {
                *word.tools.entry(*tool).or_default() += 1;
            }
        }
        self.rows.push(PrecedentRow {
            tools,
            edges: precedent.edges.clone(),
            count: precedent.count.max(1),
            words: said_often.into_iter().collect(),
            norm: 1.0,
        });
    }

    fn count_orders(&mut self, tools: &[ToolNo], edges: &[(usize, usize)]) {
        for (at, one) in tools.iter().enumerate() {
            for (later, other) in tools.iter().enumerate().skip(at + 1) {
                *self.before.entry((*one, *other)).or_default() += 1;
                if later == at + 1 {
                    *self.follows.entry((*one, *other)).or_default() += 1;
                }
            }
        }
        let places: BTreeSet<_> = edges.iter().collect();
        for (from, to) in places {
            if let (Some(from), Some(to)) = (tools.get(*from), tools.get(*to)) {
                *self.linked.entry((*from, *to)).or_default() += 1;
            }
        }
    }

    fn tool_number(&mut self, name: &Str) -> ToolNo {
        if let Some(number) = self.tool_numbers.get(name) {
            return *number;
        }
        let number = self.tools.len() as ToolNo;
        self.tools.push(name.clone());
        self.used.push(0);
        self.tool_numbers.insert(name.clone(), number);
        number
    }

    fn word_number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.words.len() as u32;
        self.words.push(IndexedWord::default());
        self.numbers.insert(word.to_owned(), number);
        number
    }

    /// Computes the weight of each word: how much the tools used with it differ from the tools used overall.
    fn recompute_weights(&mut self) {
        let share: Vec<f64> = self
            .used
            .iter()
            .map(|used| f64::from(*used) / self.uses.max(1) as f64)
            .collect();
        for word in &mut self.words {
            let seen: f64 = word.tools.values().map(|count| f64::from(*count)).sum();
            let (mut told, mut rest) = (0.0, 1.0);
            for (tool, count) in &word.tools {
                let usual = share[*tool as usize];
                let here = (f64::from(*count) + SMOOTHING * usual) / (seen + SMOOTHING);
                told += here * (here / usual).ln();
                rest -= usual;
            }
            let unseen = SMOOTHING / (seen + SMOOTHING);
            told += unseen * rest.max(0.0) * unseen.ln();
            word.weight = told.max(0.0).sqrt().max(WEIGHT_MIN) as f32;
        }
        for row in &mut self.rows {
            let squares = row.words.iter().map(|(word, count)| {
                let weight = self.words[*word as usize].weight * count;
                weight * weight
            });
            row.norm = squares.sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        }
    }

    /// The rows whose intents are most similar to some words, most similar first, each with its similarity.
    pub(super) fn nearest(&self, words: &[String], most: usize) -> Vec<(f32, usize)> {
        let mut said_often: BTreeMap<u32, f32> = BTreeMap::new();
        for number in words.iter().filter_map(|word| self.numbers.get(word)) {
            *said_often.entry(*number).or_default() += 1.0;
        }
        let mut likeness = vec![0.0_f32; self.rows.len()];
        let mut squares = 0.0;
        for (number, count) in said_often {
            let word = &self.words[number as usize];
            let asked = word.weight * (1.0 + count.ln());
            squares += asked * asked;
            for (row, count) in &word.rows {
                likeness[*row as usize] += asked * word.weight * count;
            }
        }
        let norm = squares.sqrt().max(f32::MIN_POSITIVE);
        let scaled = likeness.iter().zip(&self.rows).enumerate();
        let scaled = scaled.map(|(row, (dot, of))| (dot / (norm * of.norm), row));
        let mut found: Vec<_> = scaled.filter(|(like, _)| *like > 0.0).collect();
        let order = |a: &(f32, usize), b: &(f32, usize)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if found.len() > most {
            found.select_nth_unstable_by(most, order);
            found.truncate(most);
        }
        found.sort_by(order);
        found
    }

    pub(super) fn row(&self, row: usize) -> &PrecedentRow {
        &self.rows[row]
    }

    /// The name of a tool.
    pub(super) fn name(&self, tool: ToolNo) -> &Str {
        &self.tools[tool as usize]
    }

    /// The number of a tool, if it was ever used.
    pub(super) fn number(&self, name: &str) -> Option<ToolNo> {
        self.tool_numbers.get(name).copied()
    }

    /// The weight of a word; `None` if no precedent contains it.
    pub(super) fn weight(&self, word: &str) -> Option<f32> {
        let number = self.numbers.get(word)?;
        Some(self.words[*number as usize].weight)
    }

    /// How strongly a word predicts a tool.
    pub(super) fn affinity(&self, word: &str, tool: ToolNo) -> f64 {
        let Some(word) = self.numbers.get(word).map(|no| &self.words[*no as usize]) else {
            return 0.0;
        };
        let usual = f64::from(self.used[tool as usize]) / self.rows.len().max(1) as f64;
        let seen = word.tools.get(&tool).copied().unwrap_or(0);
        let here = (f64::from(seen) + SMOOTHING * usual) / (word.rows.len() as f64 + SMOOTHING);
        (here / usual).ln().max(0.0)
    }

    /// The probability that one tool directly follows another.
    pub(super) fn follows(&self, one: ToolNo, other: ToolNo) -> f64 {
        let count = |tool: ToolNo| f64::from(self.used[tool as usize]);
        let seen = f64::from(self.follows.get(&(one, other)).copied().unwrap_or(0));
        let usual = 0.25 * count(other) / self.rows.len().max(1) as f64;
        (seen + usual + 0.01) / (count(one) + 1.5)
    }

    /// How often one tool came before another, and how often after it.
    pub(super) fn order_counts(&self, one: ToolNo, other: ToolNo) -> (u32, u32) {
        let count = |pair| self.before.get(&pair).copied().unwrap_or(0);
        (count((one, other)), count((other, one)))
    }

    /// How often `other` waited for `one`, and how often it came after it.
    pub(super) fn wait_counts(&self, one: ToolNo, other: ToolNo) -> (u32, u32) {
        let linked = self.linked.get(&(one, other)).copied().unwrap_or(0);
        (linked, self.order_counts(one, other).0)
    }

    /// The tools that were used, with their counts.
    pub fn tools(&self) -> Vec<(Str, u64)> {
        let used = self.tools.iter().zip(&self.used);
        let mut all: Vec<_> = used
            .map(|(name, used)| (name.clone(), u64::from(*used)))
            .collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// The pairs of tools where the second waited for the first, with their counts.
    pub fn waiting_pairs(&self) -> Vec<(Str, Str, u64)> {
        let name = |tool: &ToolNo| self.name(*tool).clone();
        let linked = self.linked.iter();
        let told = linked.map(|((one, other), n)| (name(one), name(other), u64::from(*n)));
        let mut all: Vec<_> = told.collect();
        all.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (&a.0, &a.1).cmp(&(&b.0, &b.1))));
        all
    }
}
