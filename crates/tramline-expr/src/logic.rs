//! JSON Logic: rules as data, compiled once, with JavaScript's coercions as in `json-logic-js`.
//!
//! A rule is a JSON value. An object with one key is an operation, an array is evaluated item by
//! item, anything else is a literal. `var` takes a path (`"a.b.0"`), a path and a default
//! (`["a.b", 0]`), or, if its text contains more than names, numbers and dots, a JSONata
//! expression: `{"var": "$sum(items.price)"}`. Such expressions are compiled with the rule and
//! evaluated when the `var` is, over the current data: the whole, or the item inside `map` and
//! similar operators. Text from data is never treated as an expression or as a rule.
//!
//! # Where it differs from `json-logic-js`
//!
//! - Unknown operators, and `*` or `missing_some` without their arguments, are reported when the
//!   rule is compiled, even in a branch that would not be taken.
//! - The keys given to `missing` and `missing_some` are data: an object among them is not evaluated.
//! - `var` and `missing` see what JSON holds, `length` and the characters of a text, but not the
//!   methods that JavaScript objects inherit (`constructor`).
//! - 64-bit integers compare exactly; JavaScript rounds them beyond 2^53.
//! - A result has no undefined, infinity or NaN: each becomes `null`, as in JSON. (Whether a rule
//!   holds is decided before that: infinity is true.)
//! - Half of a surrogate pair, cut out by `substr` or `var`, becomes U+FFFD.
//! - Arguments that an operator does not use are not evaluated, and `none` and `some` stop at the
//!   first item that decides. `log` prints nothing.
//! - A constant list in a rule is one list: JavaScript makes a new one for each item of a `map`, so
//!   two of them are not `==` there but are here.

mod analyze;
mod apply;
mod coerce;
mod compile;
mod eval;
mod explain;
mod node;
mod operator;
mod var_path;

use crate::analyze::Finding;
use crate::error::ExprError;
use crate::host::{Host, HostCall, HostFunctions};
use crate::limits::Limits;
use crate::value::{Str, Value};
pub use explain::RuleExplanation;
use node::{RuleNode, RuleNodeKind};
use std::fmt;
use std::sync::Arc;
use var_path::VarTarget;

/// A compiled JSON Logic rule. Clones share it.
#[derive(Clone, Debug)]
pub struct Rule {
    root: Arc<RuleNode>,
    /// Whether results must be measured, because a small value may contain a huge one.
    checks_size: bool,
}

/// A rule that does not compile.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleError {
    /// The part of the rule that caused the error, as a JSON pointer.
    pub path: String,
    /// The error. `J0001` is an unknown operator (its `value` lists suggestions), `J0002` a rule
    /// that is nested too deeply, `J0003` too few arguments; other codes are JSONata's.
    pub error: ExprError,
}

/// Something wrong with a rule that compiles.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleFinding {
    /// The `var` that is wrong, as a JSON pointer into the rule.
    pub path: Str,
    /// What is wrong with its text.
    pub finding: Finding,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => self.error.fmt(f),
            path => write!(f, "at {path}: {}", self.error),
        }
    }
}

impl std::error::Error for RuleError {}

impl Rule {
    /// Compiles a rule, and the expressions in its `var`s with these host functions.
    pub fn compile(rule: &Value, functions: &HostFunctions) -> Result<Self, RuleError> {
        let root = Arc::new(compile::compile(rule, functions).map_err(|error| *error)?);
        let measured = root.can_multiply();
        Ok(Self {
            root,
            checks_size: measured,
        })
    }

    /// Every use of a host function in the expressions of the rule.
    pub fn host_calls(&self) -> Vec<HostCall> {
        let mut calls = Vec::new();
        collect_host_calls(&self.root, &mut calls);
        calls
    }

    /// The value of the rule over `data`.
    pub fn evaluate(
        &self,
        data: &Value,
        host: &dyn Host,
        limits: &Limits,
    ) -> Result<Value, ExprError> {
        limits.evaluate_within(host, |limits| {
            eval::RuleMachine::new(host, limits).value(&self.root, data, self.checks_size)
        })
    }

    /// Whether the rule holds: its value is truthy as JSON Logic defines it, where `0`, `""`,
    /// `null` and `[]` are false.
    pub fn holds(&self, data: &Value, host: &dyn Host, limits: &Limits) -> Result<bool, ExprError> {
        limits.evaluate_within(host, |limits| {
            eval::RuleMachine::new(host, limits).truth(&self.root, data)
        })
    }

    /// Explains how the rule gets its value: every part that was evaluated, with its value. An
    /// error appears in the tree, at the part that failed and at the parts around it.
    pub fn explain(&self, data: &Value, host: &dyn Host, limits: &Limits) -> RuleExplanation {
        let told = eval::RuleMachine::new(host, limits).explain(&self.root, data);
        told.unwrap_or_else(|| RuleExplanation {
            path: self.root.pointer.clone(),
            operator: self.root.operator.clone(),
            value: None,
            error: None,
            children: Vec::new(),
            expression: None,
        })
    }
}

fn collect_host_calls(node: &RuleNode, calls: &mut Vec<HostCall>) {
    let mut all = |nodes: &[RuleNode]| {
        nodes
            .iter()
            .for_each(|node| collect_host_calls(node, calls))
    };
    match &node.kind {
        RuleNodeKind::Constant(_) => {}
        RuleNodeKind::Array(parts)
        | RuleNodeKind::If(parts)
        | RuleNodeKind::And(parts)
        | RuleNodeKind::Or(parts) => all(parts),
        RuleNodeKind::Eager(_, parts) => all(parts),
        RuleNodeKind::Var(place, default) => {
            if let VarTarget::Expression(expression) | VarTarget::Fields(_, expression) = place {
                calls.extend(expression.host_calls().iter().cloned());
            }
            default
                .iter()
                .for_each(|node| collect_host_calls(node, calls));
        }
        RuleNodeKind::VarAt(path, default) => {
            collect_host_calls(path, calls);
            default
                .iter()
                .for_each(|node| collect_host_calls(node, calls));
        }
        RuleNodeKind::Each(_, list, body) => {
            collect_host_calls(list, calls);
            body.iter().for_each(|node| collect_host_calls(node, calls));
        }
        RuleNodeKind::Reduce(reduce) => {
            collect_host_calls(&reduce.list, calls);
            reduce
                .body
                .iter()
                .for_each(|node| collect_host_calls(node, calls));
            reduce
                .first
                .iter()
                .for_each(|node| collect_host_calls(node, calls));
        }
    }
}

#[cfg(test)]
mod tests;
