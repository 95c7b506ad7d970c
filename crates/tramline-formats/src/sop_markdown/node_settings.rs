//! The settings of a node in YAML: tools, examples, slots, guards, limits.

use super::call_rules::CallRules;
use super::frontmatter::{
    max_visits, name_list, names_in, report_unknown_fields, report_without_value,
};
use crate::yaml_graph::fields;
use tramline_expr::{Expression, Rule, Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::scope;
use tramline_workflow::sop::{Slot, SlotKind};
use tramline_workflow::text::{display_name, nearest};

/// The known fields of a node.
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

/// Fields whose names also appear in examples that instructions give to agents.
const ALSO_IN_EXAMPLES: [&str; 4] = ["examples", "prompt", "policy", "description"];

/// The first setting in a block of YAML that is not the one with the settings.
pub(super) fn setting_in(at: Spanned<'_>) -> Option<&'static str> {
    let is_setting =
        |name: &&str| !ALSO_IN_EXAMPLES.contains(name) && at.fields().any(|(key, _)| key == *name);
    KNOWN.into_iter().find(is_setting)
}

/// Fields that would silently not apply without a value.
const NEEDS_VALUE: [&str; 8] = [
    "must_call",
    "guards",
    "confirm",
    "args",
    "once_per",
    "max_calls",
    "lookups",
    "max_visits",
];

/// The settings of one node.
#[derive(Debug, Default)]
pub(super) struct NodeSettings {
    pub(super) tools: Vec<(Str, SourceSpan)>,
    /// Groups of tools; one tool of each group must be called.
    pub(super) must_call: Vec<Vec<(Str, SourceSpan)>>,
    pub(super) examples: Vec<Value>,
    pub(super) slots: Vec<Slot>,
    /// Guards by target node or label.
    pub(super) guards: Vec<GuardSetting>,
    pub(super) confirm: bool,
    pub(super) rules: CallRules,
    pub(super) visits_max: Option<u32>,
    pub(super) hub: bool,
    pub(super) procedure: Option<Str>,
    pub(super) prompt: Option<Str>,
}

impl NodeSettings {
    /// Moves all locations down by this many lines.
    pub(super) fn shift(&mut self, lines: usize) {
        let demanded = self.must_call.iter_mut().flatten();
        let tools = self.tools.iter_mut().chain(demanded);
        let tools = tools.map(|(_, place)| place);
        let guards = self.guards.iter_mut();
        let guards = guards.flat_map(|it| [&mut it.target_span, &mut it.condition_span]);
        for place in tools.chain(guards) {
            place.line += lines;
            place.end_line += lines;
        }
        self.rules.shift(lines);
    }
}

/// Reads the settings of a node: an object, or only its instructions.
pub(super) fn read(at: Spanned<'_>, flaws: &mut FlawCollector) -> NodeSettings {
    let mut said = NodeSettings::default();
    match at.value {
        Value::Null => return said,
        Value::String(text) => {
            said.prompt = Some(text.clone());
            return said;
        }
        Value::Object(_) => {}
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            let hint = "write fields such as `tools:` or `examples:`";
            fields::report_wrong_type(at, "the settings of a node", "an object", hint, flaws);
            return said;
        }
    }
    report_unknown_fields(at, "a node", &KNOWN, flaws);
    report_without_value(at, &NEEDS_VALUE, flaws);
    said.tools = name_list(at, "tools", flaws);
    said.tools.extend(name_list(at, "tool_hints", flaws));
    said.must_call = must_call(at, flaws);
    said.examples = match fields::present(at, "examples").map(|it| it.value) {
        Some(Value::Array(items)) => items.to_vec(),
        Some(one) => vec![one.clone()],
        None => Vec::new(),
    };
    said.slots = slots(at, flaws);
    said.guards = guards(at, flaws);
    said.confirm = fields::boolean(at, "confirm", flaws).unwrap_or(false);
    said.rules = CallRules::of_node(at, &said.tools, flaws);
    said.hub = fields::boolean(at, "hub", flaws).unwrap_or(false);
    said.visits_max = max_visits(at, flaws);
    said.procedure = fields::optional_string(at, "sop", flaws).map(|(path, _)| path.clone());
    let prompt = fields::first_present(at, &["prompt", "policy"]);
    said.prompt = prompt
        .and_then(|(key, it)| fields::string_value(it, key, flaws).map(|(text, _)| text.clone()));
    said
}

/// The required tools. An item that is a list requires any one of its tools.
fn must_call(at: Spanned<'_>, flaws: &mut FlawCollector) -> Vec<Vec<(Str, SourceSpan)>> {
    let Some(field) = fields::present(at, "must_call") else {
        return Vec::new();
    };
    let has_groups = |items: &[Value]| items.iter().any(|it| it.as_array().is_some());
    if !field.value.as_array().is_some_and(has_groups) {
        let all = name_list(at, "must_call", flaws).into_iter();
        return all.map(|one| vec![one]).collect();
    }
    let mut groups = Vec::new();
    for item in field.items() {
        let group: Vec<(Str, SourceSpan)> = match item.value {
            Value::Array(items) if items.is_empty() => {
                let message = "an empty list under `must_call` requires nothing";
                let hint = "name the tools, any of which meets it, or remove it";
                flaws.add(FlawCode::MissingField, item.source_span(), message, hint);
                continue;
            }
            Value::Array(_) => names_in(item, "must_call", flaws),
            _ => fields::string_value(item, "must_call", flaws)
                .map(|(name, at)| (name.clone(), at.source_span()))
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
fn slots(at: Spanned<'_>, flaws: &mut FlawCollector) -> Vec<Slot> {
    let Some(field) = fields::present(at, "slots") else {
        return Vec::new();
    };
    if field.value.as_array().is_some() {
        let listed = name_list(at, "slots", flaws).into_iter();
        return listed.map(|(name, _)| default_slot(name)).collect();
    }
    if field.value.as_object().is_none() {
        let hint = "write `name: type` for each";
        fields::report_wrong_type(field, "slots", "an object", hint, flaws);
        return Vec::new();
    }
    let mut found = Vec::new();
    for (name, given) in field.fields() {
        let mut made = default_slot(name.clone());
        match given.value {
            Value::Null => {}
            Value::Array(options) => made.options = options.to_vec(),
            Value::Object(_) => {
                report_unknown_fields(
                    given,
                    "a slot",
                    &["type", "options", "required", "description"],
                    flaws,
                );
                if let Some((kind, at)) = fields::optional_string(given, "type", flaws) {
                    made.kind = kind_of(kind, at, flaws);
                }
                if let Some(Value::Array(options)) =
                    fields::present(given, "options").map(|it| it.value)
                {
                    made.options = options.to_vec();
                }
                made.required = fields::boolean(given, "required", flaws).unwrap_or(true);
                made.description =
                    fields::optional_string(given, "description", flaws).map(|(it, _)| it.clone());
            }
            Value::String(kind) => made.kind = kind_of(kind, given, flaws),
            Value::Bool(_) | Value::Number(_) => {
                fields::report_wrong_type(given, name, "a type", "such as `string`", flaws);
            }
        }
        found.push(made);
    }
    found
}

fn default_slot(name: Str) -> Slot {
    Slot {
        name,
        kind: SlotKind::Any,
        required: true,
        options: Vec::new(),
        description: None,
    }
}

fn kind_of(text: &str, at: Spanned<'_>, flaws: &mut FlawCollector) -> SlotKind {
    let words = SlotKind::ALL.map(SlotKind::as_str);
    let found = SlotKind::ALL.into_iter().find(|kind| kind.as_str() == text);
    if found.is_none() {
        let hint = match nearest(text, words.into_iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use {}", words.join(", ")),
        };
        let message = format!("there is no type `{}`", display_name(text));
        flaws.add(FlawCode::WrongType, at.source_span(), message, hint);
    }
    found.unwrap_or_default()
}

/// A guard as the file has it.
#[derive(Debug)]
pub(super) struct GuardSetting {
    /// The node at the end of the guarded edge.
    pub(super) target: Str,
    pub(super) condition: Value,
    pub(super) target_span: SourceSpan,
    pub(super) condition_span: SourceSpan,
}

/// The guards: JSONata or JSON Logic, compiled here to check them.
fn guards(at: Spanned<'_>, flaws: &mut FlawCollector) -> Vec<GuardSetting> {
    let Some(field) = fields::present(at, "guards") else {
        return Vec::new();
    };
    if field.value.as_object().is_none() {
        let hint = "write `TARGET: condition` for each guarded edge";
        fields::report_wrong_type(field, "guards", "an object", hint, flaws);
        return Vec::new();
    }
    let mut found = Vec::new();
    for (slot, (target, given)) in field.fields().enumerate() {
        match given.value {
            Value::String(source) => {
                if let Err(error) = Expression::compile(source, scope::functions()) {
                    let place = match &error.span {
                        Some(span) => given.span_inside(span),
                        None => given.source_span(),
                    };
                    let hint = "write JSONata over `slots` and `results`";
                    flaws.add(FlawCode::BadExpression, place, error.to_string(), hint);
                }
            }
            rule => {
                if let Err(bad) = Rule::compile(rule, scope::functions()) {
                    let place = given.at_pointer(&bad.path).source_span();
                    let hint = "write a JSON Logic rule over `slots` and `results`";
                    flaws.add(FlawCode::BadRule, place, bad.error.to_string(), hint);
                }
            }
        }
        found.push(GuardSetting {
            target: target.clone(),
            condition: given.value.clone(),
            target_span: field.key_source_span(slot),
            condition_span: given.source_span(),
        });
    }
    found
}
