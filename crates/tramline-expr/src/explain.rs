//! Explanations: how a value came about, operand by operand.

use crate::compile::node::Node;
use crate::error::Span;
use crate::eval::val::Val;
use crate::value::Value;
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

/// Past this many nodes an explanation says no more: nobody reads further, and memory is bounded.
const NODES_MAX: usize = 10_000;

/// Records an evaluation as it goes.
#[derive(Default)]
pub(crate) struct Tracer {
    open: Vec<Explanation>,
    done: Vec<Explanation>,
    nodes: usize,
    skipped: usize,
}

impl Tracer {
    pub(crate) fn open(&mut self, node: &Node) {
        if self.nodes >= NODES_MAX {
            self.skipped += 1;
            return;
        }
        self.nodes += 1;
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
        done.value = val.and_then(|val| val.to_value());
        match self.open.last_mut() {
            Some(parent) => parent.children.push(done),
            None => self.done.push(done),
        }
    }

    pub(crate) fn finish(mut self) -> Option<Explanation> {
        self.done.pop()
    }
}
