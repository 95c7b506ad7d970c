//! Calls of our tools in the audit: noted where every call passes, so that no tool can forget it.

use super::caller::Caller;
use super::reply;
use super::toolset::{Means, Own};
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value as Json;
use tramline_core::ids::RunId;
use tramline_core::{Map, Value};
use tramline_engine::Engine;
use tramline_engine::audit::Note;

/// By which door calls of tools come.
const DOOR: &str = "mcp";
/// Tools whose every call, refused ones too, is an event of the conversation it belongs to; they act
/// on nothing outside of it.
const JOURNALED: [&str; 4] = ["load_graph", "todo", "goto_node", "advance"];
/// Where our tools are told why they are called.
const WHY: [&str; 5] = ["feedback", "reason", "why", "intent", "new_requirement"];
/// Where our tools are told which run they are about, and say which one it was.
const RUN: [&str; 5] = [
    "workflow_id",
    "run_id",
    "runId",
    "checkpoint_id",
    "trace_path",
];
/// Arguments that are never written down: which tool's, and which.
const HIDDEN: [(&str, &str); 1] = [("settings_set", "value")];

/// Whether calls of a tool are noted: all but those that only look, or are journaled.
pub(super) fn is_noted(own: &Own) -> bool {
    own.hints.read_only != Some(true) && !JOURNALED.contains(&own.name)
}

/// A call that is to be noted.
pub(super) struct Noting {
    engine: Engine,
    note: Note,
}

/// Begins the note of a call.
pub(super) fn begin(means: &Means, tool: &str, arguments: &Value) -> Noting {
    Noting {
        engine: means.engine.clone(),
        note: note(means, tool, arguments),
    }
}

impl Noting {
    /// Answers the call. Its note is durable before the reply; where it cannot be written, the caller
    /// hears that instead.
    pub(super) async fn over(
        self,
        answering: impl Future<Output = CallToolResponse>,
    ) -> CallToolResponse {
        let noted = self.engine.noting(self.note, answering, complete).await;
        noted.unwrap_or_else(|fault| reply::fault(&fault, None).into())
    }
}

fn note(means: &Means, tool: &str, arguments: &Value) -> Note {
    let by = means.caller().by(&means.context);
    let mut note = Note::new(tool, by.as_str());
    let text = |keys: &[&str]| {
        let mut found = keys.iter().filter_map(|key| arguments.get(key)?.as_str());
        found.find(|text| !text.is_empty()).map(str::to_owned)
    };
    note.door = Some(DOOR.to_owned());
    note.person = means.caller().person.is_some();
    note.run = text(&RUN).map(run_of);
    note.session = text(&["session_id", "sessionId"]);
    note.why = text(&WHY).or_else(|| Some(format!("key {}", text(&["key"])?)));
    note.arguments = Some(means.engine.audited(&shown(tool, arguments)));
    note
}

/// The note of a request about a run that is no call of a tool.
pub(super) fn request(context: &RequestContext<RoleServer>, command: &str, run: &RunId) -> Note {
    let caller = Caller::of(context);
    let mut note = Note::new(command, caller.by(context).as_str());
    note.door = Some(DOOR.to_owned());
    note.person = caller.person.is_some();
    note.run = Some(run.to_string());
    note
}

/// What came of such a request.
pub(super) fn came_of_request(note: &mut Note, came: &Result<(), ErrorData>) {
    match came {
        Ok(()) => note.result = "done".to_owned(),
        Err(error) => {
            note.result = "refused".to_owned();
            note.error = Some(error.message.to_string());
        }
    }
}

/// The arguments without those that are never written down.
fn shown(tool: &str, arguments: &Value) -> Value {
    let is_hidden = |key: &str| HIDDEN.contains(&(tool, key));
    let Some(fields) = arguments.as_object() else {
        return arguments.clone();
    };
    let shown = fields.iter().map(|(key, value)| match is_hidden(key) {
        true => (key.clone(), "[hidden]".into()),
        false => (key.clone(), value.clone()),
    });
    shown.collect::<Map>().into()
}

/// The run that an id is about: its own, or that of a checkpoint.
fn run_of(id: String) -> String {
    match id.parse::<tramline_core::ids::Checkpoint>() {
        Ok(point) => point.run.to_string(),
        Err(_) => id,
    }
}

/// What came of a call, from its reply.
fn complete(note: &mut Note, reply: &CallToolResponse) {
    let result = match reply {
        CallToolResponse::Complete(result) => result,
        CallToolResponse::InputRequired(_) => {
            note.result = "asked".to_owned();
            return;
        }
        CallToolResponse::Task(_) => {
            note.result = "running".to_owned();
            return;
        }
        // The library leaves itself room for more.
        _ => return,
    };
    let told = result.structured_content.as_ref().unwrap_or(&Json::Null);
    let text = |at: &Json, key: &str| at.get(key).and_then(Json::as_str).map(str::to_owned);
    let data = told.get("data").unwrap_or(&Json::Null);
    if note
        .run
        .as_deref()
        .is_none_or(|run| run.parse::<RunId>().is_err())
    {
        let said = RUN
            .iter()
            .find_map(|key| text(told, key).or_else(|| text(data, key)));
        let said = said.map(run_of).filter(|run| run.parse::<RunId>().is_ok());
        note.run = said.or(note.run.take());
    }
    if is_refusal(result, told) {
        note.result = "refused".to_owned();
        note.error = Some(error(result, told));
        return;
    }
    let status = text(told, "status").or_else(|| text(data, "status"));
    note.result = status.unwrap_or_else(|| "done".to_owned());
}

fn is_refusal(result: &CallToolResult, told: &Json) -> bool {
    // A loop that asks its caller for a plan has not succeeded, and was not refused either.
    let failed = told.get("success") == Some(&Json::Bool(false)) && told.get("error").is_some();
    result.is_error == Some(true) || failed
}

/// Why a call was refused: the kind of error, and its message.
fn error(result: &CallToolResult, told: &Json) -> String {
    let error = told.get("error").unwrap_or(told);
    let part = |at: &Json, key: &str| at.get(key).and_then(Json::as_str).map(str::to_owned);
    let kind = error.get("data").and_then(|data| part(data, "name"));
    let kind = kind
        .or_else(|| part(error, "type"))
        .or_else(|| part(error, "code"));
    let message = part(error, "message").or_else(|| {
        let first = result.content.first()?;
        first.as_text().map(|text| text.text.clone())
    });
    let message = message.unwrap_or_default();
    match kind {
        Some(kind) => format!("{kind}: {message}"),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::toolset::Toolset;

    /// A new tool is noted unless it only looks; what is exempt by name is there and acts on nothing.
    #[test]
    fn every_tool_that_acts_is_noted() {
        let all = || Toolset::ALL.into_iter().flat_map(Toolset::tools);
        for own in all() {
            let looks = own.hints.read_only == Some(true);
            let journaled = JOURNALED.contains(&own.name);
            assert_eq!(is_noted(own), !looks && !journaled, "{}", own.name);
            assert!(
                !journaled || own.hints.destructive == Some(false),
                "{}",
                own.name
            );
        }
        for name in JOURNALED.iter().chain(HIDDEN.iter().map(|(tool, _)| tool)) {
            assert!(all().any(|own| own.name == *name), "{name}");
        }
    }
}
