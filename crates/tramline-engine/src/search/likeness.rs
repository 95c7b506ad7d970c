//! A close look at the best hits: how alike a query is to what a card says, and what past wishes say.
//!
//! Likeness is the share of telling words that two texts have in common. Who says exactly what the
//! query says is found without looking at every card, by a fingerprint of the words.

use super::card::Card;
use super::confidence::Signs;
use super::lexical::{Asked, Lexical, Sheet};
use super::meaning::fingerprint;
use super::rank::{Field, Found};
use super::terms::{Slot, Term};
use super::words::words;
use std::cmp::Ordering;
use std::collections::HashMap;

/// So many of the past wishes that are most alike have a vote.
const VOTES: usize = 8;
/// How far ahead by meaning counts, in deviations: no one sign makes a hit sure.
const LEAD_MAX: f32 = 2.0;
/// A text with so many times the words of the query, and some, says much else.
const LONGER_MAX: usize = 4;
/// A past wish that is less alike is another wish.
pub(super) const LIKE_MIN: f32 = 0.4;

/// The texts of all cards by the words they are made of.
#[derive(Debug, Default)]
pub(super) struct Alike {
    slots: HashMap<u128, Vec<Slot>>,
}

impl Alike {
    pub(super) fn put(&mut self, slot: Slot, card: &Card) {
        for key in keys(card) {
            let slots = self.slots.entry(key).or_default();
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
    }

    pub(super) fn remove(&mut self, slot: Slot, card: &Card) {
        for key in keys(card) {
            if let Some(slots) = self.slots.get_mut(&key) {
                slots.retain(|known| *known != slot);
                if slots.is_empty() {
                    self.slots.remove(&key);
                }
            }
        }
    }

    /// The cards that say exactly this.
    pub(super) fn slots(&self, query: &str) -> Vec<Slot> {
        self.slots.get(&key(query)).cloned().unwrap_or_default()
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.slots.len() * (size_of::<(u128, Vec<Slot>)>() + size_of::<Slot>())
    }
}

fn key(text: &str) -> u128 {
    fingerprint("", &words(text).join(" "))
}

/// What a card can be asked for by exactly.
fn keys(card: &Card) -> impl Iterator<Item = u128> {
    let said = [&card.id, &card.name, &card.description];
    let said = said.into_iter().chain(&card.title).chain(card.wishes());
    said.filter(|text| !text.is_empty()).map(|text| key(text))
}

/// What one hit has in common with the query.
#[derive(Clone, Debug, Default)]
pub(super) struct Likes {
    /// How alike its name or description is, whichever is more so.
    pub(super) said: f32,
    /// How alike its past wishes are, those of them that are alike.
    pub(super) wished: Vec<f32>,
}

impl Likes {
    fn nearest_wish(&self) -> f32 {
        self.wished.iter().copied().fold(0.0, f32::max)
    }

    fn nearest(&self) -> f32 {
        self.said.max(self.nearest_wish())
    }
}

/// The best hits, held against the query and against each other.
pub(super) struct Closely {
    pub(super) likes: Vec<Likes>,
    words: Vec<f32>,
    meanings: Vec<Option<f32>>,
    deviation: Option<f32>,
    votes: Vec<f32>,
    exact: Vec<bool>,
}

impl Closely {
    /// Looks at the best hits, and brings those forward that served such a wish before.
    pub(super) fn look(
        lexical: &Lexical,
        asked: &[Asked],
        field: &Field,
        found: &mut Vec<Found>,
        by_id: impl Fn(Slot, Slot) -> Ordering,
    ) -> Self {
        let query = Query::new(asked);
        let top = found.iter().map(|one| one.score).fold(0.0, f32::max);
        let look = |mut one: Found| {
            let likes = query.likes(lexical, lexical.sheet(one.slot));
            one.score += top * likes.nearest_wish();
            (one, likes)
        };
        let mut looked: Vec<(Found, Likes)> = found.drain(..).map(look).collect();
        looked.sort_by(|(a, _), (b, _)| a.order(b).then_with(|| by_id(a.slot, b.slot)));
        let likes: Vec<Likes>;
        (*found, likes) = looked.into_iter().unzip();
        Self {
            votes: votes(&likes),
            likes,
            words: found.iter().map(|one| field.word(one.slot)).collect(),
            meanings: found.iter().map(|one| field.meaning(one.slot)).collect(),
            deviation: field.meaning_spread().map(|spread| spread.deviation),
            exact: found.iter().map(|one| one.exact).collect(),
        }
    }

