//! The subset of JSON Schema that nearly every tool uses, checked without the full validator.

use super::ERRORS_MAX;
use std::cmp::Ordering;
use tramline_expr::{Number, Str, Value};

/// The supported dialect; a schema that names another one uses the full validator.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Nesting levels of a schema handled here; deeper ones use the full validator.
const DEPTH_MAX: usize = 32;

/// Properties, required names or choices of one schema handled here, because they are searched
/// linearly; larger ones use the full validator, which has tables.
const LISTED_MAX: usize = 256;

/// Known names listed in a message about an unknown one.
const NAMED_MAX: usize = 12;

/// A schema in the supported subset.
#[derive(Debug, Default)]
pub(super) struct SimpleSchema {
    /// Empty allows every type.
    types: Vec<SchemaType>,
    properties: Vec<(Str, SimpleSchema)>,
    required: Vec<Str>,
    others: AdditionalProperties,
    items: Option<Box<SimpleSchema>>,
    choices: Option<Vec<Value>>,
    bounds: Vec<(NumericBound, Number)>,
    sizes: Vec<(SizeBound, u64)>,
}

/// Which properties are allowed in addition to the declared ones.
#[derive(Debug, Default)]
enum AdditionalProperties {
    #[default]
    Any,
    None,
    Like(Box<SimpleSchema>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchemaType {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

#[derive(Clone, Copy, Debug)]
enum NumericBound {
    Least,
    Most,
    Above,
    Below,
}

#[derive(Clone, Copy, Debug)]
enum SizeBound {
    CharsLeast,
    CharsMost,
    ItemsLeast,
    ItemsMost,
}

impl SimpleSchema {
    /// Reads a schema if it only uses the supported subset.
    pub(super) fn read(schema: &Value) -> Option<Self> {
        Self::read_level(schema, 0)
    }

    fn read_level(schema: &Value, depth: usize) -> Option<Self> {
        if depth > DEPTH_MAX {
            return None;
        }
        if let Value::Bool(true) = schema {
            return Some(Self::default());
        }
        let mut read = Self::default();
        for (key, value) in schema.as_object()?.iter() {
            read.keyword(key, value, depth)?;
        }
        Some(read)
    }

    fn keyword(&mut self, key: &str, value: &Value, depth: usize) -> Option<()> {
        let below = |schema: &Value| Self::read_level(schema, depth + 1);
        match key {
            "type" => self.types = types(value)?,
            "properties" => {
                let listed = value.as_object().filter(|all| all.len() <= LISTED_MAX)?;
                for (name, schema) in listed.iter() {
                    self.properties.push((name.clone(), below(schema)?));
                }
            }
            "required" => self.required = names(value)?,
            "items" => self.items = Some(Box::new(below(value)?)),
            "additionalProperties" => {
                self.others = match value {
                    Value::Bool(false) => AdditionalProperties::None,
                    other => AdditionalProperties::Like(Box::new(below(other)?)),
                }
            }
            "enum" => self.choices = Some(choices(value)?),
            "const" => self.choices = Some(vec![value.clone()]),
            "minimum" => self.bound(NumericBound::Least, value)?,
            "maximum" => self.bound(NumericBound::Most, value)?,
            "exclusiveMinimum" => self.bound(NumericBound::Above, value)?,
            "exclusiveMaximum" => self.bound(NumericBound::Below, value)?,
            "minLength" => self.sizes.push((SizeBound::CharsLeast, value.as_u64()?)),
            "maxLength" => self.sizes.push((SizeBound::CharsMost, value.as_u64()?)),
            "minItems" => self.sizes.push((SizeBound::ItemsLeast, value.as_u64()?)),
            "maxItems" => self.sizes.push((SizeBound::ItemsMost, value.as_u64()?)),
            "title" | "description" | "$comment" | "format" => value.as_str().map(|_| ())?,
            "deprecated" | "readOnly" | "writeOnly" => value.as_bool().map(|_| ())?,
            "examples" => value.as_array().map(|_| ())?,
            "default" => {}
            "$schema" => (value.as_str()? == DIALECT).then_some(())?,
            _ => return None,
        }
        Some(())
    }

    fn bound(&mut self, bound: NumericBound, value: &Value) -> Option<()> {
        let Value::Number(number) = value else {
            return None;
        };
        self.bounds.push((bound, *number));
        Some(())
    }

    /// The validation errors of a value.
    pub(super) fn errors(&self, value: &Value) -> super::SchemaErrors {
        let mut faults = Vec::new();
        self.check(value, &mut String::new(), &mut faults);
        faults.truncate(ERRORS_MAX);
        faults
    }

    fn check(&self, value: &Value, pointer: &mut String, faults: &mut super::SchemaErrors) {
        if faults.len() >= ERRORS_MAX {
            return;
        }
        let mut fault = |message: String| faults.push((pointer.clone(), message));
        if !self.types.is_empty() && !self.types.iter().any(|kind| kind.holds(value)) {
            let names: Vec<_> = self.types.iter().map(|kind| kind.name()).collect();
            fault(format!(
                "must be {}, not {}",
                names.join(" or "),
                value.kind()
            ));
            return;
        }
        if let Some(choices) = &self.choices
            && !choices.contains(value)
        {
            let names: Vec<_> = choices
                .iter()
                .take(ERRORS_MAX)
                .map(Value::to_string)
                .collect();
            fault(super::truncate(&format!(
                "must be one of {}",
                names.join(", ")
            )));
        }
        match value {
            Value::Number(number) => self.number(*number, &mut fault),
            Value::String(text) => self.size(text.chars().count(), true, &mut fault),
            Value::Array(items) => {
                self.size(items.len(), false, &mut fault);
                if let Some(schema) = &self.items {
                    for (at, item) in items.iter().enumerate() {
                        if faults.len() >= ERRORS_MAX {
                            return;
                        }
                        check_child(schema, item, &at.to_string(), pointer, faults);
                    }
                }
            }
            Value::Object(_) => self.object(value, pointer, faults),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn object(&self, value: &Value, pointer: &mut String, faults: &mut super::SchemaErrors) {
        for name in &self.required {
            if value.get(name).is_none() {
                faults.push((pointer.clone(), format!("`{name}` is missing")));
            }
        }
        for (key, field) in value.as_object().into_iter().flat_map(|map| map.iter()) {
            if faults.len() >= ERRORS_MAX {
                return;
            }
            let known = self.properties.iter().find(|(name, _)| name == key);
            match (known, &self.others) {
                (Some((_, schema)), _) => check_child(schema, field, key, pointer, faults),
                (None, AdditionalProperties::Any) => {}
                (None, AdditionalProperties::Like(schema)) => {
                    check_child(schema, field, key, pointer, faults)
                }
                (None, AdditionalProperties::None) => {
                    faults.push((pointer.clone(), self.unknown_field_message(key)));
                }
            }
        }
    }

    /// The message for an unknown field: the closest name, or the known ones.
    fn unknown_field_message(&self, key: &str) -> String {
        let names = || self.properties.iter().map(|(name, _)| name.as_str());
        let hint = match crate::text::nearest(key, names()) {
            Some(near) => format!("; did you mean `{near}`?"),
            None if self.properties.is_empty() => String::new(),
            None => {
                let all: Vec<_> = names().take(NAMED_MAX).collect();
                format!("; known fields are {}", all.join(", "))
            }
        };
        format!("unknown field `{}`{hint}", crate::text::display_name(key))
    }

    fn number(&self, number: Number, fault: &mut impl FnMut(String)) {
        for (bound, limit) in &self.bounds {
            let order = number.partial_cmp(limit);
            let (holds, word) = match bound {
                NumericBound::Least => (order != Some(Ordering::Less), "at least"),
                NumericBound::Most => (order != Some(Ordering::Greater), "at most"),
                NumericBound::Above => (order == Some(Ordering::Greater), "more than"),
                NumericBound::Below => (order == Some(Ordering::Less), "less than"),
            };
            if !holds {
                let (limit, number) = (Value::Number(*limit), Value::Number(number));
                fault(format!("must be {word} {limit}, not {number}"));
            }
        }
    }

    fn size(&self, length: usize, is_text: bool, fault: &mut impl FnMut(String)) {
        for (size, limit) in &self.sizes {
            let length = length as u64;
            let (holds, what) = match size {
                SizeBound::CharsLeast => (!is_text || length >= *limit, "at least"),
                SizeBound::CharsMost => (!is_text || length <= *limit, "at most"),
                SizeBound::ItemsLeast => (is_text || length >= *limit, "at least"),
                SizeBound::ItemsMost => (is_text || length <= *limit, "at most"),
            };
            if !holds {
                let unit = if is_text { "characters" } else { "items" };
                fault(format!("must have {what} {limit} {unit}, not {length}"));
            }
        }
    }
}

fn check_child(
    schema: &SimpleSchema,
    value: &Value,
    key: &str,
    pointer: &mut String,
    faults: &mut super::SchemaErrors,
) {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    schema.check(value, pointer, faults);
    pointer.truncate(length);
}

fn choices(value: &Value) -> Option<Vec<Value>> {
    let listed = value.as_array()?;
    let fits = (1..=LISTED_MAX).contains(&listed.len());
    fits.then(|| listed.to_vec())
}

fn types(value: &Value) -> Option<Vec<SchemaType>> {
    match value {
        Value::String(name) => Some(vec![SchemaType::named(name)?]),
        Value::Array(names) if !names.is_empty() => {
            let mut types = Vec::with_capacity(names.len());
            for name in names.iter() {
                let kind = SchemaType::named(name.as_str()?)?;
                // A repeated type is not valid JSON Schema; the full validator reports it.
                (!types.contains(&kind)).then(|| types.push(kind))?;
            }
            Some(types)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            None
        }
    }
}

fn names(value: &Value) -> Option<Vec<Str>> {
    let mut names: Vec<Str> = Vec::new();
    let listed = value.as_array().filter(|all| all.len() <= LISTED_MAX)?;
    for name in listed {
        let name = name.as_str()?;
        (!names.iter().any(|known| known == name)).then(|| names.push(name.into()))?;
    }
    Some(names)
}

impl SchemaType {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }

    fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null)
            | (Self::Boolean, Value::Bool(_))
            | (Self::Number, Value::Number(_))
            | (Self::String, Value::String(_))
            | (Self::Array, Value::Array(_))
            | (Self::Object, Value::Object(_)) => true,
            (Self::Integer, Value::Number(number)) => number.as_f64().fract() == 0.0,
            (
                Self::Null
                | Self::Boolean
                | Self::Integer
                | Self::Number
                | Self::String
                | Self::Array
                | Self::Object,
                _,
            ) => false,
        }
    }
}
