//! Reads a tool's arguments; errors name what is missing or has the wrong type.

use tramline_expr::Value;
use tramline_workflow::failure::{Failure, FailureKind};

/// A tool's arguments.
pub(crate) struct Arguments<'a> {
    tool: &'static str,
    values: &'a Value,
}

impl<'a> Arguments<'a> {
    /// The arguments of `tool`; unknown ones are rejected.
    pub(crate) fn new(
        tool: &'static str,
        values: &'a Value,
        known: &[&str],
    ) -> Result<Self, Failure> {
        let Some(map) = values.as_object() else {
            return Err(bad_arguments(format!(
                "{tool} takes an object of arguments, not {}",
                values.kind()
            )));
        };
        match map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(bad_arguments(format!(
                "{tool} has no argument `{key}`; it takes {}",
                known.join(", ")
            ))),
            None => Ok(Self { tool, values }),
        }
    }

    /// A required string.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Failure> {
        self.values
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| self.wrong_type(name, "a string"))
    }

    /// An optional string.
    pub(crate) fn text_or(&self, name: &str, default: &'a str) -> Result<&'a str, Failure> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(_) => self.text(name),
        }
    }

    /// An optional boolean.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Failure> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.wrong_type(name, "true or false")),
        }
    }

    /// An optional value of any type.
    pub(crate) fn any(&self, name: &str) -> Option<&'a Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// The failure for an argument that is missing or has the wrong type.
    pub(crate) fn wrong_type(&self, name: &str, wanted: &str) -> Failure {
        let found = match self.values.get(name) {
            None => "it is missing".to_owned(),
            Some(value) => format!("it is {}", value.kind()),
        };
        bad_arguments(format!(
            "{}: `{name}` must be {wanted}, but {found}",
            self.tool
        ))
    }
}

pub(crate) fn bad_arguments(message: String) -> Failure {
    Failure::new(FailureKind::BadArguments, message)
}
