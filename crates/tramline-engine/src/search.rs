//! Search over everything callable: by words, by past wishes and, with an embedder, by meaning.
//!
//! [`Index`] is pure: no clock, no I/O, the same cards give the same answers. [`Finder`] joins it with
//! an embedder. How ranks and confidence come about is told in `docs/search.md`.

mod card;
mod confidence;
mod finder;
mod lexical;
mod likeness;
mod meaning;
mod names;
mod rank;
mod reasons;
mod terms;
mod words;

pub use card::{Card, Kind, WISHES_MAX};
pub use confidence::{Calibration, Signs};
pub use finder::{Finder, Kept};
pub use meaning::{Vector, fingerprint};
pub use names::{Named, Names};

use lexical::Lexical;
use likeness::{Alike, Closely};
use meaning::Meaning;
use rank::{Field, Found};
use std::collections::HashMap;
use std::fmt;
use terms::Slot;
use tramline_core::Str;

/// So many cards are held. Search reads a row for each, and ten times as many as anybody has tools
/// still take milliseconds.
pub const CARDS_MAX: usize = 100_000;
/// So many hits are given at most.
pub const HITS_MAX: usize = 100;
/// So many hits are looked at closely, however few are asked for: confidence compares them.
const RIVALS: usize = 20;

/// The words of a text in their common form, in order, numbers left out.
pub(crate) fn said(text: &str) -> Vec<String> {
    let mut all = words::words(text);
    all.retain(|word| word.chars().any(char::is_alphabetic));
    all
}

/// Everything callable, ready to be searched.
#[derive(Debug, Default)]
pub struct Index {
    cards: Vec<Option<Card>>,
    /// The kinds of the cards once more: every search reads them all.
    kinds: Vec<Option<Kind>>,
    slots: HashMap<Str, Slot>,
    free: Vec<Slot>,
    lexical: Lexical,
    meaning: Meaning,
    alike: Alike,
}

/// A card that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Which one.
    pub id: Str,
    /// What it stands for.
    pub kind: Kind,
    /// What it was ranked by; only good for comparing hits of one search.
    pub score: f32,
    /// How sure it is that this is what was wished for, from 0 to 1: of hits with 0.95 at least nine
    /// in ten are right.
    pub confidence: f64,
    /// Why it was found, in a few words each.
    pub reasons: Vec<String>,
    /// What its confidence follows from.
    pub signs: Signs,
}

/// The index holds as much as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "search holds {CARDS_MAX} tools and takes no more; remove servers that are not used"
        )
    }
}

impl std::error::Error for Full {}

impl Index {
    /// An index of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a card in, in place of the one with its id. The vector is what the card means, see
    /// [`Vector::of_card`].
    pub fn put(&mut self, card: Card, vector: Option<&Vector>) -> Result<(), Full> {
        self.remove(&card.id);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.cards.len() >= CARDS_MAX => return Err(Full),
            None => {
                self.cards.push(None);
                self.kinds.push(None);
                (self.cards.len() - 1) as Slot
            }
        };
        self.lexical.put(slot, &card);
        self.alike.put(slot, &card);
        if let Some(vector) = vector {
            self.meaning.put(slot, vector);
        }
        self.slots.insert(card.id.clone(), slot);
        self.kinds[slot as usize] = Some(card.kind);
        self.cards[slot as usize] = Some(card);
        Ok(())
    }

    /// Takes a card out; whether it was there.
    pub fn remove(&mut self, id: &str) -> bool {
        let Some(slot) = self.slots.remove(id) else {
            return false;
        };
        if let Some(card) = self.cards[slot as usize].take() {
            self.alike.remove(slot, &card);
        }
        self.kinds[slot as usize] = None;
        self.lexical.remove(slot);
        self.meaning.remove(slot);
        self.free.push(slot);
        true
    }

    /// The card with an id.
    pub fn get(&self, id: &str) -> Option<&Card> {
        let slot = self.slots.get(id)?;
        self.cards[*slot as usize].as_ref()
    }

    /// How much a word tells, in the form that [`said`] gives it.
    pub(crate) fn telling(&self, word: &str) -> f64 {
        f64::from(self.lexical.telling(self.lexical.terms.get(word)))
    }

    /// How many cards have a word, in the form that [`said`] gives it.
    pub(crate) fn having(&self, word: &str) -> usize {
        let term = self.lexical.terms.get(word);
        term.map_or(0, |term| self.lexical.terms.postings(term).len())
    }

    /// How many cards there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// About how many bytes it takes, the cards' own texts left out.
    pub fn bytes(&self) -> usize {
        self.lexical.bytes() + self.meaning.bytes() + self.alike.bytes()
    }

    /// The cards that meet a query best, best first. Of a very long query only the beginning is
    /// read; a query without words finds nothing.
    pub fn search(&self, query: &str, vector: Option<&Vector>, most: usize) -> Vec<Hit> {
        self.search_kind(query, vector, most, |_| true)
    }

    /// The same without telling why, which costs more than finding does.
    pub(crate) fn rank(&self, query: &str, vector: Option<&Vector>, most: usize) -> Vec<Hit> {
        self.look(query, vector, most, |_| true, false)
    }

    /// The same among the kinds of card that are wanted.
    pub fn search_kind(
        &self,
        query: &str,
        vector: Option<&Vector>,
        most: usize,
        wanted: impl Fn(Kind) -> bool,
    ) -> Vec<Hit> {
        self.look(query, vector, most, wanted, true)
    }

    fn look(
        &self,
        query: &str,
        vector: Option<&Vector>,
        most: usize,
        wanted: impl Fn(Kind) -> bool,
        why: bool,
    ) -> Vec<Hit> {
        let asked = self.lexical.read(query);
        if asked.is_empty() {
            return Vec::new();
        }
        let field = Field {
            words: self.lexical.scores(&asked),
            meanings: vector.and_then(|vector| self.meaning.nearness(vector)),
            exact: self.alike.slots(query),
        };
        let wanted = |slot: Slot| self.kinds[slot as usize].is_some_and(&wanted);
        let most = most.min(HITS_MAX);
        let by_id = |a: Slot, b: Slot| self.id(a).cmp(self.id(b));
        let mut found = field.best(wanted, most.max(RIVALS), by_id);
        let closely = Closely::look(&self.lexical, &asked, &field, &mut found, by_id);
        found.truncate(most);
        let mut hits = self.hits(&found, &closely);
        if why {
            for (rank, (hit, found)) in hits.iter_mut().zip(&found).enumerate() {
                let likes = &closely.likes[rank];
                hit.reasons = reasons::of(&self.lexical, &asked, &field, found, likes);
            }
        }
        hits
    }

    fn id(&self, slot: Slot) -> &str {
        self.cards[slot as usize]
            .as_ref()
            .map_or("", |card| &card.id)
    }

    /// The hits with their confidence.
    fn hits(&self, found: &[Found], closely: &Closely) -> Vec<Hit> {
        let mut ceiling = 1.0_f64;
        let hit = |(rank, found): (usize, &Found)| {
            let signs = closely.signs(rank);
            // What is ranked below cannot be surer than what is ranked above.
            ceiling = ceiling.min(signs.confidence());
            Hit {
                id: self.id(found.slot).into(),
                kind: self.kinds[found.slot as usize].unwrap_or(Kind::Tool),
                score: found.score,
                confidence: ceiling,
                reasons: Vec::new(),
                signs,
            }
        };
        found.iter().enumerate().map(hit).collect()
    }
}

#[cfg(test)]
mod tests;