    /// What speaks for and against a hit.
    pub(super) fn signs(&self, rank: usize) -> Signs {
        let ahead = |values: &[f32]| {
            let others = values
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != rank);
            let other = others.map(|(_, value)| *value).fold(0.0, f32::max);
            (values[rank] - other, values[rank].max(other))
        };
        let (lead, top) = ahead(&self.words);
        let nearest: Vec<f32> = self.likes.iter().map(Likes::nearest).collect();
        let meanings: Vec<f32> = self
            .meanings
            .iter()
            .map(|near| near.unwrap_or(0.0))
            .collect();
        Signs {
            margin: if top > 0.0 { lead / top } else { 0.0 },
            likeness: nearest[rank],
            vote: self.votes[rank],
            meaning: self
                .deviation
                .map(|by| (ahead(&meanings).0 / by).clamp(-LEAD_MAX, LEAD_MAX)),
            alone: ahead(&nearest).0 > 0.0,
            exact: self.exact[rank] && self.exact.iter().filter(|exact| **exact).count() == 1,
        }
    }
}

/// The share of each hit in the past wishes that are most alike, the more alike the more.
fn votes(likes: &[Likes]) -> Vec<f32> {
    let each = |(rank, likes): (usize, &Likes)| {
        let wished = likes.wished.clone();
        wished.into_iter().map(move |like| (like, rank))
    };
    let mut all: Vec<(f32, usize)> = likes.iter().enumerate().flat_map(each).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.truncate(VOTES);
    let mut votes = vec![0.0; likes.len()];
    let sum: f32 = all.iter().map(|(like, _)| like).sum();
    for (like, rank) in all {
        votes[rank] += like / sum;
    }
    votes
}

/// A query's words, to be compared.
struct Query {
    /// Sorted by term.
    terms: Vec<(Term, f32)>,
    /// How much all of its words tell, those that no card has too.
    telling: f32,
}

impl Query {
    fn new(asked: &[Asked]) -> Self {
        let known = asked
            .iter()
            .filter_map(|one| Some((one.term?, one.telling)));
        let mut terms: Vec<_> = known.collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        let telling = asked.iter().map(|one| one.telling).sum();
        Self { terms, telling }
    }

    fn likes(&self, lexical: &Lexical, sheet: &Sheet) -> Likes {
        let like = |text: &[Term]| self.likeness(lexical, text);
        let wished = sheet.wishes.iter().map(|wish| like(wish));
        Likes {
            said: like(&sheet.name).max(like(&sheet.description)),
            wished: wished.filter(|like| *like >= LIKE_MIN).collect(),
        }
    }

    /// The share of what both tell, from 0 to 1.
    fn likeness(&self, lexical: &Lexical, text: &[Term]) -> f32 {
        if text.len() > LONGER_MAX * (self.terms.len() + 1) {
            return 0.0;
        }
        let shared =
            |(term, telling): &(Term, f32)| text.binary_search(term).is_ok().then_some(*telling);
        let shared: f32 = self.terms.iter().filter_map(shared).sum();
        if shared == 0.0 {
            return 0.0;
        }
        let text: f32 = text.iter().map(|term| lexical.telling(Some(*term))).sum();
        2.0 * shared / (self.telling + text)
    }
}
