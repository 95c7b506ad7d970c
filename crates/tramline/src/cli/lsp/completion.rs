//! Completion from the format's JSON Schema, the document's nodes, and the tools that are known
//! without asking a server.

use super::cursor_path::{self, CursorPath, Members};
use super::open_document::OpenDocument;
use super::positions::{self, Position};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::ops::Range;
use tramline_builtin::SERVER;
use tramline_expr::{Str, Value};
use tramline_formats::{Format, SourceKind, call_sites};
use tramline_views::format_schema::FormatSchema;
use tramline_workflow::builtin_tools;

/// Keys whose values are node ids.
const NODE_KEYS: [&str; 9] = [
    "next",
    "on-error",
    "onError",
    "depends_on",
    "from",
    "to",
    "start_node",
    "entryNode",
    "exitNode",
];
/// Keys whose values are the arguments of a call.
const ARGUMENT_KEYS: [&str; 3] = ["args", "arguments", "params"];
/// Most references that are followed to reach a schema; our schemas need two.
const REFERENCES_MAX: usize = 16;

/// The kinds of completion, as the protocol numbers them.
#[derive(Clone, Copy)]
enum Kind {
    Tool = 3,
    Key = 10,
    Value = 12,
    Node = 18,
}

struct Suggestion {
    text: String,
    kind: Kind,
    about: Option<String>,
    is_required: bool,
}

impl Suggestion {
    fn new(text: impl Into<String>, kind: Kind, about: Option<String>) -> Self {
        Self {
            text: text.into(),
            kind,
            about,
            is_required: false,
        }
    }
}

/// The cursor in a document whose format has a schema.
struct Cursor<'d> {
    place: CursorPath,
    line: &'d str,
    byte: usize,
    is_json: bool,
    schema: Value,
}

fn cursor(document: &OpenDocument, at: Position) -> Option<Cursor<'_>> {
    let line = positions::line_at(&document.text, at.line);
    let byte = positions::byte_in_line(line, at.character);
    let kind = document.kind.unwrap_or(SourceKind::Workflows(Format::Yaml));
    let schema = FormatSchema::of_kind(kind)?.json_schema();
    let is_json = document.text.trim_start().starts_with(['{', '[']);
    let number = usize::try_from(at.line).ok()?;
    let place = match is_json {
        true => {
            let before = document.text.split('\n').take(number);
            let start: usize = before.map(|line| line.len() + 1).sum();
            cursor_path::in_json(&document.text, start + byte)?
        }
        false => cursor_path::in_yaml(&document.text, number, byte),
    };
    Some(Cursor {
        place,
        line,
        byte,
        is_json,
        schema,
    })
}

/// The completions at a position.
pub(super) fn complete(document: &OpenDocument, at: Position, known_servers: &[Str]) -> Json {
    let Some(cursor) = cursor(document, at) else {
        return json!([]);
    };
    let word = word_before(&cursor);
    let from = positions::in_line(&document.text, at.line, word.start);
    let to = positions::in_line(&document.text, at.line, word.end);
    let found = suggestions(&cursor, document, at, known_servers);
    let items = found.into_iter().enumerate().map(|(rank, one)| {
        let written = match cursor.is_json && !matches!(one.text.as_str(), "true" | "false") {
            true => Json::from(one.text.as_str()).to_string(),
            false => one.text.clone(),
        };
        let new_text = match one.kind {
            Kind::Key => format!("{written}: "),
            Kind::Tool | Kind::Value | Kind::Node => written.clone(),
        };
        let mut item = json!({
            "label": one.text,
            "kind": one.kind as u8,
            "filterText": written,
            "sortText": format!("{}{rank:04}", u8::from(!one.is_required)),
            "textEdit": { "range": positions::range(from, to), "newText": new_text },
        });
        if let Some(about) = one.about {
            item["documentation"] = about.into();
        }
        if one.is_required {
            item["detail"] = "required".into();
        }
        item
    });
    Json::Array(items.collect())
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || "_$.:@/-".contains(c)
}

