//! Transcripts: recorded events, or the messages of the usual chat formats, read leniently.

use crate::failure::FailureKind;
use crate::ids::RunId;
use crate::journal::{Entry, Event, Note, ToolAnswered, ToolCalled, Way};
use std::collections::HashMap;
use tramline_expr::{Str, Value};

/// More acts than this are refused.
const ACTS_MAX: usize = 1_000_000;

/// A conversation as it was recorded.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    /// What it is called.
    pub name: Str,
    /// What happened, in order.
    pub acts: Vec<Act>,
    /// The tools of nodes as replies listed them.
    pub listed: Vec<(Str, Vec<Str>)>,
    /// Whether it says of any call how it ended.
    pub has_outcomes: bool,
    /// The calls by the ids that results name, until their results come.
    waiting: HashMap<Str, usize>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    /// Somebody said something, or wrote a list of tasks.
    Said,
    /// Slots were set.
    Slots(Value),
    /// The agent wanted to move to a node.
    Move(Str),
    /// The agent called a tool.
    Call {
        /// Which one.
        tool: Str,
        /// With what.
        arguments: Value,
        /// What it gave, where that was recorded.
        output: Value,
        /// Whether it failed.
        failed: bool,
    },
}

/// Reads transcripts: JSON, or a line of JSON each. Each is an object with `events` or `messages`, or
/// a list of those.
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
        one(value, &mut found)?;
    }
    match found.is_empty() {
        true => Err("there is no transcript: write `events` or `messages`".to_owned()),
        false => Ok(found),
    }
}

impl Transcript {
    /// A conversation that was held here, from its journal; nothing if that is of another kind.
    pub fn of_journal(id: &RunId, entries: &[Entry]) -> Option<Self> {
        let Event::Guided(begun) = &entries.first()?.event else {
            return None;
        };
        let mut made = Self {
            name: id.as_str().into(),
            ..Self::default()
        };
        let mut calls: HashMap<u32, (usize, &ToolCalled)> = HashMap::new();
        for entry in entries {
            match &entry.event {
                Event::Moved(moved) => {
                    let sop = begun.sops.get(moved.to.sop as usize)?;
                    // The step into another procedure follows by itself.
                    if moved.way != Way::Into {
                        made.acts
                            .push(Act::Move(sop.nodes.get(moved.to.node.at())?.id.clone()));
                    }
                }
                Event::Noted(note) => match &**note {
                    Note::Slots(slots) => made.acts.push(Act::Slots(slots.clone())),
                    Note::Todos(_) => made.acts.push(Act::Said),
                },
                Event::ToolCalled(called) => {
                    calls.insert(called.call, (made.acts.len(), &**called));
                    made.acts.push(match &called.run {
                        None => call(called, None),
                        // A person was asked first: it was made if they agreed.
                        Some(_) => Act::Said,
                    });
                }
                Event::ToolAnswered(answered) => {
                    if let Some((at, called)) = calls.get(&answered.call)
                        && is_made(called, answered)
                        && let Some(act) = made.acts.get_mut(*at)
                    {
                        *act = call(called, Some(answered));
                    }
                }
                Event::Refused(_) | Event::Guided(_) | Event::Finished { .. } => {
                    made.acts.push(Act::Said);
                }
                Event::Started(_)
                | Event::Resumed { .. }
                | Event::StepStarted { .. }
                | Event::Spread { .. }
                | Event::Gathered { .. }
                | Event::Waiting { .. }
                | Event::AttemptFailed { .. }
                | Event::StepFinished { .. }
                | Event::StepFailed { .. }
                | Event::Paused { .. }
                | Event::Answered { .. }
                | Event::Watched { .. }
                | Event::Amended { .. } => {}
            }
        }
        Some(made)
    }
}

/// A call as it is told in a journal.
fn call(called: &ToolCalled, answered: Option<&ToolAnswered>) -> Act {
    Act::Call {
        tool: called.tool.to_string().into(),
        arguments: called.arguments.clone(),
        output: answered.map(|it| it.output.clone()).unwrap_or_default(),
        failed: answered.is_none_or(|it| it.failure.is_some()),
    }
}

/// Whether a call left: what nobody agreed to did not.
fn is_made(called: &ToolCalled, answered: &ToolAnswered) -> bool {
    let failed = answered.failure.as_ref().map(|it| it.kind);
    let refused = matches!(
        failed,
        Some(FailureKind::Rejected | FailureKind::Cancelled | FailureKind::Forbidden)
    );
    called.run.is_none() || !refused
}

fn one(value: &Value, found: &mut Vec<Transcript>) -> Result<(), String> {
    if let Some(items) = value.as_array() {
        let is_list = |it: &Value| it.get("events").is_some() || it.get("messages").is_some();
        if items.iter().any(is_list) {
            return items.iter().try_for_each(|item| one(item, found));
        }
    }
    let events = value.get("events").or_else(|| value.get("messages"));
    let Some(events) = events.or(Some(value)).and_then(Value::as_array) else {
        return Err("a transcript has a list of `events` or `messages`".to_owned());
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
        add(event, &mut made);
        if made.acts.len() > ACTS_MAX {
            return Err(format!("more than the {ACTS_MAX} events allowed"));
        }
    }
    made.waiting.clear();
    found.push(made);
    Ok(())
}

