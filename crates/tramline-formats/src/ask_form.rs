//! The question of an `ask` node, which all formats write with the same fields.

use crate::yaml_graph::fields;
use tramline_expr::{Map, Str, Value};
use tramline_syntax::FlawCollector;
use tramline_syntax::document::Spanned;
use tramline_workflow::flaw::FlawCode;
use tramline_workflow::form::{
    CANCEL_LABEL, DECLINE_LABEL, FORM_TIMEOUT_MS_MAX, FormRespondents, FormSpec, TIMEOUT_LABEL,
};
use tramline_workflow::ids::{BUILTIN, ToolName};
use tramline_workflow::text::{display_name, parse_duration_ms};
use tramline_workflow::workflow::Template;

/// The name of the type, and of the tool by which formats without types refer to it.
pub(crate) const ASK: &str = "ask";
/// The field with the text that the person reads.
pub(crate) const MESSAGE: &str = "message";
/// The text where the format cannot express the real one, which is listed as lost.
const LOST_MESSAGE: &str = "Fill in this form.";
/// The field with the values with which the form begins.
pub(crate) const DEFAULTS: &str = "defaults";
/// The fields that say who may answer.
const ANSWERED_BY: [&str; 2] = ["answered-by", "answeredBy"];
/// The fields of a question.
pub(crate) const ASK_FIELDS: [&str; 6] = [
    MESSAGE,
    "schema",
    DEFAULTS,
    "timeout",
    ANSWERED_BY[0],
    ANSWERED_BY[1],
];
/// The fields with the next node after a form that was not filled in, and their labels.
pub(crate) const ASK_EDGES: [(&str, &str); 6] = [
    ("on-decline", DECLINE_LABEL),
    ("onDecline", DECLINE_LABEL),
    ("on-cancel", CANCEL_LABEL),
    ("onCancel", CANCEL_LABEL),
    ("on-timeout", TIMEOUT_LABEL),
    ("onTimeout", TIMEOUT_LABEL),
];

/// The field with the next node after a form that ended with this label.
pub(crate) fn edge_field(label: &str) -> Option<&'static str> {
    let found = ASK_EDGES.iter().find(|(_, known)| *known == label);
    found.map(|(field, _)| *field)
}

/// The tool by which tasks and plans refer to a question.
pub(crate) fn tool() -> ToolName {
    ToolName::new(BUILTIN, ASK)
}

/// Reads a question. `message` and `defaults` were read by the format, which knows its expressions.
pub(crate) fn read(
    at: Spanned<'_>,
    owner: &str,
    (message, defaults): (Option<Template>, Option<Template>),
    flaws: &mut FlawCollector,
) -> Option<FormSpec> {
    if message.is_none() {
        let hint = "write what the person is asked";
        fields::report_missing(at, owner, MESSAGE, hint, flaws);
    }
    let hint = "describe the answer as JSON Schema: `type: object` with `properties`";
    let schema = match fields::present(at, "schema") {
        Some(schema) if schema.value.as_object().is_some() => Some(schema.value.clone()),
        Some(schema) => {
            fields::report_wrong_type(schema, "schema", "an object", hint, flaws);
            None
        }
        None => {
            fields::report_missing(at, owner, "schema", hint, flaws);
            None
        }
    };
    if let (Some(Template::Literal(value)), Some(given)) =
        (&defaults, fields::present(at, DEFAULTS))
        && value.as_object().is_none()
    {
        let hint = "write one `field: value` for each value the form begins with";
        fields::report_wrong_type(given, DEFAULTS, "an object", hint, flaws);
    }
    let timeout_ms = fields::present(at, "timeout").and_then(|at| timeout(at, flaws));
    let answered_by = respondents(at, flaws);
    Some(FormSpec {
        message: message?,
        schema: schema?,
        defaults,
        timeout_ms,
        answered_by,
    })
}

/// How long the question waits.
fn timeout(at: Spanned<'_>, flaws: &mut FlawCollector) -> Option<u64> {
    let given = match at.value {
        Value::String(text) => parse_duration_ms(text),
        other => other.as_u64(),
    };
    let fitting = given.filter(|ms| (1..=FORM_TIMEOUT_MS_MAX).contains(ms));
    if fitting.is_none() {
        let message = format!(
            "`timeout` must be a time from 1ms to a year, not {}",
            at.value
        );
        let hint = "write milliseconds as a number, or a string like `5m`, `2h`, `3d`";
        flaws.add(FlawCode::WrongType, at.source_span(), message, hint);
    }
    fitting
}

