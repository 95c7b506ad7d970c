//! Explains the branch that a switch took: each evaluated rule, with the value of every operand.

use tramline_expr::{Limits, RuleExplanation, Str, Value};
use tramline_workflow::explanation::ExplanationNode;
use tramline_workflow::graph::CompiledAction;
use tramline_workflow::ids::NodeIx;
use tramline_workflow::inspect::RunInspector;
use tramline_workflow::scope::EvalMoment;
use tramline_workflow::workflow::Action;

/// Characters of a source text that are shown, to keep the explanation readable.
const TEXT_CHARS_MAX: usize = 200;

/// A rule that was evaluated.
#[derive(Clone, Debug)]
pub struct RuleEvaluation {
    /// The index among the node's rules, from 0.
    pub index: usize,
    /// The rule as written.
    pub rule: Value,
    /// The label it would pick.
    pub label: Str,
    /// Whether it matched.
    pub matched: bool,
    /// The parts of the rule with their values.
    pub tree: ExplanationNode,
}

/// Evaluates the rules of a switch again, over the run just before it. Rules after the first match
/// were never evaluated and are omitted. `None` if the node is not a switch.
pub fn explain_branch(
    look: &RunInspector,
    node: NodeIx,
    moment: EvalMoment,
    limits: &Limits,
) -> Option<Vec<RuleEvaluation>> {
    let graph = &look.run().graph;
    let Action::Choose { rules: sources, .. } = &graph.node(node).action else {
        return None;
    };
    let CompiledAction::Rules(rules) = graph.compiled(node) else {
        return None;
    };
    let host = look.host_at(node, moment);
    let mut weighed = Vec::new();
    for (index, ((rule, label), source)) in rules.iter().zip(sources).enumerate() {
        let told = rule.explain(look.scope(), &host, limits);
        let held = rule.holds(look.scope(), &host, limits).unwrap_or(false);
        weighed.push(RuleEvaluation {
            index,
            rule: source.rule.clone(),
            label: label.clone(),
            matched: held,
            tree: explanation_tree(&source.rule, &told),
        });
        if held {
            break;
        }
    }
    Some(weighed)
}

/// Marks an operand that has no value in the data.
const NO_VALUE: &str = " (no value)";

/// The explanation tree of a rule: operators by name, variables and plain values by source.
fn explanation_tree(rule: &Value, told: &RuleExplanation) -> ExplanationNode {
    let part = value_at_pointer(rule, &told.path);
    let source = || part.map_or_else(String::new, |part| truncate(&source_text(part)));
    let (what, mut below) = match told.operator.as_str() {
        "" => (source(), Vec::new()),
        "var" => {
            let argument = part.and_then(|part| part.get("var")).or(part);
            let mut text = argument.map_or_else(source, |it| truncate(&source_text(it)));
            // A comparison with nothing is rarely meant, so it must not look like one with null.
            if told.error.is_none() && told.value.as_ref().is_none_or(Value::is_null) {
                text.push_str(NO_VALUE);
            }
            let inner = told.expression.as_ref();
            let inner = inner.zip(argument.and_then(Value::as_str));
            let below = inner.map_or_else(Vec::new, |(inner, text)| {
                ExplanationNode::expression(text, inner).children
            });
            (text, below)
        }
        operator => (operator.to_owned(), Vec::new()),
    };
    if told.operator != "var" {
        below.extend(
            told.children
                .iter()
                .map(|child| explanation_tree(rule, child)),
        );
    }
    ExplanationNode {
        what,
        value: told.value.clone(),
        children: below,
    }
}

/// The value at a JSON pointer.
fn value_at_pointer<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer
        .split('/')
        .skip(1)
        .try_fold(value, |here, step| match here {
            Value::Object(map) => map.get(&step.replace("~1", "/").replace("~0", "~")),
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        })
}

fn source_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => other.to_json(),
    }
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_expr::{NoHost, Rule};

    fn told(rule: &str, data: &str) -> ExplanationNode {
        let rule = Value::from_json(rule).unwrap();
        let compiled = Rule::compile(&rule, tramline_workflow::scope::functions()).unwrap();
        let data = Value::from_json(data).unwrap();
        explanation_tree(&rule, &compiled.explain(&data, &NoHost, &Limits::default()))
    }

    #[test]
    fn every_operand_is_told_by_its_source_and_its_value() {
        let tree = told(
            r#"{">": [{"var": "order.total"}, 100]}"#,
            r#"{"order": {"total": 120}}"#,
        );
        assert_eq!((tree.what.as_str(), tree.value), (">", Some(true.into())));
        let below: Vec<_> = tree
            .children
            .iter()
            .map(|it| (it.what.as_str(), it.value.clone()))
            .collect();
        assert_eq!(
            below,
            [("order.total", Some(120.into())), ("100", Some(100.into()))]
        );
    }

    #[test]
    fn an_operand_without_a_value_is_marked() {
        let tree = told(r#"{">": [{"var": "order.totl"}, 100]}"#, r#"{"order": {}}"#);
        assert_eq!(tree.children[0].what, "order.totl (no value)");
    }

    #[test]
    fn what_an_expression_reads_is_told_too() {
        let rule = r#"{"==": [{"var": "$sum(order.items.price)"}, 7]}"#;
        let tree = told(
            rule,
            r#"{"order": {"items": [{"price": 3}, {"price": 4}]}}"#,
        );
        let var = &tree.children[0];
        assert_eq!(var.what, "$sum(order.items.price)");
        assert_eq!(var.value, Some(7.into()));
        assert!(
            var.children.iter().any(|it| it.what == "order.items.price"),
            "{var:?}"
        );
    }
}
