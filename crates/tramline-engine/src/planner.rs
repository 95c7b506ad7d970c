//! A wish as tasks: which tools its words speak of, and which arguments are written in it.
//!
//! Pure and without a model: the same words over the same tools give the same plan.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tramline_core::ids::ToolName;
use tramline_core::{Map, Str, Value};

use crate::seams::Tool;

mod literals;
mod words;

use literals::{Kind, Literal};

/// Longer wishes are cut, in clauses.
const CLAUSES_MAX: usize = 32;
/// A tool that fits worse is none at all.
const FIT_MIN: f64 = 0.15;
/// Below this nothing runs that nobody has looked at.
const SURE_MIN: f64 = 0.4;

/// What a wish comes to.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The tasks, as a DAG has them.
    pub tasks: Value,
    /// What they call.
    pub tools: Vec<ToolName>,
    /// How well the words fit, from 0 to 1.
    pub confidence: f64,
    /// Why these tools, for people.
    pub explanation: String,
    /// The arguments that are needed and not known.
    pub missing: Vec<Missing>,
    /// The clauses that no tool fits.
    pub unmet: Vec<String>,
}

/// An argument that is needed and not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Of which task.
    pub task: Str,
    /// Which one.
    pub argument: Str,
    /// What it is, as its tool says.
    pub description: Option<Str>,
}

impl Plan {
    /// Whether nothing about it is open.
    pub fn is_complete(&self) -> bool {
        let some = !self.tools.is_empty() && self.unmet.is_empty();
        some && self.missing.is_empty() && self.confidence >= SURE_MIN
    }
}

/// Makes tasks out of a wish, one after the other. `taken` tells which ids are in use; what stands
/// in `context` under an argument's name is that argument.
pub fn plan(
    wish: &str,
    context: Option<&Value>,
    tools: &[Arc<Tool>],
    taken: impl Fn(&str) -> bool,
) -> Plan {
    let index = Index::new(tools);
    let mut plan = Plan::default();
    let (mut tasks, mut says) = (Vec::new(), Vec::new());
    let mut before: Option<Str> = None;
    let mut surest = 1.0_f64;
    for clause in words::clauses(wish).into_iter().take(CLAUSES_MAX) {
        let Some((tool, fit)) = index.best(&clause) else {
            says.push(format!("no tool fits \"{clause}\""));
            plan.unmet.push(clause);
            surest = 0.0;
            continue;
        };
        surest = surest.min(fit);
        let id = free_id(tool, &taken, &tasks);
        let task = bind(tool, &id, &clause, context, &mut plan.missing);
        says.push(format!("{} for \"{clause}\"", tool.name));
        tasks.push(with_dependency(task, before.replace(id)));
        plan.tools.push(tool.name.clone());
    }
    plan.tasks = Value::array(tasks);
    plan.confidence = match plan.tools.is_empty() {
        true => 0.0,
        false => (surest * 100.0).round() / 100.0,
    };
    plan.explanation = says.join("; ");
    plan
}

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

/// An id that no other task has.
fn free_id(tool: &Tool, taken: &impl Fn(&str) -> bool, tasks: &[Value]) -> Str {
    let used = |id: &str| {
        let has = |task: &Value| task.get("id").and_then(Value::as_str) == Some(id);
        taken(id) || tasks.iter().any(has)
    };
    let base = tool.name.tool.as_str();
    let mut number = 1;
    loop {
        let id = match number {
            1 => base.to_owned(),
            more => format!("{base}-{more}"),
        };
        if !used(&id) {
            return id.into();
        }
        number += 1;
    }
}

fn with_dependency(mut task: Map, before: Option<Str>) -> Value {
    let before = before.into_iter().map(Value::from);
    task.insert("depends_on", Value::array(before));
    task.into()
}

/// A task with the arguments that its clause or the context says.
fn bind(
    tool: &Tool,
    id: &Str,
    clause: &str,
    context: Option<&Value>,
    missing: &mut Vec<Missing>,
) -> Map {
    let mut literals = literals::of(clause);
    let schema = &tool.input_schema;
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let is_required = |name: &Str| required.iter().any(|one| one.as_str() == Some(name));
    let mut arguments = Map::new();
    let all = properties.into_iter().flat_map(Map::iter);
    let (needed, others): (Vec<_>, Vec<_>) = all.partition(|(name, _)| is_required(name));
    for (name, about) in needed {
        let known = context.and_then(|context| context.get(name)).cloned();
        match known.or_else(|| take(&mut literals, name, about)) {
            Some(value) => drop(arguments.insert(name.clone(), value)),
            None => missing.push(Missing {
                task: id.clone(),
                argument: name.clone(),
                description: about
                    .get("description")
                    .and_then(Value::as_str)
                    .map(Into::into),
            }),
        }
    }
    for (name, about) in others {
        let named = words::all(clause).contains(&words::stem(name));
        if named && let Some(value) = take(&mut literals, name, about) {
            arguments.insert(name.clone(), value);
        }
    }
    let mut task = Map::new();
    task.insert("id", id.clone().into());
    task.insert("tool", tool.name.to_string().into());
    task.insert("arguments", arguments.into());
    task
}

/// Takes the first literal that an argument can be.
fn take(literals: &mut Vec<Literal>, name: &str, about: &Value) -> Option<Value> {
    let kinds = kinds(name, about);
    let at = kinds
        .iter()
        .find_map(|kind| literals.iter().position(|literal| literal.kind == *kind))?;
    Some(literals.remove(at).value)
}

/// What an argument can be, best first.
fn kinds(name: &str, about: &Value) -> &'static [Kind] {
    let name = name.to_lowercase();
    let speaks_of = |words: &[&str]| words.iter().any(|word| name.contains(word));
    match about.get("type").and_then(Value::as_str) {
        Some("integer") => &[Kind::Whole],
        Some("number") => &[Kind::Whole, Kind::Fraction],
        Some("boolean") => &[Kind::Truth],
        Some("string") | None if speaks_of(&["url", "uri"]) => &[Kind::Url],
        Some("string") | None if speaks_of(&["path", "file", "dir", "folder"]) => {
            &[Kind::Path, Kind::Quoted]
        }
        Some("string") => &[Kind::Quoted, Kind::Path, Kind::Url],
        Some(_) | None => &[],
    }
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

    /// The tool that a clause speaks of, and how well it fits.
    fn best(&self, clause: &str) -> Option<(&'t Tool, f64)> {
        let wanted: BTreeSet<String> = words::all(&literals::without(clause)).into_iter().collect();
        let all: f64 = wanted.iter().map(|word| self.telling(word)).sum();
        if all == 0.0 {
            return None;
        }
        let mut best: Option<(&Tool, f64)> = None;
        for (tool, words) in &self.tools {
            let hit = |word: &String| Some(self.telling(word) * words.get(word)?);
            let fit = wanted.iter().filter_map(hit).sum::<f64>() / all;
            if fit >= FIT_MIN && best.is_none_or(|(_, most)| fit > most) {
                best = Some((tool, fit.min(1.0)));
            }
        }
        best
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

#[cfg(test)]
mod tests;
