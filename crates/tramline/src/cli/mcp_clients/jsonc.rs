//! JSON with comments and trailing commas: parsed with positions, edited without touching the rest.

use super::config_text::Malformed;
use serde_json::{Map, Value};
use std::ops::Range;

/// Deepest accepted nesting, in levels: client configurations have fewer than ten.
const DEPTH_MAX: usize = 64;

/// A value with the bytes it was read from.
struct Node {
    span: Range<usize>,
    kind: NodeKind,
}

enum NodeKind {
    Object(Vec<Member>),
    Other(Value),
}

/// A field of an object.
struct Member {
    key: String,
    key_start: usize,
    value: Node,
    /// The comma after it.
    comma: Option<usize>,
}

impl Node {
    fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Other(value) => value.clone(),
            NodeKind::Object(members) => {
                let fields = members.iter();
                let fields = fields.map(|member| (member.key.clone(), member.value.to_value()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    fn member(&self, key: &str) -> Option<(usize, &Member)> {
        match &self.kind {
            NodeKind::Object(members) => {
                let mut members = members.iter().enumerate();
                members.find(|(_, member)| member.key == key)
            }
            NodeKind::Other(_) => None,
        }
    }
}

/// The value of a text.
pub(super) fn parse(text: &str) -> Result<Value, Malformed> {
    Ok(Scanner::read(text)?.to_value())
}

/// The text with the value at this path set; missing objects on the path are added.
pub(super) fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Malformed> {
    let root = Scanner::read(text)?;
    let unit = indent_unit(text, &root);
    let mut object = &root;
    for (depth, key) in path.iter().enumerate() {
        let NodeKind::Object(members) = &object.kind else {
            let message = "this is not an object, so nothing can be added to it";
            return Err(Malformed::at(text, object.span.start, message));
        };
        if let Some((_, member)) = object.member(key) {
            if depth + 1 == path.len() {
                let indent = line_indent(text, member.key_start);
                let written = pretty(value, &indent, &unit);
                return Ok(replace(text, &member.value.span, &written));
            }
            object = &member.value;
            continue;
        }
        let mut inner = value.clone();
        for key in path[depth + 1..].iter().rev() {
            inner = Value::Object([((*key).to_owned(), inner)].into_iter().collect());
        }
        return Ok(add_member(
            text,
            object,
            members,
            (key, &inner),
            &unit,
            depth == 0,
        ));
    }
    Ok(text.to_owned())
}

/// The text without the field at this path. Comments around it stay.
pub(super) fn remove(text: &str, path: &[&str]) -> Result<String, Malformed> {
    let root = Scanner::read(text)?;
    let Some((last, above)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    let mut object = &root;
    for key in above {
        match object.member(key) {
            Some((_, member)) => object = &member.value,
            None => return Ok(text.to_owned()),
        }
    }
    let NodeKind::Object(members) = &object.kind else {
        return Ok(text.to_owned());
    };
    let Some((at, member)) = object.member(last) else {
        return Ok(text.to_owned());
    };
    let mut out = text.to_owned();
    let end = member
        .comma
        .map_or(member.value.span.end, |comma| comma + 1);
    out.replace_range(whole_lines(text, member.key_start..end), "");
    // The last field keeps no comma, unless the file has trailing commas.
    let before = at.checked_sub(1).and_then(|at| members.get(at));
    if let (Some(comma), None) = (before.and_then(|before| before.comma), member.comma) {
        out.replace_range(comma..comma + 1, "");
    }
    if members.len() == 1 {
        // An object that is empty now is written as one.
        let inner = object.span.start + 1..object.span.end - (text.len() - out.len()) - 1;
        if out
            .get(inner.clone())
            .is_some_and(|inner| inner.trim().is_empty())
        {
            out.replace_range(inner, "");
        }
    }
    Ok(out)
}

fn add_member(
    text: &str,
    object: &Node,
    members: &[Member],
    (key, value): (&str, &Value),
    unit: &str,
    is_root: bool,
) -> String {
    let close = object.span.end - 1;
    let outer = match is_root {
        true => String::new(),
        false => line_indent(text, object.span.start),
    };
    let first = members.first().map(|first| first.key_start);
    let own_line = first.is_some_and(|at| text[object.span.start..at].contains('\n'));
    let indent = match first {
        Some(at) if own_line => line_indent(text, at),
        Some(_) | None => format!("{outer}{unit}"),
    };
    let written = format!("{}: {}", Value::from(key), pretty(value, &indent, unit));
    // Behind the last field and its comments, before the line of the closing brace.
    let inside = text[..close].trim_end();
    let tail = if members.last().is_some_and(|last| last.comma.is_some()) {
        ","
    } else {
        ""
    };
    let mut out = format!(
        "{inside}\n{indent}{written}{tail}\n{outer}{}",
        &text[close..]
    );
    if let Some(last) = members.last()
        && last.comma.is_none()
    {
        out.insert(last.value.span.end, ',');
    }
    out
}

/// The range with the whole line, if nothing else is on it.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].trim_end_matches([' ', '\t']).len();
    let rest = &text[range.end..];
    let end = range.end + (rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len());
    let from_line_start = start == 0 || text[..start].ends_with('\n');
    if from_line_start && text[end..].starts_with('\n') {
        start..end + 1
    } else {
        range
    }
}

fn replace(text: &str, range: &Range<usize>, by: &str) -> String {
    let mut out = text.to_owned();
    out.replace_range(range.clone(), by);
    out
}

/// The spaces or tabs at the start of the line of this position.
fn line_indent(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    let width = line.len() - line.trim_start_matches([' ', '\t']).len();
    line[..width.min(at - start)].to_owned()
}

/// One level of indentation in this file; two spaces if it has none.
fn indent_unit(text: &str, root: &Node) -> String {
    let first = match &root.kind {
        NodeKind::Object(members) => members.first(),
        NodeKind::Other(_) => None,
    };
    let unit = first.map(|first| line_indent(text, first.key_start));
    unit.filter(|unit| !unit.is_empty())
        .unwrap_or_else(|| "  ".to_owned())
}

/// The value over several lines, its first line without indentation.
fn pretty(value: &Value, indent: &str, unit: &str) -> String {
    let inner = format!("{indent}{unit}");
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| {
                    let key = Value::from(key.as_str());
                    format!("{inner}{key}: {}", pretty(value, &inner, unit))
                })
                .collect();
            format!("{{\n{}\n{indent}}}", fields.join(",\n"))
        }
        Value::Array(items) if !items.is_empty() => {
            let items: Vec<String> = items
                .iter()
                .map(|item| format!("{inner}{}", pretty(item, &inner, unit)))
                .collect();
            format!("[\n{}\n{indent}]", items.join(",\n"))
        }
        other => other.to_string(),
    }
}

