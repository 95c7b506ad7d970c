//! Call rules: rules on arguments and earlier calls, and lookups.

use super::frontmatter::{name_list, report_unknown_fields, report_without_value};
use crate::yaml_graph::fields;
use tramline_expr::{Expression, Rule, Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::{FlawCode, SourceSpan};
use tramline_workflow::scope;
use tramline_workflow::sop::{CallLookup, CallRule, OnViolation, RuleDemand};
use tramline_workflow::text::{display_name, nearest};

/// Most rules in a file: each is evaluated before every call it applies to.
const RULES_MAX: usize = 2_000;
/// Largest accepted `max_calls`: rules see no more earlier calls than this.
const CALLS_MAX: u64 = tramline_sop::CALLS_KEPT_MAX as u64;

/// The fields of a rule in object form.
const RULE_FIELDS: [&str; 3] = ["rule", "message", "otherwise"];
const ONCE_FIELDS: [&str; 4] = ["value", "with", "message", "otherwise"];
const MAX_CALLS_FIELDS: [&str; 3] = ["most", "message", "otherwise"];
const LOOKUP_FIELDS: [&str; 3] = ["tool", "args", "each"];
/// The fields that contain rules.
const FIELDS: [&str; 3] = ["args", "once_per", "max_calls"];

/// Rules and lookups as written, before the tools of nodes are known.
#[derive(Debug, Default)]
pub(super) struct CallRules {
    /// Each rule with the tools it names; `None` means all tools of its node.
    pub(super) rules: Vec<(Option<Vec<Str>>, CallRule)>,
    pub(super) lookups: Vec<CallLookup>,
    /// The tools named in rules, with their locations.
    pub(super) tools: Vec<(Str, SourceSpan)>,
    /// All expressions, with their locations.
    pub(super) expressions: Vec<(Value, SourceSpan)>,
}

impl CallRules {
    /// Moves all locations down by this many lines.
    pub(super) fn shift(&mut self, lines: usize) {
        let tools = self.tools.iter_mut().map(|(_, place)| place);
        let formulas = self.expressions.iter_mut().map(|(_, place)| place);
        for place in tools.chain(formulas) {
            place.line += lines;
            place.end_line += lines;
        }
    }

    /// The rules; those without a tool apply to `all`.
    pub(super) fn for_tools(&self, all: Vec<Str>) -> Vec<CallRule> {
        let rules = self.rules.iter().map(|(named, rule)| CallRule {
            tools: named.clone().unwrap_or_else(|| all.clone()),
            ..rule.clone()
        });
        rules.collect()
    }

    /// Whether some rules name no tool.
    pub(super) fn has_unkeyed(&self) -> bool {
        self.rules.iter().any(|(named, _)| named.is_none())
    }

    /// Reads the rules of a node.
    pub(super) fn of_node(
        at: Spanned<'_>,
        tools: &[(Str, SourceSpan)],
        flaws: &mut FlawCollector,
    ) -> Self {
        let mut made = Self::default();
        for field in FIELDS {
            let Some(given) = fields::present(at, field) else {
                continue;
            };
            let is_tool = |key: &Str| tools.iter().any(|(tool, _)| tool == key);
            match is_keyed_by_tool(field, given, is_tool) {
                true => {
                    for (slot, (key, below)) in given.fields().enumerate() {
                        let about = made.key_tools(key, &given.key_source_span(slot));
                        made.read_rules(field, below, Some(about), flaws);
                    }
                }
                false => made.read_rules(field, given, None, flaws),
            }
        }
        made.read_lookups(at, flaws);
        made
    }

    /// Reads the rules of the frontmatter, which apply at every node.
    pub(super) fn of_front(at: Spanned<'_>, flaws: &mut FlawCollector) -> Self {
        let mut made = Self::default();
        if let Some(rules) = fields::present(at, "rules") {
            if rules.value.as_object().is_none() {
                let hint = "write `TOOL: {args: …, once_per: …, max_calls: …}`";
                fields::report_wrong_type(rules, "rules", "an object", hint, flaws);
            }
            for (slot, (key, below)) in rules.fields().enumerate() {
                let about = made.key_tools(key, &rules.key_source_span(slot));
                if below.value.as_object().is_none() {
                    let hint = "write `args:`, `once_per:` or `max_calls:`";
                    fields::report_wrong_type(below, key, "an object", hint, flaws);
                    continue;
                }
                report_unknown_fields(below, "the rules of a tool", &FIELDS, flaws);
                report_without_value(below, &FIELDS, flaws);
                for field in FIELDS {
                    if let Some(given) = fields::present(below, field) {
                        made.read_rules(field, given, Some(about.clone()), flaws);
                    }
                }
            }
        }
        made.read_lookups(at, flaws);
        made
    }

    /// The tools that a key names: one, or several separated by commas.
    fn key_tools(&mut self, key: &str, place: &SourceSpan) -> Vec<Str> {
        let parts = key.split(',').map(str::trim).filter(|it| !it.is_empty());
        let named: Vec<Str> = parts.map(Into::into).collect();
        let places = named.iter().map(|it| (it.clone(), place.clone()));
        self.tools.extend(places);
        named
    }

    /// Reads one rule, or a list of them.
    fn read_rules(
        &mut self,
        field: &str,
        at: Spanned<'_>,
        about: Option<Vec<Str>>,
        flaws: &mut FlawCollector,
    ) {
        let is_list = at.value.as_array().is_some();
        let items: Vec<Spanned<'_>> = match is_list {
            true => at.items().collect(),
            false => vec![at],
        };
        for item in items {
            if self.rules.len() >= RULES_MAX {
                let message = format!("more than {RULES_MAX} rules");
                flaws.add(
                    FlawCode::TooMany,
                    item.source_span(),
                    message,
                    "remove some",
                );
                return;
            }
            if let Some(rule) = self.read_rule(field, item, flaws) {
                self.rules.push((about.clone(), rule));
            }
        }
    }

    fn read_rule(
        &mut self,
        field: &str,
        at: Spanned<'_>,
        flaws: &mut FlawCollector,
    ) -> Option<CallRule> {
        let (key, known): (&str, &[&str]) = match field {
            "args" => ("rule", &RULE_FIELDS),
            "once_per" => ("value", &ONCE_FIELDS),
            _ => ("most", &MAX_CALLS_FIELDS),
        };
        let detailed = at.get(key).is_some();
        if detailed {
            report_unknown_fields(at, "a rule", known, flaws);
        }
        let says = at.get(key).unwrap_or(at);
        let demand = match field {
            "args" => RuleDemand::Args(self.read_expression(field, says, flaws)?),
            "once_per" => RuleDemand::OncePer {
                value: self.read_expression(field, says, flaws)?,
                with: match detailed {
                    true => self.read_tools(at, "with", flaws),
                    false => Vec::new(),
                },
            },
            _ => {
                let most = fields::whole_number(says, "max_calls", 1, CALLS_MAX, flaws)?;
                RuleDemand::MaxCalls(u32::try_from(most).ok()?)
            }
        };
        let (mut message, mut otherwise) = (None, OnViolation::Refuse);
        if detailed {
            message = fields::optional_string(at, "message", flaws).map(|(text, _)| text.clone());
            otherwise = read_otherwise(at, flaws);
        }
        Some(CallRule {
            tools: Vec::new(),
            demand,
            message,
            otherwise,
        })
    }

    /// Reads a list of tools and records it.
    fn read_tools(&mut self, at: Spanned<'_>, key: &str, flaws: &mut FlawCollector) -> Vec<Str> {
        let named = name_list(at, key, flaws);
        self.tools.extend(named.iter().cloned());
        named.into_iter().map(|(name, _)| name).collect()
    }

    /// Checks and records an expression or a JSON Logic rule.
    fn read_expression(
        &mut self,
        field: &str,
        at: Spanned<'_>,
        flaws: &mut FlawCollector,
    ) -> Option<Value> {
        match at.value {
            Value::String(source) => {
                if let Err(error) = Expression::compile(source, scope::functions()) {
                    let place = match &error.span {
                        Some(span) => at.span_inside(span),
                        None => at.source_span(),
                    };
                    let hint = "write JSONata over `args`, `calls`, `lookups`, `slots`, `results`";
                    flaws.add(FlawCode::BadExpression, place, error.to_string(), hint);
                    return None;
                }
            }
            Value::Object(_) => {
                if let Err(bad) = Rule::compile(at.value, scope::functions()) {
                    let place = at.at_pointer(&bad.path).source_span();
                    let hint = "write a JSON Logic rule, or an object with `rule:`";
                    flaws.add(FlawCode::BadRule, place, bad.error.to_string(), hint);
                    return None;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                let hint = "write JSONata as text, or a JSON Logic rule";
                fields::report_wrong_type(at, field, "an expression", hint, flaws);
                return None;
            }
        }
        self.expressions.push((at.value.clone(), at.source_span()));
        Some(at.value.clone())
    }

    /// Reads the lookups: `name: {tool, args, each}`.
    fn read_lookups(&mut self, at: Spanned<'_>, flaws: &mut FlawCollector) {
        let Some(field) = fields::present(at, "lookups") else {
            return;
        };
        if field.value.as_object().is_none() {
            let hint = "write `NAME: {tool: …, args: {…}}` for each";
            fields::report_wrong_type(field, "lookups", "an object", hint, flaws);
            return;
        }
        for (slot, (name, given)) in field.fields().enumerate() {
            if given.value.as_object().is_none() {
                let hint = "write `{tool: …, args: {…}}`";
                fields::report_wrong_type(given, name, "an object", hint, flaws);
                continue;
            }
            report_unknown_fields(given, "a lookup", &LOOKUP_FIELDS, flaws);
            let tools = self.read_tools(given, "tool", flaws);
            if tools.is_empty() {
                let message = format!("the lookup `{}` does not name a tool", display_name(name));
                let hint = "write `tool:`";
                flaws.add(
                    FlawCode::MissingField,
                    field.key_source_span(slot),
                    message,
                    hint,
                );
            }
            let each = fields::present(given, "each");
            let each = each.and_then(|it| self.read_expression("each", it, flaws));
            let args = self.lookup_args(given, flaws);
            self.lookups.push(CallLookup {
                name: name.clone(),
                tools,
                args,
                each,
            });
        }
    }

    fn lookup_args(&mut self, given: Spanned<'_>, flaws: &mut FlawCollector) -> Vec<(Str, Value)> {
        let Some(args) = fields::present(given, "args") else {
            return Vec::new();
        };
        if args.value.as_object().is_none() {
            let hint = "write `NAME: expression` for each argument of the call";
            fields::report_wrong_type(args, "args", "an object", hint, flaws);
        }
        let mut read = Vec::new();
        for (key, source) in args.fields() {
            let value = match source.value {
                // A number or a boolean is a literal.
                Value::Bool(_) | Value::Number(_) => Some(source.value.clone()),
                _ => self.read_expression("args", source, flaws),
            };
            read.extend(value.map(|value| (key.clone(), value)));
        }
        read
    }
}

/// Whether a field has one key per tool; otherwise it applies to all tools of the node.
fn is_keyed_by_tool(field: &str, given: Spanned<'_>, is_tool: impl Fn(&Str) -> bool) -> bool {
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

fn read_otherwise(at: Spanned<'_>, flaws: &mut FlawCollector) -> OnViolation {
    let Some((text, at)) = fields::optional_string(at, "otherwise", flaws) else {
        return OnViolation::Refuse;
    };
    let words = OnViolation::ALL.map(OnViolation::as_str);
    let found = OnViolation::ALL.into_iter().find(|it| it.as_str() == text);
    if found.is_none() {
        let hint = match nearest(text, words.into_iter()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("write {}", words.join(" or ")),
        };
        let message = format!("`otherwise` cannot be `{}`", display_name(text));
        flaws.add(FlawCode::WrongType, at.source_span(), message, hint);
    }
    found.unwrap_or_default()
}
