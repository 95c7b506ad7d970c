//! The target of a `var`: a JSON Logic path, or a JSONata expression.

use crate::error::ExprError;
use crate::expression::Expression;
use crate::host::HostFunctions;
use crate::value::{Str, Value};
use std::borrow::Cow;

/// A path into data, one segment per dot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VarPath {
    segments: Vec<Segment>,
    /// Where the path starts in the text: after `$.`, if it has that.
    offset: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Segment {
    name: Str,
    index: Option<usize>,
}

/// The meaning of the text of a `var`.
#[derive(Debug)]
pub(super) enum VarTarget {
    /// All of the data.
    Whole,
    /// A JSON Logic path.
    Path(VarPath),
    /// `$.a.b`: followed as a path through objects; JSONata handles arrays along the path.
    Fields(VarPath, Box<Expression>),
    /// Anything else.
    Expression(Box<Expression>),
}

impl VarTarget {
    /// Reads the text of a `var`.
    pub(super) fn read(text: &str, functions: &HostFunctions) -> Result<Self, ExprError> {
        if text.is_empty() || text == "$" {
            return Ok(Self::Whole);
        }
        if is_plain(text) {
            return Ok(Self::Path(VarPath::read(text)));
        }
        match text.strip_prefix("$.") {
            Some(fields) if fields.split('.').all(is_field) => {
                let expression = Expression::compile(text, functions)?;
                Ok(Self::Fields(VarPath::read(fields), Box::new(expression)))
            }
            Some(path) if is_plain(path) => Ok(Self::Path(VarPath {
                offset: "$.".len(),
                ..VarPath::read(path)
            })),
            _ => Ok(Self::Expression(Box::new(Expression::compile(
                text, functions,
            )?))),
        }
    }
}

/// Whether a text is a JSON Logic path rather than JSONata: names, numbers and dots.
fn is_plain(text: &str) -> bool {
    let plain = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.');
    text.chars().all(plain)
}

/// Whether JSONata also reads this segment as a field name.
fn is_field(segment: &str) -> bool {
    let start = |char: char| char.is_ascii_alphabetic() || char == '_';
    segment.starts_with(start)
        && segment
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !matches!(
            segment,
            "and" | "or" | "in" | "true" | "false" | "null" | "function"
        )
}

impl VarPath {
    /// Splits at every dot, as JSON Logic does.
    pub(super) fn read(text: &str) -> Self {
        Self {
            segments: text.split('.').map(Segment::read).collect(),
            offset: 0,
        }
    }

    /// The value at the path, if any.
    pub(super) fn find<'d>(&self, data: &'d Value) -> Option<Cow<'d, Value>> {
        find(data, &self.segments)
    }

    /// The name of each segment, and the index it means.
    pub(super) fn segments(&self) -> impl Iterator<Item = (&Str, Option<usize>)> {
        let segments = self.segments.iter();
        segments.map(|segment| (&segment.name, segment.index))
    }

    /// Where the path starts in the text of its `var`.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// The value at the path if only objects are along it; the outer `None` means there is an
    /// array.
    pub(super) fn find_in_objects<'d>(&self, data: &'d Value) -> Option<Option<&'d Value>> {
        let mut value = data;
        for segment in &self.segments {
            match value {
                Value::Object(map) => match map.get(&segment.name) {
                    Some(next) => value = next,
                    None => return Some(None),
                },
                Value::Array(_) => return None,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    return Some(None);
                }
            }
        }
        Some(Some(value))
    }
}

fn find<'d>(data: &'d Value, path: &[Segment]) -> Option<Cow<'d, Value>> {
    let mut value = data;
    for (at, segment) in path.iter().enumerate() {
        value = match value {
            Value::Object(map) => map.get(&segment.name)?,
            Value::Array(items) => match segment.index {
                Some(index) => items.get(index)?,
                None if segment.name == "length" => {
                    return find_in_made(items.len().into(), &path[at + 1..]);
                }
                None => return None,
            },
            Value::String(text) => {
                let value = match segment.index {
                    Some(index) => unit(text, index)?,
                    None if segment.name == "length" => text.encode_utf16().count().into(),
                    None => return None,
                };
                return find_in_made(value, &path[at + 1..]);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => return None,
        };
    }
    Some(Cow::Borrowed(value))
}

/// Continues from a value that is not in the data.
fn find_in_made(value: Value, path: &[Segment]) -> Option<Cow<'static, Value>> {
    let value = match path {
        [] => value,
        _ => find(&value, path)?.into_owned(),
    };
    Some(Cow::Owned(value))
}

/// The 16-bit unit of a text at an index; half of a surrogate pair becomes U+FFFD.
fn unit(text: &str, index: usize) -> Option<Value> {
    let unit = text.encode_utf16().nth(index)?;
    Some(String::from_utf16_lossy(&[unit]).into())
}

impl Segment {
    fn read(name: &str) -> Self {
        let canonical = name == "0" || !name.starts_with('0');
        let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        Self {
            name: name.into(),
            index: (canonical && digits).then(|| name.parse().ok()).flatten(),
        }
    }
}
