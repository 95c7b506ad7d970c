//! Term numbers and postings of the index.
//!
//! A word that no document contains any more releases its number, so that a long-lived index stays as small as its
//! contents.

use std::collections::HashMap;
use std::sync::Arc;

/// The number of a word.
pub(super) type Term = u32;
/// The number of a document.
pub(super) type DocIx = u32;

/// A document that contains a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) slot: DocIx,
    /// The weight of the word in the document, in tenths.
    pub(super) weight: u32,
}

/// Every word with the documents that contain it.
#[derive(Debug, Default)]
pub(super) struct Postings {
    numbers: HashMap<Arc<str>, Term>,
    words: Vec<Arc<str>>,
    /// By term, sorted by slot.
    postings: Vec<Vec<Posting>>,
    free: Vec<Term>,
}

impl Postings {
    /// The number of a word, if any document contains it.
    pub(super) fn get(&self, word: &str) -> Option<Term> {
        self.numbers.get(word).copied()
    }

    /// The number of a word; assigns a new one if needed.
    pub(super) fn intern(&mut self, word: &str) -> Term {
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

    /// The documents that contain a word.
    pub(super) fn postings(&self, term: Term) -> &[Posting] {
        &self.postings[term as usize]
    }

    /// Records that a document contains a word.
    pub(super) fn add(&mut self, term: Term, posting: Posting) {
        let postings = &mut self.postings[term as usize];
        let at = postings.partition_point(|known| known.slot < posting.slot);
        postings.insert(at, posting);
    }

    /// Records that a document no longer contains a word.
    pub(super) fn remove(&mut self, term: Term, slot: DocIx) {
        let postings = &mut self.postings[term as usize];
        if let Ok(at) = postings.binary_search_by_key(&slot, |known| known.slot) {
            postings.remove(at);
        }
        if postings.is_empty() {
            // Frees the memory of a word that was once in many documents.
            *postings = Vec::new();
            self.numbers.remove(&self.words[term as usize]);
            self.words[term as usize] = "".into();
            self.free.push(term);
        }
    }

    /// The approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        let words: usize = self.words.iter().map(|word| word.len() + 64).sum();
        let each = |list: &Vec<Posting>| list.capacity() * size_of::<Posting>() + 24;
        words + self.postings.iter().map(each).sum::<usize>()
    }
}
