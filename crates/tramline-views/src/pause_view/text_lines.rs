//! The call of a pause as lines of text, for terminals and forms.

use tramline_expr::{Map, Value};

/// The indentation of nested lines.
const INDENT: &str = "    ";

/// The details of a pause as lines: the call, who requested it, and what was done so far. Takes the
/// pause as data, so that people see what programs get.
pub fn detail_lines(question: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(child) = question.get("child") {
        child_lines(child, &mut lines);
    }
    if let Some(form) = question.get("form") {
        form_lines(form, &mut lines);
    }
    let Some(call) = question.get("call") else {
        return lines;
    };
    let tool = text(call, "tool");
    let server = text(call, "server");
    lines.push(format!("tool: {tool} (server {server})"));
    lines.push(format!("annotations: {}", annotations_text(call)));
    call_argument_lines(call, &mut lines);
    if let Some(change) = call.get("file") {
        file_lines(change, &mut lines);
    }
    if let Some(requested) = question.get("requested") {
        lines.push(format!(
            "requested by: {}",
            requester_line(question, requested)
        ));
    }
    if let Some(done) = question.get("done") {
        progress_lines(done, &mut lines);
    }
    lines
}

/// The questions of the run that this one waits for.
fn child_lines(child: &Value, lines: &mut Vec<String>) {
    let (run, workflow) = (text(child, "run_id"), text(child, "workflow"));
    lines.push(format!("waits for: {run} (workflow `{workflow}`)"));
    let waiting = child.get("waiting").and_then(Value::as_array);
    for question in waiting.unwrap_or_default() {
        let (says, point) = (text(question, "message"), text(question, "checkpoint_id"));
        lines.push(format!("{INDENT}{says}  {point}"));
        let details = detail_lines(question).into_iter();
        lines.extend(details.map(|line| format!("{INDENT}{INDENT}{line}")));
        let command = text(question, "command");
        if !command.is_empty() {
            lines.push(format!("{INDENT}{INDENT}answer: {command}"));
        }
    }
}

