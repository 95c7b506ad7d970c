//! JSON Schema: whether a value is what a workflow takes or gives.
//!
//! Most schemas in workflows say little: an object, its properties, their types. Those are checked
//! here directly, with nothing to compile and nothing to convert, so that a process that runs one
//! graph does not pay for a validator. All others go to one.

use serde_json::Value as Json;
use std::fmt;
use std::sync::OnceLock;
use tramline_expr::Value;

mod plain;

/// So many faults of one value are told: enough to mend a call in one go.
const FAULTS_MAX: usize = 20;
/// Messages about a value are cut here, in characters: some quote the whole value.
const MESSAGE_CHARS_MAX: usize = 300;

/// The types there are, for those who wrote another.
const TYPES: &str = "null, boolean, integer, number, string, array and object";

/// Checks values against one schema.
pub struct Checker(Kind);

enum Kind {
    Plain(plain::Schema),
    Full(Box<jsonschema::Validator>),
}

/// Why something is not a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSchema {
    /// Where in the schema, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for BadSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

impl std::error::Error for BadSchema {}

/// What is wrong with a value: each time where (a JSON pointer) and what.
pub type Faults = Vec<(String, String)>;

impl Checker {
    /// Makes ready to check against a schema, if it is one. Schemas outside the document are not
    /// fetched.
    pub fn new(schema: &Value) -> Result<Self, BadSchema> {
        if let Some(plain) = plain::Schema::read(schema) {
            return Ok(Self(Kind::Plain(plain)));
        }
        let json = Json::from(schema);
        jsonschema::validator_for(&json)
            .map(|validator| Self(Kind::Full(Box::new(validator))))
            .map_err(|error| {
                let pointer = error.instance_path().as_str().to_owned();
                let message = match pointer.ends_with("/type") {
                    true => format!("{} is no type; types are {TYPES}", error.instance()),
                    false => error.to_string(),
                };
                BadSchema {
                    pointer,
                    message: cut(&message),
                }
            })
    }

    /// Checks a value.
    pub fn check(&self, value: &Value) -> Result<(), Faults> {
        let faults = match &self.0 {
            Kind::Plain(schema) => schema.faults(value),
            Kind::Full(validator) => {
                let json = Json::from(value);
                validator
                    .iter_errors(&json)
                    .take(FAULTS_MAX)
                    .map(|error| {
                        let pointer = error.instance_path().as_str().to_owned();
                        (pointer, cut(&error.to_string()))
                    })
                    .collect()
            }
        };
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Whether the schema needed no compiling.
    pub fn is_plain(&self) -> bool {
        matches!(self.0, Kind::Plain(_))
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker")
            .field("plain", &self.is_plain())
            .finish_non_exhaustive()
    }
}

fn cut(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}

/// What is wrong with a value, a sentence each; nothing where there is no checker.
pub(crate) fn verdict(checker: Option<&Checker>, value: &Value) -> Result<(), Vec<String>> {
    let sentence = |(pointer, message): (String, String)| match pointer.as_str() {
        "" => message,
        pointer => format!("{pointer}: {message}"),
    };
    checker
        .map_or(Ok(()), |checker| checker.check(value))
        .map_err(|faults| faults.into_iter().map(sentence).collect())
}

/// A checker made when it is first needed; none where there is no schema, or none that is one.
#[derive(Debug, Default)]
pub(crate) struct Lazy(OnceLock<Option<Checker>>);

impl Lazy {
    pub(crate) fn get(&self, schema: Option<&Value>) -> Option<&Checker> {
        self.0
            .get_or_init(|| schema.and_then(|schema| Checker::new(schema).ok()))
            .as_ref()
    }

    /// Keeps a checker that was made already.
    pub(crate) fn keep(&self, made: Option<Checker>) {
        if made.is_some() {
            // Whoever came first made the same.
            let _ = self.0.set(made);
        }
    }
}

#[cfg(test)]
mod tests;
