//! Scrubs a request: keeps its words and drops what may be a secret or identify a person.

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
pub(super) fn scrub_request(text: &str) -> String {
    scrub_within(text, REQUEST_CHARS_MAX)
}

/// Like [`harmless`], with another limit in characters.
pub(crate) fn scrub_within(text: &str, most: usize) -> String {
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

/// Whether a request and a text share a significant word.
pub(super) fn share_word(wish: &str, text: &str) -> bool {
    /// Shorter words occur in any text.
    const TELLING_CHARS_MIN: usize = 4;
    let text = text.to_lowercase();
    let words = wish.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.chars().count() >= TELLING_CHARS_MIN)
        .any(|word| text.contains(&word.to_lowercase()))
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
