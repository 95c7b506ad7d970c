//! What a paused run asks, as a form that a client can show, and what was answered in it.

use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, JsonObject,
};
use serde_json::json;
use tramline_core::graph::Graph;
use tramline_core::ids::RunId;
use tramline_core::journal::{Answer, Pause};
use tramline_core::workflow::Action;
use tramline_core::{Str, Value, question};

/// What somebody decided about a pause.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Decision {
    /// This is the answer.
    Answer(Answer),
    /// The run is to end.
    Abort,
}

/// What came back from a form.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// Something was decided, perhaps with a reason.
    Decided(Decision, Option<String>),
    /// Nothing was: the run goes on waiting.
    Nothing,
    /// What was filled in makes no sense.
    Wrong(String),
}

/// One of the ways to answer a pause: the word, and what it means for people.
type Way = (&'static str, &'static str);

const APPROVAL: &[Way] = &[("approve", "Approve"), ("reject", "Reject: the run ends")];
const LAYER: &[Way] = &[("continue", "Continue"), ("stop", "Stop: the run ends")];
const CALL: &[Way] = &[
    ("proceed", "Go on"),
    ("skip", "Do not call: take the result below"),
    ("reject", "Reject: the run ends"),
];
const IN_DOUBT: &[Way] = &[
    ("retry", "Call again: it may be the second time"),
    ("skip", "Do not call again: take the result below"),
    ("abort", "End the run"),
];

const BUDGET: &[Way] = &[
    ("extend", "Go on: as much again"),
    ("reject", "Reject: the run ends"),
];

fn ways(pause: &Pause) -> &'static [Way] {
    match pause {
        Pause::Approval { .. } => APPROVAL,
        Pause::Layer { .. } => LAYER,
        Pause::Break { .. } | Pause::Effect { .. } => CALL,
        Pause::InDoubt { .. } | Pause::Child { .. } => IN_DOUBT,
        Pause::Budget { .. } => BUDGET,
    }
}

fn takes(pause: &Pause, word: &str) -> bool {
    ways(pause).iter().any(|(way, _)| *way == word)
}

/// A form's text is cut after so many bytes: clients show it in a small window.
const MESSAGE_BYTES_MAX: usize = 8 << 10;
/// Arguments that take more bytes are not put into the form to be edited.
const EDITED_BYTES_MAX: usize = 4 << 10;

/// A question as a client shows it: what is known about it as data, and the pause itself.
pub(super) struct Shown<'p> {
    /// The question with its call, who wants it, and what was done so far.
    pub(super) asked: Value,
    /// The pause.
    pub(super) pause: &'p Pause,
}

/// The question in words, with what would be called.
fn words(graph: &Graph, run: &RunId, shown: &Shown<'_>) -> String {
    let Shown { asked, pause } = shown;
    let says = question::says(graph, pause);
    let action = pause.node().map(|node| &graph.node(node).action);
    let called = match action {
        Some(Action::Call { tool, .. }) => format!(", a call of {tool}"),
        _ => String::new(),
    };
    let mut message = format!("`{}`{called}: {says} ({run})", graph.workflow.name);
    for line in question::lines(asked) {
        message.push('\n');
        message.push_str(&line);
    }
    if message.len() > MESSAGE_BYTES_MAX {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        message.push_str(&format!(
            "…\n(cut; `tramline runs show {run} --full` shows all of it)"
        ));
    }
    message
}

/// The field in which a person can change the arguments, where that is possible.
fn arguments_field(shown: &Shown<'_>) -> Option<serde_json::Value> {
    let call = shown
        .pause
        .call()
        .filter(|_| question::is_editable(shown.pause))?;
    let arguments = match &call.arguments {
        Value::Null => "{}".to_owned(),
        other => other.to_json(),
    };
    if arguments.len() > EDITED_BYTES_MAX {
        return None;
    }
    Some(json!({
        "type": "string", "title": "Arguments",
        "description": "What the tool is called with, as JSON. Change it to call with something else",
        "default": arguments,
    }))
}

