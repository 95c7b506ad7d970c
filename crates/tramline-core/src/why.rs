//! Why a choice went the way it did: each rule that was weighed, with the value of every operand.

use crate::explained::Explained;
use crate::graph::Compiled;
use crate::ids::NodeIx;
use crate::look::Look;
use crate::scope::Moment;
use crate::workflow::Action;
use tramline_expr::{Limits, RuleExplanation, Str, Value};

/// Longer source texts are cut, in characters.
const TEXT_CHARS_MAX: usize = 200;

/// A rule that was weighed.
#[derive(Clone, Debug)]
pub struct Weighed {
    /// Its place among the node's rules, from 0.
    pub index: usize,
    /// The rule as written.
    pub rule: Value,
    /// The label it would pick.
    pub label: Str,
    /// Whether it held.
    pub held: bool,
    /// Its parts with what each came to.
    pub tree: Explained,
}

/// Weighs the rules of a choice again, over a run as it stood just before. Rules after the first
/// that held were never weighed and are not told. Nothing where the node chooses nothing.
pub fn why(look: &Look, node: NodeIx, moment: Moment, limits: &Limits) -> Option<Vec<Weighed>> {
    let graph = &look.run().graph;
    let Action::Choose { rules: sources, .. } = &graph.node(node).action else {
        return None;
    };
    let Compiled::Rules(rules) = graph.compiled(node) else {
        return None;
    };
    let host = look.host_at(node, moment);
    let mut weighed = Vec::new();
    for (index, ((rule, label), source)) in rules.iter().zip(sources).enumerate() {
        let told = rule.explain(look.scope(), &host, limits);
        let held = rule.holds(look.scope(), &host, limits).unwrap_or(false);
        weighed.push(Weighed {
            index,
            rule: source.rule.clone(),
            label: label.clone(),
            held,
            tree: tree(&source.rule, &told),
        });
        if held {
            break;
        }
    }
    Some(weighed)
}

/// The tree of a rule: an operator by its name, a variable and a plain value by its source.
fn tree(rule: &Value, told: &RuleExplanation) -> Explained {
    let part = part_of(rule, &told.path);
    let source = || part.map_or_else(String::new, |part| cut(&written(part)));
    let (what, mut below) = match told.operator.as_str() {
        "" => (source(), Vec::new()),
        "var" => {
            let argument = part.and_then(|part| part.get("var")).or(part);
            let text = argument.map_or_else(source, |it| cut(&written(it)));
            let inner = told.expression.as_ref();
            let inner = inner.zip(argument.and_then(Value::as_str));
            let below = inner.map_or_else(Vec::new, |(inner, text)| {
                Explained::expression(text, inner).below
            });
            (text, below)
        }
        operator => (operator.to_owned(), Vec::new()),
    };
    if told.operator != "var" {
        below.extend(told.children.iter().map(|child| tree(rule, child)));
    }
    Explained {
        what,
        value: told.value.clone(),
        below,
    }
}

/// What stands at a JSON pointer.
fn part_of<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(value, |here, step| match here {
            Value::Object(map) => map.get(&step.replace("~1", "/").replace("~0", "~")),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
}

fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => other.to_json(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_expr::{NoHost, Rule};

    fn told(rule: &str, data: &str) -> Explained {
        let rule = Value::from_json(rule).unwrap();
        let compiled = Rule::compile(&rule, crate::scope::functions()).unwrap();
        let data = Value::from_json(data).unwrap();
        tree(&rule, &compiled.explain(&data, &NoHost, &Limits::default()))
    }

    #[test]
    fn every_operand_is_told_by_its_source_and_its_value() {
        let tree = told(
            r#"{">": [{"var": "order.total"}, 100]}"#,
            r#"{"order": {"total": 120}}"#,
        );
        assert_eq!((tree.what.as_str(), tree.value), (">", Some(true.into())));
        let below: Vec<_> = tree
            .below
            .iter()
            .map(|it| (it.what.as_str(), it.value.clone()))
            .collect();
        assert_eq!(
            below,
            [("order.total", Some(120.into())), ("100", Some(100.into()))]
        );
    }

    #[test]
    fn what_an_expression_reads_is_told_too() {
        let rule = r#"{"==": [{"var": "$sum(order.items.price)"}, 7]}"#;
        let tree = told(
            rule,
            r#"{"order": {"items": [{"price": 3}, {"price": 4}]}}"#,
        );
        let var = &tree.below[0];
        assert_eq!(var.what, "$sum(order.items.price)");
        assert_eq!(var.value, Some(7.into()));
        assert!(
            var.below.iter().any(|it| it.what == "order.items.price"),
            "{var:?}"
        );
    }
}
