//! What a file says of one node as YAML: tools, examples, slots, guards, limits.

use super::front::{named, names, slips, visits};
use super::rules::Rules;
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::yaml_graph::fields;
use crate::scope;
use crate::sop::{Kind, Slot};
use crate::text::{nearest, shown};
use tramline_expr::{Expression, Rule, Str, Value};

/// The fields that mean something of a node.
const KNOWN: [&str; 17] = [
    "tools",
    "tool_hints",
    "must_call",
    "examples",
    "slots",
    "guards",
    "confirm",
    "args",
    "once_per",
    "max_calls",
    "lookups",
    "max_visits",
    "hub",
    "sop",
    "prompt",
    "policy",
    "description",
];

/// What is said of one node.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) tools: Vec<(Str, Place)>,
    /// Groups of tools, one of each group.
    pub(super) must_call: Vec<Vec<(Str, Place)>>,
    pub(super) examples: Vec<Value>,
    pub(super) slots: Vec<Slot>,
    /// Guards by the node or the label that they lead to.
    pub(super) guards: Vec<(Str, Value, Place)>,
    pub(super) confirm: bool,
    pub(super) rules: Rules,
    pub(super) visits_max: Option<u32>,
    pub(super) hub: bool,
    pub(super) procedure: Option<Str>,
    pub(super) prompt: Option<Str>,
}

impl Said {
    /// Moves every place down by so many lines.
    pub(super) fn shift(&mut self, lines: usize) {
        let demanded = self.must_call.iter_mut().flatten();
        let tools = self.tools.iter_mut().chain(demanded);
        let tools = tools.map(|(_, place)| place);
        let guards = self.guards.iter_mut().map(|(_, _, place)| place);
        for place in tools.chain(guards) {
            place.line += lines;
            place.end_line += lines;
        }
        self.rules.shift(lines);
    }
}

