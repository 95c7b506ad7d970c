//! Transcripts: recorded events, or the messages of common chat formats, read leniently.

use std::collections::HashMap;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::FailureKind;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{
    Entry, Event, MoveKind, SessionNote, SopEvent, ToolAnswered, ToolCalled,
};

/// Entries per transcript; bounds the memory of an audit.
const ENTRIES_MAX: usize = 1_000_000;

/// A recorded session.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// The name of the transcript.
    pub name: Str,
    /// What happened, in order.
    pub entries: Vec<TranscriptEntry>,
    /// The tools of nodes as listed in replies.
    pub listed_tools: Vec<(Str, Vec<Str>)>,
    /// Whether it records the result of any call.
    pub has_outcomes: bool,
    /// The calls that have no result yet, by the ids that results refer to.
    pending_calls: HashMap<Str, usize>,
}

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum TranscriptEntry {
    /// A message or a task list.
    Message,
    /// Slots were set.
    Slots(Value),
    /// A request to move to a node.
    Move(Str),
    /// A tool call.
    Call {
        /// The tool.
        tool: Str,
        /// The arguments.
        arguments: Value,
        /// The output, if it was recorded.
        output: Value,
        /// Whether it failed.
        failed: bool,
    },
}

/// Reads transcripts as JSON or JSON lines. Each is an object with `events` or `messages`, or a
/// list of those.
pub fn read(text: &str) -> Result<Vec<Transcript>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let values: Vec<Value> = match Value::from_json(text) {
        Ok(value) => vec![value],
        Err(whole) => {
            let lines = text
                .lines()
                .enumerate()
                .filter(|(_, line)| !line.trim().is_empty());
            let read = lines.map(|(at, line)| {
                Value::from_json(line).map_err(|error| format!("line {}: {error}", at + 1))
            });
            let read: Result<Vec<Value>, String> = read.collect();
            read.map_err(|error| match text.trim_start().starts_with('[') {
                true => whole.to_string(),
                false => error,
            })?
        }
    };
    let mut found = Vec::new();
    for value in &values {
        read_transcript(value, &mut found)?;
    }
    match found.is_empty() {
        true => Err("no transcript found: give an object with `events` or `messages`".to_owned()),
        false => Ok(found),
    }
}

impl Transcript {
    /// The transcript of an SOP session's journal; `None` for other journals.
    pub fn of_journal(id: &RunId, entries: &[Entry]) -> Option<Self> {
        let Event::Sop(SopEvent::SopStarted(begun)) = &entries.first()?.event else {
            return None;
        };
        let mut made = Self {
            name: id.as_str().into(),
            ..Self::default()
        };
        let mut calls: HashMap<u32, (usize, &ToolCalled)> = HashMap::new();
        for entry in entries {
            if entry.event.outcome().is_some() {
                made.entries.push(TranscriptEntry::Message);
            }
            let Event::Sop(event) = &entry.event else {
                continue;
            };
            match event {
                SopEvent::Moved(moved) => {
                    let sop = begun.sops.get(moved.to.sop as usize)?;
                    // The move into a nested procedure follows automatically.
                    if moved.way != MoveKind::Into {
                        made.entries.push(TranscriptEntry::Move(
                            sop.nodes.get(moved.to.node.index())?.id.clone(),
                        ));
                    }
                }
                SopEvent::Noted(note) => match &**note {
                    SessionNote::Slots(slots) => {
                        made.entries.push(TranscriptEntry::Slots(slots.clone()))
                    }
                    SessionNote::Todos(_) => made.entries.push(TranscriptEntry::Message),
                },
                SopEvent::ToolCalled(called) => {
                    calls.insert(called.call, (made.entries.len(), &**called));
                    made.entries.push(match &called.run {
                        None => call(called, None),
                        // A person was asked first: the call was only made if they approved.
                        Some(_) => TranscriptEntry::Message,
                    });
                }
                SopEvent::ToolAnswered(answered) => {
                    if let Some((at, called)) = calls.get(&answered.call)
                        && was_made(called, answered)
                        && let Some(act) = made.entries.get_mut(*at)
                    {
                        *act = call(called, Some(answered));
                    }
                }
                SopEvent::Refused(_) | SopEvent::SopStarted(_) => {
                    made.entries.push(TranscriptEntry::Message);
                }
            }
        }
        Some(made)
    }
}

