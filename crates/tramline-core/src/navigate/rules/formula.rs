//! A condition or an expression of a rule: JSONata or JSON Logic, evaluated with its operands.

use crate::explained::Explained;
use crate::navigate::guard::truth;
use crate::navigate::operands::Operands;
use crate::scope;
use tramline_expr::{Expression, NoHost, Rule, Value};

/// A compiled expression or rule.
#[derive(Debug)]
pub(in crate::navigate) enum Formula {
    Expression(Expression),
    Rule(Rule, Value),
    /// A number, a truth value or null: itself.
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

    /// Its value, with what it was made of.
    pub(super) fn evaluate(&self, data: &Value) -> (Result<Option<Value>, String>, Operands) {
        let limits = super::super::LIMITS;
        match self {
            Self::Expression(expression) => {
                let (result, told) = expression.explain(data, &NoHost, &limits);
                let operands = told.map(|told| {
                    Operands::of_expression(&Explained::expression(expression.source(), &told))
                });
                let result = result.map_err(|error| error.to_string());
                (result, operands.unwrap_or_default())
            }
            Self::Rule(rule, source) => {
                let told = rule.explain(data, &NoHost, &limits);
                let operands = Operands::of_rule(source, &told);
                let result = rule.evaluate(data, &NoHost, &limits).map(Some);
                (result.map_err(|error| error.to_string()), operands)
            }
            Self::Literal(value) => (Ok(Some(value.clone())), Operands::default()),
        }
    }

    /// Whether a value of it counts as true in its language.
    pub(super) fn is_true(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Rule(..), Value::Array(items)) => !items.is_empty(),
            (Self::Rule(..), Value::Object(_)) => true,
            _ => truth(value),
        }
    }
}
