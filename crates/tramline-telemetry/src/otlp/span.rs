//! A span as it is exported: what happened, when, and what it belongs to.
//!
//! It is written down as it will be sent while it is made, into one piece of memory. A call has two,
//! so what a span costs is what watching calls costs.

use super::wire::Message;
use super::{Resource, attribute_number, attribute_text, request};

/// Longer texts in attributes are cut, in bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 10;
/// Longer words about an error are cut, in bytes.
const SAYS_BYTES_MAX: usize = 1 << 10;
/// What most spans take, in bytes.
const USUAL_BYTES: usize = 512;
/// `Status.code` of what went wrong.
const ERROR: u64 = 2;
/// `Span.flags` of what is recorded: the bit of the trace context.
const SAMPLED: u32 = 1;

/// What a span stands for, as OTLP numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something inside of us.
    Internal = 1,
    /// A call that left.
    Client = 3,
}

/// One span, over.
pub(crate) struct Span(Message);

impl Span {
    /// A span of this trace, with this id and within this other one.
    pub(crate) fn new(trace: u128, id: u64, parent: Option<u64>, state: Option<&str>) -> Self {
        let mut message = Message::with_capacity(USUAL_BYTES);
        message.bytes(1, &trace.to_be_bytes());
        message.bytes(2, &id.to_be_bytes());
        if let Some(state) = state {
            message.text(3, state);
        }
        if let Some(parent) = parent {
            message.bytes(4, &parent.to_be_bytes());
        }
        message.fixed32(16, SAMPLED);
        Self(message)
    }

    /// Says when it was.
    pub(crate) fn during(mut self, began_ms: i64, ended_ms: i64) -> Self {
        self.0.fixed(7, nanos(began_ms));
        self.0.fixed(8, nanos(ended_ms.max(began_ms)));
        self
    }

    /// Says what it is: what was done, and to what.
    pub(crate) fn named(&mut self, kind: Kind, done: &str, to: &str) {
        self.0.number(6, kind as u64);
        self.0.words(5, [done, to]);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        attribute_text(&mut self.0, 9, name, text);
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, name: &'static str, number: impl TryInto<i64>) {
        let number = number.try_into().unwrap_or(i64::MAX);
        attribute_number(&mut self.0, 9, name, number);
    }

    /// Says that it went wrong, in words without secrets.
    pub(crate) fn failed(&mut self, says: &str) {
        self.0.message(15, |status| {
            status.text(2, cut(says, SAYS_BYTES_MAX));
            status.number(3, ERROR);
        });
    }

    /// Puts it behind others, as they are exported together.
    pub(crate) fn write_behind(&self, others: &mut Message) {
        others.bytes(2, self.0.as_bytes());
    }
}

/// The request that exports spans that were written one behind the other.
pub(crate) fn spans(from: &Resource, spans: &Message) -> Vec<u8> {
    request(from, |scoped| scoped.written(spans.as_bytes()))
}

/// The beginning of a text, cut where a character ends.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default() * 1_000_000
}
