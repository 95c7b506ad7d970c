//! Recognizes results that are MCP content blocks, which are passed through unchanged.
//!
//! The shape must match exactly. Data that only resembles a block (its own `type`, an extra field) stays data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::ContentBlock;
use tramline_expr::{Map, Value};

/// The fields that every block may have.
const COMMON_FIELDS: &[FieldRule] = &[("annotations", is_object), ("_meta", is_object)];

/// A field and the check of its value.
type FieldRule = (&'static str, fn(&Value) -> bool);

/// The allowed fields of an object: all of `needed`, any of `more`, no others.
struct BlockShape {
    required: &'static [FieldRule],
    optional: &'static [FieldRule],
}

const TEXT: BlockShape = BlockShape {
    required: &[("text", is_text)],
    optional: COMMON_FIELDS,
};
/// Images and audio.
const BYTES: BlockShape = BlockShape {
    required: &[("data", is_base64), ("mimeType", is_text)],
    optional: COMMON_FIELDS,
};
const EMBEDDED: BlockShape = BlockShape {
    required: &[("resource", is_contents)],
    optional: COMMON_FIELDS,
};
const LINK: BlockShape = BlockShape {
    required: &[("uri", is_text), ("name", is_text)],
    optional: &[
        ("title", is_text),
        ("description", is_text),
        ("mimeType", is_text),
        ("size", is_number),
        ("icons", is_list),
        ("annotations", is_object),
        ("_meta", is_object),
    ],
};
/// Contents of an embedded resource, as text or as bytes.
const CONTENTS: [BlockShape; 2] = [
    BlockShape {
        required: &[("uri", is_text), ("text", is_text)],
        optional: &[("mimeType", is_text), ("_meta", is_object)],
    },
    BlockShape {
        required: &[("uri", is_text), ("blob", is_base64)],
        optional: &[("mimeType", is_text), ("_meta", is_object)],
    },
];

/// The blocks of a result: one block, or a non-empty list of blocks only.
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
    // The library validates the contents of annotations and icons.
    shape
        .fits(object, &["type"])
        .then(|| serde_json::from_value(value.into()).ok())?
}

impl BlockShape {
    fn fits(&self, object: &Map, besides: &[&str]) -> bool {
        let needed = self.required.iter();
        needed
            .clone()
            .all(|(name, fits)| object.get(name).is_some_and(fits))
            && object.iter().all(|(name, value)| {
                let mut known = needed.clone().chain(self.optional);
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
