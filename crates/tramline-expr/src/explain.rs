//! Explanations: how a value came about, operand by operand.

use crate::compile::node::Node;
use crate::error::Span;
use crate::eval::val::Val;
use crate::value::{Map, Str, Value};
use std::ops::Range;

/// A node of an evaluation: a stretch of the source, what it came to, and what that was made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The bytes of the source that were evaluated.
    pub span: Range<usize>,
    /// What they came to; `None` is undefined, or an error.
    pub value: Option<Value>,
    /// The evaluations inside, in the order they took place.
    pub children: Vec<Explanation>,
}

/// Nodes of one explanation, the expressions inside a rule included: nobody reads further.
const NODES_MAX: usize = 2_000;
/// Values that all nodes of one explanation may hold together.
const VALUES_MAX: usize = 20_000;
/// Bytes of text that all nodes of one explanation may hold together.
const TEXT_BYTES_MAX: usize = 256 << 10;
/// Items of an array or fields of an object that one node shows.
const ITEMS_SHOWN_MAX: usize = 50;
/// Bytes of a text that one node shows.
const TEXT_SHOWN_BYTES_MAX: usize = 2_000;
/// Levels of a value that one node shows.
const LEVELS_SHOWN_MAX: usize = 8;
/// Stands for what is left out.
const LEFT_OUT: &str = "…";

/// What is left of the room for one explanation.
pub(crate) struct Room {
    nodes: usize,
    values: usize,
    bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            nodes: NODES_MAX,
            values: VALUES_MAX,
            bytes: TEXT_BYTES_MAX,
        }
    }
}

impl Room {
    /// Takes room for a node, if there is some.
    pub(crate) fn node(&mut self) -> bool {
        let is_free = self.nodes > 0;
        self.nodes = self.nodes.saturating_sub(1);
        is_free
    }

    /// As much of a value as is shown.
    pub(crate) fn shown(&mut self, value: &Value) -> Value {
        self.level(value, 0)
    }

    fn level(&mut self, value: &Value, depth: usize) -> Value {
        if self.values == 0 || depth > LEVELS_SHOWN_MAX {
            return LEFT_OUT.into();
        }
        self.values -= 1;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                let shown = items.iter().take(ITEMS_SHOWN_MAX);
                let mut shown: Vec<_> = shown.map(|item| self.level(item, depth + 1)).collect();
                if items.len() > ITEMS_SHOWN_MAX {
                    shown.push(LEFT_OUT.into());
                }
                shown.into()
            }
            Value::Object(fields) => {
                let shown = fields.iter().take(ITEMS_SHOWN_MAX);
                let mut shown: Map = shown
                    .map(|(key, field)| (self.key(key), self.level(field, depth + 1)))
                    .collect();
                if fields.len() > ITEMS_SHOWN_MAX {
                    shown.insert(LEFT_OUT, LEFT_OUT.into());
                }
                shown.into()
            }
        }
    }

    fn key(&mut self, key: &Str) -> Str {
        match self.text(key) {
            Value::String(key) => key,
            _ => LEFT_OUT.into(),
        }
    }

    fn text(&mut self, text: &Str) -> Value {
        let room = self.bytes.min(TEXT_SHOWN_BYTES_MAX);
        self.bytes -= room.min(text.len());
        if text.len() <= room {
            return text.clone().into();
        }
        let end = text.floor_char_boundary(room);
        format!("{}{LEFT_OUT}", &text[..end]).into()
    }
}

/// Records an evaluation as it goes.
#[derive(Default)]
pub(crate) struct Tracer {
    open: Vec<Explanation>,
    done: Vec<Explanation>,
    room: Room,
    skipped: usize,
}

impl Tracer {
    /// Records into the room that is left of a larger explanation.
    pub(crate) fn within(room: Room) -> Self {
        Self {
            room,
            ..Self::default()
        }
    }

    pub(crate) fn open(&mut self, node: &Node) {
        if self.skipped > 0 || !self.room.node() {
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
        // One more than is shown, so that it is seen that something is left out.
        let value = val.and_then(|val| val.beginning(ITEMS_SHOWN_MAX + 1));
        done.value = value.map(|value| self.room.shown(&value));
        match self.open.last_mut() {
            Some(parent) => parent.children.push(done),
            None => self.done.push(done),
        }
    }

    pub(crate) fn finish(self) -> Option<Explanation> {
        self.split().0
    }

    /// What was recorded, and the room that is left.
    pub(crate) fn split(mut self) -> (Option<Explanation>, Room) {
        (self.done.pop(), self.room)
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
        let mut room = Room::default();
        let long: Value = "é".repeat(TEXT_SHOWN_BYTES_MAX).into();
        let mut bytes = 0;
        for _ in 0..10_000 {
            bytes += room.shown(&long).as_str().map_or(0, str::len);
        }
        assert!(bytes <= TEXT_BYTES_MAX + 10_000 * LEFT_OUT.len(), "{bytes}");
    }
}
