//! Values that are written in a wish as they are: in quotes, as paths, as numbers.

use std::ops::Range;
use tramline_core::Value;

/// What a literal looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Quoted,
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
    for (at, c) in text.char_indices() {
        match open {
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

/// The literals of a text, in order.
pub(super) fn of(text: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut from = 0;
    for span in quotes(text) {
        found.extend(text[from..span.start].split_whitespace().filter_map(bare));
        let inside = text[span.clone()].trim_matches(['"', '\'', '`', '“', '”', '‘', '’']);
        found.push(Literal {
            kind: Kind::Quoted,
            value: inside.into(),
        });
        from = span.end;
    }
    found.extend(text[from..].split_whitespace().filter_map(bare));
    found
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
    let (stem, ending) = plain.rsplit_once('.').unwrap_or(("", ""));
    let is_name = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
    let is_file = is_name(ending) && ending.len() <= 5 && !stem.is_empty();
    if plain.starts_with('/') || plain.starts_with("./") || plain.contains('/') || is_file {
        return made(Kind::Path, plain.into());
    }
    None
}