/// The fields of a form.
fn form_lines(form: &Value, lines: &mut Vec<String>) {
    let fields = form.get("fields").and_then(Value::as_array);
    for field in fields.unwrap_or_default() {
        let schema = field.get("schema").cloned().unwrap_or_default();
        let name = text(field, "name");
        let mut says = format!("{name}: {}", text(&schema, "type"));
        if field.get("required").and_then(Value::as_bool) == Some(true) {
            says.push_str(", required");
        }
        let choices = schema
            .get("enum")
            .or_else(|| schema.get("items")?.get("enum"));
        let titled = schema
            .get("oneOf")
            .or_else(|| schema.get("items")?.get("anyOf"));
        if let Some(choices) = choices.and_then(Value::as_array) {
            let choices: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
            says.push_str(&format!(", one of {}", choices.join(", ")));
        } else if let Some(choices) = titled.and_then(Value::as_array) {
            let choices = choices.iter();
            let choices =
                choices.map(|it| format!("{} ({})", text(it, "const"), text(it, "title")));
            says.push_str(&format!(
                ", one of {}",
                choices.collect::<Vec<_>>().join(", ")
            ));
        }
        if let Some(initial) = schema.get("default") {
            says.push_str(&format!(", [{}]", initial.to_json()));
        }
        for key in ["title", "description"] {
            let words = text(&schema, key);
            if !words.is_empty() {
                says.push_str(&format!("; {words}"));
            }
        }
        lines.push(says);
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The server's annotations of the tool, as text.
fn annotations_text(call: &Value) -> String {
    let words = [
        ("readOnlyHint", "read-only", "changes something"),
        ("destructiveHint", "destructive", "not destructive"),
        ("idempotentHint", "idempotent", "not idempotent"),
        ("openWorldHint", "open world", "closed world"),
    ];
    let Some(said) = call.get("annotations") else {
        return "unknown".to_owned();
    };
    let said: Vec<_> = words
        .iter()
        .filter_map(|(key, yes, no)| match said.get(key)?.as_bool()? {
            true => Some(*yes),
            false => Some(*no),
        })
        .collect();
    match said.as_slice() {
        [] => "none given by the server".to_owned(),
        said => said.join(", "),
    }
}

fn call_argument_lines(call: &Value, lines: &mut Vec<String>) {
    if let Some(items) = call.get("items") {
        let count = items.get("count").and_then(Value::as_u64).unwrap_or(0);
        let shown = items.get("calls").and_then(Value::as_array);
        let shown = shown.unwrap_or_default();
        lines.push(format!("calls: {count}, one for each item"));
        for (at, one) in shown.iter().enumerate() {
            lines.push(format!("{INDENT}{}. {}", at + 1, one.to_json()));
        }
        if (shown.len() as u64) < count {
            let more = count - shown.len() as u64;
            lines.push(format!("{INDENT}… {more} more"));
        }
    } else if let Some(arguments) = call.get("arguments") {
        match arguments.as_object().filter(|map| !map.is_empty()) {
            None if arguments.as_object().is_some() => lines.push("arguments: none".to_owned()),
            None => lines.push(format!("arguments: {}", arguments.to_json())),
            Some(map) => argument_lines(map, lines),
        }
    }
    if call.get("cut").is_some() {
        lines.push(format!("{INDENT}(truncated; the run shows everything)"));
    }
}

fn argument_lines(map: &Map, lines: &mut Vec<String>) {
    lines.push("arguments:".to_owned());
    for (key, value) in map.iter() {
        let shown = match value {
            Value::String(text) if !text.contains('\n') => text.to_string(),
            Value::String(text) => {
                lines.push(format!("{INDENT}{key}:"));
                lines.extend(text.lines().map(|line| format!("{INDENT}{INDENT}{line}")));
                continue;
            }
            other => other.to_json(),
        };
        lines.push(format!("{INDENT}{key}: {shown}"));
    }
}

fn file_lines(change: &Value, lines: &mut Vec<String>) {
    let path = text(change, "path");
    let from = text(change, "from");
    let what = match text(change, "change") {
        "create" => format!("creates {path}"),
        "replace" => format!("replaces {path}"),
        "delete" => format!("deletes {path}"),
        "move" => format!("moves {from} to {path}"),
        "copy" => format!("copies {from} to {path}"),
        _ => format!("leaves {path} unchanged"),
    };
    lines.push(format!("file: {what}"));
    if let Some(note) = change.get("note").and_then(Value::as_str) {
        lines.push(format!("{INDENT}{note}"));
    }
    let diff = text(change, "diff").lines();
    lines.extend(diff.map(|line| format!("{INDENT}{line}")));
    if change.get("cut").is_some() {
        lines.push(format!("{INDENT}(the rest of the diff is not shown)"));
    }
}

/// Who requested the call, and why.
fn requester_line(question: &Value, requested: &Value) -> String {
    let mut said = format!("workflow `{}`", text(requested, "workflow"));
    let by = text(requested, "by");
    if !by.is_empty() && by != text(requested, "owner") {
        said.push_str(&format!(" of {by}"));
    }
    for (key, word) in [
        ("owner", "for"),
        ("session_id", "in session"),
        ("intent", "to"),
    ] {
        let label = text(requested, key);
        if !label.is_empty() {
            said.push_str(&format!(" {word} {label}"));
        }
    }
    let why = text(question, "reason");
    if !why.is_empty() {
        said.push_str(&format!("; {why}"));
    }
    said
}

fn progress_lines(done: &Value, lines: &mut Vec<String>) {
    let calls = done.get("calls").and_then(Value::as_u64).unwrap_or(0);
    let latest = done.get("latest").and_then(Value::as_array);
    let latest = latest.unwrap_or_default();
    if calls == 0 {
        lines.push("done so far: no calls".to_owned());
        return;
    }
    let many = if calls == 1 { "1 call" } else { "calls" };
    let many = if calls == 1 {
        many.to_owned()
    } else {
        format!("{calls} {many}")
    };
    lines.push(format!("done so far: {many}"));
    let before = calls - latest.len() as u64;
    if before > 0 {
        lines.push(format!("{INDENT}… {before} earlier calls"));
    }
    for call in latest {
        let mark = match text(call, "status") {
            "succeeded" => "✓",
            "failed" => "✗",
            _ => "…",
        };
        let (node, tool) = (text(call, "node"), text(call, "tool"));
        lines.push(format!(
            "{INDENT}{mark} {node}  {tool} {}",
            text(call, "arguments")
        ));
    }
}
