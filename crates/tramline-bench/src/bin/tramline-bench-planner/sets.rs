//! Requests whose right plans are known: which are asked, and which are past.

use crate::vectors::Vectors;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use tramline_core::Str;
use tramline_core::ids::ToolName;
use tramline_engine::learnt::keepable;
use tramline_engine::planner::{Ask, Found, Past, Plan, Precedent, Signs, propose, weigh_all};
use tramline_engine::seams::{Hints, Tool};
use tramline_engine::search::{Card, Index, Kind, Vector, fingerprint};

/// So many requests for one tool each are taken: all of them would outweigh those for several.
const SINGLE_MAX: usize = 1_200;

/// A request with its right plan.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) tools: Vec<Str>,
    pub(crate) edges: BTreeSet<(Str, Str)>,
    /// Whether the order of the tools is known.
    pub(crate) ordered: bool,
}

impl Case {
    /// Whether it needs a tool of some.
    pub(crate) fn needs(&self, tools: &BTreeSet<Str>) -> bool {
        self.tools.iter().any(|tool| tools.contains(tool))
    }
}

/// Tools with requests.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    tools: HashMap<String, Arc<Tool>>,
    index: Index,
    /// The tools of each domain, where tools have domains.
    pub(crate) domains: BTreeMap<String, BTreeSet<Str>>,
    /// What texts mean; nothing where tools are found by words alone.
    meanings: HashMap<String, Vector>,
    /// Those that are held out.
    pub(crate) asked: Vec<Case>,
    /// The others, in an order that follows from their texts.
    pub(crate) past: Vec<Case>,
}

impl Set {
    /// A set with plans; `split_ids.json` names the requests that are held out.
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

    /// A set of requests for one tool or two each, all of them past; which of two comes first is not known.
    pub(crate) fn loose(name: &'static str, directory: &Path) -> Result<Self> {
        let tools = lines(&directory.join("tools.jsonl"))?;
        let of = |file: &str| -> Result<Vec<Case>> {
            let mut all: Vec<Case> = lines(&directory.join(file))?.iter().map(loose).collect();
            all.sort_by_key(|case| fingerprint("", &case.text));
            Ok(all)
        };
        let mut cases = of("queries_single.jsonl")?;
        cases.truncate(SINGLE_MAX);
        cases.extend(of("queries_multi.jsonl")?);
        Self::new(name, &tools, Vec::new(), cases)
    }

    /// A set of requests for several tools each, all of them held out; in which order is not known.
    pub(crate) fn unordered(name: &'static str, directory: &Path) -> Result<Self> {
        let tools = lines(&directory.join("tools.jsonl"))?;
        let asked = lines(&directory.join("queries.jsonl"))?;
        Self::new(name, &tools, asked.iter().map(loose).collect(), Vec::new())
    }

    fn new(
        name: &'static str,
        tools: &[Value],
        asked: Vec<Case>,
        mut past: Vec<Case>,
    ) -> Result<Self> {
        past.sort_by_key(|case| fingerprint("", &case.text));
        let mut index = Index::new();
        let mut by_name = HashMap::new();
        let mut domains: BTreeMap<String, BTreeSet<Str>> = BTreeMap::new();
        for value in tools {
            let tool = Arc::new(tool(value));
            index.put(Card::of_tool(Kind::Tool, &tool), None)?;
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
            meanings: HashMap::new(),
            asked,
            past,
        })
    }

    /// Every text whose meaning is compared.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> {
        let cards = self.tools.values();
        let cards = cards.map(|tool| Card::of_tool(Kind::Tool, tool).text());
        let cases = self.asked.iter().chain(&self.past);
        cards.chain(cases.flat_map(|case| Found::texts(&case.text)))
    }

    /// The same with tools that are found by what they mean, too.
    pub(crate) fn with_meaning(&self, vectors: &Vectors) -> Result<Self> {
        let mut index = Index::new();
        for tool in self.tools.values() {
            let card = Card::of_tool(Kind::Tool, tool);
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
            meanings: known.collect(),
            tools: self.tools.clone(),
            index,
            domains: self.domains.clone(),
            asked: self.asked.clone(),
            past: self.past.clone(),
        })
    }

    /// The same requests over the tools of other sets beside its own.
    pub(crate) fn among(&self, name: &'static str, others: &[&Self]) -> Result<Self> {
        let mut tools = self.tools.clone();
        for other in others {
            for (name, tool) in &other.tools {
                tools
                    .entry(name.clone())
                    .or_insert_with(|| Arc::clone(tool));
            }
        }
        let mut index = Index::new();
        let mut names: Vec<&String> = tools.keys().collect();
        names.sort();
        for name in names {
            index.put(Card::of_tool(Kind::Tool, &tools[name]), None)?;
        }
        Ok(Self {
            name,
            tools,
            index,
            domains: BTreeMap::new(),
            meanings: HashMap::new(),
            asked: self.asked.clone(),
            past: self.past.clone(),
        })
    }

    fn with<T>(&self, case: &Case, past: &Past, give: impl FnOnce(&Ask<'_>) -> T) -> T {
        let lookup = |name: &str| self.tools.get(name).map(Arc::clone);
        let texts = Found::texts(&case.text).into_iter();
        let meanings: Vec<_> = texts
            .map(|text| self.meanings.get(&text).cloned())
            .collect();
        let found = Found::new(&case.text, &meanings, &self.index, lookup);
        give(&Ask {
            wish: &case.text,
            context: None,
            found: &found,
            past,
            lookup: &lookup,
            everything: &Vec::new,
            taken: &|_| false,
            done: &[],
        })
    }

    pub(crate) fn plan(&self, case: &Case, past: &Past) -> Plan {
        self.with(case, past, propose)
    }

    pub(crate) fn weigh(&self, case: &Case, past: &Past) -> (Vec<(Vec<Str>, Signs)>, f64) {
        self.with(case, past, weigh_all)
    }

    /// The best tools, in the order of their rank.
    pub(crate) fn top(&self, case: &Case, most: usize) -> Vec<Str> {
        let meaning = self.meanings.get(&case.text);
        let hits = self.index.search(&case.text, meaning, most).into_iter();
        hits.map(|hit| hit.id).collect()
    }
}

/// What was done for some requests.
pub(crate) fn past<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Past {
    Past::new(cases.into_iter().map(precedent))
}

pub(crate) fn precedent(case: &Case) -> Precedent {
    let place = |name: &Str| case.tools.iter().position(|tool| tool == name);
    let edge = |(from, to): &(Str, Str)| Some((place(from)?, place(to)?));
    Precedent {
        intent: keepable(&case.text).into(),
        tools: case.tools.clone(),
        edges: case.edges.iter().filter_map(edge).collect(),
        count: 1,
    }
}

fn case(value: &Value) -> Case {
    let name = |value: &Value| named(value.as_str().unwrap_or_default());
    let links = value["task_links"].as_array().into_iter().flatten();
    Case {
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

/// A request whose tools are known and not their order.
fn loose(value: &Value) -> Case {
    Case {
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
        input_schema: tramline_core::Value::Null,
        output_schema: None,
        hints: Hints::default(),
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
