//! Consumers of the values at the end of a path: collected, summed or counted.

use super::val::{SequenceBuilder, Val};
use crate::value::Value;

/// Consumes the values at the end of a path.
pub(super) trait Sink {
    /// Takes one value; `depth` bounds the levels that this evaluation added to it. Returning false
    /// stops the traversal.
    fn take(&mut self, value: &Value, depth: u16) -> bool;

    /// Announces how many values may follow.
    fn expect(&mut self, _values: usize) {}
}

/// Collects values.
#[derive(Default)]
pub(super) struct CollectSink {
    values: Vec<Value>,
    depth: u16,
}

impl Sink for CollectSink {
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

impl CollectSink {
    /// The result as a value. Two or more are an array, which behaves like a sequence.
    pub(super) fn finish(mut self, keep: bool) -> Val {
        match self.values.len() {
            0 => Val::Undef,
            1 if keep => {
                let mut only = SequenceBuilder::default();
                only.items
                    .extend(self.values.pop().map(|value| Val::Json(value, self.depth)));
                only.into_sequence()
            }
            1 => self
                .values
                .pop()
                .map_or(Val::Undef, |value| Val::Json(value, self.depth)),
            _ => Val::Json(self.values.into(), self.depth.saturating_add(1)),
        }
    }
}

/// Sums numbers, and tracks their count, maximum and minimum.
pub(super) struct AggregateSink {
    pub(super) count: usize,
    pub(super) total: f64,
    pub(super) max: f64,
    pub(super) min: f64,
    /// A value was not a number.
    pub(super) failed: bool,
}

impl Sink for AggregateSink {
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
pub(super) struct CountSink(pub(super) usize);

impl Sink for CountSink {
    #[inline]
    fn take(&mut self, _: &Value, _: u16) -> bool {
        self.0 += 1;
        true
    }
}
