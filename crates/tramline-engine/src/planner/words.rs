//! Words of a text, brought to one form so that they can be compared.

use super::literals;
use crate::seams::Tool;
use tramline_core::Value;

/// Words that say nothing of what is wanted.
const EMPTY: [&str; 30] = [
    "a", "an", "the", "of", "to", "in", "on", "for", "with", "and", "or", "all", "any", "from",
    "by", "this", "that", "it", "its", "is", "are", "be", "me", "my", "please", "into", "at", "as",
    "their", "them",
];

/// What divides a wish into clauses.
const DIVIDERS: [&str; 7] = ["; ", ", then ", " and then ", " then ", ". ", "\n", " and "];

/// What divides a clause into parts that may each want something of their own.
const PART_DIVIDERS: [&str; 12] = [
    ", ",
    " but ",
    " also ",
    " as well as ",
    " plus ",
    " & ",
    " before ",
    " after ",
    " while ",
    " afterwards ",
    " finally ",
    " next ",
];

/// The clauses of a wish, what is in quotes kept whole.
pub(super) fn clauses(wish: &str) -> Vec<String> {
    divided(wish, &DIVIDERS)
}

/// The parts of a clause, what is in quotes kept whole.
pub(super) fn parts(clause: &str) -> Vec<String> {
    divided(clause, &PART_DIVIDERS)
}

fn divided(wish: &str, dividers: &[&str]) -> Vec<String> {
    let quoted = literals::quotes(wish);
    let inside = |at: usize| quoted.iter().any(|span| span.contains(&at));
    let mut cuts = Vec::new();
    let lower = wish.to_ascii_lowercase();
    let mut at = 0;
    while at < wish.len() {
        let divider = dividers
            .iter()
            .find(|divider| lower[at..].starts_with(**divider));
        match divider {
            Some(divider) if !inside(at) => {
                cuts.push(at..at + divider.len());
                at += divider.len();
            }
            Some(_) | None => at += wish[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    let mut from = 0;
    let mut clauses = Vec::new();
    for cut in cuts {
        clauses.push(&wish[from..cut.start]);
        from = cut.end;
    }
    clauses.push(&wish[from..]);
    let trimmed = clauses
        .into_iter()
        .map(|clause| clause.trim_matches([' ', '.', ';', ',']));
    trimmed
        .filter(|clause| !clause.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The words of a text that say something, in their common form.
pub(super) fn all(text: &str) -> Vec<String> {
    let mut words = split(text);
    words.retain(|word| !EMPTY.contains(&word.as_str()));
    words.iter().map(|word| stem(word)).collect()
}

/// The words of a text or a name, in small letters.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in text.chars().chain([' ']) {
        // A capital after a small letter begins a word: `readFile`.
        let begins = c.is_uppercase() && was_small;
        if (!c.is_alphanumeric() || begins) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    words
}

/// A word without the endings that change with its use.
pub(super) fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    for ending in ["ing", "ies", "ed", "es", "s", "e"] {
        if let Some(short) = word.strip_suffix(ending)
            && short.chars().count() >= 3
        {
            return short.to_owned();
        }
    }
    word
}

/// Words by which tools say that they find, read or tell something, as search compares them.
const FINDS: [&str; 14] = [
    "search",
    "find",
    "queri",
    "lookup",
    "look",
    "list",
    "discov",
    "brows",
    "locat",
    "inquir",
    "inquiri",
    "explor",
    "select",
    "recommend",
];
const READS: [&str; 13] = [
    "get", "read", "retriev", "fetch", "check", "show", "view", "detail", "obtain", "track",
    "status", "count", "login",
];
const TELLS: [&str; 13] = [
    "send", "notifi", "email", "sms", "messag", "share", "post", "publish", "remind", "report",
    "alert", "confirm", "print",
];

/// How late a tool with such a name comes as a rule: what finds comes before what reads, that before
/// what changes, and what tells comes last.
pub(super) fn stage(name: &str) -> u8 {
    let words = crate::search::said(name);
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    match () {
        () if any(&FINDS) => 0,
        () if any(&READS) => 1,
        () if any(&TELLS) => 3,
        () => 2,
    }
}

/// Whether a tool says that it needs to know which one: by an argument, or in its description.
pub(super) fn by_id(tool: &Tool) -> bool {
    let is_id = |text: &str| {
        all(text)
            .iter()
            .any(|word| word == "id" || word == "identifier")
    };
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    required.any(is_id) || is_id(tool.description.as_deref().unwrap_or_default())
}

/// Whether a word says what is done rather than to what.
pub(super) fn is_verb(word: &str) -> bool {
    let known = [&FINDS[..], &READS[..], &TELLS[..]];
    known.iter().any(|known| known.contains(&word))
}
