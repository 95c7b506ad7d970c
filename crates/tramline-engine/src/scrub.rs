//! Scrubs text that is stored longer than a run: keeps its words and drops what may be a secret or identify a person.

mod intent;

pub use intent::scrub_intent;

use std::ops::Range;

/// How much of a request is stored, in characters: a sentence or two.
const REQUEST_CHARS_MAX: usize = 200;
/// A word of at least this many characters that mixes digits and letters is a key, an id or a hash.
const KEY_CHARS_MIN: usize = 16;
/// Words after which a secret is likely to follow.
const SECRET_WORDS: [&str; 9] = [
    "password",
    "passwort",
    "passphrase",
    "secret",
    "token",
    "bearer",
    "apikey",
    "api_key",
    "key",
];

/// The words of a request that can be stored.
pub fn scrub_request(text: &str) -> String {
    scrub_within(text, REQUEST_CHARS_MAX)
}

/// Like [`scrub_request`], with another limit in characters.
fn scrub_within(text: &str, most: usize) -> String {
    let mut kept = String::new();
    let mut after_secret = false;
    for word in text.split_whitespace() {
        let drop = is_secret(word) || (after_secret && looks_generated(word));
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let plain = plain.to_lowercase();
        let linking = ["is", "=", ":", "are", "with", "to"].contains(&word);
        after_secret = SECRET_WORDS.contains(&plain.as_str()) || (after_secret && linking);
        if drop || kept.chars().count() + word.chars().count() >= most {
            continue;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(word);
    }
    kept
}

/// Whether a word by itself looks like a secret or an email address.
fn is_secret(word: &str) -> bool {
    let lower = word.to_lowercase();
    let assigned = ['=', ':'].into_iter().any(|sign| {
        let parts = lower.split_once(sign);
        parts.is_some_and(|(name, value)| {
            !value.is_empty() && SECRET_WORDS.iter().any(|secret| name.ends_with(secret))
        })
    });
    let person = lower.contains('@');
    let prefixed = [
        "sk-",
        "ghp_",
        "gho_",
        "github_pat_",
        "xox",
        "akia",
        "eyj",
        "glpat-",
    ];
    let known = lower.len() > 8 && prefixed.iter().any(|prefix| lower.starts_with(prefix));
    assigned || person || known || (word.len() >= KEY_CHARS_MIN && looks_generated(word))
}

/// Whether a word looks generated: digits, mixed case or unusual characters inside it.
fn looks_generated(word: &str) -> bool {
    let core = word.trim_matches(|c: char| !c.is_alphanumeric());
    let digits = core.chars().any(|c| c.is_ascii_digit());
    let letters = core.chars().any(char::is_alphabetic);
    let odd = core
        .chars()
        .any(|c| !c.is_alphanumeric() && !"-_./'".contains(c));
    let upper_inside =
        core.chars().skip(1).any(char::is_uppercase) && core.chars().any(char::is_lowercase);
    (digits && letters) || odd || upper_inside
}

/// The byte ranges of quoted texts, including their quotes.
pub fn quoted_ranges(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map_or(' ', |(_, next)| *next);
        match open {
            // A quote with letters on both sides is an apostrophe: `'Ada's book'`.
            Some((_, end)) if c == end && is_apostrophe(before, c, next) => {}
            Some((from, end)) if c == end => {
                found.push(from..at + c.len_utf8());
                open = None;
            }
            Some(_) => {}
            // A quote inside a word is an apostrophe.
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

#[cfg(test)]
mod tests {
    use super::scrub_request;

    #[test]
    fn words_stay_and_secrets_go() {
        for (given, kept) in [
            ("count the files in src/main", "count the files in src/main"),
            ("use token=abc123 to log in", "use to log in"),
            (
                "password is hunter2 for the site",
                "password is for the site",
            ),
            ("call with sk-livedeadbeefcafe please", "call with please"),
            ("mail ann@example.com today", "mail today"),
            ("open 9f86d081884c7d659a2feaa0c55ad015 now", "open now"),
            ("  spaced   out  ", "spaced out"),
        ] {
            assert_eq!(scrub_request(given), kept, "{given}");
        }
        assert!(scrub_request(&"word ".repeat(500)).len() <= 200);
    }
}