/// Whether a mark of an error says that there was one: recorders write false, nothing or an empty text
/// where there was none.
fn is_error(mark: &Value) -> bool {
    match mark {
        Value::Bool(failed) => *failed,
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    }
}

/// Arguments as they were recorded: data, or a text of JSON.
fn arguments_of(given: Option<&Value>) -> Value {
    match given {
        Some(Value::String(text)) => Value::from_json(text).unwrap_or_default(),
        Some(other) => other.clone(),
        None => Value::Null,
    }
}

fn add(event: &Value, made: &mut Transcript) {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    if let Some(tool) = text("tool") {
        let arguments = event.get("args").or_else(|| event.get("arguments"));
        let output = event.get("result").or_else(|| event.get("output"));
        let failed = event.get("error").is_some_and(is_error);
        made.has_outcomes |= event.get("error").is_some() || output.is_some();
        let output = output.cloned().unwrap_or_default();
        act(tool, &arguments_of(arguments), output, failed, made);
        return;
    }
    if text("role") == Some("tool") {
        let id = text("tool_call_id").or_else(|| text("id"));
        let failed = ["error", "is_error"].iter();
        let failed = failed.filter_map(|key| event.get(key)).any(is_error);
        result(id, event.get("content"), failed, made);
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
        made.acts.push(Act::Said);
    }
    for call in calls {
        let function = call.get("function").unwrap_or(call);
        let name = function
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let arguments = arguments_of(function.get("arguments"));
        let at = made.acts.len();
        act(name, &arguments, Value::Null, false, made);
        awaited(call.get("id"), at, made);
    }
    for block in blocks {
        if block.get("type").and_then(Value::as_str) == Some("tool_use") {
            let name = block
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let at = made.acts.len();
            act(
                name,
                &arguments_of(block.get("input")),
                Value::Null,
                false,
                made,
            );
            awaited(block.get("id"), at, made);
        }
        if block.get("type").and_then(Value::as_str) == Some("tool_result") {
            let id = block.get("tool_use_id").and_then(Value::as_str);
            let failed = block.get("is_error").is_some_and(is_error);
            result(id, block.get("content"), failed, made);
        }
    }
}

/// Remembers a call until its result comes.
fn awaited(id: Option<&Value>, at: usize, made: &mut Transcript) {
    if let (Some(id), Some(Act::Call { .. })) = (id.and_then(Value::as_str), made.acts.get(at)) {
        made.waiting.insert(id.into(), at);
    }
}

/// The result of an earlier call. One of an unknown call is passed over.
fn result(id: Option<&str>, content: Option<&Value>, is_marked: bool, made: &mut Transcript) {
    made.has_outcomes = true;
    let Some(at) = id.and_then(|id| made.waiting.remove(id)) else {
        return;
    };
    // Some recorders have nothing but the text.
    let says = content.and_then(Value::as_str).unwrap_or_default();
    if let Some(Act::Call { output, failed, .. }) = made.acts.get_mut(at) {
        *failed = is_marked || says.starts_with("Error");
        *output = arguments_of(content);
        if output.is_null() {
            *output = content.cloned().unwrap_or_default();
        }
    }
}

/// One call: a move, a list of tasks, a call through the gate, or any other.
fn act(name: &str, arguments: &Value, output: Value, failed: bool, made: &mut Transcript) {
    // Clients put the server's name before a tool's, each in its own way.
    let own = |own: &str| {
        name == own || name.ends_with(&format!("__{own}")) || name.ends_with(&format!(":{own}"))
    };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let slots = arguments.get("slots").filter(|it| it.as_object().is_some());
    if own("goto_node") || own("advance") {
        if let Some(slots) = slots {
            made.acts.push(Act::Slots(slots.clone()));
        }
        match text("node_id") {
            Some(node) => made.acts.push(Act::Move(node.into())),
            None => made.acts.push(Act::Said),
        }
        list(&output, made);
        // What was walked by itself is in the reply.
        let passed = output
            .get("passed")
            .and_then(Value::as_array)
            .unwrap_or_default();
        let ids = passed
            .iter()
            .chain(output.get("node").filter(|_| own("advance")));
        for id in ids.filter_map(|it| it.get("id").and_then(Value::as_str)) {
            made.acts.push(Act::Move(id.into()));
        }
    } else if own("todo") || own("load_graph") || name.is_empty() {
        made.acts.push(Act::Said);
    } else {
        let (tool, arguments) = match (own("sop_call"), text("tool")) {
            (true, Some(tool)) => (
                tool,
                arguments.get("arguments").cloned().unwrap_or_default(),
            ),
            _ => (name, arguments.clone()),
        };
        made.acts.push(Act::Call {
            tool: tool.into(),
            arguments,
            output,
            failed,
        });
    }
}

/// Notes the tools that a reply lists for its node.
fn list(output: &Value, made: &mut Transcript) {
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
        made.listed.push((id.into(), tools));
    }
}
