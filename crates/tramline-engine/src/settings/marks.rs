//! What stands in the place of a secret: a mark that no secret overlaps.
//!
//! A mark usually reads `[redacted:KEY]`. But its own letters, or the name in it, may be those of
//! another secret, and a secret may begin with the mark's last letter: then the mark and what stands
//! beside it would be found again, or would give away that they were meant. So each mark is held
//! against everything that is searched for, and another one is taken where they meet.

use aho_corasick::AhoCorasick;

/// What a mark may stand between.
const BRACKETS: [(char, char); 3] = [('[', ']'), ('⟦', '⟧'), ('⟪', '⟫')];
/// Where the search for a character begins that no secret holds.
const BLOCK: char = '█';

/// Chooses marks that meet none of the texts that are searched for.
pub(super) struct Marks<'p> {
    search: &'p AhoCorasick,
    patterns: Vec<&'p str>,
    /// The patterns with one of the [`BRACKETS`]: only these can reach into a mark from outside.
    bracketed: Vec<&'p str>,
}

impl<'p> Marks<'p> {
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
        all.find(|mark| self.is_apart(mark))
            .unwrap_or_else(|| self.unused().to_string())
    }

    /// Whether nothing that is searched for overlaps a mark, wherever the mark stands.
    fn is_apart(&self, mark: &str) -> bool {
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

    /// A character that no secret holds. There are more characters than all secrets have room for.
    fn unused(&self) -> char {
        (BLOCK..=char::MAX)
            .find(|one| !self.patterns.iter().any(|pattern| pattern.contains(*one)))
            .unwrap_or(BLOCK)
    }
}
