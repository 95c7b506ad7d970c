//! Finds the position of the cursor in a document, as a path of keys.
//!
//! Works on the text alone: while you type, a document is rarely valid. The studio's editor does the
//! same in the browser (`studio/src/editor/cursor-path.ts`).

use std::collections::BTreeMap;

/// The keys of an object with their values, as they are written.
pub(super) type Members = BTreeMap<String, String>;

/// A position in a document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CursorPath {
    /// The keys that lead to the object or list around the cursor; `*` stands for a list item.
    pub(super) path: Vec<String>,
    /// The key whose value is being typed; `None` while a key is typed.
    pub(super) key: Option<String>,
    /// The other keys of the same object.
    pub(super) beside: Members,
    /// For each key of the path, the members of the object that contains it.
    pub(super) around: Vec<Members>,
}

struct Frame {
    /// `None` for the document itself.
    indent: Option<usize>,
    name: String,
    members: Members,
}

struct Line {
    items: Vec<usize>,
    indent: usize,
    key: Option<String>,
    value: String,
}

fn unquoted(text: &str) -> String {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"')
        .or_else(|| inner('\''))
        .unwrap_or(text)
        .to_owned()
}

/// The key and the value of a line.
fn pair(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?;
    let end = match first {
        '"' | '\'' => text[1..].find(first)? + 2,
        '#' | '{' | '}' | '[' | ']' | ',' | ':' => return None,
        _ => {
            let colons = text.match_indices(':').map(|(at, _)| at);
            let ends = |at: &usize| {
                text[at + 1..]
                    .chars()
                    .next()
                    .is_none_or(char::is_whitespace)
            };
            let at = colons.into_iter().find(ends)?;
            (!text[..at].contains('#')).then_some(at)?
        }
    };
    let value = text[end..].trim_start().strip_prefix(':')?;
    let is_pair = value.chars().next().is_none_or(char::is_whitespace);
    is_pair.then(|| (text[..end].trim_end(), value.trim()))
}

fn read_line(text: &str) -> Option<Line> {
    let mut rest = text.trim_start();
    let mut indent = text.len() - rest.len();
    let mut items = Vec::new();
    while let Some(after) = rest.strip_prefix('-') {
        let inner = after.trim_start();
        if inner.len() == after.len() && !after.is_empty() {
            break;
        }
        items.push(indent);
        indent += rest.len() - inner.len();
        rest = inner;
    }
    if rest.starts_with('#') || (rest.is_empty() && items.is_empty()) {
        return None;
    }
    let (key, value) = match pair(rest) {
        Some((key, value)) => (Some(unquoted(key)), unquoted(value)),
        None => (None, rest.trim().to_owned()),
    };
    Some(Line {
        items,
        indent,
        key,
        value,
    })
}

/// Processes a line: what it closes and what it opens.
fn enter(stack: &mut Vec<Frame>, line: &Line, key: Option<&str>) {
    for indent in &line.items {
        // A list may follow its key without further indentation.
        while let Some(top) = stack.last()
            && (top.indent > Some(*indent) || (top.indent == Some(*indent) && top.name == "*"))
        {
            stack.pop();
        }
        stack.push(Frame {
            indent: Some(*indent),
            name: "*".to_owned(),
            members: Members::new(),
        });
    }
    while stack
        .last()
        .is_some_and(|top| top.indent >= Some(line.indent))
    {
        stack.pop();
    }
    let (Some(key), Some(top)) = (key, stack.last_mut()) else {
        return;
    };
    top.members.insert(key.to_owned(), line.value.clone());
    stack.push(Frame {
        indent: Some(line.indent),
        name: key.to_owned(),
        members: Members::new(),
    });
}

/// Adds the keys of the same object below the cursor.
fn add_below<'t>(lines: impl Iterator<Item = &'t str>, indent: usize, into: &mut Members) {
    for other in lines.filter_map(read_line) {
        if other.items.first().copied().unwrap_or(other.indent) < indent {
            return;
        }
        if other.indent == indent
            && other.items.is_empty()
            && let Some(key) = other.key
        {
            into.insert(key, other.value);
        }
    }
}

