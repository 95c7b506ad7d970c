//! Values that are written in a wish as they are: in quotes, as paths, as numbers.

use std::ops::Range;
use tramline_core::Value;

/// How statements of SQL begin.
const SQL: [&str; 12] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "WITH", "PRAGMA", "REPLACE",
    "EXPLAIN", "TRUNCATE",
];

/// What a literal looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text in quotes that looks like nothing else.
    Quoted,
    QuotedPath,
    QuotedUrl,
    Sql,
    Email,
    Path,
    Url,
    Whole,
    Fraction,
    Truth,
}

/// A value that is written in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Literal {
    pub(super) kind: Kind,
    pub(super) value: Value,
}

/// The places of quoted texts, their quotes included.
pub(crate) fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        match open {
            // One with letters on both sides is an apostrophe: `'Ada's book'`.
            Some((_, end)) if c == end && is_apostrophe(before, c, next) => {}
            Some((from, end)) if c == end => {
                found.push(from..at + c.len_utf8());
                open = None;
            }
            Some(_) => {}
            // One inside a word is an apostrophe.
            None if !before.is_alphanumeric() => {
                let end = match c {
                    '"' | '\'' | '`' => Some(c),
                    '“' => Some('”'),
                    '‘' => Some('’'),
                    _ => None,
                };
                open = end.map(|end| (at, end));
            }
            None => {}
        }
        before = c;
    }
    found
}

fn is_apostrophe(before: char, c: char, next: char) -> bool {
    matches!(c, '\'' | '’') && before.is_alphanumeric() && next.is_alphanumeric()
}

/// The literals of a text, in order.
pub(super) fn of(text: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut from = 0;
    for span in quotes(text) {
        found.extend(text[from..span.start].split_whitespace().filter_map(bare));
        let inside = text[span.clone()].trim_matches(['"', '\'', '`', '“', '”', '‘', '’']);
        found.push(Literal {
            kind: kind_of_quoted(inside),
            value: inside.into(),
        });
        from = span.end;
    }
    found.extend(text[from..].split_whitespace().filter_map(bare));
    found
}

/// What a text in quotes looks like.
fn kind_of_quoted(text: &str) -> Kind {
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_one = text.split_whitespace().count() == 1;
    match bare(text).map(|literal| literal.kind) {
        Some(Kind::Url) if is_one => Kind::QuotedUrl,
        Some(Kind::Email) if is_one => Kind::Email,
        Some(Kind::Path) if is_one => Kind::QuotedPath,
        _ if !is_one && SQL.contains(&first.to_ascii_uppercase().as_str()) => Kind::Sql,
        _ if !is_one && text.starts_with('/') => Kind::QuotedPath,
        _ => Kind::Quoted,
    }
}

/// A text without its quoted parts and its bare literals.
pub(super) fn without(text: &str) -> String {
    let mut left = String::new();
    let mut from = 0;
    let mut keep = |part: &str| {
        for word in part.split_whitespace().filter(|word| bare(word).is_none()) {
            left.push_str(word);
            left.push(' ');
        }
    };
    for span in quotes(text) {
        keep(&text[from..span.start]);
        from = span.end;
    }
    keep(&text[from..]);
    left
}

/// A word that is a literal without quotes.
fn bare(word: &str) -> Option<Literal> {
    let word = word
        .trim_end_matches([',', ';', ':', '!', '?', ')'])
        .trim_start_matches('(');
    let plain = word.trim_end_matches('.');
    let made = |kind, value: Value| Some(Literal { kind, value });
    if let Ok(whole) = plain.parse::<i64>() {
        return made(Kind::Whole, whole.into());
    }
    let numeric = plain.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if numeric && let Ok(fraction) = plain.parse::<f64>() {
        return made(Kind::Fraction, fraction.into());
    }
    match plain {
        "true" | "false" => return made(Kind::Truth, (plain == "true").into()),
        "." | ".." | "" => return None,
        _ => {}
    }
    if plain.contains("://") {
        return made(Kind::Url, plain.into());
    }
    if is_email(plain) {
        return made(Kind::Email, plain.into());
    }
    let (stem, ending) = plain.rsplit_once('.').unwrap_or(("", ""));
    let is_name = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
    let is_file = is_name(ending) && ending.len() <= 5 && !stem.is_empty();
    if plain.starts_with('/') || plain.starts_with("./") || plain.contains('/') || is_file {
        return made(Kind::Path, plain.into());
    }
    None
}

fn is_email(word: &str) -> bool {
    let Some((who, host)) = word.split_once('@') else {
        return false;
    };
    !who.is_empty() && !word.contains('/') && host.contains('.') && !host.contains('@')
}
