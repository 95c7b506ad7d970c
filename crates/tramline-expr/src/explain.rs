//! Explanations: how a value was computed, operand by operand.

use crate::compile::node::ExprNode;
use crate::error::Span;
use crate::eval::val::Val;
use crate::value::{Map, Str, Value};
use std::ops::Range;

/// A node of an evaluation: a part of the source, its value, and the evaluations inside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The byte range in the source that was evaluated.
    pub span: Range<usize>,
    /// Its value; `None` is undefined, or an error.
    pub value: Option<Value>,
    /// The evaluations inside, in the order they took place.
    pub children: Vec<Explanation>,
}

/// Nodes in one explanation, including those of expressions inside a rule. Longer trees are not
/// readable.
const NODES_MAX: usize = 2_000;
/// Values that all nodes of one explanation may hold together.
const VALUES_MAX: usize = 20_000;
/// Bytes of text that all nodes of one explanation may hold together.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Items of an array, or fields of an object, shown per node.
const ITEMS_SHOWN_MAX: usize = 50;
/// Bytes of a text shown per node.
const TEXT_SHOWN_BYTES_MAX: usize = 2_000;
/// Levels of a value shown per node.
const LEVELS_SHOWN_MAX: usize = 8;
/// Marks an omission.
const ELLIPSIS: &str = "…";

/// The remaining size budget of one explanation.
pub(crate) struct ExplanationBudget {
    nodes: usize,
    values: usize,
    bytes: usize,
}

impl Default for ExplanationBudget {
    fn default() -> Self {
        Self {
            nodes: NODES_MAX,
            values: VALUES_MAX,
            bytes: TEXT_BYTES_MAX,
        }
    }
}

impl ExplanationBudget {
    /// Reserves a node; false if none is left.
    pub(crate) fn take_node(&mut self) -> bool {
        let is_free = self.nodes > 0;
        self.nodes = self.nodes.saturating_sub(1);
        is_free
    }

    /// The value, truncated to what is shown.
    pub(crate) fn truncate(&mut self, value: &Value) -> Value {
        self.level(value, 0)
    }

    fn level(&mut self, value: &Value, depth: usize) -> Value {
        if self.values == 0 || depth > LEVELS_SHOWN_MAX {
            return ELLIPSIS.into();
        }
        self.values -= 1;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                let shown = items.iter().take(ITEMS_SHOWN_MAX);
                let mut shown: Vec<_> = shown.map(|item| self.level(item, depth + 1)).collect();
                if items.len() > ITEMS_SHOWN_MAX {
                    shown.push(ELLIPSIS.into());
                }
                shown.into()
            }
            Value::Object(fields) => {
                let shown = fields.iter().take(ITEMS_SHOWN_MAX);
                let mut shown: Map = shown
                    .map(|(key, field)| (self.key(key), self.level(field, depth + 1)))
                    .collect();
                if fields.len() > ITEMS_SHOWN_MAX {
                    shown.insert(ELLIPSIS, ELLIPSIS.into());
                }
                shown.into()
            }
        }
    }

    fn key(&mut self, key: &Str) -> Str {
        match self.text(key) {
            Value::String(key) => key,
            _ => ELLIPSIS.into(),
        }
    }

    fn text(&mut self, text: &Str) -> Value {
        let room = self.bytes.min(TEXT_SHOWN_BYTES_MAX);
        self.bytes -= room.min(text.len());
        if text.len() <= room {
            return text.clone().into();
        }
        let end = text.floor_char_boundary(room);
        format!("{}{ELLIPSIS}", &text[..end]).into()
    }
}

/// Records an evaluation as it runs.
#[derive(Default)]
pub(crate) struct Tracer {
    open: Vec<Explanation>,
    done: Vec<Explanation>,
    budget: ExplanationBudget,
    skipped: usize,
}

impl Tracer {
    /// Records within the remaining budget of a larger explanation.
    pub(crate) fn with_budget(budget: ExplanationBudget) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    pub(crate) fn open(&mut self, node: &ExprNode) {
        if self.skipped > 0 || !self.budget.take_node() {
            self.skipped += 1;
            return;
        }
        let Span { start, end } = node.extent;
        self.open.push(Explanation {
            span: start as usize..end as usize,
            value: None,
            children: Vec::new(),
        });
    }

    pub(crate) fn close(&mut self, val: Option<Val>) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let Some(mut done) = self.open.pop() else {
            return;
        };
        // One item more than is shown, so that the omission is visible.
        let value = val.and_then(|val| val.to_value_truncated(ITEMS_SHOWN_MAX + 1));
        done.value = value.map(|value| self.budget.truncate(&value));
        match self.open.last_mut() {
            Some(parent) => parent.children.push(done),
            None => self.done.push(done),
        }
    }

    pub(crate) fn finish(self) -> Option<Explanation> {
        self.into_parts().0
    }

    /// The explanation, and the remaining budget.
    pub(crate) fn into_parts(mut self) -> (Option<Explanation>, ExplanationBudget) {
        (self.done.pop(), self.budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expression, HostFunctions, Limits, NoHost};

    fn count(explanation: &Explanation) -> usize {
        let below: usize = explanation.children.iter().map(count).sum();
        below + 1
    }

    #[test]
    fn a_tree_holds_the_beginnings_of_values_and_no_more_than_its_room() {
        let source = "$sum($map([1..20000], function($v) { $count([1..$v % 900]) }))";
        let expression = Expression::compile(source, &HostFunctions::none()).unwrap();
        let limits = Limits {
            items: 20_000_000,
            ..Limits::default()
        };
        let (result, told) = expression.explain(&Value::Null, &NoHost, &limits);
        result.unwrap();
        let told = told.unwrap();
        assert!(count(&told) <= NODES_MAX);
        let list = &told.children[0].children[0];
        let value = list.value.as_ref().unwrap();
        assert_eq!(
            value.as_array().map(<[Value]>::len),
            Some(ITEMS_SHOWN_MAX + 1),
            "{value}"
        );
    }

    #[test]
    fn texts_are_cut_at_a_character_and_their_sum_is_bounded() {
        let mut room = ExplanationBudget::default();
        let long: Value = "é".repeat(TEXT_SHOWN_BYTES_MAX).into();
        let mut bytes = 0;
        for _ in 0..10_000 {
            bytes += room.truncate(&long).as_str().map_or(0, str::len);
        }
        assert!(bytes <= TEXT_BYTES_MAX + 10_000 * ELLIPSIS.len(), "{bytes}");
    }
}
