//! A condition or expression of a rule, in JSONata or JSON Logic, evaluated with its operands.

use crate::guard::is_truthy;
use crate::operands::Operands;
use crate::redacted::{expression_reads_mask, has_mask, rule_reads_mask};
use tramline_expr::{Expression, NoHost, Rule, Value};
use tramline_workflow::explanation::ExplanationNode;
use tramline_workflow::scope;

/// A compiled expression or rule.
#[derive(Debug)]
pub(crate) enum Formula {
    Expression(Expression),
    Rule(Rule, Value),
    /// A number, a boolean or null, which evaluates to itself.
    Literal(Value),
}

impl Formula {
    pub(super) fn compile(source: &Value) -> Result<Self, String> {
        match source {
            Value::String(text) => Expression::compile(text, scope::functions())
                .map(Self::Expression)
                .map_err(|error| error.to_string()),
            Value::Object(_) | Value::Array(_) => Rule::compile(source, scope::functions())
                .map(|rule| Self::Rule(rule, source.clone()))
                .map_err(|error| error.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(Self::Literal(source.clone())),
        }
    }

    /// Its value, with its operands.
    pub(super) fn evaluate(&self, data: &Value) -> (Result<Option<Value>, String>, Operands) {
        let limits = super::super::RULE_LIMITS;
        match self {
            Self::Expression(expression) => {
                let (result, told) = expression.explain(data, &NoHost, &limits);
                let operands = told.map(|told| {
                    let tree = ExplanationNode::expression(expression.source(), &told);
                    let mut operands = Operands::of_expression(&tree);
                    operands.reads_mask = has_mask(data) && expression_reads_mask(&tree);
                    operands
                });
                let result = result.map_err(|error| error.to_string());
                (result, operands.unwrap_or_default())
            }
            Self::Rule(rule, source) => {
                let told = rule.explain(data, &NoHost, &limits);
                let mut operands = Operands::of_rule(source, &told);
                operands.reads_mask = has_mask(data) && rule_reads_mask(&told);
                let result = rule.evaluate(data, &NoHost, &limits).map(Some);
                (result.map_err(|error| error.to_string()), operands)
            }
            Self::Literal(value) => (Ok(Some(value.clone())), Operands::default()),
        }
    }

    /// Whether a value counts as true in the formula's language.
    pub(super) fn is_true(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Rule(..), Value::Array(items)) => !items.is_empty(),
            (Self::Rule(..), Value::Object(_)) => true,
            _ => is_truthy(value),
        }
    }
}
