//! A schema as a graph of what applies what: how much work a check can be, before it is made.
//!
//! The validator has no fuel. Its work is the number of times that a subschema is applied to a
//! value, and references make that exponential in the size of a schema: ten references to a
//! definition with ten references are a hundred applications. A reference whose target does not
//! follow from its text alone (`$dynamicRef`, a relative address) counts as all that it may mean.

use super::reference::{Index, METASCHEMA_WEIGHT, Targets};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// Subschemas that one schema may hold; each takes time and memory to compile.
pub const SUBSCHEMAS_MAX: usize = 20_000;
/// Applications of subschemas that the references of one schema may unfold to.
pub const SCHEMA_APPLICATIONS_MAX: u64 = 10_000;
/// Levels that applications may nest, in a schema and in a check: the validator's stack does too.
pub const SCHEMA_DEPTH_MAX: usize = 256;
/// Patterns that one schema may hold: each is compiled to a program of its own.
pub const SCHEMA_PATTERNS_MAX: usize = 256;

/// Keywords with one subschema for the same value.
const SAME: [&str; 4] = ["not", "if", "then", "else"];
/// Keywords with a list of subschemas for the same value.
const SAME_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with named subschemas for the same value.
const SAME_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Keywords with a subschema for each item.
const EACH_ITEM: [&str; 4] = ["items", "additionalItems", "contains", "unevaluatedItems"];
/// Keywords with a subschema for each field.
const EACH_FIELD: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
/// Keywords that read a text whole.
const TEXT: [&str; 3] = ["format", "minLength", "maxLength"];

/// Work for one application of a pattern that backtracks, beside its text: see
/// [`super::BACKTRACKS_MAX`].
const BACKTRACKING_WORK: u64 = 1_000;
/// Bytes of text in one unit of a value's size.
const BYTES_USUAL: u64 = 64;
/// States of a pattern that cost a unit of work for each byte of text.
const STATES_PER_UNIT: u64 = 16;

/// What a check against a schema has to do.
pub(super) struct Plan {
    pub(super) parts: Vec<Part>,
    /// Whether a subschema is applied again to what is inside its value.
    pub(super) is_recursive: bool,
    /// How often its subschemas are applied to one place of a value, at most, where it is not
    /// recursive.
    pub(super) applications: u64,
    /// Units of work of one application to a short value, at most.
    pub(super) heaviest: u64,
}

/// What a subschema does to a value, by the numbers of the subschemas that it applies.
#[derive(Default)]
pub(super) struct Part {
    /// Units of work for one application.
    pub(super) weight: u64,
    /// Units of work for each byte of a text.
    pub(super) per_byte: u64,
    /// Whether a text is read whole.
    pub(super) reads_text: bool,
    /// Whether all that is in an array is compared.
    pub(super) compares: bool,
    /// Whether the validator applies what is here twice, to see what is left over.
    pub(super) is_double: bool,
    pub(super) same: Vec<usize>,
    pub(super) named: HashMap<String, usize>,
    pub(super) each_field: Vec<usize>,
    pub(super) names: Vec<usize>,
    pub(super) first_items: Vec<usize>,
    pub(super) each_item: Vec<usize>,
    /// Units of work for everything inside a value: schemas of the specification.
    pub(super) per_node: u64,
}

impl Part {
    fn inner(&self) -> impl Iterator<Item = usize> + '_ {
        let named = self.named.values();
        let lists = [
            &self.each_field,
            &self.names,
            &self.first_items,
            &self.each_item,
        ];
        named.chain(lists.into_iter().flatten()).copied()
    }
}

