//! Search by words (BM25).
//!
//! Weights are whole tenths and their sums are integers, so the same documents always give bit-identical scores,
//! whatever was added and removed before.

use super::document::SearchDocument;
use super::postings::{DocIx, Posting, Postings, Term};
use super::tokenize::{stem, stemmed_words, unstemmed_words};
use std::collections::{BTreeMap, HashSet};

/// BM25 `k1`: how quickly repetitions of a word stop adding to the score.
const BM25_K1: f32 = 1.2;
/// BM25 `b`: how strongly long documents are penalized.
const BM25_B: f32 = 0.75;
/// Weight of a word by field, in tenths. Past requests are many, so each counts less.
const NAME_TENTHS: u32 = 30;
const TEXT_TENTHS: u32 = 10;
const PAST_REQUEST_TENTHS: u32 = 3;

/// The fields a word occurs in, as bits.
pub(super) mod field {
    pub(in super::super) const NAME: u8 = 1;
    pub(in super::super) const SERVER: u8 = 2;
    pub(in super::super) const TITLE: u8 = 4;
    pub(in super::super) const DESCRIPTION: u8 = 8;
    pub(in super::super) const PARAMETERS: u8 = 16;
    pub(in super::super) const PAST_REQUESTS: u8 = 32;
}

/// A word of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct DocumentWord {
    pub(super) term: Term,
    /// The fields it occurs in.
    pub(super) fields: u8,
}

/// The words of one document.
#[derive(Debug, Default)]
pub(super) struct DocTerms {
    /// Every word, sorted by term number.
    pub(super) words: Box<[DocumentWord]>,
    /// The sum of all weights, in tenths.
    length: u32,
    /// The distinct words of the name, sorted.
    pub(super) name: Box<[Term]>,
    /// The distinct words of the description, sorted.
    pub(super) description: Box<[Term]>,
    /// The distinct words of each past request, sorted.
    pub(super) past_requests: Box<[Box<[Term]>]>,
}

/// The words of all documents.
#[derive(Debug, Default)]
pub(super) struct LexicalIndex {
    pub(super) terms: Postings,
    documents: Vec<DocTerms>,
    cards: usize,
    /// The sum of all documents' lengths, in tenths.
    length: u64,
}

impl LexicalIndex {
    /// Adds a document to an empty slot.
    pub(super) fn put(&mut self, slot: DocIx, card: &SearchDocument) {
        let mut found: BTreeMap<Term, (u32, u8)> = BTreeMap::new();
        let terms = &mut self.terms;
        let mut add = |text: &str, weight: u32, field: u8| -> Box<[Term]> {
            let mut set: Vec<Term> = stemmed_words(text)
                .iter()
                .map(|word| terms.intern(word))
                .collect();
            for term in &set {
                let (known, fields) = found.entry(*term).or_default();
                *known = known.saturating_add(weight);
                *fields |= field;
            }
            set.sort_unstable();
            set.dedup();
            set.into()
        };
        let name = add(&card.name, NAME_TENTHS, field::NAME);
        add(&card.server, TEXT_TENTHS, field::SERVER);
        add(
            card.title.as_deref().unwrap_or_default(),
            TEXT_TENTHS,
            field::TITLE,
        );
        let description = add(&card.description, TEXT_TENTHS, field::DESCRIPTION);
        for parameter in card.parameters() {
            add(parameter, TEXT_TENTHS, field::PARAMETERS);
        }
        let wishes = card
            .past_requests()
            .map(|wish| add(wish, PAST_REQUEST_TENTHS, field::PAST_REQUESTS));
        let wishes = wishes.collect();
        let length = found.values().map(|(weight, _)| weight).sum();
        for (term, (weight, _)) in &found {
            self.terms.add(
                *term,
                Posting {
                    slot,
                    weight: *weight,
                },
            );
        }
        let said = found.iter().map(|(term, (_, fields))| DocumentWord {
            term: *term,
            fields: *fields,
        });
        let said = said.collect();
        let sheet = DocTerms {
            words: said,
            length,
            name,
            description,
            past_requests: wishes,
        };
        let at = slot as usize;
        if self.documents.len() <= at {
            self.documents.resize_with(at + 1, DocTerms::default);
        }
        self.documents[at] = sheet;
        self.cards += 1;
        self.length += u64::from(length);
    }

    /// Empties a slot.
    pub(super) fn remove(&mut self, slot: DocIx) {
        let sheet = std::mem::take(&mut self.documents[slot as usize]);
        for said in &sheet.words {
            self.terms.remove(said.term, slot);
        }
        self.cards -= 1;
        self.length -= u64::from(sheet.length);
    }

    /// The words of a document.
    pub(super) fn document(&self, slot: DocIx) -> &DocTerms {
        &self.documents[slot as usize]
    }

    /// The distinct terms of a query with their weights. A word that occurs in no document has no term number: it
    /// counts as requested but not matched.
    pub(super) fn query_terms(&self, query: &str) -> Vec<QueryTerm> {
        let mut seen = HashSet::new();
        let mut asked = Vec::new();
        for word in unstemmed_words(query) {
            let stem = stem(&word);
            let term = self.terms.get(&stem);
            if seen.insert(stem) {
                let telling = self.term_weight(term);
                asked.push(QueryTerm {
                    word,
                    term,
                    weight: telling,
                });
            }
        }
        asked
    }

    /// The inverse document frequency: rare words weigh more than common ones, and words in no document weigh most.
    pub(super) fn term_weight(&self, term: Option<Term>) -> f32 {
        let having = term.map_or(0, |term| self.terms.postings(term).len()) as f32;
        (1.0 + (self.cards as f32 - having + 0.5) / (having + 0.5)).ln()
    }

    /// The score of each slot for a query; 0 without a match.
    pub(super) fn scores(&self, asked: &[QueryTerm]) -> Vec<f32> {
        let mut scores = vec![0.0; self.documents.len()];
        let mean = self.length as f32 / self.cards.max(1) as f32;
        let flat = BM25_K1 * (1.0 - BM25_B);
        let slope = BM25_K1 * BM25_B / mean.max(1.0);
        for QueryTerm {
            term,
            weight: telling,
            ..
        } in asked
        {
            let Some(term) = term else { continue };
            for Posting { slot, weight } in self.terms.postings(*term) {
                let said = *weight as f32 / 10.0;
                let long = flat + slope * self.documents[*slot as usize].length as f32;
                scores[*slot as usize] += telling * said * (BM25_K1 + 1.0) / (said + long);
            }
        }
        scores
    }

    /// The approximate size in bytes.
    pub(super) fn bytes(&self) -> usize {
        let sheets = self.documents.iter().map(|sheet| {
            let wishes: usize = sheet
                .past_requests
                .iter()
                .map(|wish| wish.len() * 4 + 16)
                .sum();
            let sets = (sheet.name.len() + sheet.description.len()) * size_of::<Term>();
            size_of::<DocTerms>() + sheet.words.len() * size_of::<DocumentWord>() + sets + wishes
        });
        self.terms.bytes() + sheets.sum::<usize>()
    }
}

/// A word of a query.
#[derive(Clone, Debug)]
pub(super) struct QueryTerm {
    /// The word as it was written.
    pub(super) word: String,
    /// Its term number, if any document contains it.
    pub(super) term: Option<Term>,
    /// Its weight.
    pub(super) weight: f32,
}
