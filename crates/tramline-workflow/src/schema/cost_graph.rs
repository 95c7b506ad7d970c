//! A schema as a graph of subschema applications, to bound the work of a check in advance.
//!
//! The validator has no fuel limit. Its work is the number of times a subschema is applied to a
//! value, and references make that exponential in the size of a schema: ten references to a
//! definition with ten references are a hundred applications. A reference whose target does not
//! follow from its text alone (`$dynamicRef`, a relative address) counts as everything it may refer
//! to.

use super::references::{METASCHEMA_WEIGHT, ReferenceIndex, ReferenceTargets};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;

/// Subschemas per schema; each takes time and memory to compile.
pub const SUBSCHEMAS_MAX: usize = 20_000;
/// Subschema applications that the references of one schema may unfold to; bounds the work of a
/// check.
pub const SCHEMA_APPLICATIONS_MAX: u64 = 10_000;
/// Nesting levels of applications, in a schema and in a check; the validator recurses as deep.
pub const SCHEMA_DEPTH_MAX: usize = 256;
/// Patterns per schema; each is compiled to a program of its own.
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
/// Keywords that read a whole text.
const TEXT: [&str; 3] = ["format", "minLength", "maxLength"];

/// Work units for one application of a backtracking pattern, in addition to its text: see
/// [`super::BACKTRACKS_MAX`].
const BACKTRACKING_WORK: u64 = 1_000;
/// Bytes of text in one unit of a value's size.
const BYTES_USUAL: u64 = 64;
/// Pattern states per work unit and byte of text.
const STATES_PER_UNIT: u64 = 16;

/// The work of a check against a schema.
pub(super) struct SchemaCostGraph {
    pub(super) parts: Vec<SubschemaCost>,
    /// Whether a subschema is applied again to values inside its value.
    pub(super) is_recursive: bool,
    /// The maximum number of subschema applications per location of a value, if it is not
    /// recursive.
    pub(super) applications: u64,
    /// The maximum work units of one application to a short value.
    pub(super) heaviest: u64,
}

/// What a subschema does to a value; other subschemas are given by index.
#[derive(Default)]
pub(super) struct SubschemaCost {
    /// Work units per application.
    pub(super) weight: u64,
    /// Work units per byte of text.
    pub(super) per_byte: u64,
    /// Whether a text is read completely.
    pub(super) reads_text: bool,
    /// Whether all items of an array are compared.
    pub(super) compares: bool,
    /// Whether the validator applies the subschemas twice, to find unevaluated parts.
    pub(super) is_double: bool,
    pub(super) same: Vec<usize>,
    pub(super) named: HashMap<String, usize>,
    pub(super) each_field: Vec<usize>,
    pub(super) names: Vec<usize>,
    pub(super) first_items: Vec<usize>,
    pub(super) each_item: Vec<usize>,
    /// Work units for everything inside a value, for metaschemas.
    pub(super) per_node: u64,
}

impl SubschemaCost {
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

impl SchemaCostGraph {
    /// Reads a schema, or explains why checking it could take too much work.
    pub(super) fn of(schema: &Json) -> Result<Self, String> {
        let index = ReferenceIndex::of(schema)?;
        let mut reader = CostGraphBuilder {
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
            return Err("it applies itself to the same value endlessly".to_owned());
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

struct CostGraphBuilder<'a> {
    index: ReferenceIndex<'a>,
    /// The index of each subschema, by its address in memory.
    numbers: HashMap<*const Json, usize>,
    found: Vec<&'a Json>,
    patterns: usize,
}

impl<'a> CostGraphBuilder<'a> {
    fn number(&mut self, schema: &'a Json) -> Result<usize, String> {
        let known = self.numbers.get(&std::ptr::from_ref(schema));
        if let Some(number) = known {
            return Ok(*number);
        }
        if self.found.len() >= SUBSCHEMAS_MAX {
            return Err(format!("it contains more than {SUBSCHEMAS_MAX} subschemas"));
        }
        let number = self.found.len();
        self.numbers.insert(std::ptr::from_ref(schema), number);
        self.found.push(schema);
        Ok(number)
    }

    fn part(&mut self, schema: &'a Json) -> Result<SubschemaCost, String> {
        let mut part = SubschemaCost {
            weight: 1,
            ..SubschemaCost::default()
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
        part: &mut SubschemaCost,
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
        part: &mut SubschemaCost,
        value: &'a Json,
        within: &'a Json,
    ) -> Result<(), String> {
        let Some(reference) = value.as_str() else {
            return Ok(());
        };
        let ReferenceTargets {
            schemas: held,
            is_metaschema: is_specified,
        } = self.index.targets(reference, within);
        if held.is_empty() && !is_specified {
            let reference = crate::text::display_name(reference);
            return Err(format!("the reference `{reference}` has no target"));
        }
        if is_specified {
            part.per_node += METASCHEMA_WEIGHT;
        }
        for target in held {
            // The validator ignores a reference from a schema to itself.
            if !std::ptr::eq(target, within) {
                part.same.push(self.number(target)?);
            }
        }
        Ok(())
    }

    fn pattern(&mut self, part: &mut SubschemaCost, pattern: &str) -> Result<(), String> {
        self.patterns += 1;
        if self.patterns > SCHEMA_PATTERNS_MAX {
            return Err(format!(
                "it contains more than {SCHEMA_PATTERNS_MAX} patterns"
            ));
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

/// Whether a pattern may need a backtracking engine. May report false positives.
fn backtracks(pattern: &str) -> bool {
    let escapes = pattern.split('\\').skip(1);
    let refers = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit() || c == 'k');
    pattern.contains("(?") || escapes.into_iter().any(refers)
}

/// An estimate of how many copies the counted repetitions of a pattern create.
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

/// Whether some subschema is applied again to the same value.
fn applies_itself(parts: &[SubschemaCost]) -> bool {
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
enum UnfoldState {
    New,
    Open,
    Done { applications: u64, depth: usize },
}

/// The number of applications that the first part unfolds to, their depth, and whether a part is
/// recursive, which is counted once here.
fn unfold(parts: &[SubschemaCost]) -> (u64, usize, bool) {
    let mut visits = vec![UnfoldState::New; parts.len()];
    let mut is_recursive = false;
    let mut open = vec![0];
    let mut deepest = 0;
    while let Some(&at) = open.last() {
        let part = &parts[at];
        let children = || part.same.iter().copied().chain(part.inner());
        if let UnfoldState::New = visits[at] {
            visits[at] = UnfoldState::Open;
            let before = open.len();
            open.extend(children().filter(|child| matches!(visits[*child], UnfoldState::New)));
            if open.len() > before {
                continue;
            }
        }
        open.pop();
        if let UnfoldState::Done { .. } = visits[at] {
            continue;
        }
        let (mut applications, mut depth) = (1 + part.per_node, 1);
        for child in children() {
            match visits[child] {
                UnfoldState::Done {
                    applications: more,
                    depth: below,
                } => {
                    let times = 1 + u64::from(part.is_double);
                    applications = more.saturating_mul(times).saturating_add(applications);
                    depth = depth.max(below + 1);
                }
                UnfoldState::Open | UnfoldState::New => is_recursive = true,
            }
        }
        deepest = deepest.max(depth);
        visits[at] = UnfoldState::Done {
            applications,
            depth,
        };
    }
    let applications = match visits.first() {
        Some(UnfoldState::Done { applications, .. }) => *applications,
        Some(UnfoldState::New | UnfoldState::Open) | None => 0,
    };
    (applications, deepest, is_recursive)
}
