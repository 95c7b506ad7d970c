//! The JSON value that everything shares: a clone increments a reference count and copies nothing.

use std::fmt;
use std::sync::Arc;

mod json;
mod map;
mod number;

pub use map::Map;
pub use number::Number;

/// Text that is cheap to clone: up to 23 bytes are stored inline, longer text is shared.
pub type Str = smol_str::SmolStr;

/// A JSON value whose arrays and objects are shared between all its clones.
#[derive(Clone, Default, PartialEq)]
pub enum Value {
    /// JSON `null`.
    #[default]
    Null,
    /// JSON `true` or `false`.
    Bool(bool),
    /// A number; 64-bit integers stay exact.
    Number(Number),
    /// Text.
    String(Str),
    /// A list, shared between clones.
    Array(Arc<Vec<Value>>),
    /// An object with its keys in insertion order, shared between clones.
    Object(Arc<Map>),
}

impl Value {
    /// Builds an array from these values.
    pub fn array(items: impl IntoIterator<Item = Value>) -> Self {
        Self::Array(Arc::new(items.into_iter().collect()))
    }

    /// Builds an object from these pairs; for duplicate keys the last value wins.
    pub fn object<K: Into<Str>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Object(Arc::new(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        ))
    }

    /// The value under `key`, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The value at `index`, if this is an array of that length.
    pub fn at(&self, index: usize) -> Option<&Value> {
        self.as_array()?.get(index)
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if this is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number as a double, if this is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number.as_f64()),
            _ => None,
        }
    }

    /// The number, if this is an integer that fits `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// The number, if this is an integer that fits `u64`.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The map, if this is an object.
    pub fn as_object(&self) -> Option<&Map> {
        match self {
            Self::Object(map) => Some(map),
            _ => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The JSON type with its article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Str> for Value {
    fn from(text: Str) -> Self {
        Self::String(text)
    }
}

impl<N: Into<Number>> From<N> for Value {
    fn from(number: N) -> Self {
        Self::Number(number.into())
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(Arc::new(items))
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Object(Arc::new(map))
    }
}

#[cfg(test)]
mod tests;