/// Reads what is said of a node: an object, or only its instructions.
pub(super) fn read(at: At<'_>, flaws: &mut Flaws) -> Said {
    let mut said = Said::default();
    match at.value {
        Value::Null => return said,
        Value::String(text) => {
            said.prompt = Some(text.clone());
            return said;
        }
        Value::Object(_) => {}
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            let hint = "write `tools:`, `examples:` and so on";
            fields::wrong(at, "what is said of a node", "an object", hint, flaws);
            return said;
        }
    }
    slips(at, "a node", &KNOWN, flaws);
    said.tools = names(at, "tools", flaws);
    said.tools.extend(names(at, "tool_hints", flaws));
    said.must_call = must_call(at, flaws);
    said.examples = match fields::given(at, "examples").map(|it| it.value) {
        Some(Value::Array(items)) => items.to_vec(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    said.slots = slots(at, flaws);
    said.guards = guards(at, flaws);
    said.confirm = fields::truth(at, "confirm", flaws).unwrap_or(false);
    said.rules = Rules::of_node(at, &said.tools, flaws);
    said.hub = fields::truth(at, "hub", flaws).unwrap_or(false);
    said.visits_max = visits(at, flaws);
    said.procedure = fields::text(at, "sop", flaws).map(|(path, _)| path.clone());
    let prompt = fields::given_as(at, &["prompt", "policy"]);
    said.prompt =
        prompt.and_then(|(key, it)| fields::as_text(it, key, flaws).map(|(text, _)| text.clone()));
    said
}

/// The tools that must be called. An item that is a list means any of its tools.
fn must_call(at: At<'_>, flaws: &mut Flaws) -> Vec<Vec<(Str, Place)>> {
    let Some(field) = fields::given(at, "must_call") else {
        return Vec::new();
    };
    let has_groups = |items: &[Value]| items.iter().any(|it| it.as_array().is_some());
    if !field.value.as_array().is_some_and(has_groups) {
        let all = names(at, "must_call", flaws).into_iter();
        return all.map(|one| vec![one]).collect();
    }
    let mut groups = Vec::new();
    for item in field.items() {
        let group: Vec<(Str, Place)> = match item.value {
            Value::Array(_) => named(item, "must_call", flaws),
            _ => fields::as_text(item, "must_call", flaws)
                .map(|(name, at)| (name.clone(), at.place()))
                .into_iter()
                .collect(),
        };
        if !group.is_empty() {
            groups.push(group);
        }
    }
    groups
}

/// The slots: `name: type`, `name: [options]`, or `name: {type, options, required, description}`.
fn slots(at: At<'_>, flaws: &mut Flaws) -> Vec<Slot> {
    let Some(field) = fields::given(at, "slots") else {
        return Vec::new();
    };
    if field.value.as_array().is_some() {
        let listed = names(at, "slots", flaws).into_iter();
        return listed.map(|(name, _)| slot(name)).collect();
    }
    if field.value.as_object().is_none() {
        let hint = "write `name: type` for each";
        fields::wrong(field, "slots", "an object", hint, flaws);
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, given) in field.fields() {
        let mut made = slot(name.clone());
        match given.value {
            Value::Null => {}
            Value::Array(options) => made.options = options.to_vec(),
            Value::Object(_) => {
                slips(
                    given,
                    "a slot",
                    &["type", "options", "required", "description"],
                    flaws,
                );
                if let Some((kind, at)) = fields::text(given, "type", flaws) {
                    made.kind = kind_of(kind, at, flaws);
                }
                if let Some(Value::Array(options)) =
                    fields::given(given, "options").map(|it| it.value)
                {
                    made.options = options.to_vec();
                }
                made.required = fields::truth(given, "required", flaws).unwrap_or(true);
                made.description =
                    fields::text(given, "description", flaws).map(|(it, _)| it.clone());
            }
            Value::String(kind) => made.kind = kind_of(kind, given, flaws),
            Value::Bool(_) | Value::Number(_) => {
                fields::wrong(given, name, "a type", "such as `string`", flaws);
            }
        }
        found.push(made);
    }
    found
}

fn slot(name: Str) -> Slot {
    Slot {
        name,
        kind: Kind::Any,
        required: true,
        options: Vec::new(),
        description: None,
    }
}

fn kind_of(text: &str, at: At<'_>, flaws: &mut Flaws) -> Kind {
    let words = Kind::ALL.map(Kind::as_str);
    let found = Kind::ALL.into_iter().find(|kind| kind.as_str() == text);
    if found.is_none() {
        let hint = match nearest(text, words.into_iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", words.join(", ")),
        };
        let message = format!("there is no type `{}`", shown(text));
        flaws.add(Code::WrongType, at.place(), message, hint);
    }
    found.unwrap_or_default()
}

/// The guards: each JSONata or a JSON Logic rule, checked here.
fn guards(at: At<'_>, flaws: &mut Flaws) -> Vec<(Str, Value, Place)> {
    let Some(field) = fields::given(at, "guards") else {
        return Vec::new();
    };
    if field.value.as_object().is_none() {
        let hint = "write `TARGET: condition` for each way that has one";
        fields::wrong(field, "guards", "an object", hint, flaws);
        return Vec::new();
    }
    let mut found = Vec::new();
    for (slot, (target, given)) in field.fields().enumerate() {
        match given.value {
            Value::String(source) => {
                if let Err(error) = Expression::compile(source, scope::functions()) {
                    let place = match &error.span {
                        Some(span) => given.inside(span),
                        None => given.place(),
                    };
                    let hint = "write JSONata over `slots` and `results`";
                    flaws.add(Code::BadExpression, place, error.to_string(), hint);
                }
            }
            rule => {
                if let Err(bad) = Rule::compile(rule, scope::functions()) {
                    let place = given.find(&bad.path).place();
                    let hint = "write a JSON Logic rule over `slots` and `results`";
                    flaws.add(Code::BadRule, place, bad.error.to_string(), hint);
                }
            }
        }
        found.push((target.clone(), given.value.clone(), field.key_place(slot)));
    }
    found
}
