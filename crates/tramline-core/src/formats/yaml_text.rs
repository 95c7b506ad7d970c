//! Values as YAML that people like to read: blocks for long text, short things on one line.

use super::document::is_plain_text;
use std::fmt::Write;
use tramline_expr::{Map, Str, Value};

/// Lists and objects that fit into this many characters stand on one line.
const FLOW_CHARS_MAX: usize = 76;
/// Text up to this many characters stands behind its key.
const TEXT_CHARS_MAX: usize = 84;
/// Lines of folded text are about this long, in characters.
const LINE_CHARS: usize = 100;
/// How much deeper each level stands.
const STEP: usize = 2;

/// What stands behind `key:` in a block, without the end of its last line.
pub(super) fn behind(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    after(&mut text, value, indent);
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// An item of a list in a block with its dash, without the end of its last line.
pub(super) fn dashed(item: &Value, indent: usize) -> String {
    let mut text = String::new();
    match item {
        // A node reads better in several lines, however short it is.
        Value::Object(map) => {
            let mut below = String::new();
            fields(&mut below, map, indent + STEP);
            pad(&mut text, indent);
            text.push_str("- ");
            text.push_str(below.trim_start());
        }
        Value::Array(_) | Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            list_item(&mut text, item, indent);
        }
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// A value on one line inside of brackets, if it can stand there.
pub(super) fn inline(value: &Value) -> Option<String> {
    let mut line = String::new();
    one_line(value, &mut line)?;
    Some(line)
}

/// A key as it is written.
pub(super) fn key(key: &str) -> String {
    name(key)
}

/// The fields of an object as YAML, each after a blank line where it is more than a line.
pub(super) fn document(map: &Map) -> String {
    let mut text = String::new();
    for (key, value) in map.iter() {
        let mut part = String::new();
        field(&mut part, key, value, 0);
        if !text.is_empty() && part.lines().count() > 1 {
            text.push('\n');
        }
        text.push_str(&part);
    }
    text
}

fn pad(text: &mut String, indent: usize) {
    text.extend(std::iter::repeat_n(' ', indent));
}

fn field(text: &mut String, key: &Str, value: &Value, indent: usize) {
    pad(text, indent);
    text.push_str(&name(key));
    text.push(':');
    after(text, value, indent);
}

/// What stands after `key:`, to the end of its last line.
fn after(text: &mut String, value: &Value, indent: usize) {
    if let Some(flow) = flow(value, indent) {
        let _ = writeln!(text, " {flow}");
        return;
    }
    match value {
        Value::Object(map) => {
            text.push('\n');
            fields(text, map, indent + STEP);
        }
        Value::Array(items) => {
            text.push('\n');
            let far = items.iter().any(|item| flow(item, indent + STEP).is_none());
            for (at, item) in items.iter().enumerate() {
                if far && at > 0 && flow(item, indent + STEP).is_none() {
                    text.push('\n');
                }
                list_item(text, item, indent + STEP);
            }
        }
        Value::String(long) => {
            text.push(' ');
            block(text, long, indent + STEP);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let _ = writeln!(text, " {value}");
        }
    }
}

fn fields(text: &mut String, map: &Map, indent: usize) {
    for (key, value) in map.iter() {
        field(text, key, value, indent);
    }
}

fn list_item(text: &mut String, item: &Value, indent: usize) {
    pad(text, indent);
    text.push('-');
    match item {
        Value::Object(map) if flow(item, indent + STEP).is_none() => {
            // The first field stands behind the dash, the others below it.
            let mut below = String::new();
            fields(&mut below, map, indent + STEP);
            text.push(' ');
            text.push_str(below.trim_start());
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::String(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_) => after(text, item, indent),
    }
}

/// The value on one line, if it is short enough to be read so.
fn flow(value: &Value, indent: usize) -> Option<String> {
    if let Value::String(text) = value {
        let short = text.chars().count() + indent <= TEXT_CHARS_MAX && !text.contains('\n');
        return (short || !is_block(text)).then(|| scalar(text, false));
    }
    let mut line = String::new();
    one_line(value, &mut line)?;
    let scalar = !matches!(value, Value::Object(_) | Value::Array(_));
    (scalar || line.chars().count() + indent <= FLOW_CHARS_MAX).then_some(line)
}

/// Writes a value on one line; gives up as soon as that gets too long.
fn one_line(value: &Value, line: &mut String) -> Option<()> {
    if line.len() > 4 * FLOW_CHARS_MAX {
        return None;
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => line.push_str(&value.to_json()),
        Value::String(text) if text.contains('\n') => return None,
        Value::String(text) => line.push_str(&scalar(text, true)),
        Value::Array(items) => {
            line.push('[');
            for (at, item) in items.iter().enumerate() {
                line.push_str(if at > 0 { ", " } else { "" });
                one_line(item, line)?;
            }
            line.push(']');
        }
        Value::Object(map) => {
            line.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                line.push_str(if at > 0 { ", " } else { "" });
                line.push_str(&name(key));
                line.push_str(": ");
                one_line(value, line)?;
            }
            line.push('}');
        }
    }
    Some(())
}

/// A key: plain where it is a plain word, otherwise in quotes.
fn name(key: &str) -> String {
    if key.chars().count() > 100 {
        return double(key);
    }
    scalar(key, true)
}

/// A text on one line: plain where it means itself, otherwise in quotes.
fn scalar(text: &str, in_flow: bool) -> String {
    if is_plain(text, in_flow) {
        text.to_owned()
    } else if text.chars().all(is_printable) && !text.is_empty() {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        double(text)
    }
}

/// A text in double quotes, as JSON has it; YAML reads the same, but for a few it would lose.
fn double(text: &str) -> String {
    let mut escaped = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            c if is_printable(c) => escaped.push(c),
            c if u32::from(c) <= 0xffff => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(escaped, "\\U{:08x}", u32::from(c));
            }
        }
    }
    escaped.push('"');
    escaped
}

