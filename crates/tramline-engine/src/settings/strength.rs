//! The strength of a secret: whether it can be redacted at all, and whether it can be guessed.
//!
//! Redaction replaces a secret wherever it occurs. A short or common value occurs in unrelated texts: replacing it
//! there would garble results and reveal it. And a caller that controls part of a result can try values, since a
//! correct guess is replaced. Redaction cannot prevent that, so a secret must be too long to guess.

use std::collections::BTreeSet;

/// Shortest secret that is redacted, in bytes. A shorter one occurs in other words by chance.
pub const SECRET_BYTES_MIN: usize = 4;
/// Fewest different characters of a secret. Fewer are a ruler or padding, such as `======`.
const DIFFERENT_CHARS_MIN: usize = 3;
/// Shortest secret that cannot be guessed, in bytes.
pub const STRONG_BYTES_MIN: usize = 12;
/// Fewest bits, as [`bits`] estimates them, of a secret that cannot be guessed: at a thousand attempts per second, half
/// of 40 bits take 17 years.
const STRONG_BITS_MIN: u32 = 40;

/// Fewest consecutive letters that count as a word.
const WORD_CHARS_MIN: usize = 3;
/// Bits of a word: one of about two thousand.
const WORD_BITS: u32 = 11;
/// Bits of a letter outside of words.
const LETTER_BITS: u32 = 5;
/// Bits of a digit: most numbers are years, ports, counts and the like.
const DIGIT_BITS: u32 = 2;
/// Bits of any other character.
const OTHER_BITS: u32 = 2;
/// Bits of a character that repeats or continues the previous one.
const FOLLOWING_BITS: u32 = 1;

/// Words that many results contain; sorted. Shorter ones are too short anyway.
const COMMON_WORDS: [&str; 116] = [
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

/// Why a secret is not redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRedacted {
    /// It is too short.
    Short,
    /// It is a common word, or one or two characters repeated.
    Common,
}

impl std::fmt::Display for NotRedacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Short => "too short to redact",
            Self::Common => "too common to redact",
        })
    }
}

/// Why a secret is not redacted; `None` if it is.
pub fn not_redacted(secret: &str) -> Option<NotRedacted> {
    let secret = secret.trim();
    if secret.len() < SECRET_BYTES_MIN {
        return Some(NotRedacted::Short);
    }
    let different: BTreeSet<char> = secret.chars().collect();
    let common = COMMON_WORDS.binary_search(&secret.to_lowercase().as_str());
    let common = common.is_ok() || different.len() < DIFFERENT_CHARS_MIN;
    common.then_some(NotRedacted::Common)
}

/// Whether a secret is too long and too random to be guessed.
pub fn is_strong(secret: &str) -> bool {
    let secret = secret.trim();
    secret.len() >= STRONG_BYTES_MIN && bits(secret) >= STRONG_BITS_MIN
}

/// The number of bits an attacker with a dictionary has to guess. Low for what people write, such as words, dates and
/// media types; high for what machines generate.
fn bits(secret: &str) -> u32 {
    let letters: Vec<char> = secret.chars().collect();
    let (mut bits, mut at) = (0, 0);
    while at < letters.len() {
        let word = word_length(&letters[at..]);
        if word >= WORD_CHARS_MIN {
            bits += WORD_BITS;
            at += word;
            continue;
        }
        bits += match at.checked_sub(1).map(|before| letters[before]) {
            Some(before) if is_adjacent(before, letters[at]) => FOLLOWING_BITS,
            _ if letters[at].is_alphabetic() => LETTER_BITS,
            _ if letters[at].is_numeric() => DIGIT_BITS,
            _ => OTHER_BITS,
        };
        at += 1;
    }
    bits
}

/// The length of the word at the beginning of a text: all lower case or all upper case, except for the first letter.
fn word_length(letters: &[char]) -> usize {
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

fn is_adjacent(before: char, letter: char) -> bool {
    u32::from(before).abs_diff(u32::from(letter)) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_or_common_is_not_searched_for() {
        assert!(COMMON_WORDS.is_sorted());
        for short in ["", "a", "482", " abc ", "\n\n\n\n\n\n\n"] {
            assert_eq!(not_redacted(short), Some(NotRedacted::Short), "{short}");
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
            assert_eq!(not_redacted(common), Some(NotRedacted::Common), "{common}");
        }
        for secret in ["ann-t", "4821", "swordfish", "hunter2"] {
            assert_eq!(not_redacted(secret), None, "{secret}");
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
