//! What is known about a value before it exists: its type, and the fields of objects.
//!
//! A shape never claims more than is certain: what is not known is [`Shape::Any`], and a
//! check against it finds nothing.

use crate::value::{Str, Value};
use std::sync::Arc;

/// Levels of a shape; what lies deeper is unknown.
const DEPTH_MAX: usize = 12;
/// Fields of one shape; larger objects are unknown.
const FIELDS_MAX: usize = 512;

/// What is known about a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Nothing is known.
    #[default]
    Any,
    /// Text.
    Text,
    /// A number.
    Number,
    /// A boolean.
    Bool,
    /// A list of items of this shape.
    List(Arc<Shape>),
    /// One item of this shape, or a list of several: JSONata does not distinguish them.
    Items(Arc<Shape>),
    /// An object.
    Object(Arc<ObjectShape>),
}

/// What is known about an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectShape {
    /// The known fields; each may be missing.
    pub fields: Vec<(Str, Shape)>,
    /// Whether it has other fields.
    pub others: OtherFields,
}

/// Whether an object has fields beside the known ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OtherFields {
    /// There are none.
    None,
    /// None are declared, but the declaration does not exclude them.
    Undeclared,
    /// There may be any.
    #[default]
    Any,
}

/// The part of a shape under a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    /// The part, or nothing is known about it.
    Known(Shape),
    /// The object has no such field.
    Missing(Arc<ObjectShape>),
    /// It is not an object: the type with its article.
    NotObject(&'static str),
}

impl Shape {
    /// An object with these fields.
    pub fn object(fields: Vec<(Str, Shape)>, others: OtherFields) -> Self {
        match fields.len() > FIELDS_MAX {
            true => Self::Any,
            false => Self::Object(Arc::new(ObjectShape { fields, others })),
        }
    }

    /// A list of items of this shape.
    pub fn list(item: Shape) -> Self {
        Self::List(Arc::new(item))
    }

    /// The shape of a value.
    pub fn of_value(value: &Value) -> Self {
        Self::of_value_at(value, 0)
    }

    fn of_value_at(value: &Value, depth: usize) -> Self {
        if depth > DEPTH_MAX {
            return Self::Any;
        }
        match value {
            Value::Null => Self::Any,
            Value::Bool(_) => Self::Bool,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::Text,
            Value::Array(items) => {
                let items = items.iter().take(FIELDS_MAX);
                let items = items.map(|item| Self::of_value_at(item, depth + 1));
                Self::list(items.reduce(|a, b| a.or(&b)).unwrap_or_default())
            }
            Value::Object(map) => {
                let fields = map.iter().take(FIELDS_MAX + 1);
                let fields = fields
                    .map(|(key, value)| (key.clone(), Self::of_value_at(value, depth + 1)))
                    .collect();
                Self::object(fields, OtherFields::None)
            }
        }
    }

    /// The shape of values that match a JSON Schema.
    pub fn of_schema(schema: &Value) -> Self {
        Self::of_schema_at(schema, schema, OtherFields::Undeclared, 0)
    }

    /// The same for a schema that is known to name every field.
    pub fn of_exact_schema(schema: &Value) -> Self {
        Self::of_schema_at(schema, schema, OtherFields::None, 0)
    }

    fn of_schema_at(schema: &Value, root: &Value, silent: OtherFields, depth: usize) -> Self {
        if depth > DEPTH_MAX {
            return Self::Any;
        }
        if let Some(target) = schema.get("$ref") {
            return match local_reference(root, target) {
                Some(target) => Self::of_schema_at(target, root, silent, depth + 1),
                None => Self::Any,
            };
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(choice).and_then(Value::as_array) {
                let is_null =
                    |one: &&Value| one.get("type").and_then(Value::as_str) == Some("null");
                let shapes = choices.iter().filter(|one| !is_null(one));
                let shapes = shapes.map(|one| Self::of_schema_at(one, root, silent, depth + 1));
                return shapes.reduce(|a, b| a.or(&b)).unwrap_or_default();
            }
        }
        // Parts that are combined are not taken apart.
        let combined = [
            "allOf",
            "not",
            "if",
            "patternProperties",
            "dependentSchemas",
        ];
        if combined.iter().any(|key| schema.get(key).is_some()) {
            return Self::Any;
        }
        match single_type(schema) {
            Some("string") => Self::Text,
            Some("number" | "integer") => Self::Number,
            Some("boolean") => Self::Bool,
            Some("array") => {
                let item = schema.get("items");
                Self::list(item.map_or(Self::Any, |item| {
                    Self::of_schema_at(item, root, silent, depth + 1)
                }))
            }
            Some("object") => {
                let fields = schema.get("properties").and_then(Value::as_object);
                let others = match (schema.get("additionalProperties"), fields) {
                    (Some(Value::Bool(false)), _) => OtherFields::None,
                    (None, Some(_)) => silent,
                    (Some(_), _) | (None, None) => OtherFields::Any,
                };
                let fields = fields.into_iter().flat_map(|map| map.iter());
                let fields = fields.take(FIELDS_MAX + 1).map(|(key, part)| {
                    (
                        key.clone(),
                        Self::of_schema_at(part, root, silent, depth + 1),
                    )
                });
                Self::object(fields.collect(), others)
            }
            _ => Self::Any,
        }
    }

