//! Literal values in a request: quoted texts, paths, URLs, email addresses, numbers.

use tramline_engine::scrub::quoted_ranges;
use tramline_expr::Value;

/// Keywords that begin an SQL statement.
const SQL: [&str; 12] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "WITH", "PRAGMA", "REPLACE",
    "EXPLAIN", "TRUNCATE",
];

/// What a literal looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralKind {
    /// Quoted text that looks like nothing else.
    Quoted,
    QuotedPath,
    QuotedUrl,
    Sql,
    Email,
    Path,
    Url,
    Integer,
    Float,
    Boolean,
}

/// A literal value in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Literal {
    pub(super) kind: LiteralKind,
    pub(super) value: Value,
}

/// The literals of a text, in order.
pub(super) fn parse_literals(text: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut from = 0;
    for span in quoted_ranges(text) {
        found.extend(
            text[from..span.start]
                .split_whitespace()
                .filter_map(bare_literal),
        );
        let inside = text[span.clone()].trim_matches(['"', '\'', '`', '“', '”', '‘', '’']);
        found.push(Literal {
            kind: kind_of_quoted(inside),
            value: inside.into(),
        });
        from = span.end;
    }
    found.extend(text[from..].split_whitespace().filter_map(bare_literal));
    found
}

/// The literals of a request that no task uses, as they are shown; an empty one is never used.
pub(super) fn unused_literals(wish: &str, tasks: &Value) -> Vec<String> {
    let mut used = Vec::new();
    for task in tasks.as_array().unwrap_or_default() {
        add_leaves(task.get("arguments").unwrap_or(&Value::Null), &mut used);
    }
    let is_used = |literal: &Literal| match literal.value.as_str() {
        Some(text) => {
            let holds = |leaf: &&Value| leaf.as_str().is_some_and(|leaf| leaf.contains(text));
            !text.trim().is_empty() && used.iter().any(holds)
        }
        None => {
            let text = literal.value.to_string();
            let is = |leaf: &&Value| **leaf == literal.value || leaf.as_str() == Some(&text);
            used.iter().any(is)
        }
    };
    let literals = parse_literals(wish).into_iter();
    let unused = literals.filter(|literal| !is_used(literal));
    unused.map(|literal| literal.value.to_json()).collect()
}

/// The scalars inside a value.
fn add_leaves<'v>(value: &'v Value, leaves: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_leaves(item, leaves)),
        Value::Object(map) => map.values().for_each(|item| add_leaves(item, leaves)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => leaves.push(value),
    }
}

/// What a quoted text looks like.
fn kind_of_quoted(text: &str) -> LiteralKind {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_one = text.split_whitespace().count() == 1;
    match bare_literal(text).map(|literal| literal.kind) {
        Some(LiteralKind::Url) if is_one => LiteralKind::QuotedUrl,
        Some(LiteralKind::Email) if is_one => LiteralKind::Email,
        Some(LiteralKind::Path) if is_one => LiteralKind::QuotedPath,
        _ if !is_one && SQL.contains(&first.to_ascii_uppercase().as_str()) => LiteralKind::Sql,
        _ if !is_one && text.starts_with('/') => LiteralKind::QuotedPath,
        _ => LiteralKind::Quoted,
    }
}

/// A text without its quoted parts and its bare literals.
pub(super) fn without_literals(text: &str) -> String {
    let mut left = String::new();
    let mut from = 0;
    let mut keep = |part: &str| {
        for word in part
            .split_whitespace()
            .filter(|word| bare_literal(word).is_none())
        {
            left.push_str(word);
            left.push(' ');
        }
    };
    for span in quoted_ranges(text) {
        keep(&text[from..span.start]);
        from = span.end;
    }
    keep(&text[from..]);
    left
}

/// A word that is a literal without quotes.
fn bare_literal(word: &str) -> Option<Literal> {
    let word = word
        .trim_end_matches([',', ';', ':', '!', '?', ')'])
        .trim_start_matches('(');
    let plain = word.trim_end_matches('.');
    let made = |kind, value: Value| Some(Literal { kind, value });
    if let Ok(whole) = plain.parse::<i64>() {
        return made(LiteralKind::Integer, whole.into());
    }
    let numeric = plain.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if numeric && let Ok(fraction) = plain.parse::<f64>() {
        return made(LiteralKind::Float, fraction.into());
    }
    match plain {
        "true" | "false" => return made(LiteralKind::Boolean, (plain == "true").into()),
        "." | ".." | "" => return None,
        _ => {}
    }
    if plain.contains("://") {
        return made(LiteralKind::Url, plain.into());
    }
    if is_email(plain) {
        return made(LiteralKind::Email, plain.into());
    }
    let (stem, ending) = plain.rsplit_once('.').unwrap_or(("", ""));
    let is_name = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
    let is_file = is_name(ending) && ending.len() <= 5 && !stem.is_empty();
    if plain.starts_with('/') || plain.starts_with("./") || plain.contains('/') || is_file {
        return made(LiteralKind::Path, plain.into());
    }
    None
}

fn is_email(word: &str) -> bool {
    let Some((who, host)) = word.split_once('@') else {
        return false;
    };
    !who.is_empty() && !word.contains('/') && host.contains('.') && !host.contains('@')
}
