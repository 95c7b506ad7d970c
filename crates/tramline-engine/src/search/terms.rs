//! Words by number and where they stand: the postings of the index.
//!
//! A word that no card has any more gives its number back, so that an index that changes for years
//! stays as small as what it holds.

use std::collections::HashMap;
use std::sync::Arc;

/// The number of a word.
pub(super) type Term = u32;
/// The place of a card.
pub(super) type Slot = u32;

/// A card that has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) slot: Slot,
    /// How much the card says the word, in tenths.
    pub(super) weight: u32,
}

/// Every word with the cards that have it.
#[derive(Debug, Default)]
pub(super) struct Terms {
    numbers: HashMap<Arc<str>, Term>,
    words: Vec<Arc<str>>,
    /// By term, sorted by slot.
    postings: Vec<Vec<Posting>>,
    free: Vec<Term>,
}

impl Terms {
    /// The number of a word, if any card has it.
    pub(super) fn get(&self, word: &str) -> Option<Term> {
        self.numbers.get(word).copied()
    }

    /// The number of a word, a new one if need be.
    pub(super) fn number(&mut self, word: &str) -> Term {
        if let Some(term) = self.get(word) {
            return term;
        }
        let word: Arc<str> = word.into();
        let term = match self.free.pop() {
            Some(term) => {
                self.words[term as usize] = word.clone();
                term
            }
            None => {
                self.words.push(word.clone());
                self.postings.push(Vec::new());
                (self.words.len() - 1) as Term
            }
        };
        self.numbers.insert(word, term);
        term
    }

    /// The cards that have a word.
    pub(super) fn postings(&self, term: Term) -> &[Posting] {
        &self.postings[term as usize]
    }

    /// A card has a word.
    pub(super) fn add(&mut self, term: Term, posting: Posting) {
        let postings = &mut self.postings[term as usize];
        let at = postings.partition_point(|known| known.slot < posting.slot);
        postings.insert(at, posting);
    }

    /// A card has a word no more.
    pub(super) fn remove(&mut self, term: Term, slot: Slot) {
        let postings = &mut self.postings[term as usize];
        if let Ok(at) = postings.binary_search_by_key(&slot, |known| known.slot) {
            postings.remove(at);
        }
        if postings.is_empty() {
            // A word that was everywhere once does not keep the room for it.
            *postings = Vec::new();
            self.numbers.remove(&self.words[term as usize]);
            self.words[term as usize] = "".into();
            self.free.push(term);
        }
    }

    /// About how many bytes it all takes.
    pub(super) fn bytes(&self) -> usize {
        let words: usize = self.words.iter().map(|word| word.len() + 64).sum();
        let each = |list: &Vec<Posting>| list.capacity() * size_of::<Posting>() + 24;
        words + self.postings.iter().map(each).sum::<usize>()
    }
}
