//! Tables of a TOML file, added and removed as text so that comments and order stay.

use super::config_text::Malformed;
use serde_json::Value;
use std::ops::Range;

/// The value of a text.
pub(super) fn parse(text: &str) -> Result<Value, Malformed> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Malformed::at(text, at, error.message())
    })
}

/// The text with this table at its end, in place of an earlier one.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Malformed> {
    let mut out = remove(text, path)?;
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    if !out.trim().is_empty() {
        out.push('\n');
    }
    out.push_str(&table(path, value));
    Ok(out)
}

/// The text without the table and its sub-tables.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, Malformed> {
    let wanted: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    let headers = headers(text);
    let mut out = String::new();
    let mut kept = 0;
    for (at, (header, keys)) in headers.iter().enumerate() {
        if keys.len() < wanted.len() || keys[..wanted.len()] != wanted[..] {
            continue;
        }
        let next = headers
            .get(at + 1)
            .map_or(text.len(), |(next, _)| next.start);
        // Comments directly above the next table belong to it; a blank line above ours is ours.
        let own = body_end(text, header.end, next);
        let start = blank_before(text, header.start, kept);
        out.push_str(&text[kept..start]);
        kept = own;
    }
    out.push_str(&text[kept..]);
    Ok(out)
}

/// Where the lines of a table end: behind its last line that is not blank or a comment.
fn body_end(text: &str, from: usize, next: usize) -> usize {
    let mut end = from;
    let mut at = from;
    for line in text[from..next].split_inclusive('\n') {
        at += line.len();
        let content = line.trim();
        if !content.is_empty() && !content.starts_with('#') {
            end = at;
        }
    }
    if next == text.len() && text[end..next].trim().is_empty() {
        return next;
    }
    end
}

/// The start of the blank line above a table, if there is one.
fn blank_before(text: &str, start: usize, least: usize) -> usize {
    let above = &text[least..start];
    match above.strip_suffix("\n\n") {
        Some(rest) => least + rest.len() + 1,
        None => start,
    }
}

/// The lines with a table's name: their ranges with the line break, and the keys.
fn headers(text: &str) -> Vec<(Range<usize>, Vec<String>)> {
    let mut found = Vec::new();
    let mut state = LineState::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        if state.is_outside() && content.starts_with('[') && !content.starts_with("[[") {
            if let Some(keys) = header_keys(content) {
                found.push((at..at + line.len(), keys));
            }
        } else if state.is_outside() && content.starts_with("[[") {
            found.push((at..at + line.len(), vec!["[[".to_owned()]));
        } else {
            state.read(line);
        }
        at += line.len();
    }
    found
}

/// What a value that spans several lines leaves open.
#[derive(Default)]
struct LineState {
    /// The delimiter of an open multi-line text.
    text: Option<&'static str>,
    /// Open brackets of a list or an inline table.
    depth: usize,
}

impl LineState {
    fn is_outside(&self) -> bool {
        self.text.is_none() && self.depth == 0
    }

    fn read(&mut self, line: &str) {
        let mut rest = line;
        while let Some(letter) = rest.chars().next() {
            if let Some(end) = self.text {
                let escape = end == "\"\"\"" && letter == '\\';
                if rest.starts_with(end) {
                    self.text = None;
                    rest = &rest[3..];
                } else {
                    let mut letters = rest.chars();
                    letters.next();
                    if escape {
                        letters.next();
                    }
                    rest = letters.as_str();
                }
                continue;
            }
            let triple = ["\"\"\"", "'''"]
                .into_iter()
                .find(|open| rest.starts_with(open));
            if let Some(open) = triple {
                self.text = Some(open);
                rest = &rest[3..];
                continue;
            }
            rest = match letter {
                '#' => "",
                '"' | '\'' => &rest[quoted_len(rest, letter)..],
                '[' | '{' => {
                    self.depth += 1;
                    &rest[1..]
                }
                ']' | '}' => {
                    self.depth = self.depth.saturating_sub(1);
                    &rest[1..]
                }
                other => &rest[other.len_utf8()..],
            };
        }
    }
}

