//! Matches fields of one tool's output with another tool's arguments, by names and types only.
//!
//! A match is right more often than not, but many related fields do not match. So matches propose bindings and rule out
//! orders, and no plan relies on them alone.

use std::collections::BTreeSet;
use tramline_catalog::search::stemmed_words;
use tramline_engine::ports::Tool;
use tramline_expr::Value;

/// Most fields of one output that are examined.
const FIELDS_MAX: usize = 200;
/// Deepest nesting, in levels, of the fields that are examined. Deeper ones are data.
const DEPTH_MAX: usize = 5;
/// Stems of names that many unrelated fields have.
const GENERIC_STEMS: [&str; 30] = [
    "id", "name", "text", "content", "path", "url", "uri", "queri", "data", "result", "valu",
    "type", "status", "messag", "titl", "descript", "key", "code", "date", "time", "input",
    "output", "item", "list", "count", "number", "format", "structur", "index", "file",
];

/// A field of an output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutputField {
    /// Its path in a reference, after the output itself: `.items[0].id`.
    pub(super) path: String,
    kind: Option<String>,
    /// The words of all names on its path.
    path_words: BTreeSet<String>,
    /// The words of its own name.
    name_words: BTreeSet<String>,
}

/// How well a field fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FieldFit {
    /// By a name that many fields have.
    Weak,
    /// By a specific name.
    Strong,
}

/// The fields that a schema describes.
pub(super) fn fields_of_schema(schema: &Value) -> Vec<OutputField> {
    let mut parts = Vec::new();
    collect_schema(schema, String::new(), &BTreeSet::new(), 0, &mut parts);
    parts
}

fn collect_schema(
    schema: &Value,
    path: String,
    way: &BTreeSet<String>,
    depth: usize,
    parts: &mut Vec<OutputField>,
) {
    if depth > DEPTH_MAX {
        return;
    }
    if let Some(items) = schema.get("items") {
        collect_schema(items, format!("{path}[0]"), way, depth + 1, parts);
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, about) in properties.into_iter().flat_map(|map| map.iter()) {
        let Some(step) = child_path(&path, name) else {
            continue;
        };
        if parts.len() >= FIELDS_MAX {
            return;
        }
        let kind = about.get("type").and_then(Value::as_str).map(str::to_owned);
        let next = push_field(parts, &step, name, kind, way);
        collect_schema(about, step, &next, depth + 1, parts);
    }
}

/// The fields of a step's output.
pub(super) fn fields_of_value(value: &Value) -> Vec<OutputField> {
    let mut parts = Vec::new();
    collect_value(value, String::new(), &BTreeSet::new(), 0, &mut parts);
    parts
}

fn collect_value(
    value: &Value,
    path: String,
    way: &BTreeSet<String>,
    depth: usize,
    parts: &mut Vec<OutputField>,
) {
    if depth > DEPTH_MAX {
        return;
    }
    if let Some(first) = value.as_array().and_then(<[Value]>::first) {
        collect_value(first, format!("{path}[0]"), way, depth + 1, parts);
    }
    for (name, inner) in value.as_object().into_iter().flat_map(|map| map.iter()) {
        let Some(step) = child_path(&path, name) else {
            continue;
        };
        if parts.len() >= FIELDS_MAX {
            return;
        }
        let next = push_field(parts, &step, name, json_type(inner), way);
        collect_value(inner, step, &next, depth + 1, parts);
    }
}

