//! How strong a secret is: whether it can be searched for at all, and whether it can be guessed.
//!
//! Redaction replaces a secret wherever it stands. A short or common value stands in texts that
//! have nothing to do with it: replacing it there would garble results and give it away. And
//! whoever can make a text appear in a result can try values out, since a right guess is replaced.
//! No redaction prevents that, so a secret must be too long to guess.

use std::collections::BTreeSet;

/// A secret of fewer bytes is not searched for: it stands in other words by chance.
pub const SECRET_BYTES_MIN: usize = 4;
/// A secret of fewer different characters is a line or a filling, such as `======`.
const DIFFERENT_CHARS_MIN: usize = 3;
/// A secret of fewer bytes can be guessed.
pub const STRONG_BYTES_MIN: usize = 12;
/// A secret of fewer bits, as [`bits`] estimates them, can be guessed: at a thousand attempts a
/// second, half of 40 bits take 17 years.
const STRONG_BITS_MIN: u32 = 40;

/// A run of so many letters counts as a word.
const WORD_CHARS_MIN: usize = 3;
/// A word is one of about two thousand.
const WORD_BITS: u32 = 11;
/// A letter that is in no word.
const LETTER_BITS: u32 = 5;
/// A digit: most numbers are years, ports, counts and the like.
const DIGIT_BITS: u32 = 2;
/// Anything else between words.
const OTHER_BITS: u32 = 2;
/// A character that repeats or continues the one before it.
const FOLLOWING_BITS: u32 = 1;

/// Words that every other result holds; sorted. Shorter ones are too short anyway.
const COMMON: [&str; 116] = [
    "access",
    "account",
    "action",
    "active",
    "address",
    "admin",
    "administrator",
    "after",
    "answer",
    "application",
    "argument",
    "arguments",
    "array",
    "authorization",
    "bearer",
    "before",
    "boolean",
    "branch",
    "bytes",
    "change",
    "changeme",
    "client",
    "column",
    "command",
    "complete",
    "completed",
    "config",
    "configuration",
    "content",
    "count",
    "create",
    "created",
    "customer",
    "database",
    "debug",
    "default",
    "delete",
    "description",
    "details",
    "directory",
    "document",
    "email",
    "empty",
    "enabled",
    "entry",
    "error",
    "errors",
    "event",
    "example",
    "failed",
    "false",
    "field",
    "files",
    "first",
    "format",
    "function",
    "github",
    "group",
    "guest",
    "header",
    "headers",
    "hello",
    "https",
    "index",
    "input",
    "integer",
    "issue",
    "items",
    "label",
    "length",
    "letmein",
    "local",
    "localhost",
    "login",
    "master",
    "message",
    "method",
    "model",
    "number",
    "object",
    "order",
    "output",
    "owner",
    "params",
    "passwd",
    "password",
    "postgres",
    "private",
    "project",
    "public",
    "query",
    "qwerty",
    "reason",
    "request",
    "response",
    "result",
    "results",
    "root",
    "schema",
    "secret",
    "server",
    "service",
    "settings",
    "start",
    "state",
    "status",
    "string",
    "system",
    "title",
    "token",
    "update",
    "username",
    "value",
    "values",
    "version",
    "world",
];

/// Why a secret is not searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotHidden {
    /// It is too short.
    Short,
    /// It is a common word, or one or two characters repeated.
    Common,
}

impl std::fmt::Display for NotHidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Short => "too short to be hidden",
            Self::Common => "too common to be hidden",
        })
    }
}

/// Why a secret is not searched for; nothing if it is.
pub fn not_hidden(secret: &str) -> Option<NotHidden> {
    let secret = secret.trim();
    if secret.len() < SECRET_BYTES_MIN {
        return Some(NotHidden::Short);
    }
    let different: BTreeSet<char> = secret.chars().collect();
    let common = COMMON.binary_search(&secret.to_lowercase().as_str());
    let common = common.is_ok() || different.len() < DIFFERENT_CHARS_MIN;
    common.then_some(NotHidden::Common)
}

/// Whether a secret is too long and too mixed to be guessed.
pub fn is_strong(secret: &str) -> bool {
    let secret = secret.trim();
    secret.len() >= STRONG_BYTES_MIN && bits(secret) >= STRONG_BITS_MIN
}

/// How many bits a guesser who knows words has to find. Low for what people write, such as words,
/// dates and media types; high for what machines make up.
fn bits(secret: &str) -> u32 {
    let letters: Vec<char> = secret.chars().collect();
    let (mut bits, mut at) = (0, 0);
    while at < letters.len() {
        let word = word(&letters[at..]);
        if word >= WORD_CHARS_MIN {
            bits += WORD_BITS;
            at += word;
            continue;
        }
        bits += match at.checked_sub(1).map(|before| letters[before]) {
            Some(before) if follows(before, letters[at]) => FOLLOWING_BITS,
            _ if letters[at].is_alphabetic() => LETTER_BITS,
            _ if letters[at].is_numeric() => DIGIT_BITS,
            _ => OTHER_BITS,
        };
        at += 1;
    }
    bits
}

/// How many letters of one word a text begins with: all small or all large, but for the first.
fn word(letters: &[char]) -> usize {
    let Some(second) = letters.get(1).filter(|_| letters[0].is_alphabetic()) else {
        return 0;
    };
    if !second.is_alphabetic() || (letters[0].is_lowercase() && second.is_uppercase()) {
        return 1;
    }
    let upper = second.is_uppercase();
    let rest = letters[1..].iter();
    1 + rest
        .take_while(|letter| letter.is_alphabetic() && letter.is_uppercase() == upper)
        .count()
}

fn follows(before: char, letter: char) -> bool {
    u32::from(before).abs_diff(u32::from(letter)) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_or_common_is_not_searched_for() {
        assert!(COMMON.is_sorted());
        for short in ["", "a", "482", " abc ", "\n\n\n\n\n\n\n"] {
            assert_eq!(not_hidden(short), Some(NotHidden::Short), "{short}");
        }
        for common in [
            "value",
            "Password",
            "LOCALHOST",
            "======",
            "ababab",
            "10000",
            " error ",
        ] {
            assert_eq!(not_hidden(common), Some(NotHidden::Common), "{common}");
        }
        for secret in ["ann-t", "4821", "swordfish", "hunter2"] {
            assert_eq!(not_hidden(secret), None, "{secret}");
        }
    }

    #[test]
    fn keys_are_strong_and_words_numbers_and_times_are_not() {
        for key in [
            "ghp_9aB3xKq77LmNzz0PqRsTuVwX",
            "x7Kp2mQ9zL4t",
            "d41d8cd98f00b204e9800998ecf8427e",
            "550e8400-e29b-41d4-a716-446655440000",
            "AKIAIOSFODNN7EXAMPLE-q7Xw2",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "correct horse battery staple",
        ] {
            assert!(is_strong(key), "{key}: {}", bits(key));
        }
        for weak in [
            "hunter22",
            "x7Kp2mQ9zL4",
            "Authorization",
            "configuration",
            "application/json",
            "the value of",
            "aaaaaaaaaaaaaaaaaaaaaaaa",
            "abababababababab",
            "123456789012345678901234",
            "2026-11-17T22:05",
            "not_found_error",
            "================",
        ] {
            assert!(!is_strong(weak), "{weak}: {}", bits(weak));
        }
    }
}
