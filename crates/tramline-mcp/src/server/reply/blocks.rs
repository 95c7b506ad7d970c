//! Results that are content: what a graph writes in the protocol's own shape is passed on as that.
//!
//! The shape must be right to the last field. Data that merely resembles a block (a `type` of its
//! own, a field more) stays data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::ContentBlock;
use tramline_core::{Map, Value};

/// The fields that every block may have.
const ANY: &[Field] = &[("annotations", is_object), ("_meta", is_object)];

/// A field, with what its value must be.
type Field = (&'static str, fn(&Value) -> bool);

/// What the fields of an object must be: `needed` are all there, `more` may be, others may not.
struct Shape {
    needed: &'static [Field],
    more: &'static [Field],
}

const TEXT: Shape = Shape {
    needed: &[("text", is_text)],
    more: ANY,
};
/// Images and sounds.
const BYTES: Shape = Shape {
    needed: &[("data", is_base64), ("mimeType", is_text)],
    more: ANY,
};
const EMBEDDED: Shape = Shape {
    needed: &[("resource", is_contents)],
    more: ANY,
};
const LINK: Shape = Shape {
    needed: &[("uri", is_text), ("name", is_text)],
    more: &[
        ("title", is_text),
        ("description", is_text),
        ("mimeType", is_text),
        ("size", is_number),
        ("icons", is_list),
        ("annotations", is_object),
        ("_meta", is_object),
    ],
};
/// What is inside an embedded resource, as text or as bytes.
const CONTENTS: [Shape; 2] = [
    Shape {
        needed: &[("uri", is_text), ("text", is_text)],
        more: &[("mimeType", is_text), ("_meta", is_object)],
    },
    Shape {
        needed: &[("uri", is_text), ("blob", is_base64)],
        more: &[("mimeType", is_text), ("_meta", is_object)],
    },
];

/// The blocks that a result is: one, or a list of at least one and nothing else.
pub(super) fn read(result: &Value) -> Option<Vec<ContentBlock>> {
    match result {
        Value::Object(_) => Some(vec![block(result)?]),
        Value::Array(items) if !items.is_empty() => items.iter().map(block).collect(),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            None
        }
    }
}

fn block(value: &Value) -> Option<ContentBlock> {
    let object = value.as_object()?;
    let shape = match object.get("type")?.as_str()? {
        "text" => TEXT,
        "image" | "audio" => BYTES,
        "resource" => EMBEDDED,
        "resource_link" => LINK,
        _ => return None,
    };
    // The library has the last word on what is inside annotations and icons.
    shape
        .fits(object, &["type"])
        .then(|| serde_json::from_value(value.into()).ok())?
}

impl Shape {
    fn fits(&self, object: &Map, besides: &[&str]) -> bool {
        let needed = self.needed.iter();
        needed
            .clone()
            .all(|(name, fits)| object.get(name).is_some_and(fits))
            && object.iter().all(|(name, value)| {
                let mut known = needed.clone().chain(self.more);
                besides.contains(&name.as_str())
                    || known.any(|(field, fits)| *field == name.as_str() && fits(value))
            })
    }
}

fn is_text(value: &Value) -> bool {
    value.as_str().is_some()
}

fn is_object(value: &Value) -> bool {
    value.as_object().is_some()
}

fn is_list(value: &Value) -> bool {
    value.as_array().is_some()
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Number(_))
}

fn is_base64(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| STANDARD.decode(text).is_ok())
}

fn is_contents(value: &Value) -> bool {
    let fits = |object| CONTENTS.iter().any(|shape| shape.fits(object, &[]));
    value.as_object().is_some_and(fits)
}

#[cfg(test)]
mod tests;
