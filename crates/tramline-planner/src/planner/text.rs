//! Splits texts into clauses and normalized words.

use tramline_engine::ports::Tool;
use tramline_engine::scrub::quoted_ranges;
use tramline_expr::Value;

/// Stop words.
const STOP_WORDS: [&str; 30] = [
    "a", "an", "the", "of", "to", "in", "on", "for", "with", "and", "or", "all", "any", "from",
    "by", "this", "that", "it", "its", "is", "are", "be", "me", "my", "please", "into", "at", "as",
    "their", "them",
];

/// Separators of the clauses of a request.
const CLAUSE_SEPARATORS: [&str; 7] = ["; ", ", then ", " and then ", " then ", ". ", "\n", " and "];

/// Separators of the parts of a clause that may each need a tool.
const PART_SEPARATORS: [&str; 12] = [
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

/// The clauses of a request. Quoted texts are not divided.
pub(super) fn clauses(wish: &str) -> Vec<String> {
    split_at(wish, &CLAUSE_SEPARATORS)
}

/// The parts of a clause. Quoted texts are not divided.
pub(super) fn parts(clause: &str) -> Vec<String> {
    split_at(clause, &PART_SEPARATORS)
}

fn split_at(wish: &str, dividers: &[&str]) -> Vec<String> {
    let quoted = quoted_ranges(wish);
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

/// The words of a text without stop words, stemmed.
pub(super) fn stems(text: &str) -> Vec<String> {
    let mut words = split_words(text);
    words.retain(|word| !STOP_WORDS.contains(&word.as_str()));
    words.iter().map(|word| stem(word)).collect()
}

/// The words of a text or a name, in lower case.
pub(super) fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in text.chars().chain([' ']) {
        // An upper-case letter after a lower-case letter begins a word: `readFile`.
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

/// A word without its inflectional ending.
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

/// Stems of verbs for tools that search, read or notify.
const SEARCH_VERBS: [&str; 14] = [
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
const READ_VERBS: [&str; 13] = [
    "get", "read", "retriev", "fetch", "check", "show", "view", "detail", "obtain", "track",
    "status", "count", "login",
];
const NOTIFY_VERBS: [&str; 13] = [
    "send", "notifi", "email", "sms", "messag", "share", "post", "publish", "remind", "report",
    "alert", "confirm", "print",
];

/// The usual position of a tool in a plan, by its name: tools that search come first, then those that read, those that
/// change something, and those that notify.
pub(super) fn stage(name: &str) -> u8 {
    let words = tramline_catalog::search::stemmed_words(name);
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    match () {
        () if any(&SEARCH_VERBS) => 0,
        () if any(&READ_VERBS) => 1,
        () if any(&NOTIFY_VERBS) => 3,
        () => 2,
    }
}

/// Whether a tool needs an id, according to a required argument or its description.
pub(super) fn needs_id(tool: &Tool) -> bool {
    let is_id = |text: &str| {
        stems(text)
            .iter()
            .any(|word| word == "id" || word == "identifier")
    };
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    required.any(is_id) || is_id(tool.description.as_deref().unwrap_or_default())
}

/// Whether a word is one of the known verbs.
pub(super) fn is_verb(word: &str) -> bool {
    let known = [&SEARCH_VERBS[..], &READ_VERBS[..], &NOTIFY_VERBS[..]];
    known.iter().any(|known| known.contains(&word))
}
