//! Spans as `ExportTraceServiceRequest`.

use super::wire::Message;
use super::{Resource, attribute, resource, scope};
use crate::span::Span;

/// `Status.code` of what went wrong.
const ERROR: u64 = 2;
/// `Span.flags` of what is recorded: the bit of the trace context.
const SAMPLED: u32 = 1;

/// The request that exports these spans.
pub(crate) fn spans(from: &Resource, spans: &[Span]) -> Vec<u8> {
    let mut scoped = Message::default();
    scoped.message(1, &scope());
    for span in spans {
        scoped.message(2, &one(span));
    }
    let mut of_resource = Message::default();
    of_resource.message(1, &resource(from));
    of_resource.message(2, &scoped);
    let mut request = Message::default();
    request.message(1, &of_resource);
    request.into_bytes()
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or_default() * 1_000_000
}

fn one(span: &Span) -> Message {
    let mut message = Message::default();
    message.bytes(1, &span.trace.to_be_bytes());
    message.bytes(2, &span.id.to_be_bytes());
    if let Some(state) = &span.state {
        message.text(3, state);
    }
    if let Some(parent) = span.parent {
        message.bytes(4, &parent.to_be_bytes());
    }
    message.text(5, &span.name);
    message.number(6, span.kind as u64);
    message.fixed(7, nanos(span.began_ms));
    message.fixed(8, nanos(span.ended_ms.max(span.began_ms)));
    for (name, value) in &span.attributes {
        message.message(9, &attribute(name, value));
    }
    if let Some(says) = &span.error {
        let mut status = Message::default();
        status.text(2, says);
        status.number(3, ERROR);
        message.message(15, &status);
    }
    message.fixed32(16, SAMPLED);
    message
}