    /// The shape of a value that has one of two shapes.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        self.or_at(other, 0)
    }

    fn or_at(&self, other: &Self, depth: usize) -> Self {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) if Arc::ptr_eq(a, b) => self.clone(),
            (Self::Object(a), Self::Object(b)) if depth <= DEPTH_MAX / 2 => {
                let mut fields = a.fields.clone();
                for (key, shape) in &b.fields {
                    match fields.iter_mut().find(|(known, _)| known == key) {
                        Some((_, known)) => *known = known.or_at(shape, depth + 1),
                        None => fields.push((key.clone(), shape.clone())),
                    }
                }
                Self::object(fields, a.others.max(b.others))
            }
            (Self::List(a), Self::List(b)) if depth <= DEPTH_MAX / 2 => {
                Self::list(a.or_at(b, depth + 1))
            }
            (Self::List(a) | Self::Items(a), Self::List(b) | Self::Items(b))
                if depth <= DEPTH_MAX / 2 =>
            {
                Self::Items(Arc::new(a.or_at(b, depth + 1)))
            }
            (Self::Text, Self::Text) | (Self::Number, Self::Number) | (Self::Bool, Self::Bool) => {
                self.clone()
            }
            (
                Self::Any
                | Self::Text
                | Self::Number
                | Self::Bool
                | Self::List(_)
                | Self::Items(_)
                | Self::Object(_),
                _,
            ) => Self::Any,
        }
    }

    /// The same object with one more field that may be there.
    #[must_use]
    pub fn with_field(&self, key: &str, shape: Shape) -> Self {
        let Self::Object(known) = self else {
            return Self::Any;
        };
        let mut fields = known.fields.clone();
        if !fields.iter().any(|(name, _)| name == key) {
            fields.push((key.into(), shape));
        }
        Self::object(fields, known.others)
    }

    /// The shape of one item, as a step of a path sees it.
    #[must_use]
    pub fn item(&self) -> Self {
        match self {
            Self::List(item) | Self::Items(item) => match item.as_ref() {
                // Nested lists are flattened step by step.
                Self::List(_) | Self::Items(_) => item.item(),
                Self::Any | Self::Text | Self::Number | Self::Bool | Self::Object(_) => {
                    (**item).clone()
                }
            },
            Self::Any | Self::Text | Self::Number | Self::Bool | Self::Object(_) => self.clone(),
        }
    }

    /// Whether it is or may be a list.
    pub(crate) fn is_plural(&self) -> bool {
        matches!(self, Self::List(_) | Self::Items(_))
    }

    /// The part under a key, for a value that is one item.
    pub(crate) fn part(&self, key: &str) -> Part {
        match self.item() {
            Self::Any | Self::List(_) | Self::Items(_) => Part::Known(Self::Any),
            Self::Text => Part::NotObject("a string"),
            Self::Number => Part::NotObject("a number"),
            Self::Bool => Part::NotObject("a boolean"),
            Self::Object(object) => match object.fields.iter().find(|(known, _)| known == key) {
                Some((_, shape)) => Part::Known(shape.clone()),
                None if object.others == OtherFields::Any => Part::Known(Self::Any),
                None => Part::Missing(object),
            },
        }
    }
}

/// The type of a schema, if there is one beside null.
fn single_type(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => Some(kind),
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds
                .iter()
                .filter_map(Value::as_str)
                .filter(|kind| *kind != "null");
            let first = kinds.next();
            first.filter(|_| kinds.next().is_none())
        }
        None if schema.get("properties").is_some() => Some("object"),
        _ => None,
    }
}

/// The target of a reference inside the same schema.
pub fn local_reference<'s>(root: &'s Value, target: &Value) -> Option<&'s Value> {
    let path = target.as_str()?.strip_prefix('#')?;
    path.split('/').skip(1).try_fold(root, |at, step| {
        at.get(&step.replace("~1", "/").replace("~0", "~"))
    })
}
