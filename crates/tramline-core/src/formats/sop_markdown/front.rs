//! The frontmatter: who the agent is, what it may call, and how strictly it is held.

use super::Reader;
use super::names::resembles;
use super::rules::Rules;
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::yaml_graph::fields;
use crate::sop::{Mode, Sop};
use crate::text::{nearest, shown};
use std::ops::Range;
use tramline_expr::{Str, Value};

/// The fields that mean something here. A file may have others.
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

/// No node may be allowed more visits than this: the limit is there to end loops.
pub(super) const VISITS_MAX: u64 = 10_000;

/// What the frontmatter says of nodes, before anybody knows which there are.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) entry: Option<(Str, Place)>,
    pub(super) hubs: Option<Vec<(Str, Place)>>,
    pub(super) visits_max: Option<u32>,
    pub(super) rules: Rules,
    /// The tools that may be called anywhere.
    pub(super) anywhere: Vec<(Str, Place)>,
}

impl Reader<'_> {
    /// Reads the frontmatter into the procedure.
    pub(super) fn front(&mut self, part: Range<usize>, sop: &mut Sop) -> Front {
        let Some((tree, before)) = self.yaml(part) else {
            return Front::default();
        };
        let mut flaws = Flaws::default();
        let mut front = read(tree.root(), sop, &mut flaws);
        for place in front.places() {
            place.line += before;
            place.end_line += before;
        }
        front.rules.shift(before);
        self.absorb(flaws.sorted(), before);
        front
    }
}

impl Front {
    fn places(&mut self) -> impl Iterator<Item = &mut Place> {
        let hubs = self.hubs.iter_mut().flatten();
        let anywhere = self.anywhere.iter_mut();
        let all = hubs.chain(&mut self.entry).chain(anywhere);
        all.map(|(_, place)| place)
    }
}

fn read(root: At<'_>, sop: &mut Sop, flaws: &mut Flaws) -> Front {
    if root.value.is_null() {
        return Front::default();
    }
    if root.value.as_object().is_none() {
        let hint = "write `key: value` lines between the two `---`";
        fields::wrong(root, "the frontmatter", "an object", hint, flaws);
        return Front::default();
    }
    slips(root, "the frontmatter", &KNOWN, flaws);
    let any = |key: &str| root.get(key).map_or(Value::Null, |it| it.value.clone());
    if let Some((_, at)) = fields::given_as(root, &["agent", "name"]) {
        sop.name = words(at.value);
    }
    sop.version = fields::given(root, "version").map(written);
    sop.model = any("model");
    sop.servers = match fields::given_as(root, &["mcp_servers", "mcpServers", "servers"]) {
        Some((_, at)) => at.value.clone(),
        None => Value::Null,
    };
    sop.tools = only(&names(root, "tools", flaws));
    let anywhere = names(root, "read_only_tools", flaws);
    sop.anywhere = only(&anywhere);
    mode(root, sop, flaws);
    // Of tools it says more than `mode` and `strict`, which are about both.
    if let Some(gated) = fields::truth(root, "enforce_tools", flaws) {
        sop.gated = gated;
        sop.calls = gated.then_some(Mode::Strict);
    }
    let entry = fields::given_as(root, &["entry_node", "entry"]);
    Front {
        entry: entry.and_then(|(key, at)| {
            fields::as_text(at, key, flaws).map(|(id, at)| (id.clone(), at.place()))
        }),
        hubs: fields::given(root, "hubs").map(|_| names(root, "hubs", flaws)),
        visits_max: visits(root, flaws),
        rules: Rules::of_front(root, flaws),
        anywhere,
    }
}

fn mode(root: At<'_>, sop: &mut Sop, flaws: &mut Flaws) {
    if fields::truth(root, "strict", flaws) == Some(false) {
        sop.mode = Mode::Warn;
    }
    let Some((text, at)) = fields::text(root, "mode", flaws) else {
        return;
    };
    match Mode::ALL.into_iter().find(|mode| mode.as_str() == text) {
        Some(mode) => sop.mode = mode,
        None => flaws.add(
            Code::WrongType,
            at.place(),
            format!("there is no mode `{}`", shown(text)),
            "write strict, warn or observe",
        ),
    }
}

/// How often a node may be visited.
pub(super) fn visits(at: At<'_>, flaws: &mut Flaws) -> Option<u32> {
    let field = fields::given(at, "max_visits")?;
    let most = fields::whole(field, "max_visits", 1, VISITS_MAX, flaws)?;
    u32::try_from(most).ok()
}

/// A value as it stands in the file: `1.0` is a version, and not the number 1.
fn written(at: At<'_>) -> Str {
    match at.value {
        Value::Number(_) => at.written().trim().into(),
        other => words(other),
    }
}

/// A plain value as words.
fn words(value: &Value) -> Str {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string().into(),
    }
}

fn only(named: &[(Str, Place)]) -> Vec<Str> {
    named.iter().map(|(name, _)| name.clone()).collect()
}

/// A list of names: texts, objects with a `name`, or one text with commas.
pub(super) fn names(at: At<'_>, key: &str, flaws: &mut Flaws) -> Vec<(Str, Place)> {
    fields::given(at, key).map_or_else(Vec::new, |field| named(field, key, flaws))
}

/// The names in a field's value.
pub(super) fn named(field: At<'_>, key: &str, flaws: &mut Flaws) -> Vec<(Str, Place)> {
    let hint = "write a list of names";
    match field.value {
        Value::String(text) => {
            let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
            parts.map(|it| (it.into(), field.place())).collect()
        }
        Value::Array(_) => {
            let mut found = Vec::new();
            for item in field.items() {
                match item.get("name").map_or(item.value, |name| name.value) {
                    Value::String(name) => found.push((name.clone(), item.place())),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Array(_)
                    | Value::Object(_) => fields::wrong(item, key, "a list of names", hint, flaws),
                }
            }
            found
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            fields::wrong(field, key, "a list of names", hint, flaws);
            Vec::new()
        }
    }
}

/// Notes fields that are not known: an error where one is probably a known field, mistyped, since
/// what it demands would silently not hold.
pub(super) fn slips(at: At<'_>, owner: &str, known: &[&str], flaws: &mut Flaws) {
    for (slot, (key, _)) in at.fields().enumerate() {
        if known.contains(&key.as_str()) {
            continue;
        }
        let near = nearest(key, known.iter().copied());
        let is_slip = near.is_some_and(|near| resembles(key, near));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "it has no effect; remove it if it was meant for Tramline".to_owned(),
        };
        let code = match is_slip {
            true => Code::Mistyped,
            false => Code::UnknownField,
        };
        let message = format!("{owner} has no field `{}`", shown(key));
        flaws.add(code, at.key_place(slot), message, hint);
    }
}
