//! JSON Logic: rules as data, compiled once, with JavaScript's coercions as `json-logic-js` has
//! them.
//!
//! A rule is a JSON value. An object with one key is an operation, an array is evaluated item by
//! item, anything else stands for itself. `var` takes a path (`"a.b.0"`), a path and a default
//! (`["a.b", 0]`), or, where its text is more than names, numbers and dots, a JSONata expression:
//! `{"var": "$sum(items.price)"}`. Such expressions are compiled with the rule and evaluated when
//! the `var` is, over the data that is current there: the whole, or the item inside `map` and its
//! kin. A text from data is never taken as an expression or as a rule.
//!
//! # Where it differs from `json-logic-js`
//!
//! - Unknown operators, and `*` or `missing_some` without their arguments, are found when the rule
//!   is compiled, even in a branch that would not be taken.
//! - The keys given to `missing` and `missing_some` are data: an object among them is not evaluated.
//! - `var` and `missing` see what JSON holds, `length` and the characters of a text; not the methods
//!   that JavaScript objects inherit (`constructor`).
//! - Whole numbers of 64 bits compare exactly; JavaScript rounds them beyond 2^53.
//! - A result has no undefined, infinity or not-a-number: each becomes `null`, as in JSON. (Whether
//!   a rule holds is decided before that: infinity is true.)
//! - Half of a surrogate pair, cut out by `substr` or `var`, becomes U+FFFD.
//! - Arguments that an operator does not look at are not evaluated, and `none` and `some` stop at
//!   the first item that decides. `log` prints nothing.
//! - A constant list in a rule is one list: where JavaScript makes a new one for each item of a
//!   `map`, two of them are not `==` there and are here.

mod apply;
mod coerce;
mod compile;
mod explain;
mod node;
mod operator;
mod path;
mod run;

use crate::error::ExprError;
use crate::host::{Host, HostCall, HostFunctions};
use crate::limits::Limits;
use crate::value::Value;
pub use explain::RuleExplanation;
use node::{Kind, Node};
use path::Place;
use std::fmt;
use std::sync::Arc;

/// A compiled JSON Logic rule; cloning it is counting a reference.
#[derive(Clone, Debug)]
pub struct Rule {
    root: Arc<Node>,
    /// Whether results are to be measured: a small one may hold a huge one.
    measured: bool,
}

/// A rule that does not compile.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleError {
    /// The part of the rule to blame, as a JSON pointer into it.
    pub path: String,
    /// What is wrong there. `J0001` is an unknown operator (its `value` lists what may have been
    /// meant), `J0002` a rule too deep, `J0003` too few arguments; other codes are JSONata's.
    pub error: ExprError,
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
    /// Compiles a rule, and the expressions in its `var`s against these host functions.
    pub fn compile(rule: &Value, functions: &HostFunctions) -> Result<Self, RuleError> {
        let root = Arc::new(compile::compile(rule, functions).map_err(|error| *error)?);
        let measured = root.multiplies();
        Ok(Self { root, measured })
    }

    /// Every place where an expression in the rule names a host function.
    pub fn host_calls(&self) -> Vec<HostCall> {
        let mut calls = Vec::new();
        collect(&self.root, &mut calls);
        calls
    }

    /// The rule's value over `data`.
    pub fn evaluate(
        &self,
        data: &Value,
        host: &dyn Host,
        limits: &Limits,
    ) -> Result<Value, ExprError> {
        limits.hold(host, |limits| {
            run::Machine::new(host, limits).value(&self.root, data, self.measured)
        })
    }

    /// Whether the rule holds: its value is true as JSON Logic sees it, where `0`, `""`, `null` and
    /// `[]` are false.
    pub fn holds(&self, data: &Value, host: &dyn Host, limits: &Limits) -> Result<bool, ExprError> {
        limits.hold(host, |limits| {
            run::Machine::new(host, limits).truth(&self.root, data)
        })
    }

    /// How the rule comes to its value: every part that was evaluated, with what it gave. An error
    /// is in the tree, at the part that failed and at those around it.
    pub fn explain(&self, data: &Value, host: &dyn Host, limits: &Limits) -> RuleExplanation {
        let told = run::Machine::new(host, limits).explain(&self.root, data);
        told.unwrap_or_else(|| RuleExplanation {
            path: self.root.at.clone(),
            operator: self.root.operator.clone(),
            value: None,
            error: None,
            children: Vec::new(),
            expression: None,
        })
    }
}

fn collect(node: &Node, calls: &mut Vec<HostCall>) {
    let mut all = |nodes: &[Node]| nodes.iter().for_each(|node| collect(node, calls));
    match &node.kind {
        Kind::Constant(_) => {}
        Kind::Array(parts) | Kind::If(parts) | Kind::And(parts) | Kind::Or(parts) => all(parts),
        Kind::Eager(_, parts) => all(parts),
        Kind::Var(place, default) => {
            if let Place::Expression(expression) | Place::Fields(_, expression) = place {
                calls.extend(expression.host_calls().iter().cloned());
            }
            default.iter().for_each(|node| collect(node, calls));
        }
        Kind::VarAt(path, default) => {
            collect(path, calls);
            default.iter().for_each(|node| collect(node, calls));
        }
        Kind::Each(_, list, body) => {
            collect(list, calls);
            body.iter().for_each(|node| collect(node, calls));
        }
        Kind::Reduce(reduce) => {
            collect(&reduce.list, calls);
            reduce.body.iter().for_each(|node| collect(node, calls));
            reduce.first.iter().for_each(|node| collect(node, calls));
        }
    }
}

#[cfg(test)]
mod tests;
