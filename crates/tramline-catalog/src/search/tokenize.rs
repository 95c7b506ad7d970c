//! The tokenizer: the normalized words of a text, so that requests and descriptions are comparable.
//!
//! Compound names are split (`readFile`, `read_file`, `s3`), words are stemmed, and stop words are dropped. Scripts
//! without spaces become pairs of characters.

use snowball_stemmers_rs::{Algorithm, Stemmer};
use std::sync::LazyLock;

/// How much of a text is read, in bytes. A description does not say more about the purpose of a tool.
pub(super) const TEXT_BYTES_MAX: usize = 8 * 1_024;
/// Most words of a text that are indexed. A longer text is a page, not a description.
const WORDS_MAX: usize = 1_024;
/// Longest word, in characters. Longer ones are data, such as keys and hashes.
const WORD_CHARS_MAX: usize = 40;

/// Stop words, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it",
    "its", "me", "my", "of", "on", "or", "our", "please", "should", "so", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "was", "we",
    "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// The stems of the words of a text, in order. Stop words are kept if the text has no others.
pub(super) fn stemmed_words(text: &str) -> Vec<String> {
    unstemmed_words(text)
        .iter()
        .map(|word| stem(word))
        .collect()
}

/// The words of a text, not stemmed.
pub(super) fn unstemmed_words(text: &str) -> Vec<String> {
    let mut raw = split(text_prefix(text));
    let telling = |word: &String| STOP_WORDS.binary_search(&word.as_str()).is_err();
    if raw.iter().any(telling) {
        raw.retain(telling);
    }
    raw
}

/// A compound name as separate words, for the embedder: `readFile` is `read file`.
pub(super) fn split_name(name: &str) -> String {
    let mut splitter = Splitter {
        apart: true,
        ..Splitter::default()
    };
    let mut rest = text_prefix(name).chars().peekable();
    while let Some(c) = rest.next() {
        splitter.take(c, rest.peek().copied());
    }
    splitter.end_run();
    splitter.words.join(" ")
}

/// The beginning of a text, as much as is read.
pub(super) fn text_prefix(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// The stem of a word.
pub(super) fn stem(word: &str) -> String {
    match word.is_ascii() {
        true => STEMMER.stem(word).into_owned(),
        false => word.to_owned(),
    }
}

/// The class of a character for splitting words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Lower,
    Upper,
    Digit,
    /// From a script without spaces between words.
    Unspaced,
    Apostrophe,
    Other,
}

fn char_class(c: char) -> CharClass {
    match c {
        '\'' | '\u{2019}' => CharClass::Apostrophe,
        _ if is_unspaced(c) => CharClass::Unspaced,
        _ if c.is_numeric() => CharClass::Digit,
        _ if c.is_uppercase() => CharClass::Upper,
        _ if c.is_alphabetic() => CharClass::Lower,
        _ => CharClass::Other,
    }
}

/// Han, kana and Thai.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The words of a text, in lower case.
fn split(text: &str) -> Vec<String> {
    let mut splitter = Splitter::default();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if splitter.words.len() >= WORDS_MAX {
            break;
        }
        splitter.take(c, rest.peek().copied());
    }
    splitter.end_run();
    splitter.words.truncate(WORDS_MAX);
    splitter.words
}

#[derive(Default)]
struct Splitter {
    words: Vec<String>,
    word: String,
    /// The number of parts of the current name, so that `GitHub` also yields `github`.
    run: usize,
    before: Option<CharClass>,
    /// Whether only the parts are wanted.
    apart: bool,
}

impl Splitter {
    fn take(&mut self, c: char, next: Option<char>) {
        let now = char_class(c);
        match now {
            CharClass::Other => return self.end_run(),
            // `don't` is one word, and `Tesla's` is `Tesla`.
            CharClass::Apostrophe => {
                if next.is_some_and(|next| next == 's' || next == 'S') {
                    self.end_run();
                    self.before = Some(CharClass::Apostrophe);
                }
                return;
            }
            CharClass::Lower | CharClass::Upper | CharClass::Digit | CharClass::Unspaced => {}
        }
        if self.before == Some(CharClass::Apostrophe)
            && matches!(now, CharClass::Lower | CharClass::Upper)
        {
            return self.before = None;
        }
        if self.starts_part(now, next) {
            self.end_word();
        }
        if (now == CharClass::Unspaced) != (self.before == Some(CharClass::Unspaced)) {
            self.end_run();
        }
        self.word.extend(c.to_lowercase());
        self.before = Some(now);
    }

    /// Whether a new part begins here: `readFile`, `HTTPServer`, `base64`.
    fn starts_part(&self, now: CharClass, next: Option<char>) -> bool {
        let lower_next = next.is_some_and(|next| char_class(next) == CharClass::Lower);
        match (self.before, now) {
            (Some(CharClass::Lower), CharClass::Upper) => true,
            (Some(CharClass::Upper), CharClass::Upper) => lower_next,
            (Some(CharClass::Digit), CharClass::Lower | CharClass::Upper) => true,
            (Some(CharClass::Lower | CharClass::Upper), CharClass::Digit) => true,
            _ => false,
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if word.chars().count() <= WORD_CHARS_MAX {
            self.words.push(word);
            self.run += 1;
        }
    }

    fn end_run(&mut self) {
        if self.before == Some(CharClass::Unspaced) {
            char_pairs(&std::mem::take(&mut self.word), &mut self.words);
        }
        self.end_word();
        // Only names of two parts are also written as one: `GitHub`, `YouTube`.
        if self.run == 2 && !self.apart {
            let parts = &self.words[self.words.len() - 2..];
            let joined = parts.concat();
            self.words.push(joined);
        }
        self.run = 0;
        self.before = None;
    }
}

/// Each character with the one after it; a single character alone.
fn char_pairs(run: &str, words: &mut Vec<String>) {
    let chars: Vec<char> = run.chars().collect();
    match chars.as_slice() {
        [] => {}
        [one] => words.push(one.to_string()),
        many => words.extend(many.windows(2).map(|pair| pair.iter().collect::<String>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_and_endings_cut() {
        assert_eq!(stemmed_words("readFile"), ["read", "file", "readfil"]);
        assert_eq!(
            stemmed_words("read_file, read-files"),
            ["read", "file", "read", "file"]
        );
        assert_eq!(
            stemmed_words("parseHTTPHeaders"),
            ["pars", "http", "header"]
        );
        assert_eq!(stemmed_words("s3"), ["s", "3", "s3"]);
        assert_eq!(
            stemmed_words("Tesla's news don't wait"),
            ["tesla", "news", "dont", "wait"]
        );
    }

    #[test]
    fn empty_words_stay_only_where_there_are_no_others() {
        assert_eq!(stemmed_words("what is the weather"), ["weather"]);
        assert_eq!(stemmed_words("who is it"), ["who", "is", "it"]);
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn scripts_without_spaces_go_in_pairs() {
        assert_eq!(
            stemmed_words("必应搜索 MCP"),
            ["必应", "应搜", "搜索", "mcp"]
        );
        assert_eq!(stemmed_words("Größe ändern"), ["größe", "ändern"]);
        assert_eq!(stemmed_words("a必b"), ["必", "b"]);
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = "ä".repeat(TEXT_BYTES_MAX);
        assert!(text_prefix(&long).len() <= TEXT_BYTES_MAX);
        assert!(stemmed_words(&"word ".repeat(9_000)).len() <= WORDS_MAX);
    }
}