/// The form for a pause.
pub(super) fn form(
    graph: &Graph,
    run: &RunId,
    shown: &Shown<'_>,
) -> Result<ElicitRequestParams, serde_json::Error> {
    let pause = shown.pause;
    let ways = ways(pause);
    let words_of: Vec<_> = ways.iter().map(|(word, _)| *word).collect();
    let titles: Vec<_> = ways.iter().map(|(_, title)| *title).collect();
    let mut fields = JsonObject::new();
    let decision = json!({
        "type": "string", "title": "Decision", "enum": words_of, "enumNames": titles,
    });
    fields.insert("decision".into(), decision);
    if takes(pause, "skip") {
        let result = json!({
            "type": "string", "title": "Result",
            "description": "With skip: what the call is taken to have given, as JSON",
        });
        fields.insert("result".into(), result);
    }
    if let Some(arguments) = arguments_field(shown) {
        fields.insert("arguments".into(), arguments);
    }
    let reason = json!({
        "type": "string", "title": "Reason", "description": "For whoever reads the run later",
    });
    fields.insert("reason".into(), reason);
    let schema = json!({ "type": "object", "properties": fields, "required": ["decision"] });
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: words(graph, run, shown),
        requested_schema: serde_json::from_value::<ElicitationSchema>(schema)?,
    })
}

/// What was answered in the form of a pause.
pub(super) fn read(pause: &Pause, result: &ElicitResult) -> Said {
    match result.action {
        ElicitationAction::Accept => {}
        ElicitationAction::Cancel => return Said::Nothing,
        // Who declines to approve has not approved; about a call in doubt it says nothing.
        ElicitationAction::Decline => {
            return match pause {
                Pause::Approval { .. } | Pause::Layer { .. } => {
                    Said::Decided(Decision::Answer(Answer::Reject), None)
                }
                Pause::InDoubt { .. }
                | Pause::Break { .. }
                | Pause::Effect { .. }
                | Pause::Child { .. }
                | Pause::Budget { .. } => Said::Nothing,
            };
        }
        // The library leaves itself room for more; what we do not know decides nothing.
        _ => return Said::Nothing,
    }
    let text = |key: &str| {
        let field = result.content.as_ref()?.get(key)?.as_str()?.trim();
        (!field.is_empty()).then(|| field.to_owned())
    };
    let Some(word) = text("decision") else {
        return Said::Wrong("no decision was given".into());
    };
    let known = takes(pause, &word);
    let decision = match word.as_str() {
        "approve" | "continue" | "proceed" if known => match edited(pause, text("arguments")) {
            Ok(answer) => Decision::Answer(answer),
            Err(says) => return Said::Wrong(says),
        },
        "reject" | "stop" if known => Decision::Answer(Answer::Reject),
        "retry" if known => Decision::Answer(Answer::Retry),
        "abort" if known => Decision::Abort,
        "extend" if known => Decision::Answer(Answer::Extend {
            budget: question::extension(pause).unwrap_or_default(),
        }),
        "skip" if known => Decision::Answer(Answer::Skip {
            output: output(text("result")),
        }),
        _ => {
            let ways: Vec<_> = ways(pause).iter().map(|(way, _)| *way).collect();
            let says = format!("`{word}` is no decision; these are: {}", ways.join(", "));
            return Said::Wrong(says);
        }
    };
    Said::Decided(decision, text("reason"))
}

/// A yes, with the arguments that somebody typed if they are others than those that were shown.
fn edited(pause: &Pause, typed: Option<String>) -> Result<Answer, String> {
    let (Some(call), Some(typed)) = (pause.call(), typed) else {
        return Ok(Answer::Proceed);
    };
    let arguments =
        Value::from_json(&typed).map_err(|error| format!("the arguments are no JSON: {error}"))?;
    let empty = call.arguments.is_null() && arguments == Value::object::<&str>([]);
    match arguments == call.arguments || empty {
        true => Ok(Answer::Proceed),
        false => Ok(Answer::ProceedWith { arguments }),
    }
}

/// A result that somebody typed: JSON, or else their words as they are.
fn output(typed: Option<String>) -> Value {
    let Some(typed) = typed else {
        return Value::Null;
    };
    Value::from_json(&typed).unwrap_or_else(|_| Str::from(typed).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tramline_core::ids::{NodeIx, ToolName};
    use tramline_core::journal::ProposedCall;

    fn said(pause: &Pause, content: serde_json::Value) -> Said {
        let result = ElicitResult::new(ElicitationAction::Accept).with_content(content);
        read(pause, &result)
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
            Said::Decided(Decision::Answer(answer), why.map(str::to_owned))
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
                Said::Decided(Decision::Abort, None),
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
            assert!(matches!(said(pause, content), Said::Wrong(_)));
        }
        let action = |action| ElicitResult::new(action);
        let no = read(&approval, &action(ElicitationAction::Decline));
        assert_eq!(no, decided(Answer::Reject, None));
        let silent = read(&doubt, &action(ElicitationAction::Decline));
        assert_eq!(silent, Said::Nothing);
        let closed = read(&approval, &action(ElicitationAction::Cancel));
        assert_eq!(closed, Said::Nothing);
    }
}
