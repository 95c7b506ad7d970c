//! OTLP in protobuf: the few messages that we send, written by hand.
//!
//! The format is fixed for good by its field numbers, and what we say of it are two requests. A
//! generator and a runtime for it would be more code than this, and a dozen crates.

mod metrics;
mod trace;
mod wire;

pub(crate) use metrics::metrics;
pub(crate) use trace::spans;

use crate::span::Attribute;
use wire::Message;

/// Who we are, in front of everything that is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource(pub(crate) Vec<(String, String)>);

/// Where spans and metrics come from.
const SCOPE: &str = "tramline";

fn resource(resource: &Resource) -> Message {
    let mut message = Message::default();
    for (name, text) in &resource.0 {
        let value = Attribute::Text(text.as_str().into());
        message.message(1, &attribute(name, &value));
    }
    message
}

fn scope() -> Message {
    let mut message = Message::default();
    message.text(1, SCOPE);
    message.text(2, env!("CARGO_PKG_VERSION"));
    message
}

/// `KeyValue { key = 1, value = 2 }`, `AnyValue { string_value = 1, int_value = 3 }`.
fn attribute(name: &str, value: &Attribute) -> Message {
    let mut any = Message::default();
    match value {
        Attribute::Text(text) => any.text_even_empty(1, text),
        Attribute::Number(number) => any.number_even_zero(3, *number as u64),
    }
    let mut message = Message::default();
    message.text(1, name);
    message.message(2, &any);
    message
}