/// The word before the cursor; in JSON with its quotation marks.
fn word_before(cursor: &Cursor<'_>) -> Range<usize> {
    let Cursor {
        line,
        byte,
        is_json,
        ..
    } = cursor;
    let word = line[..*byte].trim_end_matches(is_word_char);
    let mut range = word.len()..*byte;
    // The colon after a key is not part of the value that follows it.
    if let Some(colon) = line[range.clone()]
        .rfind(": ")
        .or(line[range.clone()].strip_suffix(':').map(str::len))
    {
        range.start += colon + 1;
    }
    if *is_json && line[..range.start].ends_with('"') {
        range.start -= 1;
        range.end += usize::from(line[range.end..].starts_with('"'));
    }
    range
}

fn suggestions(
    cursor: &Cursor<'_>,
    document: &OpenDocument,
    at: Position,
    known_servers: &[Str],
) -> Vec<Suggestion> {
    let CursorPath {
        path, key, beside, ..
    } = &cursor.place;
    if let Some((called, inside)) = called_tool(&cursor.place) {
        let schema = builtin_schema(&called);
        return schema.map_or_else(Vec::new, |schema| by_schema(&schema, inside, &cursor.place));
    }
    let in_list = path.last().is_some_and(|last| last == "*") && key.is_none();
    let list = path
        .len()
        .checked_sub(2)
        .and_then(|at| path.get(at))
        .filter(|_| in_list);
    let leads = key.as_ref().or(list).map(String::as_str);
    if leads.is_some_and(|key| NODE_KEYS.contains(&key)) {
        let nodes = document.nodes_at(at);
        let own = beside.get("id").map(String::as_str);
        let nodes = nodes.filter(|node| Some(node.id.as_str()) != own);
        return nodes
            .map(|node| Suggestion::new(node.id.as_str(), Kind::Node, None))
            .collect();
    }
    match key.as_deref() {
        Some("server") if path.len() > 1 => servers(document, known_servers),
        Some("tool") => tools(document, beside),
        Some("type") => {
            let mut found = by_schema(&cursor.schema, path, &cursor.place);
            if document.kind == Some(SourceKind::Workflows(Format::Ir)) {
                found.extend(tools(document, beside));
            }
            found
        }
        _ => by_schema(&cursor.schema, path, &cursor.place),
    }
}

/// The tool whose arguments are being typed, and the path inside them.
fn called_tool(place: &CursorPath) -> Option<(String, &[String])> {
    let at = place
        .path
        .iter()
        .position(|part| ARGUMENT_KEYS.contains(&part.as_str()))?;
    let node = place.around.get(at)?;
    let name = match (node.get("server"), node.get("tool"), node.get("type")) {
        (Some(server), Some(tool), _) => format!("{server}:{tool}"),
        (None, Some(tool), _) => tool.clone(),
        (_, None, kind) => kind.cloned().unwrap_or_default(),
    };
    Some((name, &place.path[at + 1..]))
}

fn builtin_schema(name: &str) -> Option<Value> {
    let tool = name.strip_prefix(SERVER)?.strip_prefix(':')?;
    builtin_tools::schema(tool).map(|schema| schema.input.clone())
}

fn servers(document: &OpenDocument, known_servers: &[Str]) -> Vec<Suggestion> {
    let mut names = vec![SERVER.to_owned()];
    names.extend(known_servers.iter().map(ToString::to_string));
    // Also of a document that cannot be parsed: the keys one level below `mcpServers`.
    let mut lines = document.text.lines();
    if lines.any(|line| line.starts_with("mcpServers:")) {
        let below: Vec<&str> = lines
            .take_while(|line| line.starts_with([' ', '#']) || line.is_empty())
            .collect();
        let indent = |line: &str| line.len() - line.trim_start().len();
        let least = below
            .iter()
            .filter(|line| !line.trim().is_empty())
            .map(|line| indent(line))
            .min();
        let own = below.iter().filter(|line| Some(indent(line)) == least);
        names.extend(own.filter_map(|line| Some(line.trim().split_once(':')?.0.to_owned())));
    }
    names.sort();
    names.dedup();
    names
        .into_iter()
        .map(|name| Suggestion::new(name, Kind::Value, None))
        .collect()
}