/// The type of a value in the terms of JSON Schema; `None` for null.
fn json_type(value: &Value) -> Option<String> {
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

/// The path to a name; `None` if references cannot express it.
fn child_path(path: &str, name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let sayable = !name.is_empty() && name.chars().all(plain);
    sayable.then(|| format!("{path}.{name}"))
}

fn push_field(
    parts: &mut Vec<OutputField>,
    path: &str,
    name: &str,
    kind: Option<String>,
    way: &BTreeSet<String>,
) -> BTreeSet<String> {
    let own: BTreeSet<String> = stemmed_words(name).into_iter().collect();
    let way: BTreeSet<String> = way.union(&own).cloned().collect();
    parts.push(OutputField {
        path: path.to_owned(),
        kind,
        path_words: way.clone(),
        name_words: own,
    });
    way
}

/// An argument that needs a source.
pub(super) struct OpenArgument<'a> {
    pub(super) name: &'a str,
    about: &'a Value,
    of: &'a Tool,
    words: BTreeSet<String>,
}

impl<'a> OpenArgument<'a> {
    pub(super) fn new(name: &'a str, about: &'a Value, of: &'a Tool) -> Self {
        let words = stemmed_words(name).into_iter().collect();
        Self {
            name,
            about,
            of,
            words,
        }
    }

    /// Whether some field of the schema may match, by the first letters of the words of its name. Stemming cuts
    /// endings, never beginnings.
    pub(super) fn may_match(&self, schema: &Value) -> bool {
        self.matches_initial_in(schema, 0)
    }

    fn matches_initial_in(&self, schema: &Value, depth: usize) -> bool {
        if depth > DEPTH_MAX {
            return false;
        }
        let within = schema.get("items");
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut named = properties.into_iter().flat_map(|map| map.iter());
        within.is_some_and(|items| self.matches_initial_in(items, depth + 1))
            || named.any(|(name, about)| {
                self.matches_initial(name) || self.matches_initial_in(about, depth + 1)
            })
    }

    /// Whether a word of a name begins like a word of the argument.
    fn matches_initial(&self, name: &str) -> bool {
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

/// The field that fits an argument best. `giver` is the name of the tool or step with the fields.
pub(super) fn best_field<'p>(
    wanted: &OpenArgument<'_>,
    parts: &'p [OutputField],
    giver: &str,
) -> Option<(&'p OutputField, FieldFit)> {
    let giver: BTreeSet<String> = stemmed_words(giver).into_iter().collect();
    let fits = parts
        .iter()
        .filter_map(|part| Some((part, field_fit(wanted, part, &giver)?)));
    // The shortest path wins, and the first among equals.
    fits.max_by(|(one, a), (other, b)| {
        let length = |part: &OutputField| part.path.matches(['.', '[']).count();
        a.cmp(b).then_with(|| length(other).cmp(&length(one)))
    })
}

fn field_fit(
    wanted: &OpenArgument<'_>,
    part: &OutputField,
    giver: &BTreeSet<String>,
) -> Option<FieldFit> {
    let kind = wanted.about.get("type").and_then(Value::as_str);
    if !types_match(kind, part.kind.as_deref()) {
        return None;
    }
    let want = &wanted.words;
    if want.is_empty() || part.name_words.is_empty() || !part.name_words.is_subset(want) {
        return None;
    }
    let is_plain = |words: &BTreeSet<String>| {
        words
            .iter()
            .all(|word| GENERIC_STEMS.contains(&word.as_str()))
    };
    let known: BTreeSet<String> = part.path_words.union(giver).cloned().collect();
    if !is_plain(want) {
        return want.is_subset(&known).then_some(FieldFit::Strong);
    }
    if *want != part.name_words {
        return None;
    }
    // The `id` of one movie tool is the `id` of another.
    let of: BTreeSet<String> = stemmed_words(&wanted.of.name.tool).into_iter().collect();
    let shared = of
        .intersection(&known)
        .any(|word| !GENERIC_STEMS.contains(&word.as_str()) && word.len() > 3);
    let verb = |word: &String| super::text::is_verb(word);
    let shared = shared
        && of
            .intersection(&known)
            .any(|word| !verb(word) && !GENERIC_STEMS.contains(&word.as_str()));
    Some(if shared {
        FieldFit::Strong
    } else {
        FieldFit::Weak
    })
}

fn types_match(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some("number"), Some("integer")) => true,
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    }
}