impl Plan {
    /// Reads a schema, or says why it is too much work for anybody.
    pub(super) fn of(schema: &Json) -> Result<Self, String> {
        let index = Index::of(schema)?;
        let mut reader = Reader {
            index,
            numbers: HashMap::new(),
            found: Vec::new(),
            patterns: 0,
        };
        reader.number(schema)?;
        let mut parts = Vec::new();
        while let Some(json) = reader.found.get(parts.len()).copied() {
            parts.push(reader.part(json)?);
        }
        if applies_itself(&parts) {
            return Err("it applies itself to the same value, without an end".to_owned());
        }
        let (applications, depth, is_recursive) = unfold(&parts);
        if applications > SCHEMA_APPLICATIONS_MAX {
            return Err(format!(
                "its references unfold to more than {SCHEMA_APPLICATIONS_MAX} applications of \
                 subschemas; refer to each definition less often"
            ));
        }
        if depth > SCHEMA_DEPTH_MAX {
            return Err(format!(
                "its subschemas and references nest more than {SCHEMA_DEPTH_MAX} levels deep"
            ));
        }
        let heaviest = parts
            .iter()
            .map(|part| part.weight + part.per_byte * BYTES_USUAL);
        let heaviest = heaviest.max().unwrap_or(1);
        Ok(Self {
            parts,
            is_recursive,
            applications,
            heaviest,
        })
    }
}

struct Reader<'a> {
    index: Index<'a>,
    /// The number of each subschema, by where it is in memory.
    numbers: HashMap<*const Json, usize>,
    found: Vec<&'a Json>,
    patterns: usize,
}

impl<'a> Reader<'a> {
    fn number(&mut self, schema: &'a Json) -> Result<usize, String> {
        let known = self.numbers.get(&std::ptr::from_ref(schema));
        if let Some(number) = known {
            return Ok(*number);
        }
        if self.found.len() >= SUBSCHEMAS_MAX {
            return Err(format!("it holds more than {SUBSCHEMAS_MAX} subschemas"));
        }
        let number = self.found.len();
        self.numbers.insert(std::ptr::from_ref(schema), number);
        self.found.push(schema);
        Ok(number)
    }

    fn part(&mut self, schema: &'a Json) -> Result<Part, String> {
        let mut part = Part {
            weight: 1,
            ..Part::default()
        };
        let Json::Object(fields) = schema else {
            return Ok(part);
        };
        for (keyword, value) in fields {
            self.keyword(&mut part, keyword, value, schema)?;
        }
        Ok(part)
    }

    fn keyword(
        &mut self,
        part: &mut Part,
        keyword: &str,
        value: &'a Json,
        within: &'a Json,
    ) -> Result<(), String> {
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(part, value, within)?,
            "properties" => {
                for (name, schema) in fields(value) {
                    let number = self.number(schema)?;
                    part.named.insert(name.clone(), number);
                }
            }
            "patternProperties" => {
                for (pattern, schema) in fields(value) {
                    self.pattern(part, pattern)?;
                    part.each_field.push(self.number(schema)?);
                }
            }
            "propertyNames" => part.names.push(self.number(value)?),
            "prefixItems" => self.list(value, &mut part.first_items)?,
            "items" if value.is_array() => self.list(value, &mut part.first_items)?,
            "pattern" => self.pattern(part, value.as_str().unwrap_or_default())?,
            "uniqueItems" => part.compares = value.as_bool().unwrap_or_default(),
            "enum" | "required" => {
                part.weight += value.as_array().map_or(0, Vec::len) as u64;
            }
            keyword if SAME.contains(&keyword) => part.same.push(self.number(value)?),
            keyword if SAME_LISTS.contains(&keyword) => self.list(value, &mut part.same)?,
            keyword if SAME_MAPS.contains(&keyword) => {
                for (_, schema) in fields(value).filter(|(_, schema)| !schema.is_array()) {
                    part.same.push(self.number(schema)?);
                }
            }
            keyword if EACH_ITEM.contains(&keyword) => part.each_item.push(self.number(value)?),
            keyword if EACH_FIELD.contains(&keyword) => part.each_field.push(self.number(value)?),
            keyword if TEXT.contains(&keyword) => part.reads_text = true,
            _ => {}
        }
        part.is_double |= keyword.starts_with("unevaluated");
        Ok(())
    }

    fn list(&mut self, value: &'a Json, into: &mut Vec<usize>) -> Result<(), String> {
        for schema in value.as_array().into_iter().flatten() {
            into.push(self.number(schema)?);
        }
        Ok(())
    }

    fn reference(
        &mut self,
        part: &mut Part,
        value: &'a Json,
        within: &'a Json,
    ) -> Result<(), String> {
        let Some(reference) = value.as_str() else {
            return Ok(());
        };
        let Targets { held, is_specified } = self.index.targets(reference, within);
        if held.is_empty() && !is_specified {
            let reference = crate::text::shown(reference);
            return Err(format!("the reference `{reference}` leads nowhere"));
        }
        if is_specified {
            part.per_node += METASCHEMA_WEIGHT;
        }
        for target in held {
            // The validator leaves out a reference of a schema to itself.
            if !std::ptr::eq(target, within) {
                part.same.push(self.number(target)?);
            }
        }
        Ok(())
    }

    fn pattern(&mut self, part: &mut Part, pattern: &str) -> Result<(), String> {
        self.patterns += 1;
        if self.patterns > SCHEMA_PATTERNS_MAX {
            return Err(format!("it holds more than {SCHEMA_PATTERNS_MAX} patterns"));
        }
        if backtracks(pattern) {
            part.weight += BACKTRACKING_WORK;
        }
        part.per_byte += 1 + repetitions(pattern) / STATES_PER_UNIT;
        Ok(())
    }
}

