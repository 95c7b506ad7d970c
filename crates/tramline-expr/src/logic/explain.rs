//! How a rule came to its value: the tree of its parts, each with what it gave.

use super::node::Node;
use super::run::Run;
use crate::error::ExprError;
use crate::explain::{Explanation, Room};
use crate::value::{Str, Value};

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
    room: Room,
    /// How many of the innermost parts under way are past the limit.
    skipped: usize,
}

impl Tracer {
    pub(super) fn open(&mut self, node: &Node) {
        if self.skipped > 0 || !self.room.node() {
            self.skipped += 1;
            return;
        }
        self.open.push(RuleExplanation {
            path: node.at.clone(),
            operator: node.operator.clone(),
            value: None,
            error: None,
            children: Vec::new(),
            expression: None,
        });
    }

    /// The room that is left, for an expression to be explained in.
    pub(super) fn room(&mut self) -> &mut Room {
        &mut self.room
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
            Ok(value) => part.value = value.as_ref().map(|value| self.room.shown(value)),
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
