//! Which part of one tool's output another's argument can be: by names and types, and nothing else.
//!
//! What fits is right more often than not, and much that belongs together does not fit. So it proposes
//! bindings and forbids orders, and no plan rests on it alone.

use crate::seams::Tool;
use crate::search::said;
use std::collections::BTreeSet;
use tramline_core::Value;

/// So many parts of one output are looked at.
const PARTS_MAX: usize = 200;
/// Deeper parts are data.
const DEPTH_MAX: usize = 5;
/// Names that say nothing of what they name, as they are compared.
const PLAIN: [&str; 30] = [
    "id", "name", "text", "content", "path", "url", "uri", "queri", "data", "result", "valu",
    "type", "status", "messag", "titl", "descript", "key", "code", "date", "time", "input",
    "output", "item", "list", "count", "number", "format", "structur", "index", "file",
];

/// A part of an output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// How a reference names it, after the output itself: `.items[0].id`.
    pub(super) path: String,
    kind: Option<String>,
    /// The words of all names on the way to it.
    way: BTreeSet<String>,
    /// Those of its own.
    own: BTreeSet<String>,
}

/// How well a part fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// By a name that many things have.
    Weak,
    /// By a name that tells what it is.
    Strong,
}

/// The parts of what a schema describes.
pub(super) fn of_schema(schema: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    walk(schema, String::new(), &BTreeSet::new(), 0, &mut parts);
    parts
}

fn walk(schema: &Value, path: String, way: &BTreeSet<String>, depth: usize, parts: &mut Vec<Part>) {
    if depth > DEPTH_MAX {
        return;
    }
    if let Some(items) = schema.get("items") {
        walk(items, format!("{path}[0]"), way, depth + 1, parts);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, about) in properties.into_iter().flat_map(|map| map.iter()) {
        let Some(step) = step(&path, name) else {
            continue;
        };
        if parts.len() >= PARTS_MAX {
            return;
        }
        let kind = about.get("type").and_then(Value::as_str).map(str::to_owned);
        let next = add(parts, &step, name, kind, way);
        walk(about, step, &next, depth + 1, parts);
    }
}

/// The parts of what a step has given.
pub(super) fn of_value(value: &Value) -> Vec<Part> {
    let mut parts = Vec::new();
    tread(value, String::new(), &BTreeSet::new(), 0, &mut parts);
    parts
}

fn tread(value: &Value, path: String, way: &BTreeSet<String>, depth: usize, parts: &mut Vec<Part>) {
    if depth > DEPTH_MAX {
        return;
    }
    if let Some(first) = value.as_array().and_then(<[Value]>::first) {
        tread(first, format!("{path}[0]"), way, depth + 1, parts);
    }
    for (name, inner) in value.as_object().into_iter().flat_map(|map| map.iter()) {
        let Some(step) = step(&path, name) else {
            continue;
        };
        if parts.len() >= PARTS_MAX {
            return;
        }
        let next = add(parts, &step, name, kind_of(inner), way);
        tread(inner, step, &next, depth + 1, parts);
    }
}

/// What a value is, as schemas say it; nothing of what is not there.
fn kind_of(value: &Value) -> Option<String> {
    let kind = match value {
        value if value.is_null() => return None,
        value if value.as_str().is_some() => "string",
        value if value.as_bool().is_some() => "boolean",
        value if value.as_i64().is_some() => "integer",
        value if value.as_array().is_some() => "array",
        value if value.as_object().is_some() => "object",
        _ => "number",
    };
    Some(kind.to_owned())
}

/// The path to a name; none where references cannot say it.
fn step(path: &str, name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let sayable = !name.is_empty() && name.chars().all(plain);
    sayable.then(|| format!("{path}.{name}"))
}

fn add(
    parts: &mut Vec<Part>,
    path: &str,
    name: &str,
    kind: Option<String>,
    way: &BTreeSet<String>,
) -> BTreeSet<String> {
    let own: BTreeSet<String> = said(name).into_iter().collect();
    let way: BTreeSet<String> = way.union(&own).cloned().collect();
    parts.push(Part {
        path: path.to_owned(),
        kind,
        way: way.clone(),
        own,
    });
    way
}

/// An argument that is looked for.
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    about: &'a Value,
    of: &'a Tool,
    words: BTreeSet<String>,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(name: &'a str, about: &'a Value, of: &'a Tool) -> Self {
        let words = said(name).into_iter().collect();
        Self {
            name,
            about,
            of,
            words,
        }
    }

    /// Whether some part of what a schema describes may fit, by how the words of its name begin: endings
    /// are cut from words before they are compared, beginnings never.
    pub(super) fn may_be_in(&self, schema: &Value) -> bool {
        self.begins_in(schema, 0)
    }

    fn begins_in(&self, schema: &Value, depth: usize) -> bool {
        if depth > DEPTH_MAX {
            return false;
        }
        let within = schema.get("items");
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut named = properties.into_iter().flat_map(|map| map.iter());
        within.is_some_and(|items| self.begins_in(items, depth + 1))
            || named.any(|(name, about)| self.begins(name) || self.begins_in(about, depth + 1))
    }

    /// Whether a word of a name begins as one that is looked for.
    fn begins(&self, name: &str) -> bool {
        let mut before = ' ';
        let mut starts = name.chars().filter(|c| {
            let joined = before.is_alphanumeric() && !c.is_uppercase();
            before = *c;
            c.is_alphanumeric() && !joined
        });
        starts.any(|first| {
            let first = first.to_lowercase().next().unwrap_or(first);
            self.words.iter().any(|word| word.starts_with(first))
        })
    }
}

/// The part that fits an argument best, of a tool whose name is known or of a step.
pub(super) fn best<'p>(
    wanted: &Wanted<'_>,
    parts: &'p [Part],
    giver: &str,
) -> Option<(&'p Part, Fit)> {
    let giver: BTreeSet<String> = said(giver).into_iter().collect();
    let fits = parts
        .iter()
        .filter_map(|part| Some((part, fit(wanted, part, &giver)?)));
    // The shortest way to it, and the first of those.
    fits.max_by(|(one, a), (other, b)| {
        let length = |part: &Part| part.path.matches(['.', '[']).count();
        a.cmp(b).then_with(|| length(other).cmp(&length(one)))
    })
}

fn fit(wanted: &Wanted<'_>, part: &Part, giver: &BTreeSet<String>) -> Option<Fit> {
    let kind = wanted.about.get("type").and_then(Value::as_str);
    if !agree(kind, part.kind.as_deref()) {
        return None;
    }
    let want = &wanted.words;
    if want.is_empty() || part.own.is_empty() || !part.own.is_subset(want) {
        return None;
    }
    let is_plain =
        |words: &BTreeSet<String>| words.iter().all(|word| PLAIN.contains(&word.as_str()));
    let known: BTreeSet<String> = part.way.union(giver).cloned().collect();
    if !is_plain(want) {
        return want.is_subset(&known).then_some(Fit::Strong);
    }
    if *want != part.own {
        return None;
    }
    // `id` of one movie tool is the `id` of another.
    let of: BTreeSet<String> = said(&wanted.of.name.tool).into_iter().collect();
    let shared = of
        .intersection(&known)
        .any(|word| !PLAIN.contains(&word.as_str()) && word.len() > 3);
    let verb = |word: &String| super::words::is_verb(word);
    let shared = shared
        && of
            .intersection(&known)
            .any(|word| !verb(word) && !PLAIN.contains(&word.as_str()));
    Some(if shared { Fit::Strong } else { Fit::Weak })
}

fn agree(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some("number"), Some("integer")) => true,
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    }
}
