//! Words of requests and candidates as numbers that are fast to compare.

use super::lexicon::{Group, Lexicon};
use super::phrases::Token;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A word, a group or a part of them, as a number.
pub(super) type Concept = u32;

pub(super) fn concept(kind: u8, text: &str) -> Concept {
    let mut hasher = DefaultHasher::new();
    (kind, text).hash(&mut hasher);
    hasher.finish() as Concept
}

pub(super) fn group_concept(group: Group) -> Concept {
    let mut hasher = DefaultHasher::new();
    (u8::MAX, group).hash(&mut hasher);
    hasher.finish() as Concept
}

/// Words with and without a negation are different.
pub(super) fn polarity(token: &Token) -> u8 {
    u8::from(token.is_negated)
}

/// The concepts of a stem: itself and the groups it is in. Groups have no polarity of their own, so they are mixed
/// with it.
pub(super) fn stem_concepts(stem: &str, polarity: u8, all: &mut Vec<Concept>) {
    all.push(concept(polarity, stem));
    group_concepts(Lexicon::get().word(stem), polarity, all);
}

pub(super) fn group_concepts(groups: &[Group], polarity: u8, all: &mut Vec<Concept>) {
    all.extend(
        groups
            .iter()
            .map(|group| group_concept(*group) ^ Concept::from(polarity)),
    );
}

/// The concepts that a word of a candidate covers: also its parts, and what it is a kind of.
pub(super) fn covering_concepts(token: &Token, all: &mut Vec<Concept>) {
    let lexicon = Lexicon::get();
    let polarity = polarity(token);
    let mut keys: Vec<&str> = vec![&token.key];
    keys.extend(token.parts.iter().map(String::as_str));
    for key in keys {
        stem_concepts(key, polarity, all);
        for kind in lexicon.kinds(key) {
            stem_concepts(kind, polarity, all);
        }
    }
}

/// The concepts of a word of a request, of which a candidate has one if it covers the word. The first is the word
/// itself.
pub(super) struct WordConcepts {
    pub(super) whole: Vec<Concept>,
    pub(super) parts: Vec<Vec<Concept>>,
}

impl WordConcepts {
    pub(super) fn new(token: &Token) -> Self {
        let one = |key: &str| {
            let mut concepts = Vec::new();
            stem_concepts(key, polarity(token), &mut concepts);
            // A thing can be named after an action of the candidate: `the backup`.
            group_concepts(Lexicon::get().verb(key), polarity(token), &mut concepts);
            concepts
        };
        Self {
            whole: one(&token.key),
            parts: token.parts.iter().map(|part| one(part)).collect(),
        }
    }
}

/// The concepts of a word of a candidate that the request must mention.
pub(super) fn own_concepts(token: &Token) -> Box<[Concept]> {
    let mut all = Vec::new();
    stem_concepts(&token.key, polarity(token), &mut all);
    // The last part of a compound is its main word: a conference room is a room.
    if let Some(last) = token.parts.last() {
        stem_concepts(last, polarity(token), &mut all);
    }
    all.into()
}

pub(super) fn sorted(mut all: Vec<Concept>) -> Box<[Concept]> {
    all.sort_unstable();
    all.dedup();
    all.into()
}

pub(super) fn has_any(sorted: &[Concept], concepts: &[Concept]) -> bool {
    concepts.iter().any(|one| sorted.binary_search(one).is_ok())
}
