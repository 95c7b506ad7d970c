//! OTLP in protobuf: the few messages that we send, written by hand.
//!
//! The format is fixed for good by its field numbers, and what we say of it are two requests. A
//! generator and a runtime for it would be more code than this, and a dozen crates.

mod metrics;
mod span;
mod wire;

pub(crate) use metrics::metrics;
pub(crate) use span::{Kind, Span, TEXT_BYTES_MAX, cut, spans};

pub(crate) use wire::Message;

/// Who we are, in front of everything that is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource(pub(crate) Vec<(String, String)>);

/// Where spans and metrics come from.
const SCOPE: &str = "tramline";

/// The request of either kind: who we are, and what `write` says.
fn request(from: &Resource, write: impl FnOnce(&mut Message)) -> Vec<u8> {
    let mut request = Message::default();
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
fn attribute_text(message: &mut Message, field: u64, name: &str, text: &str) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any.text_even_empty(1, text));
    });
}

/// `KeyValue { key = 1, value = 2 }`, `AnyValue { int_value = 3 }`.
fn attribute_number(message: &mut Message, field: u64, name: &str, number: i64) {
    message.message(field, |pair| {
        pair.text(1, name);
        pair.message(2, |any| any.number_even_zero(3, number as u64));
    });
}
