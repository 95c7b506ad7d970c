//! Requests whose right plans are known, split into held-out requests and precedents.

use crate::vectors::EmbeddingCache;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use tramline_catalog::search::{DocumentKind, SearchDocument, SearchIndex, Vector, fingerprint};
use tramline_engine::ports::{Tool, ToolHints};
use tramline_engine::scrub::scrub_intent;
use tramline_expr::Str;
use tramline_planner::planner::{
    PlanFeatures, PlanInput, Precedent, PrecedentIndex, SearchResults, TaskPlan, make_plan,
    score_all,
};
use tramline_workflow::ids::ToolName;

/// Requests for a single tool that are used: all of them would outweigh those for several.
const SINGLE_MAX: usize = 1_200;

/// A request with its right plan.
#[derive(Clone)]
pub(crate) struct PlanCase {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) tools: Vec<Str>,
    pub(crate) edges: BTreeSet<(Str, Str)>,
    /// Whether the order of the tools is known.
    pub(crate) ordered: bool,
}

impl PlanCase {
    /// Whether it needs one of these tools.
    pub(crate) fn needs(&self, tools: &BTreeSet<Str>) -> bool {
        self.tools.iter().any(|tool| tools.contains(tool))
    }
}

/// Tools with requests.
pub(crate) struct RequestSet {
    pub(crate) name: &'static str,
    tools: HashMap<String, Arc<Tool>>,
    index: SearchIndex,
    /// The tools of each domain, if tools have domains.
    pub(crate) domains: BTreeMap<String, BTreeSet<Str>>,
    /// The embeddings of texts; empty for lexical search.
    embeddings: HashMap<String, Vector>,
    /// The held-out requests.
    pub(crate) asked: Vec<PlanCase>,
    /// The others, in a deterministic order.
    pub(crate) past: Vec<PlanCase>,
}

impl RequestSet {
    /// A set with plans; `split_ids.json` lists the held-out requests.
    pub(crate) fn plans(name: &'static str, directory: &Path) -> Result<Self> {
        let tools: Value = serde_json::from_str(&read(&directory.join("tool_desc.json"))?)?;
        let split: Value = serde_json::from_str(&read(&directory.join("split_ids.json"))?)?;
        let kinds = split["test_ids"].as_object().into_iter().flatten();
        let held_out: BTreeSet<String> = kinds
            .flat_map(|(_, ids)| ids.as_array().into_iter().flatten())
            .map(id)
            .collect();
        let all = lines(&directory.join("data.json"))?;
        let cases = all.iter().map(case);
        let (asked, past) = cases.partition(|case| held_out.contains(&case.id));
        let tools = tools["nodes"].as_array().cloned().unwrap_or_default();
        Self::new(name, &tools, asked, past)
    }

    /// A set of requests for one or two tools each, all used as precedents; the order of the tools
    /// is unknown.
    pub(crate) fn loose(name: &'static str, directory: &Path) -> Result<Self> {
        let tools = lines(&directory.join("tools.jsonl"))?;
        let of = |file: &str| -> Result<Vec<PlanCase>> {
            let mut all: Vec<PlanCase> = lines(&directory.join(file))?.iter().map(loose).collect();
            all.sort_by_key(|case| fingerprint("", &case.text));
            Ok(all)
        };
        let mut cases = of("queries_single.jsonl")?;
        cases.truncate(SINGLE_MAX);
        cases.extend(of("queries_multi.jsonl")?);
        Self::new(name, &tools, Vec::new(), cases)
    }

    /// A set of requests for several tools each, all held out; the order of the tools is unknown.
    pub(crate) fn unordered(name: &'static str, directory: &Path) -> Result<Self> {
        let tools = lines(&directory.join("tools.jsonl"))?;
        let asked = lines(&directory.join("queries.jsonl"))?;
        Self::new(name, &tools, asked.iter().map(loose).collect(), Vec::new())
    }

    fn new(
        name: &'static str,
        tools: &[Value],
        asked: Vec<PlanCase>,
        mut past: Vec<PlanCase>,
    ) -> Result<Self> {
        past.sort_by_key(|case| fingerprint("", &case.text));
        let mut index = SearchIndex::new();
        let mut by_name = HashMap::new();
        let mut domains: BTreeMap<String, BTreeSet<Str>> = BTreeMap::new();
        for value in tools {
            let tool = Arc::new(tool(value));
            index.put(SearchDocument::of_tool(DocumentKind::Tool, &tool), None)?;
            let of = value["domain"].as_array().into_iter().flatten();
            for domain in of.filter_map(Value::as_str) {
                let known = domains.entry(domain.to_owned()).or_default();
                known.insert(tool.name.to_string().into());
            }
            by_name.insert(tool.name.to_string(), tool);
        }
        Ok(Self {
            name,
            tools: by_name,
            index,
            domains,
            embeddings: HashMap::new(),
            asked,
            past,
        })
    }

