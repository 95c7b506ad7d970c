//! Writes values as readable YAML: blocks for long text, short values on one line.

use super::document::is_unquoted_string;
use std::fmt::Write;
use tramline_expr::{Map, Str, Value};

/// Longest list or object written on one line, in characters.
const FLOW_CHARS_MAX: usize = 76;
/// Longest string written on the line of its key, in characters.
const TEXT_CHARS_MAX: usize = 84;
/// Approximate line length of folded text, in characters.
const LINE_CHARS: usize = 100;
/// Indentation per level, in spaces.
const INDENT: usize = 2;

/// The value after `key:` in a block, without the final line break.
pub fn value_after_key(value: &Value, indent: usize) -> String {
    let mut text = String::new();
    write_value(&mut text, value, indent);
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// An item of a block list with its dash, without the final line break.
pub fn list_item_text(item: &Value, indent: usize) -> String {
    let mut text = String::new();
    match item {
        // A node is more readable on several lines, even if it is short.
        Value::Object(map) => {
            let mut below = String::new();
            write_fields(&mut below, map, indent + INDENT);
            pad(&mut text, indent);
            text.push_str("- ");
            text.push_str(below.trim_start());
        }
        Value::Array(_) | Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {
            write_list_item(&mut text, item, indent);
        }
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// A value in flow style on one line, if possible.
pub fn flow_text(value: &Value) -> Option<String> {
    let mut line = String::new();
    write_flow(value, &mut line)?;
    Some(line)
}

/// A key, quoted if necessary.
pub fn key_text(key: &str) -> String {
    quote_key(key)
}

/// The fields of an object as YAML; a blank line precedes each field of several lines.
pub fn document(map: &Map) -> String {
    let mut text = String::new();
    for (key, value) in map.iter() {
        let mut part = String::new();
        write_field(&mut part, key, value, 0);
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

fn write_field(text: &mut String, key: &Str, value: &Value, indent: usize) {
    pad(text, indent);
    text.push_str(&quote_key(key));
    text.push(':');
    write_value(text, value, indent);
}

/// Writes the value after `key:`, including the final line break.
fn write_value(text: &mut String, value: &Value, indent: usize) {
    if let Some(flow) = flow_if_short(value, indent) {
        let _ = writeln!(text, " {flow}");
        return;
    }
    match value {
        Value::Object(map) => {
            text.push('\n');
            write_fields(text, map, indent + INDENT);
        }
        Value::Array(items) => {
            text.push('\n');
            let far = items
                .iter()
                .any(|item| flow_if_short(item, indent + INDENT).is_none());
            for (at, item) in items.iter().enumerate() {
                if far && at > 0 && flow_if_short(item, indent + INDENT).is_none() {
                    text.push('\n');
                }
                write_list_item(text, item, indent + INDENT);
            }
        }
        Value::String(long) => {
            text.push(' ');
            write_block(text, long, indent + INDENT);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let _ = writeln!(text, " {value}");
        }
    }
}

fn write_fields(text: &mut String, map: &Map, indent: usize) {
    for (key, value) in map.iter() {
        write_field(text, key, value, indent);
    }
}

fn write_list_item(text: &mut String, item: &Value, indent: usize) {
    pad(text, indent);
    text.push('-');
    match item {
        Value::Object(map) if flow_if_short(item, indent + INDENT).is_none() => {
            // The first field follows the dash, the others are below it.
            let mut below = String::new();
            write_fields(&mut below, map, indent + INDENT);
            text.push(' ');
            text.push_str(below.trim_start());
        }
        Value::Object(_)
        | Value::Array(_)
        | Value::String(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_) => write_value(text, item, indent),
    }
}

/// The value on one line, if it is short enough.
fn flow_if_short(value: &Value, indent: usize) -> Option<String> {
    if let Value::String(text) = value {
        let short = text.chars().count() + indent <= TEXT_CHARS_MAX && !text.contains('\n');
        return (short || !is_block(text)).then(|| scalar(text, false));
    }
    let mut line = String::new();
    write_flow(value, &mut line)?;
    let scalar = !matches!(value, Value::Object(_) | Value::Array(_));
    (scalar || line.chars().count() + indent <= FLOW_CHARS_MAX).then_some(line)
}

/// Writes a value on one line; stops as soon as that gets too long.
fn write_flow(value: &Value, line: &mut String) -> Option<()> {
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
                write_flow(item, line)?;
            }
            line.push(']');
        }
        Value::Object(map) => {
            line.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                line.push_str(if at > 0 { ", " } else { "" });
                line.push_str(&quote_key(key));
                line.push_str(": ");
                write_flow(value, line)?;
            }
            line.push('}');
        }
    }
    Some(())
}

/// A key: plain if possible, otherwise quoted.
fn quote_key(key: &str) -> String {
    if key.chars().count() > 100 {
        return double_quoted(key);
    }
    scalar(key, true)
}

/// A string on one line: plain if possible, otherwise quoted.
fn scalar(text: &str, in_flow: bool) -> String {
    if is_plain(text, in_flow) {
        text.to_owned()
    } else if text.chars().all(is_printable) && !text.is_empty() {
        format!("'{}'", text.replace('\'', "''"))
    } else {
        double_quoted(text)
    }
}

/// A string in double quotes, as in JSON; characters that YAML would change are escaped.
fn double_quoted(text: &str) -> String {
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

/// Whether a character needs no escape between quotes.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}

fn is_plain(text: &str, in_flow: bool) -> bool {
    // Words that YAML 1.1 parsers read as booleans.
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
        && is_unquoted_string(text)
}

/// Whether a string can be written as a block without changes.
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

/// Writes a block scalar with its header.
fn write_block(text: &mut String, value: &str, indent: usize) {
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
