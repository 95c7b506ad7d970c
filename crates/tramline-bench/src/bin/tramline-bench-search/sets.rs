//! Tools with queries whose right answers are known, and past queries.
//!
//! Queries that are asked and past queries never overlap. The split follows from a fingerprint of
//! the text, so that it is the same in every run.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tramline_catalog::search::{DocumentKind, SearchDocument, SearchIndex, Vector, fingerprint};

/// Queries asked of a set.
const ASKED_MAX: usize = 2_000;
/// Past queries per tool.
const PAST_MAX: usize = 30;

/// A query, and the right tools for it.
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) gold: Vec<String>,
}

/// Tools with queries.
pub(crate) struct QuerySet {
    pub(crate) name: &'static str,
    pub(crate) cards: Vec<SearchDocument>,
    pub(crate) asked: Vec<Query>,
    /// Past queries, by tool.
    past: BTreeMap<String, Vec<String>>,
}

impl QuerySet {
    pub(crate) fn all(data: &Path) -> Result<Vec<Self>> {
        let live = data.join("retrieval/livemcp");
        let meta = data.join("retrieval/metatool");
        let (ultra, tmdb) = (data.join("planning/ultratool"), data.join("planning/tmdb"));
        Ok(vec![
            Self::new(
                "LiveMCP",
                &lines(&live.join("tools.jsonl"))?,
                &lines(&live.join("queries.jsonl"))?,
            ),
            Self::new(
                "MetaTool",
                &lines(&meta.join("tools.jsonl"))?,
                &lines(&meta.join("queries_single.jsonl"))?,
            ),
            Self::new(
                "UltraTool",
                &nodes(&ultra)?,
                &lines(&ultra.join("data.json"))?,
            ),
            Self::new("TMDB", &nodes(&tmdb)?, &lines(&tmdb.join("data.json"))?),
        ])
    }

    fn new(name: &'static str, tools: &[Value], queries: &[Value]) -> Self {
        let mut queries: Vec<Query> = queries.iter().map(query).collect();
        queries.sort_by_key(|query| fingerprint("", &query.text));
        let asked_max = ASKED_MAX.min((queries.len() / 3).max(100));
        let rest = queries.split_off(asked_max.min(queries.len()));
        // Repeated queries count repeatedly, but no asked query is also a past one.
        let last = queries.last().map(|query| query.text.clone());
        let mut past: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for query in rest
            .iter()
            .filter(|query| Some(&query.text) != last.as_ref())
        {
            for tool in &query.gold {
                let wishes = past.entry(tool.clone()).or_default();
                if wishes.len() < PAST_MAX && !wishes.contains(&query.text) {
                    wishes.push(query.text.clone());
                }
            }
        }
        Self {
            name,
            cards: tools.iter().map(card).collect(),
            asked: queries,
            past,
        }
    }

    /// Whether there are past queries.
    pub(crate) fn has_past(&self) -> bool {
        !self.past.is_empty()
    }

    /// Every text whose embedding is compared.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let cards = self.cards(usize::MAX).into_iter();
        let cards = cards.flat_map(|card| {
            let wishes = card.past_requests.iter().map(ToString::to_string);
            std::iter::once(card.text()).chain(wishes.collect::<Vec<_>>())
        });
        cards.chain(self.asked.iter().map(|query| query.text.clone()))
    }

    /// The documents with this many past queries each.
    pub(crate) fn cards(&self, past: usize) -> Vec<SearchDocument> {
        let with = |card: &SearchDocument| {
            let wishes = self
                .past
                .get(card.id.as_str())
                .map_or(&[][..], Vec::as_slice);
            let mut card = card.clone();
            card.past_requests = wishes
                .iter()
                .take(past)
                .map(|wish| wish.as_str().into())
                .collect();
            card
        };
        self.cards.iter().map(with).collect()
    }

    /// The index of all documents with this many past queries each.
    pub(crate) fn index(
        &self,
        past: usize,
        vector: impl Fn(&SearchDocument) -> Option<Vector>,
    ) -> Result<SearchIndex> {
        let mut index = SearchIndex::new();
        for card in self.cards(past) {
            let vector = vector(&card);
            index.put(card, vector.as_ref())?;
        }
        Ok(index)
    }
}

fn card(tool: &Value) -> SearchDocument {
    let text = |name: &str| tool[name].as_str().unwrap_or_default().to_owned();
    let description = format!("{}{}", text("description"), text("desc"));
    let mut card = SearchDocument::new(DocumentKind::Tool, text("id"), description);
    if let Some(name) = tool["name"].as_str() {
        card.name = name.into();
    }
    if let Some((server, _)) = card.id.split_once("::") {
        card.server = server.into();
    }
    let properties = tool["inputSchema"]["properties"].as_object();
    let names = properties.into_iter().flat_map(|all| all.keys());
    card.parameters = names.map(|name| name.as_str().into()).collect();
    card
}

fn query(value: &Value) -> Query {
    let text = value["text"].as_str().or(value["user_request"].as_str());
    let strings = |all: &Value| {
        let all = all.as_array().cloned().unwrap_or_default();
        let string = |one: &Value| one.as_str().or(one["task"].as_str()).map(str::to_owned);
        all.iter().filter_map(string).collect::<Vec<_>>()
    };
    let mut gold = strings(&value["gold"]);
    gold.extend(strings(&value["task_nodes"]));
    gold.sort();
    gold.dedup();
    Query {
        text: text.unwrap_or_default().trim().to_owned(),
        gold,
    }
}

/// The tools of a planning set.
fn nodes(directory: &Path) -> Result<Vec<Value>> {
    let tools = read(&directory.join("tool_desc.json"))?;
    let tools: Value = serde_json::from_str(&tools)?;
    Ok(tools["nodes"].as_array().cloned().unwrap_or_default())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = read(path)?;
    text.lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}
