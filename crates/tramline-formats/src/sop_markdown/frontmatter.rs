//! The frontmatter: name, tools, servers, and enforcement mode.

use super::SopReader;
use super::call_rules::CallRules;
use crate::yaml_graph::fields;
use std::ops::Range;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::sop::{Sop, SopMode};
use tramline_workflow::text::{display_name, nearest, resembles};

/// The known fields. A file may have others.
const KNOWN: [&str; 20] = [
    "agent",
    "name",
    "version",
    "description",
    "entry_node",
    "entry",
    "model",
    "api",
    "mcp_servers",
    "mcpServers",
    "servers",
    "tools",
    "read_only_tools",
    "lookups",
    "rules",
    "hubs",
    "mode",
    "strict",
    "enforce_tools",
    "max_visits",
];

/// Fields of the frontmatter that would silently not apply without a value.
const NEEDS_VALUE: [&str; 6] = [
    "lookups",
    "rules",
    "mode",
    "strict",
    "enforce_tools",
    "max_visits",
];

/// Fields that set a requirement. The first part of such a name is a typo of it.
const REQUIREMENTS: [&str; 12] = [
    "must_call",
    "confirm",
    "guards",
    "args",
    "once_per",
    "max_calls",
    "lookups",
    "rules",
    "max_visits",
    "enforce_tools",
    "read_only_tools",
    "otherwise",
];

/// Requirements that are written in the wrong place, with the right one. They would silently not
/// apply.
const MISPLACED: [(&str, &str, &str); 7] = [
    (
        "the frontmatter",
        "confirm",
        "write it at the nodes that make the calls",
    ),
    (
        "the frontmatter",
        "must_call",
        "write it at the node that must make the call",
    ),
    (
        "the frontmatter",
        "guards",
        "write it at the node whose edges it guards",
    ),
    (
        "the frontmatter",
        "args",
        "write it under `rules`: `rules: {TOOL: {args: …}}`",
    ),
    (
        "the frontmatter",
        "once_per",
        "write it under `rules`: `rules: {TOOL: {once_per: …}}`",
    ),
    (
        "the frontmatter",
        "max_calls",
        "write it under `rules`: `rules: {TOOL: {max_calls: …}}`",
    ),
    (
        "a node",
        "rules",
        "write `args:`, `once_per:` or `max_calls:`",
    ),
];

/// Largest accepted limit on visits of a node: the limit exists to end loops.
pub(super) const VISITS_MAX: u64 = 10_000;

/// The parts of the frontmatter that refer to nodes, before the nodes are known.
#[derive(Debug, Default)]
pub(super) struct Frontmatter {
    pub(super) entry: Option<(Str, SourceSpan)>,
    pub(super) hubs: Option<Vec<(Str, SourceSpan)>>,
    pub(super) visits_max: Option<u32>,
    pub(super) rules: CallRules,
    /// The tools that may be called at any node.
    pub(super) anywhere: Vec<(Str, SourceSpan)>,
}

impl SopReader<'_> {
    /// Reads the frontmatter into the procedure.
    pub(super) fn read_frontmatter(&mut self, part: Range<usize>, sop: &mut Sop) -> Frontmatter {
        let Some((tree, before)) = self.parse_yaml(part) else {
            return Frontmatter::default();
        };
        let mut flaws = FlawCollector::default();
        let mut front = read(tree.root(), sop, &mut flaws);
        for place in front.spans() {
            place.line += before;
            place.end_line += before;
        }
        front.rules.shift(before);
        self.add_shifted_flaws(flaws.into_sorted(), before);
        front
    }
}

impl Frontmatter {
    fn spans(&mut self) -> impl Iterator<Item = &mut SourceSpan> {
        let hubs = self.hubs.iter_mut().flatten();
        let anywhere = self.anywhere.iter_mut();
        let all = hubs.chain(&mut self.entry).chain(anywhere);
        all.map(|(_, place)| place)
    }
}

fn read(root: Spanned<'_>, sop: &mut Sop, flaws: &mut FlawCollector) -> Frontmatter {
    if root.value.is_null() {
        return Frontmatter::default();
    }
    if root.value.as_object().is_none() {
        let hint = "write `key: value` lines between the two `---`";
        fields::report_wrong_type(root, "the frontmatter", "an object", hint, flaws);
        return Frontmatter::default();
    }
    report_unknown_fields(root, "the frontmatter", &KNOWN, flaws);
    report_without_value(root, &NEEDS_VALUE, flaws);
    let any = |key: &str| root.get(key).map_or(Value::Null, |it| it.value.clone());
    if let Some((_, at)) = fields::first_present(root, &["agent", "name"]) {
        sop.name = scalar_text(at.value);
    }
    sop.version = fields::present(root, "version").map(source_text);
    sop.model = any("model");
    sop.servers = match fields::first_present(root, &["mcp_servers", "mcpServers", "servers"]) {
        Some((_, at)) => at.value.clone(),
        None => Value::Null,
    };
    sop.tools = names_only(&name_list(root, "tools", flaws));
    let anywhere = name_list(root, "read_only_tools", flaws);
    sop.anywhere = names_only(&anywhere);
    read_mode(root, sop, flaws);
    // `enforce_tools` overrides `mode` and `strict` for tool calls.
    if let Some(gated) = fields::boolean(root, "enforce_tools", flaws) {
        sop.gated = gated;
        sop.calls = gated.then_some(SopMode::Strict);
    }
    let entry = fields::first_present(root, &["entry_node", "entry"]);
    Frontmatter {
        entry: entry.and_then(|(key, at)| {
            fields::string_value(at, key, flaws).map(|(id, at)| (id.clone(), at.source_span()))
        }),
        hubs: fields::present(root, "hubs").map(|_| name_list(root, "hubs", flaws)),
        visits_max: max_visits(root, flaws),
        rules: CallRules::of_front(root, flaws),
        anywhere,
    }
}

