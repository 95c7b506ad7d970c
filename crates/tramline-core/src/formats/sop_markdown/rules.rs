//! What a file says of calls: rules over arguments and earlier calls, and look-ups.

use super::front::{names, slips};
use crate::flaw::{Code, Place};
use crate::formats::Flaws;
use crate::formats::document::At;
use crate::formats::yaml_graph::fields;
use crate::scope;
use crate::sop::{CallRule, Demand, Lookup, Otherwise};
use crate::text::{nearest, shown};
use tramline_expr::{Expression, Rule, Str, Value};

/// More rules than this are not read: each is evaluated before every call it is about.
const RULES_MAX: usize = 2_000;
/// More calls than this cannot be allowed: rules look back on no more.
const CALLS_MAX: u64 = crate::navigate::CALLS_KEPT_MAX as u64;

/// The fields of a rule that is an object.
const RULE_FIELDS: [&str; 3] = ["rule", "message", "otherwise"];
const ONCE_FIELDS: [&str; 4] = ["value", "with", "message", "otherwise"];
const MOST_FIELDS: [&str; 3] = ["most", "message", "otherwise"];
const LOOKUP_FIELDS: [&str; 3] = ["tool", "args", "each"];
/// The fields in which rules are written.
const FIELDS: [&str; 3] = ["args", "once_per", "max_calls"];

/// Rules and look-ups as they are written, before the tools of nodes are known.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Each rule with the tools that it names; nothing means all tools of its node.
    pub(super) rules: Vec<(Option<Vec<Str>>, CallRule)>,
    pub(super) lookups: Vec<Lookup>,
    /// Tools that are named, with their places.
    pub(super) tools: Vec<(Str, Place)>,
    /// Every expression with its place.
    pub(super) formulas: Vec<(Value, Place)>,
}

impl Rules {
    /// Moves every place down by so many lines.
    pub(super) fn shift(&mut self, lines: usize) {
        let tools = self.tools.iter_mut().map(|(_, place)| place);
        let formulas = self.formulas.iter_mut().map(|(_, place)| place);
        for place in tools.chain(formulas) {
            place.line += lines;
            place.end_line += lines;
        }
    }

    /// The rules, those that name no tool with these.
    pub(super) fn about(&self, all: Vec<Str>) -> Vec<CallRule> {
        let rules = self.rules.iter().map(|(named, rule)| CallRule {
            tools: named.clone().unwrap_or_else(|| all.clone()),
            ..rule.clone()
        });
        rules.collect()
    }

    /// What a node says of its calls.
    pub(super) fn of_node(at: At<'_>, tools: &[(Str, Place)], flaws: &mut Flaws) -> Self {
        let mut made = Self::default();
        for field in FIELDS {
            let Some(given) = fields::given(at, field) else {
                continue;
            };
            let is_tool = |key: &Str| tools.iter().any(|(tool, _)| tool == key);
            match by_tool(field, given, is_tool) {
                true => {
                    for (slot, (key, below)) in given.fields().enumerate() {
                        let about = made.naming(key, &given.key_place(slot));
                        made.several(field, below, Some(about), flaws);
                    }
                }
                false => made.several(field, given, None, flaws),
            }
        }
        made.lookups(at, flaws);
        made
    }

    /// What the frontmatter says of calls at every node.
    pub(super) fn of_front(at: At<'_>, flaws: &mut Flaws) -> Self {
        let mut made = Self::default();
        if let Some(rules) = fields::given(at, "rules") {
            if rules.value.as_object().is_none() {
                let hint = "write `TOOL: {args: …, once_per: …, max_calls: …}`";
                fields::wrong(rules, "rules", "an object", hint, flaws);
            }
            for (slot, (key, below)) in rules.fields().enumerate() {
                let about = made.naming(key, &rules.key_place(slot));
                if below.value.as_object().is_none() {
                    let hint = "write `args:`, `once_per:` or `max_calls:`";
                    fields::wrong(below, key, "an object", hint, flaws);
                    continue;
                }
                slips(below, "the rules of a tool", &FIELDS, flaws);
                for field in FIELDS {
                    if let Some(given) = fields::given(below, field) {
                        made.several(field, given, Some(about.clone()), flaws);
                    }
                }
            }
        }
        made.lookups(at, flaws);
        made
    }

    /// The tools that a key names: one, or several with commas.
    fn naming(&mut self, key: &str, place: &Place) -> Vec<Str> {
        let parts = key.split(',').map(str::trim).filter(|it| !it.is_empty());
        let named: Vec<Str> = parts.map(Into::into).collect();
        let places = named.iter().map(|it| (it.clone(), place.clone()));
        self.tools.extend(places);
        named
    }