/// Reads a text from left to right.
struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    fn read(text: &'t str) -> Result<Node, Malformed> {
        let mut scanner = Scanner { text, at: 0 };
        scanner.skip_blank()?;
        if scanner.at == text.len() {
            return Err(scanner.wrong("the file has no value"));
        }
        let root = scanner.value(0)?;
        scanner.skip_blank()?;
        match scanner.at == text.len() {
            true => Ok(root),
            false => Err(scanner.wrong("unexpected text after the value")),
        }
    }

    fn wrong(&self, message: &str) -> Malformed {
        Malformed::at(self.text, self.at, message)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), Malformed> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(end) => self.at += end + 4,
                    None => return Err(self.wrong("this comment does not end")),
                }
            } else if blank == 0 {
                return Ok(());
            }
        }
    }

    fn take(&mut self, letter: char) -> bool {
        let found = self.rest().starts_with(letter);
        if found {
            self.at += letter.len_utf8();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Node, Malformed> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("the file is nested too deeply"));
        }
        let start = self.at;
        let kind = if self.take('{') {
            self.object(depth)?
        } else if self.take('[') {
            self.array(depth)?
        } else if self.rest().starts_with('"') {
            NodeKind::Other(Value::from(self.string()?))
        } else {
            self.word()?
        };
        Ok(Node {
            span: start..self.at,
            kind,
        })
    }

    fn object(&mut self, depth: usize) -> Result<NodeKind, Malformed> {
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.skip_blank()?;
            if self.take('}') {
                return Ok(NodeKind::Object(members));
            }
            if members.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.wrong("expected `,` or `}`"));
            }
            let key_start = self.at;
            if !self.rest().starts_with('"') {
                return Err(self.wrong("expected a name in double quotes, or `}`"));
            }
            let key = self.string()?;
            if members.iter().any(|member| member.key == key) {
                let message = "this name appears twice in its object";
                return Err(Malformed::at(self.text, key_start, message));
            }
            self.skip_blank()?;
            if !self.take(':') {
                return Err(self.wrong("expected `:`"));
            }
            self.skip_blank()?;
            let value = self.value(depth + 1)?;
            self.skip_blank()?;
            let comma = self.rest().starts_with(',').then_some(self.at);
            self.take(',');
            members.push(Member {
                key,
                key_start,
                value,
                comma,
            });
        }
    }

    fn array(&mut self, depth: usize) -> Result<NodeKind, Malformed> {
        let mut items = Vec::new();
        let mut open = true;
        loop {
            self.skip_blank()?;
            if self.take(']') {
                return Ok(NodeKind::Other(Value::Array(items)));
            }
            if !open {
                return Err(self.wrong("expected `,` or `]`"));
            }
            items.push(self.value(depth + 1)?.to_value());
            self.skip_blank()?;
            open = self.take(',');
        }
    }

    fn string(&mut self) -> Result<String, Malformed> {
        let mut escaped = false;
        let end = self.rest().char_indices().skip(1).find(|(_, letter)| {
            let ends = *letter == '"' && !escaped;
            escaped = *letter == '\\' && !escaped;
            ends || *letter == '\n'
        });
        let Some((end, '"')) = end else {
            return Err(self.wrong("this text has no closing quote"));
        };
        let written = &self.rest()[..=end];
        let text = serde_json::from_str(written)
            .map_err(|error| self.wrong(&format!("this text is not valid: {error}")))?;
        self.at += written.len();
        Ok(text)
    }

    fn word(&mut self) -> Result<NodeKind, Malformed> {
        let rest = self.rest();
        let end = rest
            .find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter))
            .unwrap_or(rest.len());
        let value = serde_json::from_str(&rest[..end]).map_err(|_| {
            self.wrong("expected a value: an object, a list, text, a number, true, false or null")
        })?;
        self.at += end;
        Ok(NodeKind::Other(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ZED: &str = r#"// Zed settings
{
  "theme": "One", // keep
  "context_servers": {
    "a": { "command": "x" }, // last
  },
  /* end */
}
"#;

    #[test]
    fn comments_and_trailing_commas_survive_an_edit_and_its_removal() {
        let entry = json!({ "command": "t", "args": ["serve"] });
        let path = ["context_servers", "tramline"];
        let with = set(ZED, &path, &entry).unwrap();
        assert!(
            with.contains("{ \"command\": \"x\" }, // last\n    \"tramline\": {\n"),
            "{with}"
        );
        assert_eq!(parse(&with).unwrap()["context_servers"]["tramline"], entry);
        assert_eq!(remove(&with, &path).unwrap(), ZED);
    }

    #[test]
    fn an_added_field_is_removed_to_the_byte() {
        for text in [
            "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
            "{\n\t\"mcpServers\": {\n\t\t\"a\": {} // why\n\t}\n}",
            "{\n  \"mcpServers\": {}\n}\n",
        ] {
            let path = ["mcpServers", "tramline"];
            let with = set(text, &path, &json!({ "command": "t" })).unwrap();
            assert_eq!(
                parse(&with).unwrap()["mcpServers"]["tramline"]["command"],
                "t"
            );
            assert_eq!(remove(&with, &path).unwrap(), text, "{with}");
        }
        let one_line = set("{\"a\":1}", &["b", "c"], &json!(2)).unwrap();
        assert_eq!(
            parse(&one_line).unwrap(),
            json!({ "a": 1, "b": { "c": 2 } })
        );
    }

    #[test]
    fn a_malformed_text_is_refused_with_its_place() {
        for (text, place) in [
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "3:3"),
            ("{\"a\": }", "1:7"),
            ("{\"a\": 1, \"a\": 2}", "1:10"),
            ("{} x", "1:4"),
            ("{\"a", "1:2"),
            ("", "1:1"),
            ("{ /* ", "1:3"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert_eq!(format!("{}:{}", wrong.line, wrong.column), place, "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