/// A call as recorded in the journal.
fn call(called: &ToolCalled, answered: Option<&ToolAnswered>) -> TranscriptEntry {
    TranscriptEntry::Call {
        tool: called.tool.to_string().into(),
        arguments: called.arguments.clone(),
        output: answered.map(|it| it.output.clone()).unwrap_or_default(),
        failed: answered.is_none_or(|it| it.failure.is_some()),
    }
}

/// Whether a call was made: a rejected one was not.
fn was_made(called: &ToolCalled, answered: &ToolAnswered) -> bool {
    let failed = answered.failure.as_ref().map(|it| it.kind);
    let refused = matches!(
        failed,
        Some(FailureKind::Rejected | FailureKind::Cancelled | FailureKind::Forbidden)
    );
    called.run.is_none() || !refused
}

fn read_transcript(value: &Value, found: &mut Vec<Transcript>) -> Result<(), String> {
    if let Some(items) = value.as_array() {
        let is_list = |it: &Value| it.get("events").is_some() || it.get("messages").is_some();
        if items.iter().any(is_list) {
            return items
                .iter()
                .try_for_each(|item| read_transcript(item, found));
        }
    }
    let events = value.get("events").or_else(|| value.get("messages"));
    let Some(events) = events.or(Some(value)).and_then(Value::as_array) else {
        return Err("a transcript must have a list of `events` or `messages`".to_owned());
    };
    let name = ["name", "task", "task_id", "id", "run"]
        .iter()
        .find_map(|key| value.get(key));
    let mut made = Transcript {
        name: match name {
            Some(Value::String(name)) => name.clone(),
            Some(other) => other.to_string().into(),
            None => (found.len() + 1).to_string().into(),
        },
        ..Transcript::default()
    };
    for event in events {
        add_event(event, &mut made);
        if made.entries.len() > ENTRIES_MAX {
            return Err(format!("more than {ENTRIES_MAX} events, the limit"));
        }
    }
    made.pending_calls.clear();
    found.push(made);
    Ok(())
}

/// Whether an error field reports an error: recorders write false, null or an empty string where
/// there was none.
fn is_error(mark: &Value) -> bool {
    match mark {
        Value::Bool(failed) => *failed,
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    }
}

