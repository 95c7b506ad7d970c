//! Explains the value of a rule: the tree of its parts, each with its value.

use super::eval::RuleResult;
use super::node::RuleNode;
use crate::error::ExprError;
use crate::explain::{Explanation, ExplanationBudget};
use crate::value::{Str, Value};

/// One evaluated part of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleExplanation {
    /// The position of the part in the rule, as a JSON pointer.
    pub path: Str,
    /// Its operator; empty for a literal or a list.
    pub operator: Str,
    /// Its value; `None` is undefined, or an error.
    pub value: Option<Value>,
    /// The error it failed with; the parts around it have the same one.
    pub error: Option<ExprError>,
    /// The parts evaluated inside, in the order of evaluation. Skipped parts are missing; the body
    /// of a `map` appears once per item.
    pub children: Vec<RuleExplanation>,
    /// Explains the expression of a `var`, if it has one.
    pub expression: Option<Explanation>,
}

/// Records an evaluation as it runs.
#[derive(Default)]
pub(super) struct RuleTracer {
    open: Vec<RuleExplanation>,
    done: Option<RuleExplanation>,
    budget: ExplanationBudget,
    /// How many of the innermost open parts are over the limit.
    skipped: usize,
}

impl RuleTracer {
    pub(super) fn open(&mut self, node: &RuleNode) {
        if self.skipped > 0 || !self.budget.take_node() {
            self.skipped += 1;
            return;
        }
        self.open.push(RuleExplanation {
            path: node.pointer.clone(),
            operator: node.operator.clone(),
            value: None,
            error: None,
            children: Vec::new(),
            expression: None,
        });
    }

    /// The remaining budget, for explaining an expression.
    pub(super) fn room(&mut self) -> &mut ExplanationBudget {
        &mut self.budget
    }

    /// Attaches the explanation of an expression to the innermost open part.
    pub(super) fn attach_expression(&mut self, expression: Option<Explanation>) {
        if self.skipped == 0
            && let Some(part) = self.open.last_mut()
        {
            part.expression = expression;
        }
    }

    pub(super) fn close(&mut self, outcome: &RuleResult<Option<Value>>) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let Some(mut part) = self.open.pop() else {
            return;
        };
        match outcome {
            Ok(value) => part.value = value.as_ref().map(|value| self.budget.truncate(value)),
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