fn read_mode(root: Spanned<'_>, sop: &mut Sop, flaws: &mut FlawCollector) {
    if fields::boolean(root, "strict", flaws) == Some(false) {
        sop.mode = SopMode::Warn;
    }
    let Some((text, at)) = fields::optional_string(root, "mode", flaws) else {
        return;
    };
    match SopMode::ALL.into_iter().find(|mode| mode.as_str() == text) {
        Some(mode) => sop.mode = mode,
        None => flaws.add(
            FlawCode::WrongType,
            at.source_span(),
            format!("there is no mode `{}`", display_name(text)),
            "write strict, warn or observe",
        ),
    }
}

/// The limit on visits of a node.
pub(super) fn max_visits(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<u32> {
    let field = fields::present(at, "max_visits")?;
    let most = fields::whole_number(field, "max_visits", 1, VISITS_MAX, flaws)?;
    u32::try_from(most).ok()
}

/// A value as written in the file, so that the version `1.0` does not become `1`.
fn source_text(at: Spanned<'_>) -> Str {
    match at.value {
        Value::Number(_) => at.source_text().trim().into(),
        other => scalar_text(other),
    }
}

/// A scalar as text.
fn scalar_text(value: &Value) -> Str {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string().into(),
    }
}

fn names_only(named: &[(Str, SourceSpan)]) -> Vec<Str> {
    named.iter().map(|(name, _)| name.clone()).collect()
}

/// A list of names: strings, objects with a `name`, or one comma-separated string.
pub(super) fn name_list(
    at: Spanned<'_>,
    key: &str,
    flaws: &mut FlawCollector,
) -> Vec<(Str, SourceSpan)> {
    fields::present(at, key).map_or_else(Vec::new, |field| names_in(field, key, flaws))
}

/// The names in a field's value.
pub(super) fn names_in(
    field: Spanned<'_>,
    key: &str,
    flaws: &mut FlawCollector,
) -> Vec<(Str, SourceSpan)> {
    let hint = "write a list of names";
    match field.value {
        Value::String(text) => {
            let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
            parts.map(|it| (it.into(), field.source_span())).collect()
        }
        Value::Array(_) => {
            let mut found = Vec::new();
            for item in field.items() {
                match item.get("name").map_or(item.value, |name| name.value) {
                    Value::String(name) => found.push((name.clone(), item.source_span())),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Array(_)
                    | Value::Object(_) => {
                        fields::report_wrong_type(item, key, "a list of names", hint, flaws)
                    }
                }
            }
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            fields::report_wrong_type(field, key, "a list of names", hint, flaws);
            Vec::new()
        }
    }
}

/// Reports unknown fields. A probable typo of a known field is an error, because its setting would
/// silently not apply.
pub(super) fn report_unknown_fields(
    at: Spanned<'_>,
    owner: &str,
    known: &[&str],
    flaws: &mut FlawCollector,
) {
    for (slot, (key, _)) in at.fields().enumerate() {
        if known.contains(&key.as_str()) {
            continue;
        }
        let misplaced = MISPLACED
            .iter()
            .find(|(at, it, _)| *at == owner && *it == key);
        let near = nearest(key, known.iter().copied());
        let near = near.or_else(|| known.iter().copied().find(|it| is_start_of(key, it)));
        let is_slip = near.is_some_and(|near| resembles(key, near) || is_start_of(key, near));
        let hint = match (misplaced, near) {
            (Some((_, _, hint)), _) => (*hint).to_owned(),
            (None, Some(near)) => format!("did you mean `{near}`?"),
            (None, None) => "it has no effect; remove it unless another program uses it".to_owned(),
        };
        let code = match is_slip || misplaced.is_some() {
            true => FlawCode::MistypedField,
            false => FlawCode::UnknownField,
        };
        let message = format!("{owner} has no field `{}`", display_name(key));
        flaws.add(code, at.key_source_span(slot), message, hint);
    }
}

/// Whether a key is the first part of the name of a requirement, such as `once` of `once_per`.
fn is_start_of(key: &str, known: &str) -> bool {
    let rest = known.strip_prefix(key);
    REQUIREMENTS.contains(&known) && rest.is_some_and(|rest| rest.starts_with('_'))
}

/// Reports fields without a value whose setting would silently not apply.
pub(super) fn report_without_value(at: Spanned<'_>, keys: &[&str], flaws: &mut FlawCollector) {
    for (slot, (key, given)) in at.fields().enumerate() {
        let is_empty = match given.value {
            Value::Null => true,
            Value::Array(items) => items.is_empty() && REQUIREMENTS.contains(&key.as_str()),
            Value::Object(map) => map.is_empty() && REQUIREMENTS.contains(&key.as_str()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        };
        // An empty list of required tools is a plain way to write that there are none.
        let is_none = key == "must_call" && given.value.as_array().is_some();
        if is_empty && !is_none && keys.contains(&key.as_str()) {
            let message = format!("`{key}` is empty, so nothing is required");
            let hint = "write its value, or remove it";
            flaws.add(
                FlawCode::MissingField,
                at.key_source_span(slot),
                message,
                hint,
            );
        }
    }
}
