//! OTLP in protobuf: the few messages that we send, encoded by hand.
//!
//! The field numbers of the format never change, and we need only two requests. A code generator and its runtime would
//! be more code than this, and a dozen crates.

mod metrics;
mod span;
mod wire;

pub(crate) use metrics::metrics;
pub(crate) use span::{OtlpSpan, SpanKind, TEXT_BYTES_MAX, spans, truncate};

pub(crate) use wire::ProtoMessage;

/// The resource that describes this process, part of every request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource(pub(crate) Vec<(String, String)>);

/// The instrumentation scope.
const SCOPE: &str = "tramline";

/// A request of either kind: the resource, and what `write` adds.
fn request(from: &Resource, write: impl FnOnce(&mut ProtoMessage)) -> Vec<u8> {
    let mut request = ProtoMessage::default();
    request.message(1, |of_resource| {
        of_resource.message(1, |resource| {
            for (name, text) in &from.0 {
                attribute_text(resource, 1, name, text);
            }
        });
        of_resource.message(2, |scoped| {
            scoped.message(1, |scope| {
                scope.text(1, SCOPE);
                scope.text(2, env!("CARGO_PKG_VERSION"));
            });
            write(scoped);
        });
    });
    request.into_bytes()
}

/// `KeyValue { key = 1, value = 2 }`, `AnyValue { string_value = 1 }`.
fn attribute_text(message: &mut ProtoMessage, field: u64, name: &str, text: &str) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any.text_even_empty(1, text));
    });
}

/// `KeyValue { key = 1, value = 2 }`, `AnyValue { int_value = 3 }`.
fn attribute_number(message: &mut ProtoMessage, field: u64, name: &str, number: i64) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any.number_even_zero(3, number as u64));
    });
}