fn fields(value: &Json) -> impl Iterator<Item = (&String, &Json)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Whether a pattern may need what only a backtracking engine has. May say so of one that does not.
fn backtracks(pattern: &str) -> bool {
    let escapes = pattern.split('\\').skip(1);
    let refers = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'k');
    pattern.contains("(?") || escapes.into_iter().any(refers)
}

/// About how many copies of their parts the counted repetitions of a pattern make.
fn repetitions(pattern: &str) -> u64 {
    let mut copies: u64 = 1;
    for (at, _) in pattern.match_indices('{') {
        let inside = pattern[at + 1..].split('}').next().unwrap_or_default();
        let most = inside
            .split(',')
            .filter_map(|n| n.trim().parse().ok())
            .max();
        let Some(most) = most else { continue };
        copies = match pattern[..at].ends_with(')') {
            true => copies.saturating_mul(most),
            false => copies.saturating_add(most),
        };
    }
    copies
}

/// Whether some subschema is applied to the value that it is being applied to.
fn applies_itself(parts: &[Part]) -> bool {
    let mut from = vec![0_usize; parts.len()];
    for to in parts.iter().flat_map(|part| &part.same) {
        from[*to] += 1;
    }
    let mut free: Vec<usize> = (0..parts.len()).filter(|at| from[*at] == 0).collect();
    let mut seen = 0;
    while let Some(at) = free.pop() {
        seen += 1;
        for to in &parts[at].same {
            from[*to] -= 1;
            if from[*to] == 0 {
                free.push(*to);
            }
        }
    }
    seen < parts.len()
}

#[derive(Clone, Copy)]
enum Visit {
    New,
    Open,
    Done { applications: u64, depth: usize },
}

/// How many applications the first part unfolds to, how deep they nest, and whether some part
/// comes back to itself, which is counted once here.
fn unfold(parts: &[Part]) -> (u64, usize, bool) {
    let mut visits = vec![Visit::New; parts.len()];
    let mut is_recursive = false;
    let mut open = vec![0];
    let mut deepest = 0;
    while let Some(&at) = open.last() {
        let part = &parts[at];
        let children = || part.same.iter().copied().chain(part.inner());
        if let Visit::New = visits[at] {
            visits[at] = Visit::Open;
            let before = open.len();
            open.extend(children().filter(|child| matches!(visits[*child], Visit::New)));
            if open.len() > before {
                continue;
            }
        }
        open.pop();
        if let Visit::Done { .. } = visits[at] {
            continue;
        }
        let (mut applications, mut depth) = (1 + part.per_node, 1);
        for child in children() {
            match visits[child] {
                Visit::Done {
                    applications: more,
                    depth: below,
                } => {
                    let times = 1 + u64::from(part.is_double);
                    applications = more.saturating_mul(times).saturating_add(applications);
                    depth = depth.max(below + 1);
                }
                Visit::Open | Visit::New => is_recursive = true,
            }
        }
        deepest = deepest.max(depth);
        visits[at] = Visit::Done {
            applications,
            depth,
        };
    }
    let applications = match visits.first() {
        Some(Visit::Done { applications, .. }) => *applications,
        Some(Visit::New | Visit::Open) | None => 0,
    };
    (applications, deepest, is_recursive)
}
