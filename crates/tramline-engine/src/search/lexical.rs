//! Search by words: what each card says, weighed by how telling its words are (BM25).
//!
//! Weights are whole tenths and their sums whole numbers: whatever was added and removed before, the
//! same cards give the same scores to the last bit.

use super::card::Card;
use super::terms::{Posting, Slot, Term, Terms};
use super::words::{spoken, stem, words};
use std::collections::{BTreeMap, HashSet};

/// How soon saying a word once more says little.
const SATURATION: f32 = 1.2;
/// How much a long text is held back against a short one.
const LENGTH_SHARE: f32 = 0.75;
/// What a word is worth, in tenths, by where it stands. Past wishes are many, so each counts less.
const NAME_TENTHS: u32 = 30;
const TEXT_TENTHS: u32 = 10;
const WISH_TENTHS: u32 = 3;

/// Where a word stands, as bits.
pub(super) mod field {
    pub(in super::super) const NAME: u8 = 1;
    pub(in super::super) const SERVER: u8 = 2;
    pub(in super::super) const TITLE: u8 = 4;
    pub(in super::super) const DESCRIPTION: u8 = 8;
    pub(in super::super) const PARAMETERS: u8 = 16;
    pub(in super::super) const WISHES: u8 = 32;
}

/// A word of a card.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said {
    pub(super) term: Term,
    /// The fields it stands in.
    pub(super) fields: u8,
}

/// The words of one card.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    /// Every word, sorted by number.
    pub(super) said: Box<[Said]>,
    /// All weights together, in tenths.
    length: u32,
    /// The words of the name, each once, sorted.
    pub(super) name: Box<[Term]>,
    /// Those of the description.
    pub(super) description: Box<[Term]>,
    /// Those of each past wish.
    pub(super) wishes: Box<[Box<[Term]>]>,
}

/// The words of all cards.
#[derive(Debug, Default)]
pub(super) struct Lexical {
    pub(super) terms: Terms,
    sheets: Vec<Sheet>,
    cards: usize,
    /// The lengths of all sheets together, in tenths.
    length: u64,
}

impl Lexical {
    /// Puts a card into an empty slot.
    pub(super) fn put(&mut self, slot: Slot, card: &Card) {
        let mut found: BTreeMap<Term, (u32, u8)> = BTreeMap::new();
        let terms = &mut self.terms;
        let mut add = |text: &str, weight: u32, field: u8| -> Box<[Term]> {
            let mut set: Vec<Term> = words(text).iter().map(|word| terms.number(word)).collect();
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
            .wishes()
            .map(|wish| add(wish, WISH_TENTHS, field::WISHES));
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
        let said = found.iter().map(|(term, (_, fields))| Said {
            term: *term,
            fields: *fields,
        });
        let said = said.collect();
        let sheet = Sheet {
            said,
            length,
            name,
            description,
            wishes,
        };
        let at = slot as usize;
        if self.sheets.len() <= at {
            self.sheets.resize_with(at + 1, Sheet::default);
        }
        self.sheets[at] = sheet;
        self.cards += 1;
        self.length += u64::from(length);
    }

    /// Empties a slot.
    pub(super) fn remove(&mut self, slot: Slot) {
        let sheet = std::mem::take(&mut self.sheets[slot as usize]);
        for said in &sheet.said {
            self.terms.remove(said.term, slot);
        }
        self.cards -= 1;
        self.length -= u64::from(sheet.length);
    }

    /// What a card says.
    pub(super) fn sheet(&self, slot: Slot) -> &Sheet {
        &self.sheets[slot as usize]
    }

    /// A query as terms, each once, with how telling it is. Words that no card has stay without a
    /// term: they are asked for and not met.
    pub(super) fn read(&self, query: &str) -> Vec<Asked> {
        let mut seen = HashSet::new();
        let mut asked = Vec::new();
        for word in spoken(query) {
            let stem = stem(&word);
            let term = self.terms.get(&stem);
            if seen.insert(stem) {
                let telling = self.telling(term);
                asked.push(Asked {
                    word,
                    term,
                    telling,
                });
            }
        }
        asked
    }

    /// Rare words tell more than common ones; those that no card has tell most.
    pub(super) fn telling(&self, term: Option<Term>) -> f32 {
        let having = term.map_or(0, |term| self.terms.postings(term).len()) as f32;
        (1.0 + (self.cards as f32 - having + 0.5) / (having + 0.5)).ln()
    }

    /// How well each slot meets a query; those that do not at all have 0.
    pub(super) fn scores(&self, asked: &[Asked]) -> Vec<f32> {
        let mut scores = vec![0.0; self.sheets.len()];
        let mean = self.length as f32 / self.cards.max(1) as f32;
        let flat = SATURATION * (1.0 - LENGTH_SHARE);
        let slope = SATURATION * LENGTH_SHARE / mean.max(1.0);
        for Asked { term, telling, .. } in asked {
            let Some(term) = term else { continue };
            for Posting { slot, weight } in self.terms.postings(*term) {
                let said = *weight as f32 / 10.0;
                let long = flat + slope * self.sheets[*slot as usize].length as f32;
                scores[*slot as usize] += telling * said * (SATURATION + 1.0) / (said + long);
            }
        }
        scores
    }

    /// About how many bytes it all takes.
    pub(super) fn bytes(&self) -> usize {
        let sheets = self.sheets.iter().map(|sheet| {
            let wishes: usize = sheet.wishes.iter().map(|wish| wish.len() * 4 + 16).sum();
            let sets = (sheet.name.len() + sheet.description.len()) * size_of::<Term>();
            size_of::<Sheet>() + sheet.said.len() * size_of::<Said>() + sets + wishes
        });
        self.terms.bytes() + sheets.sum::<usize>()
    }
}

/// A word of a query.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// As it was written.
    pub(super) word: String,
    /// Its number, if any card has it.
    pub(super) term: Option<Term>,
    /// How much it tells.
    pub(super) telling: f32,
}
