//! The words of a text in their common form, so that a wish and a description can meet.
//!
//! Names are taken apart where they are joined (`readFile`, `read_file`, `s3`), endings are cut, and
//! words that say nothing are left out. Scripts without spaces are taken in pairs of characters.

use snowball_stemmers_rs::{Algorithm, Stemmer};
use std::sync::LazyLock;

/// What is read of a text, in bytes: no description says more than this about what a tool is for.
pub(super) const TEXT_BYTES_MAX: usize = 8 * 1_024;
/// How many words of a text count: beyond them a text is a page, and no description.
const WORDS_MAX: usize = 1_024;
/// Longer words are data, such as keys and hashes.
const WORD_CHARS_MAX: usize = 40;

/// Words that say nothing of what is wanted, sorted.
const EMPTY: &[&str] = &[
    "a", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it",
    "its", "me", "my", "of", "on", "or", "our", "please", "should", "so", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "us", "was", "we",
    "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

static STEMMER: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// The words of a text, in order. A text that is made of empty words alone keeps them.
pub(super) fn words(text: &str) -> Vec<String> {
    spoken(text).iter().map(|word| stem(word)).collect()
}

/// The words of a text with their endings on.
pub(super) fn spoken(text: &str) -> Vec<String> {
    let mut raw = split(head(text));
    let telling = |word: &String| EMPTY.binary_search(&word.as_str()).is_err();
    if raw.iter().any(telling) {
        raw.retain(telling);
    }
    raw
}

/// A name taken apart, for whoever reads texts: `readFile` is `read file`.
pub(super) fn parts(name: &str) -> String {
    let mut splitter = Splitter {
        apart: true,
        ..Splitter::default()
    };
    let mut rest = head(name).chars().peekable();
    while let Some(c) = rest.next() {
        splitter.take(c, rest.peek().copied());
    }
    splitter.end_run();
    splitter.words.join(" ")
}

/// The first part of a text, as much as is read.
pub(super) fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

/// A word without the endings that change with its use.
pub(super) fn stem(word: &str) -> String {
    match word.is_ascii() {
        true => STEMMER.stem(word).into_owned(),
        false => word.to_owned(),
    }
}

/// What a character is to a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Lower,
    Upper,
    Digit,
    /// Of a script that puts no spaces between words.
    Unspaced,
    Apostrophe,
    Other,
}

fn sort(c: char) -> Sort {
    match c {
        '\'' | '\u{2019}' => Sort::Apostrophe,
        _ if is_unspaced(c) => Sort::Unspaced,
        _ if c.is_numeric() => Sort::Digit,
        _ if c.is_uppercase() => Sort::Upper,
        _ if c.is_alphabetic() => Sort::Lower,
        _ => Sort::Other,
    }
}

/// Han, kana and Thai.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A text taken apart, in small letters.
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
    /// The parts of the name that is being read, so that `GitHub` is also `github`.
    run: usize,
    before: Option<Sort>,
    /// Whether only the parts are wanted.
    apart: bool,
}

impl Splitter {
    fn take(&mut self, c: char, next: Option<char>) {
        let now = sort(c);
        match now {
            Sort::Other => return self.end_run(),
            // `don't` is one word, and `Tesla's` is `Tesla`.
            Sort::Apostrophe => {
                if next.is_some_and(|next| next == 's' || next == 'S') {
                    self.end_run();
                    self.before = Some(Sort::Apostrophe);
                }
                return;
            }
            Sort::Lower | Sort::Upper | Sort::Digit | Sort::Unspaced => {}
        }
        if self.before == Some(Sort::Apostrophe) && matches!(now, Sort::Lower | Sort::Upper) {
            return self.before = None;
        }
        if self.begins(now, next) {
            self.end_word();
        }
        if (now == Sort::Unspaced) != (self.before == Some(Sort::Unspaced)) {
            self.end_run();
        }
        self.word.extend(c.to_lowercase());
        self.before = Some(now);
    }

    /// Whether a new part begins here: `readFile`, `HTTPServer`, `base64`.
    fn begins(&self, now: Sort, next: Option<char>) -> bool {
        let lower_next = next.is_some_and(|next| sort(next) == Sort::Lower);
        match (self.before, now) {
            (Some(Sort::Lower), Sort::Upper) => true,
            (Some(Sort::Upper), Sort::Upper) => lower_next,
            (Some(Sort::Digit), Sort::Lower | Sort::Upper) => true,
            (Some(Sort::Lower | Sort::Upper), Sort::Digit) => true,
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
        if self.before == Some(Sort::Unspaced) {
            pairs(&std::mem::take(&mut self.word), &mut self.words);
        }
        self.end_word();
        // Only a name of two parts is also written as one: `GitHub`, `YouTube`.
        if self.run == 2 && !self.apart {
            let parts = &self.words[self.words.len() - 2..];
            let joined = parts.concat();
            self.words.push(joined);
        }
        self.run = 0;
        self.before = None;
    }
}

/// Each character with the one after it; a single one alone.
fn pairs(run: &str, words: &mut Vec<String>) {
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
        assert_eq!(words("readFile"), ["read", "file", "readfil"]);
        assert_eq!(
            words("read_file, read-files"),
            ["read", "file", "read", "file"]
        );
        assert_eq!(words("parseHTTPHeaders"), ["pars", "http", "header"]);
        assert_eq!(words("s3"), ["s", "3", "s3"]);
        assert_eq!(
            words("Tesla's news don't wait"),
            ["tesla", "news", "dont", "wait"]
        );
    }

    #[test]
    fn empty_words_stay_only_where_there_are_no_others() {
        assert_eq!(words("what is the weather"), ["weather"]);
        assert_eq!(words("who is it"), ["who", "is", "it"]);
        assert!(EMPTY.is_sorted());
    }

    #[test]
    fn scripts_without_spaces_go_in_pairs() {
        assert_eq!(words("必应搜索 MCP"), ["必应", "应搜", "搜索", "mcp"]);
        assert_eq!(words("Größe ändern"), ["größe", "ändern"]);
        assert_eq!(words("a必b"), ["必", "b"]);
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = "ä".repeat(TEXT_BYTES_MAX);
        assert!(head(&long).len() <= TEXT_BYTES_MAX);
        assert!(words(&"word ".repeat(9_000)).len() <= WORDS_MAX);
    }
}
