//! What becomes of the values at the end of a walk: gathered, added up, counted.

use super::val::{Sequence, Val};
use crate::value::Value;

/// What takes the values at the end of a walk.
pub(super) trait Sink {
    /// Takes one value; `depth` bounds what this evaluation added to it. False stops the walk.
    fn take(&mut self, value: &Value, depth: u16) -> bool;

    /// Says that so many values may come.
    fn expect(&mut self, _values: usize) {}
}

/// Gathers values.
#[derive(Default)]
pub(super) struct Gather {
    values: Vec<Value>,
    depth: u16,
}

impl Sink for Gather {
    #[inline]
    fn take(&mut self, value: &Value, depth: u16) -> bool {
        self.values.push(value.clone());
        self.depth = self.depth.max(depth);
        true
    }

    fn expect(&mut self, values: usize) {
        self.values.reserve(values);
    }
}

impl Gather {
    /// What the values stand for: two or more are an array, and no one can tell it from a sequence.
    pub(super) fn finish(mut self, keep: bool) -> Val {
        match self.values.len() {
            0 => Val::Undef,
            1 if keep => {
                let mut only = Sequence::default();
                only.items
                    .extend(self.values.pop().map(|value| Val::Json(value, self.depth)));
                only.raw()
            }
            1 => self
                .values
                .pop()
                .map_or(Val::Undef, |value| Val::Json(value, self.depth)),
            _ => Val::Json(self.values.into(), self.depth.saturating_add(1)),
        }
    }
}

/// Adds numbers up.
pub(super) struct Sum {
    pub(super) count: usize,
    pub(super) total: f64,
    pub(super) max: f64,
    pub(super) min: f64,
    /// Something was not a number.
    pub(super) failed: bool,
}

impl Sink for Sum {
    #[inline]
    fn take(&mut self, value: &Value, _: u16) -> bool {
        match value {
            Value::Number(number) => {
                let number = number.as_f64();
                self.count += 1;
                self.total += number;
                self.max = self.max.max(number);
                self.min = self.min.min(number);
            }
            _ => self.failed = true,
        }
        !self.failed
    }
}

/// Counts values.
pub(super) struct Count(pub(super) usize);

impl Sink for Count {
    #[inline]
    fn take(&mut self, _: &Value, _: u16) -> bool {
        self.0 += 1;
        true
    }
}