    /// Every text whose embedding is compared.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let cards = self.tools.values();
        let cards = cards.map(|tool| SearchDocument::of_tool(DocumentKind::Tool, tool).text());
        let cases = self.asked.iter().chain(&self.past);
        cards.chain(cases.flat_map(|case| SearchResults::texts(&case.text)))
    }

    /// The same set with semantic search.
    pub(crate) fn with_embeddings(&self, vectors: &EmbeddingCache) -> Result<Self> {
        let mut index = SearchIndex::new();
        for tool in self.tools.values() {
            let card = SearchDocument::of_tool(DocumentKind::Tool, tool);
            let vector = vectors.of(&card);
            index.put(card, vector.as_ref())?;
        }
        let texts = self.texts();
        let known = texts.filter_map(|text| {
            let vector = vectors.get(&text)?.clone();
            Some((text, vector))
        });
        Ok(Self {
            name: self.name,
            embeddings: known.collect(),
            tools: self.tools.clone(),
            index,
            domains: self.domains.clone(),
            asked: self.asked.clone(),
            past: self.past.clone(),
        })
    }

    /// The same requests over the tools of other sets as well.
    pub(crate) fn among(&self, name: &'static str, others: &[&Self]) -> Result<Self> {
        let mut tools = self.tools.clone();
        for other in others {
            for (name, tool) in &other.tools {
                tools
                    .entry(name.clone())
                    .or_insert_with(|| Arc::clone(tool));
            }
        }
        let mut index = SearchIndex::new();
        let mut names: Vec<&String> = tools.keys().collect();
        names.sort();
        for name in names {
            index.put(
                SearchDocument::of_tool(DocumentKind::Tool, &tools[name]),
                None,
            )?;
        }
        Ok(Self {
            name,
            tools,
            index,
            domains: BTreeMap::new(),
            embeddings: HashMap::new(),
            asked: self.asked.clone(),
            past: self.past.clone(),
        })
    }

    fn with<T>(
        &self,
        case: &PlanCase,
        past: &PrecedentIndex,
        give: impl FnOnce(&PlanInput<'_>) -> T,
    ) -> T {
        let lookup = |name: &str| self.tools.get(name).map(Arc::clone);
        let texts = SearchResults::texts(&case.text).into_iter();
        let meanings: Vec<_> = texts
            .map(|text| self.embeddings.get(&text).cloned())
            .collect();
        let found = SearchResults::new(&case.text, &meanings, &self.index, lookup);
        give(&PlanInput {
            request: &case.text,
            context: None,
            search: &found,
            precedents: past,
            lookup: &lookup,
            all_tools: &Vec::new,
            is_id_taken: &|_| false,
            completed: &[],
        })
    }

    pub(crate) fn plan(&self, case: &PlanCase, past: &PrecedentIndex) -> TaskPlan {
        self.with(case, past, make_plan)
    }

    pub(crate) fn weigh(
        &self,
        case: &PlanCase,
        past: &PrecedentIndex,
    ) -> (Vec<(Vec<Str>, PlanFeatures)>, f64) {
        self.with(case, past, score_all)
    }

    /// The top tools, by rank.
    pub(crate) fn top(&self, case: &PlanCase, most: usize) -> Vec<Str> {
        let meaning = self.embeddings.get(&case.text);
        let hits = self.index.search(&case.text, meaning, most).into_iter();
        hits.map(|hit| hit.id).collect()
    }
}

/// Precedents from some requests.
pub(crate) fn past<'a>(cases: impl IntoIterator<Item = &'a PlanCase>) -> PrecedentIndex {
    PrecedentIndex::new(cases.into_iter().map(precedent))
}

pub(crate) fn precedent(case: &PlanCase) -> Precedent {
    let place = |name: &Str| case.tools.iter().position(|tool| tool == name);
    let edge = |(from, to): &(Str, Str)| Some((place(from)?, place(to)?));
    Precedent {
        intent: scrub_intent(&case.text).into(),
        tools: case.tools.clone(),
        edges: case.edges.iter().filter_map(edge).collect(),
        count: 1,
    }
}

fn case(value: &Value) -> PlanCase {
    let name = |value: &Value| named(value.as_str().unwrap_or_default());
    let links = value["task_links"].as_array().into_iter().flatten();
    PlanCase {
        id: id(&value["id"]),
        text: value["user_request"]
            .as_str()
            .unwrap_or_default()
            .trim()
            .to_owned(),
        tools: names(&value["task_nodes"]),
        edges: links
            .map(|link| (name(&link["source"]), name(&link["target"])))
            .collect(),
        ordered: true,
    }
}

/// A request with known tools in unknown order.
fn loose(value: &Value) -> PlanCase {
    PlanCase {
        id: String::new(),
        text: value["text"].as_str().unwrap_or_default().to_owned(),
        tools: names(&value["gold"]),
        edges: BTreeSet::new(),
        ordered: false,
    }
}

fn names(list: &Value) -> Vec<Str> {
    let all = list.as_array().into_iter().flatten();
    let name = |one: &Value| one.as_str().or(one["task"].as_str()).map(named);
    all.filter_map(name).collect()
}

fn named(name: &str) -> Str {
    ToolName::new("set", name).to_string().into()
}

fn id(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn tool(value: &Value) -> Tool {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let description = format!("{}{}", text("description"), text("desc"));
    Tool {
        name: ToolName::new("set", text("id")),
        title: None,
        description: Some(description.into()),
        input_schema: tramline_expr::Value::Null,
        output_schema: None,
        hints: ToolHints::default(),
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

pub(crate) fn lines(path: &Path) -> Result<Vec<Value>> {
    let text = read(path)?;
    text.lines()
        .map(|line| Ok(serde_json::from_str(line)?))
        .collect()
}