/// The built-in tools, and those that the document calls elsewhere; of one server if it is named.
fn tools(document: &OpenDocument, beside: &Members) -> Vec<Suggestion> {
    let mut found = BTreeMap::new();
    for name in builtin_tools::names() {
        let about =
            builtin_tools::schema(name).and_then(|schema| text_of(&schema.input, "description"));
        found.insert(format!("{SERVER}:{name}"), about);
    }
    for call in call_sites::find_call_sites(document.text.as_bytes()) {
        found.entry(call.name.to_string()).or_insert(None);
    }
    let server = beside.get("server").map(|server| format!("{server}:"));
    let own = found.into_iter().filter_map(|(name, about)| {
        let text = match &server {
            Some(server) => name.strip_prefix(server)?.to_owned(),
            None => name,
        };
        Some(Suggestion::new(text, Kind::Tool, about))
    });
    own.filter(|one| !one.text.is_empty()).collect()
}

fn by_schema(root: &Value, path: &[String], place: &CursorPath) -> Vec<Suggestion> {
    let Some(schema) = schema_at(
        root,
        path,
        &place.around[place.around.len().saturating_sub(path.len())..],
    ) else {
        return Vec::new();
    };
    if let Some(key) = &place.key {
        let member = member(&schema, key, root, &place.beside);
        return member.map_or_else(Vec::new, |schema| values(&schema));
    }
    let required = schema.get("required").and_then(Value::as_array);
    let required =
        |key: &str| required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(key)));
    let free = members(&schema, root, &place.beside).into_iter();
    let free = free.filter(|(key, _)| !place.beside.contains_key(key.as_str()));
    let mut found: Vec<_> = free
        .map(|(key, schema)| Suggestion {
            is_required: required(&key),
            about: text_of(&resolved(&schema, root), "description")
                .or_else(|| text_of(&schema, "description")),
            text: key,
            kind: Kind::Key,
        })
        .collect();
    found.sort_by_key(|one| !one.is_required);
    found
}