/// The position in YAML, by the indentation of the lines above; the byte counts in its line.
pub(super) fn in_yaml(text: &str, line: usize, byte: usize) -> CursorPath {
    let mut stack = vec![Frame {
        indent: None,
        name: String::new(),
        members: Members::new(),
    }];
    let mut block = None;
    for text in text.lines().take(line) {
        let indent = text.len() - text.trim_start().len();
        // Text below `|` is never parsed.
        if block.is_some_and(|block| text.trim().is_empty() || indent > block) {
            continue;
        }
        block = None;
        if let Some(read) = read_line(text) {
            enter(&mut stack, &read, read.key.as_deref());
            block = read.value.starts_with(['|', '>']).then_some(read.indent);
        }
    }
    let whole = text.lines().nth(line).unwrap_or_default();
    let typed = whole.get(..byte).unwrap_or(whole);
    let own = read_line(typed).unwrap_or_else(|| Line {
        items: Vec::new(),
        indent: typed.len(),
        key: None,
        value: String::new(),
    });
    enter(&mut stack, &own, None);
    let below = || text.lines().skip(line + 1);
    let mut beside = stack
        .last()
        .map(|top| top.members.clone())
        .unwrap_or_default();
    if let Some(key) = &own.key {
        beside.remove(key);
    }
    add_below(below(), own.indent, &mut beside);
    let mut around = Vec::new();
    for pair in stack.windows(2) {
        let mut members = pair[0].members.clone();
        if pair[1].name != "*" {
            add_below(below(), pair[1].indent.unwrap_or_default(), &mut members);
        }
        around.push(members);
    }
    let path = stack.iter().skip(1).map(|frame| frame.name.clone());
    let place = CursorPath {
        path: path.collect(),
        key: own.key,
        beside,
        around,
    };
    in_brackets(place, whole, typed)
}

/// The same inside open brackets of the line.
fn in_brackets(mut place: CursorPath, whole: &str, typed: &str) -> CursorPath {
    let Some(start) = typed.find(['{', '[']) else {
        return place;
    };
    let before = typed[..start].trim_start_matches([' ', '-']);
    if !before.is_empty() && !before.trim_end().ends_with(':') {
        return place;
    }
    let Some(inner) = in_json(&whole[start..], typed.len() - start) else {
        return place;
    };
    if let Some(key) = place.key.take() {
        place.path.push(key);
        place.around.push(place.beside);
    }
    place.path.extend(inner.path);
    place.around.extend(inner.around);
    CursorPath {
        path: place.path,
        around: place.around,
        key: inner.key,
        beside: inner.beside,
    }
}

#[derive(Default)]
struct Open {
    is_list: bool,
    key: Option<String>,
    /// Whether the value of the key comes next.
    is_valued: bool,
    members: Members,
}

/// The tokens of JSON or of a flow collection with their byte offsets.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match c {
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            '"' => {
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|(_, c)| {
                    let ends = *c == '\n' || (*c == '"' && !escaped);
                    escaped = *c == '\\' && !escaped;
                    ends
                });
                end.map_or(rest.len(), |(end, c)| if c == '"' { end + 1 } else { end })
            }
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || "{}[],:\"".contains(c);
                rest.find(ends).unwrap_or(rest.len())
            }
        };
        found.push((at, &rest[..length]));
        at += length;
    }
    found
}

