//! Questions with a form: what an `ask` node says, what its pause records, and how an answer is
//! checked.

use crate::workflow::Template;
use serde::{Deserialize, Serialize};
use tramline_expr::{Str, Value};

mod answer;
mod fields;
mod schema;

pub use answer::{
    check_content, check_field, complete_content, content_from_pairs, content_from_texts,
};
pub use fields::{FormField, form_fields, initial_value};
pub use schema::{FORM_FIELDS_MAX, FORM_SCHEMA_BYTES_MAX, check_form_schema};

/// Bytes of a form's message; clients show it in a small window.
pub const FORM_MESSAGE_BYTES_MAX: usize = 16 << 10;
/// Bytes of JSON of an answer; it is stored in the journal and shown in lists.
pub const FORM_ANSWER_BYTES_MAX: usize = 1 << 20;
/// Milliseconds that a question may wait for its answer: a year.
pub const FORM_TIMEOUT_MS_MAX: u64 = 366 * 24 * 60 * 60 * 1_000;

/// The label of a form that was declined.
pub const DECLINE_LABEL: &str = "decline";
/// The label of a form that was dismissed without a decision.
pub const CANCEL_LABEL: &str = "cancel";
/// The label of a form that nobody answered in time.
pub const TIMEOUT_LABEL: &str = "timeout";

/// Who may answer a form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormRespondents {
    /// An agent may relay the answer, unless its client can show its user the form.
    #[default]
    Anyone,
    /// Only a person.
    People,
}

impl FormRespondents {
    /// Every setting, with its name in documents.
    pub const ALL: [(&'static str, Self); 2] = [("anyone", Self::Anyone), ("people", Self::People)];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anyone => "anyone",
            Self::People => "people",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The question of an `ask` node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormSpec {
    /// What the person reads.
    pub message: Template,
    /// The JSON Schema of the answer: an object.
    pub schema: Value,
    /// The values with which the form begins, by field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<Template>,
    /// How long the question waits, in milliseconds. Without it, it waits forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Who may answer.
    #[serde(default, skip_serializing_if = "FormRespondents::is_default")]
    pub answered_by: FormRespondents,
}

/// A question as it was asked: everything computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormQuestion {
    /// What the person reads.
    pub message: Str,
    /// The JSON Schema of the answer: an object.
    pub schema: Value,
    /// The values with which the form begins, an object.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub defaults: Value,
    /// When nobody can answer any more, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    /// Who may answer.
    #[serde(default, skip_serializing_if = "FormRespondents::is_default")]
    pub answered_by: FormRespondents,
}

/// What the journal records as the output of a form that was not filled in.
pub fn unanswered_output(action: &str, why: Option<&str>) -> Value {
    let mut output = vec![("action", Value::from(action))];
    output.extend(why.map(|why| ("reason", Value::from(why))));
    Value::object(output)
}

#[cfg(test)]
mod tests;