fn respondents(at: Spanned<'_>, flaws: &mut FlawCollector) -> FormRespondents {
    let given = fields::first_present(at, &ANSWERED_BY);
    let Some((word, place)) = given.and_then(|(key, at)| fields::string_value(at, key, flaws))
    else {
        return FormRespondents::default();
    };
    let known = FormRespondents::ALL
        .iter()
        .find(|(name, _)| *name == word.as_str());
    match known {
        Some((_, who)) => *who,
        None => {
            let word = display_name(word);
            flaws.add(
                FlawCode::WrongType,
                place.source_span(),
                format!("`answered-by` must be `anyone` or `people`, not `{word}`"),
                "with `anyone`, an agent may relay the answer; with `people`, only a person answers",
            );
            FormRespondents::default()
        }
    }
}

/// Writes a question. `write` writes a template in the format's syntax.
pub(crate) fn write(
    form: &FormSpec,
    map: &mut Map,
    mut write: impl FnMut(&Template) -> Option<Value>,
) {
    let message = write(&form.message).unwrap_or_else(|| LOST_MESSAGE.into());
    map.insert(MESSAGE, message);
    map.insert("schema", form.schema.clone());
    if let Some(defaults) = form.defaults.as_ref().and_then(write) {
        map.insert(DEFAULTS, defaults);
    }
    if let Some(ms) = form.timeout_ms {
        map.insert("timeout", ms.into());
    }
    if form.answered_by != FormRespondents::default() {
        map.insert(ANSWERED_BY[0], form.answered_by.as_str().into());
    }
}

/// The fields of a question in the schema for editors.
pub(crate) fn field_schema(name: &str) -> Option<serde_json::Value> {
    let next = |when: &str| {
        serde_json::json!({
            "type": "string", "minLength": 1, "description": format!("The next node {when}."),
        })
    };
    Some(match name {
        MESSAGE => serde_json::json!({
            "type": ["string", "object"],
            "description": "What the person is asked: text, or an expression."
        }),
        "schema" => serde_json::json!({
            "type": "object",
            "required": ["type", "properties"],
            "properties": {"type": {"const": "object"}},
            "description": "The JSON Schema of the answer, an object. Flat fields (text, number, \
                yes or no, choices) are drawn by every client; others are filled in as JSON."
        }),
        DEFAULTS => serde_json::json!({
            "type": ["object", "string"],
            "description": "The values with which the form begins, by field."
        }),
        "timeout" => serde_json::json!({
            "type": ["integer", "string"],
            "minimum": 1,
            "description": "How long the question waits: milliseconds, or text like 2h. Default: forever."
        }),
        "answered-by" | "answeredBy" => serde_json::json!({
            "enum": FormRespondents::ALL.map(|(name, _)| name),
            "description": "`anyone`: an agent may relay the answer; `people`: only a person answers."
        }),
        "on-decline" | "onDecline" => {
            next("if the person declines. Default: the run ends as rejected")
        }
        "on-cancel" | "onCancel" => {
            next("if the person dismisses the form. Default: the question stays open")
        }
        "on-timeout" | "onTimeout" => next("if nobody answers in time. Default: the node fails"),
        _ => return None,
    })
}

/// The arguments of a question as a tool, for plans.
pub fn tool_input_schema() -> Value {
    let text = |says: &str| {
        Value::object([
            ("type", Value::from("string")),
            ("description", says.into()),
        ])
    };
    let object = |says: &str| {
        Value::object([
            ("type", Value::from("object")),
            ("description", says.into()),
        ])
    };
    let fields: [(&str, Value); 5] = [
        (MESSAGE, text("What the person is asked")),
        (
            "schema",
            object("JSON Schema of the answer: an object with flat properties"),
        ),
        (DEFAULTS, object("The values with which the form begins")),
        ("timeout", text("How long the question waits, such as 2h")),
        (ANSWERED_BY[0], text("`anyone` or `people`")),
    ];
    Value::object([
        ("type", Value::from("object")),
        ("properties", Value::object(fields)),
        (
            "required",
            Value::array([Value::from(MESSAGE), Str::from("schema").into()]),
        ),
        ("additionalProperties", false.into()),
    ])
}
