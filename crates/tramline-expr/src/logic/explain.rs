//! How a rule came to its value: the tree of its parts, each with what it gave.

use super::node::Node;
use super::run::Run;
use crate::error::ExprError;
use crate::explain::Explanation;
use crate::value::{Str, Value};

/// An explanation of more parts than a person or an agent reads is cut.
const PARTS_MAX: usize = 10_000;

/// One part of a rule as it was evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleExplanation {
    /// Where the part stands in the rule, as a JSON pointer.
    pub path: Str,
    /// Its operator; empty for a plain value or a list.
    pub operator: Str,
    /// What it came to; `None` is undefined, or an error.
    pub value: Option<Value>,
    /// The error it ended in; the parts around it have the same.
    pub error: Option<ExprError>,
    /// The parts evaluated inside, in the order that took place. What was skipped is not here; the
    /// body of a `map` is here once per item.
    pub children: Vec<RuleExplanation>,
    /// How the expression of a `var` came about, where it has one.
    pub expression: Option<Explanation>,
}

/// Records an evaluation as it goes.
#[derive(Default)]
pub(super) struct Tracer {
    open: Vec<RuleExplanation>,
    done: Option<RuleExplanation>,
    parts: usize,
    /// How many of the innermost parts under way are past the limit.
    skipped: usize,
}

impl Tracer {
    pub(super) fn open(&mut self, node: &Node) {
        if self.parts >= PARTS_MAX {
            self.skipped += 1;
            return;
        }
        self.parts += 1;
        self.open.push(RuleExplanation {
            path: node.at.clone(),
            operator: node.operator.clone(),
            value: None,
            error: None,
            children: Vec::new(),
            expression: None,
        });
    }

    /// Notes how the expression of the part under way came about.
    pub(super) fn note(&mut self, expression: Option<Explanation>) {
        if self.skipped == 0
            && let Some(part) = self.open.last_mut()
        {
            part.expression = expression;
        }
    }

    pub(super) fn close(&mut self, outcome: &Run<Option<Value>>) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let Some(mut part) = self.open.pop() else {
            return;
        };
        match outcome {
            Ok(value) => part.value.clone_from(value),
            Err(error) => part.error = Some((**error).clone()),
        }
        match self.open.last_mut() {
            Some(parent) => parent.children.push(part),
            None => self.done = Some(part),
        }
    }

    pub(super) fn finish(self) -> Option<RuleExplanation> {
        self.done
    }
}
