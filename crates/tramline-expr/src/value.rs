//! The JSON value that everything shares: cloning it is counting a reference, never copying.

use std::fmt;
use std::sync::Arc;

mod map;
mod number;
mod serial;

pub use map::Map;
pub use number::Number;

/// Text that is cheap to clone: up to 23 bytes stand inline, longer text is shared.
pub type Str = smol_str::SmolStr;

/// A JSON value whose arrays and objects are shared between all its clones.
#[derive(Clone, Default, PartialEq)]
pub enum Value {
    /// JSON `null`.
    #[default]
    Null,
    /// JSON `true` or `false`.
    Bool(bool),
    /// A number; whole numbers of 64 bits stay exact.
    Number(Number),
    /// Text.
    String(Str),
    /// A list, shared between clones.
    Array(Arc<Vec<Value>>),
    /// An object with its keys in the order they were first set, shared between clones.
    Object(Arc<Map>),
}

impl Value {
    /// Makes an array of the values given.
    pub fn array(items: impl IntoIterator<Item = Value>) -> Self {
        Self::Array(Arc::new(items.into_iter().collect()))
    }

    /// Makes an object of the pairs given; of equal keys the last value stays.
    pub fn object<K: Into<Str>>(pairs: impl IntoIterator<Item = (K, Value)>) -> Self {
        Self::Object(Arc::new(
            pairs
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        ))
    }

    /// The value under `key`, where this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The value at `index`, where this is an array that long.
    pub fn at(&self, index: usize) -> Option<&Value> {
        self.as_array()?.get(index)
    }

    /// The text, where this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, where this is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number as a double, where this is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number.as_f64()),
            _ => None,
        }
    }

    /// The number, where this is a whole number that 64 signed bits hold.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    /// The number, where this is a whole number that 64 unsigned bits hold.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// The items, where this is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The map, where this is an object.
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

    /// What JSON calls this kind of value, with its article: for messages.
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
