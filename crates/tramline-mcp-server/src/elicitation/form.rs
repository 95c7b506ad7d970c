//! Elicitation form of a paused run, and the answer in it.

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, JsonObject,
};
use serde_json::json;
use tramline_expr::{Str, Value};
use tramline_views::pause_view;
use tramline_workflow::form::{FormQuestion as AskedForm, content_from_texts, form_fields};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{Answer, Pause};
use tramline_workflow::workflow::Action;

/// A decision about a pause.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormDecision {
    /// An answer to the pause.
    Answer(Answer),
    /// Abort the run.
    Abort,
}

/// Content of a returned form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormAnswer {
    /// A decision, with an optional reason.
    Decided(FormDecision, Option<String>),
    /// No decision: the run stays paused.
    Undecided,
    /// The form is invalid, for this reason.
    Invalid(String),
}

/// An option of a form: its value, and its label for people.
type FormOption = (&'static str, &'static str);

const APPROVAL_OPTIONS: &[FormOption] =
    &[("approve", "Approve"), ("reject", "Reject and end the run")];
const LAYER_OPTIONS: &[FormOption] = &[("continue", "Continue"), ("stop", "Stop the run")];
const CALL_OPTIONS: &[FormOption] = &[
    ("proceed", "Proceed"),
    ("skip", "Skip the call and use the result below"),
    ("reject", "Reject and end the run"),
];
const IN_DOUBT_OPTIONS: &[FormOption] = &[
    ("retry", "Call again (it may be the second time)"),
    ("skip", "Do not call again; use the result below"),
    ("abort", "End the run"),
];
const CHILD_OPTIONS: &[FormOption] = &[
    ("retry", "Check again whether the called run has ended"),
    ("skip", "End the called run; use the result below"),
    ("abort", "End both runs"),
];

const BUDGET_OPTIONS: &[FormOption] = &[
    ("extend", "Extend by the same amount"),
    ("reject", "Reject and end the run"),
];

fn form_options(pause: &Pause) -> &'static [FormOption] {
    match pause {
        Pause::Approval { .. } => APPROVAL_OPTIONS,
        Pause::Layer { .. } => LAYER_OPTIONS,
        Pause::Break { .. } | Pause::Effect { .. } => CALL_OPTIONS,
        Pause::InDoubt { .. } => IN_DOUBT_OPTIONS,
        Pause::Child { .. } => CHILD_OPTIONS,
        Pause::Budget { .. } => BUDGET_OPTIONS,
        // The document describes the form.
        Pause::Form { .. } => &[],
    }
}

fn accepts(pause: &Pause, word: &str) -> bool {
    form_options(pause).iter().any(|(way, _)| *way == word)
}

/// Maximum size of a form's text, in bytes: clients show it in a small window.
const MESSAGE_BYTES_MAX: usize = 8 << 10;
/// Maximum size of arguments that can be edited in the form, in bytes.
const EDITED_BYTES_MAX: usize = 4 << 10;

/// A question for a form: its data and the pause.
pub(crate) struct FormQuestion<'p> {
    /// The question with its call, requester and history.
    pub(crate) asked: Value,
    /// The pause.
    pub(crate) pause: &'p Pause,
    /// What was wrong with the answer before.
    pub(crate) note: Option<&'p str>,
}

/// The question as text, with the call it is about.
fn message_text(graph: &Graph, run: &RunId, shown: &FormQuestion<'_>) -> String {
    let FormQuestion { asked, pause, .. } = shown;
    let says = pause_view::message(graph, pause);
    let action = pause.node().map(|node| &graph.node(node).action);
    let called = match action {
        Some(Action::Call { tool, .. }) => format!(", calling {tool}"),
        _ => String::new(),
    };
    let mut message = format!("`{}`{called}: {says} ({run})", graph.workflow.name);
    for line in pause_view::detail_lines(asked) {
        message.push('\n');
        message.push_str(&line);
    }
    if message.len() > MESSAGE_BYTES_MAX {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        message.push_str(&format!(
            "…\n(truncated; `tramline runs show {run} --full` shows everything)"
        ));
    }
    message
}

/// The form field for editing the arguments, if they can be edited.
fn arguments_field(shown: &FormQuestion<'_>) -> Option<serde_json::Value> {
    let call = shown
        .pause
        .call()
        .filter(|_| pause_view::is_editable(shown.pause))?;
    let arguments = match &call.arguments {
        Value::Null => "{}".to_owned(),
        other => other.to_json(),
    };
    if arguments.len() > EDITED_BYTES_MAX {
        return None;
    }
    Some(json!({
        "type": "string", "title": "Arguments",
        "description": "Arguments of the call as JSON; edit them to change the call",
        "default": arguments,
    }))
}

