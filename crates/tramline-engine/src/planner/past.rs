//! What was done before for which intent: precedents, ready to be asked for the nearest ones.
//!
//! Pure: no clock, no store. Words count by what they tell of tools: one that
//! is said only where a certain tool is used tells much, one that is said everywhere tells nothing.

use crate::search::said;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tramline_core::Str;

/// So many precedents are held; whoever keeps them lets the oldest go first.
pub const PRECEDENTS_MAX: usize = 5_000;
/// So many tools of one precedent count: longer ones are programs, and vote for nothing.
const TOOLS_MAX: usize = 16;
/// How many more uses a word needs before what is seen of it outweighs what holds of all words.
const DOUBT: f64 = 3.0;
/// What every word tells at least: where all precedents are alike, words still tell how near a wish is.
const LEAST: f64 = 0.1;

/// What was done for an intent, with success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Precedent {
    /// What was wanted, in words that can be kept.
    pub intent: Str,
    /// What was called, each after all that it waited for.
    pub tools: Vec<Str>,
    /// Which waited for which, by their places.
    pub edges: Vec<(usize, usize)>,
    /// How often.
    pub count: u64,
}

/// The number of a tool among those that were ever used.
pub(super) type ToolNo = u32;

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) tools: Vec<ToolNo>,
    pub(super) edges: Vec<(usize, usize)>,
    /// How often it was done.
    pub(super) count: u64,
    words: Vec<(u32, f32)>,
    norm: f32,
}

#[derive(Clone, Debug, Default)]
struct Word {
    /// The rows that have it, with how often it is said.
    rows: Vec<(u32, f32)>,
    tools: BTreeMap<ToolNo, u32>,
    weight: f32,
}

/// Precedents.
#[derive(Clone, Debug, Default)]
pub struct Past {
    rows: Vec<Row>,
    words: Vec<Word>,
    numbers: HashMap<String, u32>,
    tools: Vec<Str>,
    tool_numbers: HashMap<Str, ToolNo>,
    used: Vec<u32>,
    uses: u64,
    before: HashMap<(ToolNo, ToolNo), u32>,
    follows: HashMap<(ToolNo, ToolNo), u32>,
    linked: HashMap<(ToolNo, ToolNo), u32>,
}

impl Past {
    /// These precedents, the same whatever order they come in.
    pub fn new(precedents: impl IntoIterator<Item = Precedent>) -> Self {
        let mut all: Vec<Precedent> = precedents.into_iter().collect();
        all.sort_by(|a, b| (&a.intent, &a.tools).cmp(&(&b.intent, &b.tools)));
        all.truncate(PRECEDENTS_MAX);
        let mut past = Self::default();
        for one in &all {
            past.add(one);
        }
        past.weigh();
        past
    }

    /// One more, which is known from now on.
    pub fn put(&mut self, precedent: &Precedent) {
        if self.rows.len() < PRECEDENTS_MAX {
            self.add(precedent);
            self.weigh();
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
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
        for word in said(&precedent.intent) {
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
        self.rows.push(Row {
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
        self.words.push(Word::default());
        self.numbers.insert(word.to_owned(), number);
        number
    }

    /// Works out what each word tells: how far the tools that are used where it is said are from
    /// those that are used anywhere.
    fn weigh(&mut self) {
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
                let here = (f64::from(*count) + DOUBT * usual) / (seen + DOUBT);
                told += here * (here / usual).ln();
                rest -= usual;
            }
            let unseen = DOUBT / (seen + DOUBT);
            told += unseen * rest.max(0.0) * unseen.ln();
            word.weight = told.max(0.0).sqrt().max(LEAST) as f32;
        }
        for row in &mut self.rows {
            let squares = row.words.iter().map(|(word, count)| {
                let weight = self.words[*word as usize].weight * count;
                weight * weight
            });
            row.norm = squares.sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        }
    }

    /// The rows whose intents are nearest to some words, nearest first, each with how near.
    pub(super) fn near(&self, words: &[String], most: usize) -> Vec<(f32, usize)> {
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

    pub(super) fn row(&self, row: usize) -> &Row {
        &self.rows[row]
    }

    /// What a tool is called.
    pub(super) fn name(&self, tool: ToolNo) -> &Str {
        &self.tools[tool as usize]
    }

    /// The number of a tool, if it was ever used.
    pub(super) fn number(&self, name: &str) -> Option<ToolNo> {
        self.tool_numbers.get(name).copied()
    }

    /// How much a word tells; nothing where nobody has said it.
    pub(super) fn weight(&self, word: &str) -> Option<f32> {
        let number = self.numbers.get(word)?;
        Some(self.words[*number as usize].weight)
    }

    /// How much a word speaks for a tool.
    pub(super) fn pull(&self, word: &str, tool: ToolNo) -> f64 {
        let Some(word) = self.numbers.get(word).map(|no| &self.words[*no as usize]) else {
            return 0.0;
        };
        let usual = f64::from(self.used[tool as usize]) / self.rows.len().max(1) as f64;
        let seen = word.tools.get(&tool).copied().unwrap_or(0);
        let here = (f64::from(seen) + DOUBT * usual) / (word.rows.len() as f64 + DOUBT);
        (here / usual).ln().max(0.0)
    }

    /// How likely one tool comes right after another.
    pub(super) fn follows(&self, one: ToolNo, other: ToolNo) -> f64 {
        let count = |tool: ToolNo| f64::from(self.used[tool as usize]);
        let seen = f64::from(self.follows.get(&(one, other)).copied().unwrap_or(0));
        let usual = 0.25 * count(other) / self.rows.len().max(1) as f64;
        (seen + usual + 0.01) / (count(one) + 1.5)
    }

    /// How often one tool came before another, and the other way round.
    pub(super) fn orders(&self, one: ToolNo, other: ToolNo) -> (u32, u32) {
        let count = |pair| self.before.get(&pair).copied().unwrap_or(0);
        (count((one, other)), count((other, one)))
    }

    /// How often one waited for the other, of how often it came after it.
    pub(super) fn linked(&self, one: ToolNo, other: ToolNo) -> (u32, u32) {
        let linked = self.linked.get(&(one, other)).copied().unwrap_or(0);
        (linked, self.orders(one, other).0)
    }

    /// The tools that were used, with how often.
    pub fn tools(&self) -> Vec<(Str, u64)> {
        let used = self.tools.iter().zip(&self.used);
        let mut all: Vec<_> = used
            .map(|(name, used)| (name.clone(), u64::from(*used)))
            .collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    /// Which tools waited for which, with how often.
    pub fn pairs(&self) -> Vec<(Str, Str, u64)> {
        let name = |tool: &ToolNo| self.name(*tool).clone();
        let linked = self.linked.iter();
        let told = linked.map(|((one, other), n)| (name(one), name(other), u64::from(*n)));
        let mut all: Vec<_> = told.collect();
        all.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (&a.0, &a.1).cmp(&(&b.0, &b.1))));
        all
    }
}
