//! JSON Schema: whether a value is what a workflow takes or gives.
//!
//! Most schemas in workflows say little: an object, its properties, their types. Those are checked
//! here directly, with nothing to compile and nothing to convert, so that a process that runs one
//! graph does not pay for a validator. All others go to one.

use jsonschema::PatternOptions;
use serde_json::Value as Json;
use std::fmt;
use std::sync::OnceLock;
use tramline_expr::{LongWork, Value};

mod plain;
mod plan;
mod reference;
mod work;

use plan::Plan;
pub use plan::{SCHEMA_APPLICATIONS_MAX, SCHEMA_DEPTH_MAX, SCHEMA_PATTERNS_MAX, SUBSCHEMAS_MAX};
use work::Effort;
pub use work::{SCHEMA_WORK_INLINE_MAX, SCHEMA_WORK_MAX};

/// So many faults of one value are told: enough to mend a call in one go.
const FAULTS_MAX: usize = 20;
/// Messages about a value are cut here, in characters: some quote the whole value.
const MESSAGE_CHARS_MAX: usize = 300;

/// Steps back that one match of a pattern may take; patterns that look around or refer back can need
/// exponentially many.
const BACKTRACKS_MAX: usize = 10_000;
/// Bytes that one pattern may be compiled to.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// The types there are, for those who wrote another.
const TYPES: &str = "null, boolean, integer, number, string, array and object";

/// Checks values against one schema.
pub struct Checker(Kind);

enum Kind {
    Plain(plain::Schema),
    Full(Box<Full>),
}

/// A schema that needs a validator.
struct Full {
    validator: jsonschema::Validator,
    plan: Plan,
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
        // Before anything is compiled: compiling unfolds some references too.
        let plan = Plan::of(&json).map_err(|message| BadSchema {
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
            .map(|validator| Self(Kind::Full(Box::new(Full { validator, plan }))))
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

    /// Checks a value where it is asked for, however long that takes.
    pub fn check(&self, value: &Value) -> Result<(), Faults> {
        self.check_by(value, |work| work())
    }

    /// Checks a value. What takes long is done by `long`; what takes too long is refused.
    pub fn check_by(&self, value: &Value, long: LongWork) -> Result<(), Faults> {
        let faults = match &self.0 {
            Kind::Plain(schema) => schema.faults(value),
            Kind::Full(full) => full.faults(value, long),
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

impl Full {
    fn faults(&self, value: &Value, long: LongWork) -> Faults {
        let json = Json::from(value);
        match self.plan.effort(&json) {
            Effort::Small if self.validator.is_valid(&json) => Vec::new(),
            Effort::Small => {
                let errors = self.validator.iter_errors(&json).take(FAULTS_MAX);
                errors.map(|error| fault(&error)).collect()
            }
            Effort::Large => {
                let mut faults = Vec::new();
                long(&mut || faults = self.large_faults(&json));
                faults
            }
        }
    }

    /// What is wrong with a large value: the first fault alone, since all of them could take as much
    /// room again as the value.
    fn large_faults(&self, json: &Json) -> Faults {
        if self.plan.is_within(json, SCHEMA_WORK_MAX) {
            let first = self.validator.validate(json).err();
            return first.iter().map(fault).collect();
        }
        let message = format!(
            "the value is too large for its schema: the check would take more than \
             {SCHEMA_WORK_MAX} steps, or nest more than {SCHEMA_DEPTH_MAX} levels; make the value \
             smaller or the schema simpler"
        );
        vec![(String::new(), message)]
    }
}

fn fault(error: &jsonschema::ValidationError<'_>) -> (String, String) {
    let pointer = error.instance_path().as_str().to_owned();
    (pointer, cut(&error.to_string()))
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
pub(crate) fn verdict(
    checker: Option<&Checker>,
    value: &Value,
    long: LongWork,
) -> Result<(), Vec<String>> {
    let sentence = |(pointer, message): (String, String)| match pointer.as_str() {
        "" => message,
        pointer => format!("{pointer}: {message}"),
    };
    checker
        .map_or(Ok(()), |checker| checker.check_by(value, long))
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
mod bound_tests;
#[cfg(test)]
mod tests;
