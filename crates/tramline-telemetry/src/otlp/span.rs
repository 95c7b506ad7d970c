//! A span in its exported form.
//!
//! It is encoded while it is built, into one buffer. A call has two spans, so the cost of a span is the cost of
//! observing calls.

use super::wire::ProtoMessage;
use super::{Resource, attribute_number, attribute_text, request};

/// Longest text in an attribute, in bytes. Longer ones are cut.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 10;
/// Longest error message, in bytes. Longer ones are cut.
const ERROR_BYTES_MAX: usize = 1 << 10;
/// Initial capacity, in bytes: the size of most spans.
const SPAN_CAPACITY_BYTES: usize = 512;
/// `Status.code` of an error.
const ERROR: u64 = 2;
/// `Span.flags` of a recorded span: the bit of the trace context.
const SAMPLED: u32 = 1;

/// The span kind, as OTLP numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpanKind {
    /// Work inside this process.
    Internal = 1,
    /// A call to another process.
    Client = 3,
}

/// A span that has ended.
pub(crate) struct OtlpSpan(ProtoMessage);

impl OtlpSpan {
    /// A span of this trace, with this id and parent.
    pub(crate) fn new(trace: u128, id: u64, parent: Option<u64>, state: Option<&str>) -> Self {
        let mut message = ProtoMessage::with_capacity(SPAN_CAPACITY_BYTES);
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

    /// Sets the start and the end.
    pub(crate) fn with_times(mut self, began_ms: i64, ended_ms: i64) -> Self {
        self.0.fixed64(7, nanos(began_ms));
        self.0.fixed64(8, nanos(ended_ms.max(began_ms)));
        self
    }

    /// Sets the kind and the name: the operation and its target.
    pub(crate) fn set_name(&mut self, kind: SpanKind, done: &str, to: &str) {
        self.0.number(6, kind as u64);
        self.0.text_pair(5, [done, to]);
    }

    /// Adds a text attribute.
    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        attribute_text(&mut self.0, 9, name, text);
    }

    /// Adds a number attribute.
    pub(crate) fn number(&mut self, name: &'static str, number: impl TryInto<i64>) {
        let number = number.try_into().unwrap_or(i64::MAX);
        attribute_number(&mut self.0, 9, name, number);
    }

    /// Marks it as failed, with a redacted message.
    pub(crate) fn failed(&mut self, says: &str) {
        self.0.message(15, |status| {
            status.text(2, truncate(says, ERROR_BYTES_MAX));
            status.number(3, ERROR);
        });
    }

    /// Appends it to other spans of an export.
    pub(crate) fn append_to(&self, others: &mut ProtoMessage) {
        others.bytes(2, self.0.as_bytes());
    }
}

/// The request that exports spans encoded one after the other.
pub(crate) fn spans(from: &Resource, spans: &ProtoMessage) -> Vec<u8> {
    request(from, |scoped| scoped.raw_fields(spans.as_bytes()))
}

/// The beginning of a text, cut at a character boundary.
pub(crate) fn truncate(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default() * 1_000_000
}