/// The form for a pause.
pub(crate) fn form(
    graph: &Graph,
    run: &RunId,
    shown: &FormQuestion<'_>,
) -> Result<ElicitRequestParams, serde_json::Error> {
    let pause = shown.pause;
    if let Pause::Form { form, .. } = pause {
        return document_form(graph, run, form, shown.note);
    }
    let ways = form_options(pause);
    let words_of: Vec<_> = ways.iter().map(|(word, _)| *word).collect();
    let titles: Vec<_> = ways.iter().map(|(_, title)| *title).collect();
    let mut fields = JsonObject::new();
    let decision = json!({
        "type": "string", "title": "Decision", "enum": words_of, "enumNames": titles,
    });
    fields.insert("decision".into(), decision);
    if accepts(pause, "skip") {
        let result = json!({
            "type": "string", "title": "Result",
            "description": "With skip: the result to use instead of a call, as JSON",
        });
        fields.insert("result".into(), result);
    }
    if let Some(arguments) = arguments_field(shown) {
        fields.insert("arguments".into(), arguments);
    }
    let reason = json!({
        "type": "string", "title": "Reason", "description": "Recorded in the run",
    });
    fields.insert("reason".into(), reason);
    let schema = json!({ "type": "object", "properties": fields, "required": ["decision"] });
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message_text(graph, run, shown),
        requested_schema: serde_json::from_value::<ElicitationSchema>(schema)?,
    })
}

/// The form that a document describes, in the flat subset that clients draw.
fn document_form(
    graph: &Graph,
    run: &RunId,
    form: &AskedForm,
    note: Option<&str>,
) -> Result<ElicitRequestParams, serde_json::Error> {
    let fields = form_fields(form);
    let required = fields.iter().filter(|field| field.is_required);
    let required: Vec<_> = required.map(|field| field.name.to_string()).collect();
    let fields = fields.iter();
    let fields = fields.map(|field| (field.name.to_string(), (&field.schema).into()));
    let properties: JsonObject = fields.collect();
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    let mut message = format!("{}\n\n(`{}`, {run})", form.message, graph.workflow.name);
    if let Some(note) = note {
        message = format!("{note}\n\n{message}");
    }
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: serde_json::from_value::<ElicitationSchema>(schema)?,
    })
}

/// Reads the answer in a form that a document describes.
fn read_document_form(form: &AskedForm, result: &ElicitResult) -> FormAnswer {
    let answer = match result.action {
        ElicitationAction::Accept => {
            let content = result.content.clone();
            let content = content.unwrap_or_else(|| JsonObject::new().into());
            match content_from_texts(form, &content.into()) {
                Ok(content) => Answer::Submit { content },
                Err(says) => return FormAnswer::Invalid(says),
            }
        }
        ElicitationAction::Decline => Answer::Decline,
        ElicitationAction::Cancel => Answer::Cancel,
        // The library's enum is non-exhaustive; an unknown action decides nothing.
        _ => return FormAnswer::Undecided,
    };
    FormAnswer::Decided(FormDecision::Answer(answer), None)
}

/// Reads the answer in the form of a pause.
pub(crate) fn read_answer(pause: &Pause, result: &ElicitResult) -> FormAnswer {
    if let Pause::Form { form, .. } = pause {
        return read_document_form(form, result);
    }
    match result.action {
        ElicitationAction::Accept => {}
        ElicitationAction::Cancel => return FormAnswer::Undecided,
        // Declining an approval rejects it; for a call in doubt it decides nothing.
        ElicitationAction::Decline => {
            return match pause {
                Pause::Approval { .. } | Pause::Layer { .. } => {
                    FormAnswer::Decided(FormDecision::Answer(Answer::Reject), None)
                }
                Pause::InDoubt { .. }
                | Pause::Break { .. }
                | Pause::Effect { .. }
                | Pause::Child { .. }
                | Pause::Form { .. }
                | Pause::Budget { .. } => FormAnswer::Undecided,
            };
        }
        // The library's enum is non-exhaustive; an unknown action decides nothing.
        _ => return FormAnswer::Undecided,
    }
    let text = |key: &str| {
        let field = result.content.as_ref()?.get(key)?.as_str()?.trim();
        (!field.is_empty()).then(|| field.to_owned())
    };
    let Some(word) = text("decision") else {
        return FormAnswer::Invalid("`decision` is required".into());
    };
    let known = accepts(pause, &word);
    let decision = match word.as_str() {
        "approve" | "continue" | "proceed" if known => {
            match approval_with_edits(pause, text("arguments")) {
                Ok(answer) => FormDecision::Answer(answer),
                Err(says) => return FormAnswer::Invalid(says),
            }
        }
        "reject" | "stop" if known => FormDecision::Answer(Answer::Reject),
        "retry" if known => FormDecision::Answer(Answer::Retry),
        "abort" if known => FormDecision::Abort,
        "extend" if known => FormDecision::Answer(Answer::Extend {
            budget: pause_view::default_extension(pause).unwrap_or_default(),
        }),
        "skip" if known => FormDecision::Answer(Answer::Skip {
            output: typed_result(text("result")),
        }),
        _ => {
            let ways: Vec<_> = form_options(pause).iter().map(|(way, _)| *way).collect();
            let says = format!("unknown decision `{word}`; use one of: {}", ways.join(", "));
            return FormAnswer::Invalid(says);
        }
    };
    FormAnswer::Decided(decision, text("reason"))
}