fn text_of(schema: &Value, key: &str) -> Option<String> {
    schema.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The schema that a reference leads to.
fn resolved(schema: &Value, root: &Value) -> Value {
    let mut now = schema.clone();
    for _ in 0..REFERENCES_MAX {
        let Some(reference) = text_of(&now, "$ref") else {
            break;
        };
        let parts = reference.trim_start_matches("#/").split('/');
        match parts.into_iter().try_fold(root, |at, part| at.get(part)) {
            Some(found) => now = found.clone(),
            None => break,
        }
    }
    now
}

/// The schema of the object at a path; the members around each part select its cases.
fn schema_at(root: &Value, path: &[String], around: &[Members]) -> Option<Value> {
    let mut now = resolved(root, root);
    for (part, beside) in path.iter().zip(around) {
        now = match part.as_str() {
            "*" => resolved(now.get("items")?, root),
            key => member(&now, key, root, beside)?,
        };
    }
    Some(now)
}

fn member(schema: &Value, key: &str, root: &Value, beside: &Members) -> Option<Value> {
    let known = members(schema, root, beside).into_iter();
    let known = known
        .filter(|(name, _)| name == key)
        .map(|(_, schema)| schema);
    let found = known
        .last()
        .or_else(|| schema.get("additionalProperties").cloned())?;
    found.as_object()?;
    Some(resolved(&found, root))
}

/// The possible members of an object, given its other members.
fn members(schema: &Value, root: &Value, beside: &Members) -> Vec<(String, Value)> {
    let mut all: Vec<(String, Value)> = Vec::new();
    let mut add = |schema: Option<&Value>| {
        let fields = schema
            .and_then(|schema| schema.get("properties"))
            .and_then(Value::as_object);
        for (key, value) in fields.into_iter().flat_map(|fields| fields.iter()) {
            let says_something = value.as_object().is_some_and(|fields| !fields.is_empty());
            match all.iter_mut().find(|(known, _)| known == key.as_str()) {
                Some((_, known)) if says_something => *known = value.clone(),
                Some(_) => {}
                None => all.push((key.to_string(), value.clone())),
            }
        }
    };
    add(Some(schema));
    let list = |key: &str| {
        schema
            .get(key)
            .and_then(Value::as_array)
            .map(<[_]>::to_vec)
            .unwrap_or_default()
    };
    for case in list("allOf") {
        match case.get("if") {
            Some(condition) if is_case(condition, beside) => add(case.get("then")),
            Some(_) => {}
            None => add(Some(&resolved(&case, root))),
        }
    }
    for case in list("anyOf").iter().chain(&list("oneOf")) {
        add(Some(&resolved(case, root)));
    }
    all
}

/// Whether the condition of a case holds for the existing members.
fn is_case(condition: &Value, beside: &Members) -> bool {
    let fields = condition.get("properties").and_then(Value::as_object);
    fields
        .into_iter()
        .flat_map(|fields| fields.iter())
        .all(|(key, value)| {
            let Some(has) = beside.get(key.as_str()) else {
                return false;
            };
            let is_it = |value: &Value| value.as_str() == Some(has);
            match value.get("enum").and_then(Value::as_array) {
                Some(all) => all.iter().any(is_it),
                None => value.get("const").is_none_or(is_it),
            }
        })
}

fn values(schema: &Value) -> Vec<Suggestion> {
    let mut texts: Vec<String> = Vec::new();
    let all = schema
        .get("enum")
        .and_then(Value::as_array)
        .map(<[_]>::to_vec);
    for value in all.unwrap_or_default().iter().chain(schema.get("const")) {
        texts.push(
            value
                .as_str()
                .map_or_else(|| value.to_json(), str::to_owned),
        );
    }
    if text_of(schema, "type").as_deref() == Some("boolean") {
        texts.extend(["true".to_owned(), "false".to_owned()]);
    }
    texts
        .into_iter()
        .map(|text| Suggestion::new(text, Kind::Value, None))
        .collect()
}

/// The description of the field whose key is at a position, and the byte range of the key.
pub(super) fn describe(document: &OpenDocument, at: Position) -> Option<(String, Range<usize>)> {
    let line = positions::line_at(&document.text, at.line);
    let byte = positions::byte_in_line(line, at.character);
    let is_key_char = |c: char| c.is_alphanumeric() || "_$-".contains(c);
    let start = line[..byte].trim_end_matches(is_key_char).len();
    let end = line.len() - line[byte..].trim_start_matches(is_key_char).len();
    let word = line.get(start..end).filter(|word| !word.is_empty())?;
    let key = line[end..].trim_start_matches('"').trim_start();
    if key.starts_with(':') {
        let character = positions::in_line(&document.text, at.line, start).character;
        let cursor = cursor(document, Position { character, ..at })?;
        let place = &cursor.place;
        let (root, path) = match called_tool(place) {
            Some((called, inside)) => (builtin_schema(&called)?, inside),
            None => (cursor.schema.clone(), place.path.as_slice()),
        };
        let around = &place.around[place.around.len().saturating_sub(path.len())..];
        let schema = schema_at(&root, path, around)?;
        let own = members(&schema, &root, &place.beside);
        let own = own.into_iter().find(|(key, _)| key == word)?.1;
        let about =
            text_of(&own, "description").or_else(|| text_of(&resolved(&own, &root), "description"));
        return Some((format!("**{word}**\n\n{}", about?), start..end));
    }
    // A built-in tool by its name.
    let schema = builtin_tools::schema(word)?;
    let fields = schema.input.get("properties").and_then(Value::as_object);
    let fields = fields.into_iter().flat_map(|fields| fields.iter());
    let fields = fields.map(|(key, schema)| {
        let about = text_of(schema, "description").unwrap_or_default();
        format!("- `{key}`: {about}")
    });
    let fields: Vec<_> = fields.collect();
    Some((
        format!("**{SERVER}:{word}**\n\n{}", fields.join("\n")),
        start..end,
    ))
}