/// The bytes of a text in quotes on one line, with the quotes.
fn quoted_len(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if letter == quote && !escaped {
            return at + 1;
        }
        escaped = quote == '"' && letter == '\\' && !escaped;
    }
    text.len()
}

/// The keys of `[a."b c".d]`; `None` if the line is something else.
fn header_keys(line: &str) -> Option<Vec<String>> {
    let mut rest = line.strip_prefix('[')?.trim_start();
    let mut keys = Vec::new();
    loop {
        let quote = rest.chars().next()?;
        let (key, after) = if quote == '"' || quote == '\'' {
            let end = quoted_len(rest, quote);
            let written = rest.get(..end)?;
            let key = match quote {
                '"' => serde_json::from_str(written).ok()?,
                _ => written.trim_matches('\'').to_owned(),
            };
            (key, &rest[end..])
        } else {
            let bare = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
            let end = rest.find(|letter: char| !bare(letter))?;
            (rest[..end].to_owned(), &rest[end..])
        };
        keys.push(key);
        let after = after.trim_start();
        if after.starts_with(']') {
            return Some(keys);
        }
        rest = after.strip_prefix('.')?.trim_start();
    }
}

fn key(name: &str) -> String {
    let bare = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

/// A table with its fields.
fn table(path: &[&str], value: &Value) -> String {
    let name: Vec<String> = path.iter().map(|name| key(name)).collect();
    let mut out = format!("[{}]\n", name.join("."));
    for (name, value) in value.as_object().into_iter().flatten() {
        out.push_str(&format!("{} = {}\n", key(name), inline(value)));
    }
    out
}

/// A value on one line. JSON's texts and numbers are TOML's too.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields: Vec<String> = fields
                .map(|(name, value)| format!("{} = {}", key(name), inline(value)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CODEX: &str = "# mine\nmodel = \"x\"\nnotes = \"\"\"\n[mcp_servers.tramline]\n\"\"\"\nlist = [\n  [1],\n]\n\n[mcp_servers.a] # first\ncommand = \"x\"\n\n[mcp_servers.a.env]\nKEY = \"[v]\"\n\n# about b\n[projects.\"/p\"]\ntrust_level = \"trusted\"\n";

    #[test]
    fn a_table_is_added_and_removed_to_the_byte() {
        let path = ["mcp_servers", "tramline"];
        let value = json!({ "command": "/t", "args": ["serve", "a \"b\""], "env": { "A": "1" } });
        for text in [CODEX, "", "model = \"x\"\n"] {
            let with = set(text, &path, &value).unwrap();
            assert_eq!(
                parse(&with).unwrap()["mcp_servers"]["tramline"],
                value,
                "{with}"
            );
            assert_eq!(remove(&with, &path).unwrap(), text, "{with}");
            assert_eq!(set(&with, &path, &value).unwrap(), with);
        }
    }

    #[test]
    fn a_table_goes_with_its_sub_tables_and_leaves_the_comments_of_others() {
        let left = remove(CODEX, &["mcp_servers", "a"]).unwrap();
        assert!(!left.contains("KEY"), "{left}");
        assert!(left.contains("# about b\n[projects.\"/p\"]\n"), "{left}");
        assert!(
            left.contains("\"\"\"\n[mcp_servers.tramline]\n\"\"\""),
            "{left}"
        );
        let mut expected = parse(CODEX).unwrap();
        expected.as_object_mut().unwrap().remove("mcp_servers");
        assert_eq!(parse(&left).unwrap(), expected);
    }

    #[test]
    fn a_malformed_file_is_refused_with_its_place() {
        let wrong = parse("a = 1\nb = = 2\n").unwrap_err();
        assert_eq!(wrong.line, 2);
    }
}