/// An approval, with edited arguments if they differ from those shown.
fn approval_with_edits(pause: &Pause, typed: Option<String>) -> Result<Answer, String> {
    let (Some(call), Some(typed)) = (pause.call(), typed) else {
        return Ok(Answer::Proceed);
    };
    let arguments = Value::from_json(&typed)
        .map_err(|error| format!("the arguments are not valid JSON: {error}"))?;
    let empty = call.arguments.is_null() && arguments == Value::object::<&str>([]);
    match arguments == call.arguments || empty {
        true => Ok(Answer::Proceed),
        false => Ok(Answer::ProceedWith { arguments }),
    }
}

/// A result entered in the form: JSON, or plain text.
fn typed_result(typed: Option<String>) -> Value {
    let Some(typed) = typed else {
        return Value::Null;
    };
    Value::from_json(&typed).unwrap_or_else(|_| Str::from(typed).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_workflow::ids::{NodeIx, ToolName};
    use tramline_workflow::journal::ProposedCall;

    fn said(pause: &Pause, content: serde_json::Value) -> FormAnswer {
        let result = ElicitResult::new(ElicitationAction::Accept).with_content(content);
        read_answer(pause, &result)
    }

    #[test]
    fn each_pause_has_its_own_words() {
        let node = NodeIx(0);
        let call = ProposedCall::new(
            ToolName::new("shop", "refund"),
            Value::object([("amount", 1.into())]),
        );
        let approval = Pause::Approval {
            node,
            reason: "r".into(),
            source: None,
            call: Some(Box::new(call)),
        };
        let doubt = Pause::InDoubt {
            step: 1,
            node,
            call: None,
        };
        let decided = |answer, why: Option<&str>| {
            FormAnswer::Decided(FormDecision::Answer(answer), why.map(str::to_owned))
        };
        let skipped = |output: Value| decided(Answer::Skip { output }, None);
        for (pause, content, expected) in [
            (
                &approval,
                json!({"decision": "approve"}),
                decided(Answer::Proceed, None),
            ),
            (
                &approval,
                json!({"decision": "approve", "arguments": "{ \"amount\": 1 }"}),
                decided(Answer::Proceed, None),
            ),
            (
                &approval,
                json!({"decision": "approve", "arguments": "{\"amount\":2}"}),
                decided(
                    Answer::ProceedWith {
                        arguments: Value::object([("amount", 2.into())]),
                    },
                    None,
                ),
            ),
            (
                &approval,
                json!({"decision": "reject", "reason": " no "}),
                decided(Answer::Reject, Some("no")),
            ),
            (
                &doubt,
                json!({"decision": "retry", "reason": ""}),
                decided(Answer::Retry, None),
            ),
            (
                &doubt,
                json!({"decision": "skip", "result": "{\"a\":1}"}),
                skipped(Value::object([("a", 1.into())])),
            ),
            (
                &doubt,
                json!({"decision": "skip", "result": "sent"}),
                skipped("sent".into()),
            ),
            (&doubt, json!({"decision": "skip"}), skipped(Value::Null)),
            (
                &doubt,
                json!({"decision": "abort"}),
                FormAnswer::Decided(FormDecision::Abort, None),
            ),
        ] {
            assert_eq!(said(pause, content.clone()), expected, "{content}");
        }
        for (pause, content) in [
            (&doubt, json!({"decision": "approve"})),
            (&approval, json!({"decision": "retry"})),
            (
                &approval,
                json!({"decision": "approve", "arguments": "amount 2"}),
            ),
            (&approval, json!({})),
        ] {
            assert!(matches!(said(pause, content), FormAnswer::Invalid(_)));
        }
        let action = |action| ElicitResult::new(action);
        let no = read_answer(&approval, &action(ElicitationAction::Decline));
        assert_eq!(no, decided(Answer::Reject, None));
        let silent = read_answer(&doubt, &action(ElicitationAction::Decline));
        assert_eq!(silent, FormAnswer::Undecided);
        let closed = read_answer(&approval, &action(ElicitationAction::Cancel));
        assert_eq!(closed, FormAnswer::Undecided);
    }
}