/// Arguments as recorded: data, or JSON as text.
fn arguments_of(given: Option<&Value>) -> Value {
    match given {
        Some(Value::String(text)) => Value::from_json(text).unwrap_or_default(),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

fn add_event(event: &Value, made: &mut Transcript) {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    if let Some(tool) = text("tool") {
        let arguments = event.get("args").or_else(|| event.get("arguments"));
        let output = event.get("result").or_else(|| event.get("output"));
        let failed = event.get("error").is_some_and(is_error);
        made.has_outcomes |= event.get("error").is_some() || output.is_some();
        let output = output.cloned().unwrap_or_default();
        add_call(tool, &arguments_of(arguments), output, failed, made);
        return;
    }
    if text("role") == Some("tool") {
        let id = text("tool_call_id").or_else(|| text("id"));
        let failed = ["error", "is_error"].iter();
        let failed = failed.filter_map(|key| event.get(key)).any(is_error);
        record_result(id, event.get("content"), failed, made);
        return;
    }
    let calls = event
        .get("tool_calls")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let blocks = event
        .get("content")
        .and_then(Value::as_array)
        .unwrap_or_default();
    if calls.is_empty() && blocks.is_empty() {
        made.entries.push(TranscriptEntry::Message);
    }
    for call in calls {
        let function = call.get("function").unwrap_or(call);
        let name = function
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let arguments = arguments_of(function.get("arguments"));
        let at = made.entries.len();
        add_call(name, &arguments, Value::Null, false, made);
        expect_result(call.get("id"), at, made);
    }
    for block in blocks {
        if block.get("type").and_then(Value::as_str) == Some("tool_use") {
            let name = block
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let at = made.entries.len();
            add_call(
                name,
                &arguments_of(block.get("input")),
                Value::Null,
                false,
                made,
            );
            expect_result(block.get("id"), at, made);
        }
        if block.get("type").and_then(Value::as_str) == Some("tool_result") {
            let id = block.get("tool_use_id").and_then(Value::as_str);
            let failed = block.get("is_error").is_some_and(is_error);
            record_result(id, block.get("content"), failed, made);
        }
    }
}

/// Remembers a call until its result appears.
fn expect_result(id: Option<&Value>, at: usize, made: &mut Transcript) {
    if let (Some(id), Some(TranscriptEntry::Call { .. })) =
        (id.and_then(Value::as_str), made.entries.get(at))
    {
        made.pending_calls.insert(id.into(), at);
    }
}

/// Records the result of an earlier call. The result of an unknown call is ignored.
fn record_result(
    id: Option<&str>,
    content: Option<&Value>,
    is_marked: bool,
    made: &mut Transcript,
) {
    made.has_outcomes = true;
    let Some(at) = id.and_then(|id| made.pending_calls.remove(id)) else {
        return;
    };
    // Some recorders only store the text.
    let says = content.and_then(Value::as_str).unwrap_or_default();
    if let Some(TranscriptEntry::Call { output, failed, .. }) = made.entries.get_mut(at) {
        *failed = is_marked || says.starts_with("Error");
        *output = arguments_of(content);
        if output.is_null() {
            *output = content.cloned().unwrap_or_default();
        }
    }
}

/// Classifies a call: a move, a task list, a call through the gate, or any other.
fn add_call(name: &str, arguments: &Value, output: Value, failed: bool, made: &mut Transcript) {
    // Clients prefix a tool's name with the server's name in different formats.
    let own = |own: &str| {
        name == own || name.ends_with(&format!("__{own}")) || name.ends_with(&format!(":{own}"))
    };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let slots = arguments.get("slots").filter(|it| it.as_object().is_some());
    if own("goto_node") || own("advance") {
        if let Some(slots) = slots {
            made.entries.push(TranscriptEntry::Slots(slots.clone()));
        }
        match text("node_id") {
            Some(node) => made.entries.push(TranscriptEntry::Move(node.into())),
            None => made.entries.push(TranscriptEntry::Message),
        }
        record_listed_tools(&output, made);
        // The automatic moves are in the reply.
        let passed = output
            .get("passed")
            .and_then(Value::as_array)
            .unwrap_or_default();
        let ids = passed
            .iter()
            .chain(output.get("node").filter(|_| own("advance")));
        for id in ids.filter_map(|it| it.get("id").and_then(Value::as_str)) {
            made.entries.push(TranscriptEntry::Move(id.into()));
        }
    } else if own("todo") || own("load_graph") || name.is_empty() {
        made.entries.push(TranscriptEntry::Message);
    } else {
        let (tool, arguments) = match (own("sop_call"), text("tool")) {
            (true, Some(tool)) => (
                tool,
                arguments.get("arguments").cloned().unwrap_or_default(),
            ),
            _ => (name, arguments.clone()),
        };
        made.entries.push(TranscriptEntry::Call {
            tool: tool.into(),
            arguments,
            output,
            failed,
        });
    }
}

/// Records the tools that a reply lists for its node.
fn record_listed_tools(output: &Value, made: &mut Transcript) {
    let Some(node) = output.get("node") else {
        return;
    };
    let tools = node
        .get("tools")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let tools: Vec<Str> = tools
        .iter()
        .filter_map(Value::as_str)
        .map(Into::into)
        .collect();
    if let (Some(id), false) = (node.get("id").and_then(Value::as_str), tools.is_empty()) {
        made.listed_tools.push((id.into(), tools));
    }
}