    /// One rule, or a list of them.
    fn several(&mut self, field: &str, at: At<'_>, about: Option<Vec<Str>>, flaws: &mut Flaws) {
        let is_list = at.value.as_array().is_some();
        let items: Vec<At<'_>> = match is_list {
            true => at.items().collect(),
            false => vec![at],
        };
        for item in items {
            if self.rules.len() >= RULES_MAX {
                let message = format!("more than the {RULES_MAX} rules allowed");
                flaws.add(Code::TooMany, item.place(), message, "remove some");
                return;
            }
            if let Some(rule) = self.one(field, item, flaws) {
                self.rules.push((about.clone(), rule));
            }
        }
    }

    fn one(&mut self, field: &str, at: At<'_>, flaws: &mut Flaws) -> Option<CallRule> {
        let (key, known): (&str, &[&str]) = match field {
            "args" => ("rule", &RULE_FIELDS),
            "once_per" => ("value", &ONCE_FIELDS),
            _ => ("most", &MOST_FIELDS),
        };
        let detailed = at.get(key).is_some();
        if detailed {
            slips(at, "a rule", known, flaws);
        }
        let says = at.get(key).unwrap_or(at);
        let demand = match field {
            "args" => Demand::Args(self.formula(field, says, flaws)?),
            "once_per" => Demand::OncePer {
                value: self.formula(field, says, flaws)?,
                with: match detailed {
                    true => self.listed(at, "with", flaws),
                    false => Vec::new(),
                },
            },
            _ => {
                let most = fields::whole(says, "max_calls", 1, CALLS_MAX, flaws)?;
                Demand::MaxCalls(u32::try_from(most).ok()?)
            }
        };
        let (mut message, mut otherwise) = (None, Otherwise::Refuse);
        if detailed {
            message = fields::text(at, "message", flaws).map(|(text, _)| text.clone());
            otherwise = verdict(at, flaws);
        }
        Some(CallRule {
            tools: Vec::new(),
            demand,
            message,
            otherwise,
        })
    }

    /// A list of tools, which are noted.
    fn listed(&mut self, at: At<'_>, key: &str, flaws: &mut Flaws) -> Vec<Str> {
        let named = names(at, key, flaws);
        self.tools.extend(named.iter().cloned());
        named.into_iter().map(|(name, _)| name).collect()
    }

    /// An expression or a JSON Logic rule, checked and noted.
    fn formula(&mut self, field: &str, at: At<'_>, flaws: &mut Flaws) -> Option<Value> {
        match at.value {
            Value::String(source) => {
                if let Err(error) = Expression::compile(source, scope::functions()) {
                    let place = match &error.span {
                        Some(span) => at.inside(span),
                        None => at.place(),
                    };
                    let hint = "write JSONata over `args`, `calls`, `lookups`, `slots`, `results`";
                    flaws.add(Code::BadExpression, place, error.to_string(), hint);
                    return None;
                }
            }
            Value::Object(_) => {
                if let Err(bad) = Rule::compile(at.value, scope::functions()) {
                    let place = at.find(&bad.path).place();
                    let hint = "write a JSON Logic rule, or an object with `rule:`";
                    flaws.add(Code::BadRule, place, bad.error.to_string(), hint);
                    return None;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                let hint = "write JSONata as text, or a JSON Logic rule";
                fields::wrong(at, field, "an expression", hint, flaws);
                return None;
            }
        }
        self.formulas.push((at.value.clone(), at.place()));
        Some(at.value.clone())
    }

    /// The look-ups: `name: {tool, args, each}`.
    fn lookups(&mut self, at: At<'_>, flaws: &mut Flaws) {
        let Some(field) = fields::given(at, "lookups") else {
            return;
        };
        if field.value.as_object().is_none() {
            let hint = "write `NAME: {tool: …, args: {…}}` for each";
            fields::wrong(field, "lookups", "an object", hint, flaws);
            return;
        }
        for (slot, (name, given)) in field.fields().enumerate() {
            if given.value.as_object().is_none() {
                let hint = "write `{tool: …, args: {…}}`";
                fields::wrong(given, name, "an object", hint, flaws);
                continue;
            }
            slips(given, "a look-up", &LOOKUP_FIELDS, flaws);
            let tools = self.listed(given, "tool", flaws);
            if tools.is_empty() {
                let message = format!("the look-up `{}` names no tool", shown(name));
                let hint = "write `tool:`";
                flaws.add(Code::Missing, field.key_place(slot), message, hint);
            }
            let each = fields::given(given, "each");
            let each = each.and_then(|it| self.formula("each", it, flaws));
            let args = self.lookup_args(given, flaws);
            self.lookups.push(Lookup {
                name: name.clone(),
                tools,
                args,
                each,
            });
        }
    }

    fn lookup_args(&mut self, given: At<'_>, flaws: &mut Flaws) -> Vec<(Str, Value)> {
        let Some(args) = fields::given(given, "args") else {
            return Vec::new();
        };
        if args.value.as_object().is_none() {
            let hint = "write `NAME: expression` for each argument of the call";
            fields::wrong(args, "args", "an object", hint, flaws);
        }
        let mut read = Vec::new();
        for (key, source) in args.fields() {
            let value = match source.value {
                // A number or a truth value is meant as it stands.
                Value::Bool(_) | Value::Number(_) => Some(source.value.clone()),
                _ => self.formula("args", source, flaws),
            };
            read.extend(value.map(|value| (key.clone(), value)));
        }
        read
    }
}

/// Whether a field of a node has a key for each tool; otherwise it is about all of them.
fn by_tool(field: &str, given: At<'_>, is_tool: impl Fn(&Str) -> bool) -> bool {
    let Some(map) = given.value.as_object() else {
        return false;
    };
    let detail = match field {
        "args" => "rule",
        "once_per" => "value",
        _ => "most",
    };
    if map.keys().any(is_tool) {
        return true;
    }
    !map.contains_key(detail) && Rule::compile(given.value, scope::functions()).is_err()
}

fn verdict(at: At<'_>, flaws: &mut Flaws) -> Otherwise {
    let Some((text, at)) = fields::text(at, "otherwise", flaws) else {
        return Otherwise::Refuse;
    };
    let words = Otherwise::ALL.map(Otherwise::as_str);
    let found = Otherwise::ALL.into_iter().find(|it| it.as_str() == text);
    if found.is_none() {
        let hint = match nearest(text, words.into_iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write {}", words.join(" or ")),
        };
        let message = format!("`otherwise` cannot be `{}`", shown(text));
        flaws.add(Code::WrongType, at.place(), message, hint);
    }
    found.unwrap_or_default()
}