/// Characters that stay as they are between quotes.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn is_plain(text: &str, in_flow: bool) -> bool {
    // Words that older readers of YAML take for something else.
    const WORDS: [&str; 8] = ["yes", "no", "on", "off", "y", "n", "true", "false"];
    let Some(first) = text.chars().next() else {
        return false;
    };
    let begins = first.is_alphanumeric() || matches!(first, '$' | '_' | '/' | '(' | '.');
    let inside =
        |c: char| is_printable(c) && !(in_flow && matches!(c, ',' | '[' | ']' | '{' | '}' | ':'));
    begins
        && text.chars().all(inside)
        && !text.starts_with("..")
        && !text.ends_with([' ', ':'])
        && !text.ends_with(" -")
        && !text.contains(": ")
        && !text.contains(" #")
        && !WORDS.contains(&text.to_lowercase().as_str())
        && is_plain_text(text)
}

/// Whether a text can stand in a block: then it reads as it is written.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let sound = |line: &str| !line.starts_with('\t') && line.chars().all(is_printable);
    !body.is_empty()
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && body.split('\n').all(sound)
        && (body.contains('\n') || is_foldable(text))
}

fn is_foldable(text: &str) -> bool {
    let words = text.split(' ');
    !text.contains('\n')
        && words.clone().count() > 1
        && words.into_iter().all(|word| !word.is_empty())
}

/// A block of text, its header included.
fn block(text: &mut String, value: &str, indent: usize) {
    if value.contains('\n') {
        let body = value.strip_suffix('\n');
        text.push_str(if body.is_some() { "|\n" } else { "|-\n" });
        for line in body.unwrap_or(value).split('\n') {
            if !line.is_empty() {
                pad(text, indent);
            }
            text.push_str(line);
            text.push('\n');
        }
        return;
    }
    text.push_str(">-\n");
    let room = LINE_CHARS.saturating_sub(indent).max(40);
    let mut line = 0;
    for word in value.split(' ') {
        let length = word.chars().count();
        if line == 0 {
            pad(text, indent);
        } else if line + 1 + length > room {
            text.push('\n');
            pad(text, indent);
            line = 0;
        } else {
            text.push(' ');
            line += 1;
        }
        text.push_str(word);
        line += length;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests;
