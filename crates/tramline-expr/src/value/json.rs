//! Conversion of values to and from JSON text and serde, with limited depth and JavaScript's number
//! format.

use super::{Map, Number, Str, Value};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use std::fmt;
use std::sync::Arc;

/// Integral doubles up to this size are written without a fraction, as in JavaScript.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Int(int) => serializer.serialize_i64(int),
            Self::UInt(int) => serializer.serialize_u64(int),
            Self::Float(float) if float.fract() == 0.0 && float.abs() <= WHOLE_MAX => {
                serializer.serialize_i64(float as i64)
            }
            Self::Float(float) => serializer.serialize_f64(float),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Self::Object(map) => map.serialize(serializer),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pairs = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            pairs.serialize_entry(key.as_str(), value)?;
        }
        pairs.end()
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(map) => Ok(Arc::unwrap_or_clone(map)),
            other => Err(serde::de::Error::custom(format!(
                "expected an object, found {}",
                other.kind()
            ))),
        }
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, int: i64) -> Result<Value, E> {
        Ok(int.into())
    }

    fn visit_u64<E>(self, int: u64) -> Result<Value, E> {
        Ok(int.into())
    }

    fn visit_f64<E>(self, float: f64) -> Result<Value, E> {
        Ok(float.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(1024));
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::with_capacity(access.size_hint().unwrap_or(0).min(1024));
        while let Some(key) = access.next_key_seed(KeySeed)? {
            map.insert(key, access.next_value()?);
        }
        Ok(map.into())
    }
}

/// Reads a key directly into shared text, without an intermediate `String`.
struct KeySeed;

impl<'de> DeserializeSeed<'de> for KeySeed {
    type Value = Str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Str, D::Error> {
        Str::deserialize(deserializer)
    }
}

impl Value {
    /// Parses JSON text. Nesting beyond 127 levels is rejected, so parsing is safe on a small
    /// stack.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Compact JSON text. Numbers that JSON lacks (infinities, NaN) become `null`.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Indented JSON text, for people.
    pub fn to_json_pretty(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl From<serde_json::Value> for Value {
    fn from(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(truth) => Self::Bool(truth),
            serde_json::Value::Number(number) => number
                .as_i64()
                .map(Number::Int)
                .or_else(|| number.as_u64().map(Number::UInt))
                .map_or_else(
                    || Number::Float(number.as_f64().unwrap_or(0.0)).into(),
                    Self::Number,
                ),
            serde_json::Value::String(text) => text.into(),
            serde_json::Value::Array(items) => Self::array(items.into_iter().map(Self::from)),
            serde_json::Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| (key, Self::from(value)))
                .collect::<Map>()
                .into(),
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => serde_json::to_value(number).unwrap_or(Self::Null),
            Value::String(text) => Self::String(text.to_string()),
            Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            Value::Object(map) => Self::Object(
                map.iter()
                    .map(|(key, value)| (key.to_string(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}
