//! JSON Schema validation of inputs and results.
//!
//! Most schemas in workflows are simple: an object, its properties, their types. Those are checked
//! here directly, without compiling or converting anything, so that a process that runs one graph
//! does not pay for a validator. All others use the full validator.

use jsonschema::PatternOptions;
use serde_json::Value as Json;
use std::fmt;
use std::sync::OnceLock;
use tramline_expr::{Offload, Value};

mod check_cost;
mod cost_graph;
mod defaults;
mod references;
mod simple;

use check_cost::CheckEffort;
pub use check_cost::{SCHEMA_WORK_INLINE_MAX, SCHEMA_WORK_MAX};
use cost_graph::SchemaCostGraph;
pub use cost_graph::{
    SCHEMA_APPLICATIONS_MAX, SCHEMA_DEPTH_MAX, SCHEMA_PATTERNS_MAX, SUBSCHEMAS_MAX,
};
pub use defaults::with_defaults;

/// Errors reported per value; enough to fix a call in one go.
const ERRORS_MAX: usize = 20;
/// Characters of an error message; some messages quote the whole value.
const MESSAGE_CHARS_MAX: usize = 300;

/// Backtracking steps per pattern match; patterns with look-around or back-references can need
/// exponentially many.
const BACKTRACKS_MAX: usize = 10_000;
/// Bytes of one compiled pattern; bounds memory.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// The known types, for messages about an unknown one.
const TYPES: &str = "null, boolean, integer, number, string, array and object";

/// Checks values against one schema.
pub struct Checker(CheckerKind);

enum CheckerKind {
    Plain(simple::SimpleSchema),
    Full(Box<FullChecker>),
}

/// A schema that needs the full validator.
struct FullChecker {
    validator: jsonschema::Validator,
    plan: SchemaCostGraph,
}

/// Why a value is not a valid schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSchema {
    /// The location in the schema, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for InvalidSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

impl std::error::Error for InvalidSchema {}

/// Validation errors: JSON pointers with messages.
pub type SchemaErrors = Vec<(String, String)>;

impl Checker {
    /// Compiles a schema. Schemas outside the document are not fetched.
    pub fn new(schema: &Value) -> Result<Self, InvalidSchema> {
        if let Some(plain) = simple::SimpleSchema::read(schema) {
            return Ok(Self(CheckerKind::Plain(plain)));
        }
        let json = Json::from(schema);
        // Checked before compiling, because compiling also unfolds some references.
        let plan = SchemaCostGraph::of(&json).map_err(|message| InvalidSchema {
            pointer: String::new(),
            message,
        })?;
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACKS_MAX)
            .size_limit(PATTERN_BYTES_MAX)
            .dfa_size_limit(PATTERN_BYTES_MAX);
        jsonschema::options()
            .with_pattern_options(patterns)
            .build(&json)
            .map(|validator| Self(CheckerKind::Full(Box::new(FullChecker { validator, plan }))))
            .map_err(|error| {
                let pointer = error.instance_path().as_str().to_owned();
                let message = match pointer.ends_with("/type") {
                    true => format!("{} is not a type; types are {TYPES}", error.instance()),
                    false => error.to_string(),
                };
                InvalidSchema {
                    pointer,
                    message: truncate(&message),
                }
            })
    }

    /// Checks a value on the current thread, however long that takes.
    pub fn check(&self, value: &Value) -> Result<(), SchemaErrors> {
        self.check_with(value, |work| work())
    }

    /// Checks a value. Long checks run through `long`; checks that would take too long are
    /// rejected.
    pub fn check_with(&self, value: &Value, long: Offload) -> Result<(), SchemaErrors> {
        let faults = match &self.0 {
            CheckerKind::Plain(schema) => schema.errors(value),
            CheckerKind::Full(full) => full.errors(value, long),
        };
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    /// Whether the schema is handled without the full validator.
    pub fn is_plain(&self) -> bool {
        matches!(self.0, CheckerKind::Plain(_))
    }
}

impl FullChecker {
    fn errors(&self, value: &Value, long: Offload) -> SchemaErrors {
        let json = Json::from(value);
        match self.plan.effort(&json) {
            CheckEffort::Small if self.validator.is_valid(&json) => Vec::new(),
            CheckEffort::Small => {
                let errors = self.validator.iter_errors(&json).take(ERRORS_MAX);
                errors.map(|error| schema_error(&error)).collect()
            }
            CheckEffort::Large => {
                let mut faults = Vec::new();
                long(&mut || faults = self.large_value_errors(&json));
                faults
            }
        }
    }

    /// Checks a large value. Only the first error is reported, because all of them could take as
    /// much memory as the value.
    fn large_value_errors(&self, json: &Json) -> SchemaErrors {
        if self.plan.is_within(json, SCHEMA_WORK_MAX) {
            let first = self.validator.validate(json).err();
            return first.iter().map(schema_error).collect();
        }
        let message = format!(
            "the value is too large for its schema: the check would take more than \
             {SCHEMA_WORK_MAX} steps, or nest more than {SCHEMA_DEPTH_MAX} levels; make the value \
             smaller or the schema simpler"
        );
        vec![(String::new(), message)]
    }
}

fn schema_error(error: &jsonschema::ValidationError<'_>) -> (String, String) {
    let pointer = error.instance_path().as_str().to_owned();
    (pointer, truncate(&error.to_string()))
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker")
            .field("plain", &self.is_plain())
            .finish_non_exhaustive()
    }
}

fn truncate(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}

/// Checks a value and returns a sentence per error; without a checker every value is valid.
pub(crate) fn check_optional(
    checker: Option<&Checker>,
    value: &Value,
    long: Offload,
) -> Result<(), Vec<String>> {
    let sentence = |(pointer, message): (String, String)| match pointer.as_str() {
        "" => message,
        pointer => format!("{pointer}: {message}"),
    };
    checker
        .map_or(Ok(()), |checker| checker.check_with(value, long))
        .map_err(|faults| faults.into_iter().map(sentence).collect())
}

/// A checker compiled on first use; `None` if there is no schema or it is invalid.
#[derive(Debug, Default)]
pub(crate) struct LazyChecker(OnceLock<Option<Checker>>);

impl LazyChecker {
    pub(crate) fn get(&self, schema: Option<&Value>) -> Option<&Checker> {
        self.0
            .get_or_init(|| schema.and_then(|schema| Checker::new(schema).ok()))
            .as_ref()
    }

    /// Stores a checker that has already been compiled.
    pub(crate) fn keep(&self, made: Option<Checker>) {
        if made.is_some() {
            // A checker that was stored first is equal.
            let _ = self.0.set(made);
        }
    }
}

#[cfg(test)]
mod limit_tests;
#[cfg(test)]
mod tests;