/// The position in JSON, by the brackets before it; `None` outside of all brackets.
pub(super) fn in_json(text: &str, byte: usize) -> Option<CursorPath> {
    let mut open: Vec<Open> = Vec::new();
    let mut place: Option<CursorPath> = None;
    // How many brackets were open at the cursor: members that follow in them are added.
    let mut depth = 0;
    let mut is_outside = false;
    for (index, token) in tokens(text) {
        let is_mark = token.len() == 1 && "{}[],:".contains(token);
        let touches = index < byte && index + token.len() >= byte && !is_mark;
        if place.is_none() && !is_outside && (touches || index >= byte) {
            place = path_of(&open);
            is_outside = place.is_none();
            depth = open.len();
        }
        match token {
            "{" | "[" => open.push(Open {
                is_list: token == "[",
                ..Open::default()
            }),
            "}" | "]" => {
                let closed = open.pop();
                if let (Some(place), Some(closed)) = (&mut place, closed)
                    && open.len() + 1 == depth
                {
                    place.beside = closed.members;
                    depth = 0;
                }
            }
            token => add_token(open.last_mut(), token),
        }
    }
    let mut place = match is_outside {
        true => None,
        false => place.or_else(|| path_of(&open)),
    }?;
    if depth > 0
        && let Some(last) = open.get(depth - 1)
    {
        place.beside.clone_from(&last.members);
    }
    if let Some(key) = &place.key {
        place.beside.remove(key);
    }
    Some(place)
}

fn add_token(now: Option<&mut Open>, token: &str) {
    let Some(now) = now else {
        return;
    };
    match token {
        ":" => now.is_valued = true,
        "," => {
            now.is_valued = false;
            now.key = None;
        }
        _ if now.is_list => {}
        token => match (&now.key, now.is_valued) {
            (Some(key), true) => {
                now.members.insert(key.clone(), unquoted(token));
            }
            (_, _) => now.key = Some(unquoted(token)),
        },
    }
}

fn path_of(open: &[Open]) -> Option<CursorPath> {
    let last = open.last()?;
    let over = match last.is_list {
        true => open,
        false => &open[..open.len() - 1],
    };
    let name = |frame: &Open| match frame.is_list {
        true => "*".to_owned(),
        false => frame.key.clone().unwrap_or_default(),
    };
    Some(CursorPath {
        path: over.iter().map(name).collect(),
        key: last.key.clone().filter(|_| last.is_valued && !last.is_list),
        beside: last.members.clone(),
        around: over.iter().map(|frame| frame.members.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml(text: &str) -> (String, Option<String>, Members) {
        let at = text.find('|').unwrap();
        let line = text[..at].matches('\n').count();
        let byte = at - text[..at].rfind('\n').map_or(0, |end| end + 1);
        let place = in_yaml(&text.replacen('|', "", 1), line, byte);
        (place.path.join("/"), place.key, place.beside)
    }

    #[test]
    fn yaml_is_found_by_indentation() {
        let (path, key, beside) = yaml(
            "tools:\n  - name: t\n    nodes:\n      - id: a\n        next: |\n        type: mcp\n",
        );
        assert_eq!(
            (path.as_str(), key.as_deref()),
            ("tools/*/nodes/*", Some("next"))
        );
        assert_eq!(
            beside.keys().map(String::as_str).collect::<Vec<_>>(),
            ["id", "type"]
        );
        let (path, key, _) = yaml("tools:\n- name: t\n  |\n");
        assert_eq!((path.as_str(), key), ("tools/*", None));
    }

    #[test]
    fn brackets_in_yaml_are_followed() {
        let (path, key, beside) = yaml("nodes:\n  - {id: a, type: mcp, next: |}\n");
        assert_eq!((path.as_str(), key.as_deref()), ("nodes/*", Some("next")));
        assert_eq!(beside["type"], "mcp");
        let (path, key, _) = yaml("nodes:\n  - id: a\n    next: [b, |]\n");
        assert_eq!((path.as_str(), key), ("nodes/*/next/*", None));
    }

    #[test]
    fn json_is_found_by_brackets() {
        let text = r#"{"tasks": [{"id": "a", "depends_on": [""], "tool": "x"}]}"#;
        let place = in_json(text, text.find("\"\"").unwrap() + 1).unwrap();
        assert_eq!(place.path.join("/"), "tasks/*/depends_on/*");
        assert!(in_json("  {}", 1).is_none());
        let text = r#"{"tasks": [{"id": "a", "tool": "", "x": "1"}]}"#;
        let place = in_json(text, text.find("\"\"").unwrap() + 1).unwrap();
        assert_eq!(place.key.as_deref(), Some("tool"));
        assert_eq!(place.beside["x"], "1");
    }
}
