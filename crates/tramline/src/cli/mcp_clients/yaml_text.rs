//! Entries of a block mapping in a YAML file, added and removed as lines so that comments stay.

use super::config_text::Malformed;
use serde_json::Value;
use std::ops::Range;
use tramline_syntax::document;

/// The value of a text.
pub(super) fn parse(text: &str) -> Result<Value, Malformed> {
    let tree = document::read(text.as_bytes()).map_err(|flaws| {
        let first = flaws.first();
        Malformed {
            line: first.map_or(1, |flaw| flaw.span.line),
            column: first.map_or(1, |flaw| flaw.span.column),
            message: first.map_or_else(String::new, |flaw| flaw.message.clone()),
        }
    })?;
    let value = tree.root().value.to_json();
    serde_json::from_str(&value).map_err(|error| Malformed::at(text, 0, &error.to_string()))
}

/// The text with this entry at the end of its mapping, in place of an earlier one.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Malformed> {
    let [container, name] = path else {
        return Ok(text.to_owned());
    };
    let mut out = remove(text, path)?;
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    let Some(block) = top_level(&out, container) else {
        out.push_str(&format!("{container}:\n{}", entry(name, value, 2)));
        return Ok(out);
    };
    let header = &out[block.start..line_end(&out, block.start)];
    let indent = entries(&out, &block)
        .first()
        .map_or(2, |first| indent_of(&out[first.start..]));
    if is_empty_flow(header) {
        let line = format!("{container}:\n{}", entry(name, value, indent));
        out.replace_range(block.start..line_end(&out, block.start), &line);
        return Ok(out);
    }
    let at = content_end(&out, &block);
    out.insert_str(at, &entry(name, value, indent));
    Ok(out)
}

/// The text without the entry, or without a whole mapping.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, Malformed> {
    let (container, name) = match path {
        [container, name] => (container, name),
        [container] => {
            let mut out = text.to_owned();
            if let Some(block) = top_level(text, container) {
                out.replace_range(block, "");
            }
            return Ok(out);
        }
        _ => return Ok(text.to_owned()),
    };
    let Some(block) = top_level(text, container) else {
        return Ok(text.to_owned());
    };
    let all = entries(text, &block);
    let Some(own) = all
        .iter()
        .find(|range| key_of(&text[range.start..]) == Some((*name).to_owned()))
    else {
        return Ok(text.to_owned());
    };
    let mut out = text.to_owned();
    out.replace_range(own.clone(), "");
    if all.len() == 1 {
        // A key without entries would be null instead of empty.
        let header = line_end(text, block.start);
        let line = format!("{container}: {{}}\n");
        out.replace_range(block.start..header, &line);
    }
    Ok(out)
}

/// The lines of a top-level key with everything below it.
fn top_level(text: &str, key: &str) -> Option<Range<usize>> {
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_key = !line.starts_with([' ', '\t', '#', '-', '\n', '\r']);
        if is_key && let Some(start) = start {
            return Some(start..at);
        }
        if is_key && key_of(line).as_deref() == Some(key) {
            start = Some(at);
        }
        at += line.len();
    }
    start.map(|start| start..at)
}

/// The entries of a mapping: each from its line to the next entry or the end.
fn entries(text: &str, block: &Range<usize>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = line_end(text, block.start);
    let mut indent = None;
    for line in text[at..block.end].split_inclusive('\n') {
        let content = line.trim();
        if !content.is_empty() && !content.starts_with('#') {
            let width = indent_of(line);
            let own = *indent.get_or_insert(width);
            if width == own && !content.starts_with("- ") {
                found.push(at..at + line.len());
            } else if let Some(last) = found.last_mut() {
                last.end = at + line.len();
            }
        }
        at += line.len();
    }
    found
}

/// Behind the last line of a mapping that is not blank or a comment.
fn content_end(text: &str, block: &Range<usize>) -> usize {
    let last = entries(text, block).last().map(|last| last.end);
    last.unwrap_or_else(|| line_end(text, block.start))
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The key of a line, without quotes.
fn key_of(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim();
    let (key, rest) = line.split_once(':')?;
    let plain = rest.is_empty() || rest.starts_with([' ', '\t']);
    let key = key.trim();
    let bare = key.trim_matches(['"', '\'']);
    (plain && !bare.is_empty()).then(|| bare.to_owned())
}

/// Whether the value on the key's line is empty: `{}` or `[]`.
fn is_empty_flow(header: &str) -> bool {
    let value = header.split_once(':').map_or("", |(_, value)| value.trim());
    value == "{}"
}

/// An entry over several lines.
fn entry(name: &str, value: &Value, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut out = format!("{pad}{}:\n", scalar_key(name));
    for (key, value) in value.as_object().into_iter().flatten() {
        // JSON is YAML, and needs no rules about which text must be quoted.
        out.push_str(&format!("{pad}  {}: {value}\n", scalar_key(key)));
    }
    out
}

fn scalar_key(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let starts_well = name.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    match starts_well && name.chars().all(plain) && !word.contains(&&*name.to_lowercase()) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const GOOSE: &str = "# mine\nGOOSE_MODEL: x\nextensions:\n  # built in\n  developer:\n    enabled: true\n    type: builtin\n\n  # last comment\nGOOSE_MODE: auto\n";

    #[test]
    fn an_entry_is_added_and_removed_to_the_byte() {
        let path = ["extensions", "tramline"];
        let value = json!({ "enabled": true, "cmd": "/t", "args": ["serve", "a: b"], "envs": {} });
        let four = "extensions:\n    a:\n        type: x\n";
        for text in [GOOSE, four, "extensions: {}\nx: 1\n"] {
            let with = set(text, &path, &value).unwrap();
            let found = parse(&with).unwrap();
            assert_eq!(found["extensions"]["tramline"], value, "{with}");
            assert_eq!(remove(&with, &path).unwrap(), text, "{with}");
        }
        let new = set("x: 1", &path, &value).unwrap();
        assert_eq!(
            parse(&new).unwrap()["extensions"]["tramline"],
            value,
            "{new}"
        );
    }

    #[test]
    fn a_malformed_file_is_refused_with_its_place() {
        let wrong = parse("a: 1\nb: [1, 2\nc: 3\n").unwrap_err();
        assert!(wrong.line >= 2, "{wrong}");
    }
}
