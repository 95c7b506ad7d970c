//! The placeholder for a secret: a mark that no secret overlaps.
//!
//! A mark usually reads `[redacted:KEY]`. But its characters, or the name in it, may be part of another secret, and a
//! secret may begin with the mark's last character. Then the mark and its surroundings would match again, or would
//! reveal the secret. So each mark is checked against all patterns, and another one is chosen if they overlap.

use aho_corasick::AhoCorasick;

/// The brackets around a mark.
const BRACKETS: [(char, char); 3] = [('[', ']'), ('⟦', '⟧'), ('⟪', '⟫')];
/// Where the search for a character that no secret contains begins.
const BLOCK: char = '█';

/// Whether a text contains one of the usual marks, whatever the secret.
pub(super) fn is_marked(text: &str) -> bool {
    let opened = |(open, _): &(char, char)| {
        let mut starts = text.match_indices(*open);
        starts.any(|(at, _)| text[at + open.len_utf8()..].starts_with("redacted"))
    };
    BRACKETS.iter().any(opened)
}

/// Chooses marks that overlap no pattern.
pub(super) struct MarkChooser<'p> {
    search: &'p AhoCorasick,
    patterns: Vec<&'p str>,
    /// The patterns with one of the [`BRACKETS`]: only these can overlap a mark from outside.
    bracketed: Vec<&'p str>,
}

impl<'p> MarkChooser<'p> {
    pub(super) fn new(search: &'p AhoCorasick, patterns: Vec<&'p str>) -> Self {
        let has = |pattern: &str| {
            BRACKETS
                .iter()
                .any(|(open, close)| pattern.contains(*open) || pattern.contains(*close))
        };
        let bracketed = patterns.iter().copied().filter(|one| has(one)).collect();
        Self {
            search,
            patterns,
            bracketed,
        }
    }

    /// The mark of a secret with this name.
    pub(super) fn mark(&self, name: &str) -> String {
        let named = BRACKETS.map(|(open, close)| format!("{open}redacted:{name}{close}"));
        let plain = BRACKETS.map(|(open, close)| format!("{open}redacted{close}"));
        let mut all = named.into_iter().chain(plain);
        all.find(|mark| self.is_disjoint(mark))
            .unwrap_or_else(|| self.unused_char().to_string())
    }

    /// Whether no pattern overlaps a mark, whatever surrounds it.
    fn is_disjoint(&self, mark: &str) -> bool {
        if self.search.is_match(mark) {
            return false;
        }
        !self.bracketed.iter().any(|pattern| {
            let cuts = mark.char_indices().map(|(at, _)| at).skip(1);
            let reaches =
                |at: usize| pattern.ends_with(&mark[..at]) || pattern.starts_with(&mark[at..]);
            pattern.contains(mark) || cuts.into_iter().any(reaches)
        })
    }

    /// A character that no secret contains. The limit on secrets leaves enough unused characters.
    fn unused_char(&self) -> char {
        (BLOCK..=char::MAX)
            .find(|one| !self.patterns.iter().any(|pattern| pattern.contains(*one)))
            .unwrap_or(BLOCK)
    }
}
