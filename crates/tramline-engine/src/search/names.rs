//! Search by name: a part of a name, or a pattern in which `*` stands for anything.

use super::card::{Card, Kind};
use super::{HITS_MAX, Index};
use crate::policy::fits;
use tramline_core::Str;
use tramline_core::text::nearest;

/// Longer patterns are cut: no name is so long.
const PATTERN_BYTES_MAX: usize = 512;

/// So many names are held against one that is not there.
const COMPARED_MAX: usize = 200;

/// What a pattern found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// The cards it fits, best first.
    pub found: Vec<Named>,
    /// How many it fits in all, those that were not asked for too.
    pub total: usize,
    /// A name that is much like the pattern, where it fits nothing.
    pub did_you_mean: Option<Str>,
}

/// A card that a pattern fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Which one.
    pub id: Str,
    /// What it stands for.
    pub kind: Kind,
    /// What it fits: `id`, `name`, `title`, `server`, `parameters`, `description`.
    pub field: &'static str,
}

/// How well a pattern fits, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Whole(&'static str),
    Start(&'static str),
    Part(u8, &'static str),
}

impl Index {
    /// The cards whose name, server, parameters or description have a text in them, or fit a pattern
    /// with `*`. Capitals make no difference. The empty text fits every card.
    pub fn names(&self, pattern: &str, most: usize, wanted: impl Fn(Kind) -> bool) -> Names {
        let cut = pattern.floor_char_boundary(PATTERN_BYTES_MAX);
        let pattern = pattern[..cut].trim().to_lowercase();
        let cards = || self.cards.iter().flatten().filter(|card| wanted(card.kind));
        let mut found: Vec<(Fit, &Card)> = cards()
            .filter_map(|card| Some((fit(card, &pattern)?, card)))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.id.cmp(&b.1.id)));
        let total = found.len();
        let did_you_mean = match total {
            0 => near(&pattern, cards()),
            _ => None,
        };
        let named = found
            .into_iter()
            .take(most.min(HITS_MAX))
            .map(|(fit, card)| Named {
                id: card.id.clone(),
                kind: card.kind,
                field: match fit {
                    Fit::Whole(field) | Fit::Start(field) | Fit::Part(_, field) => field,
                },
            });
        Names {
            found: named.collect(),
            total,
            did_you_mean,
        }
    }
}

fn fit(card: &Card, pattern: &str) -> Option<Fit> {
    let glob = pattern.contains('*');
    let names = [("id", &card.id), ("name", &card.name)];
    let mut start = None;
    for (field, text) in names {
        let text = text.to_lowercase();
        if text == pattern || (glob && fits(pattern, &text)) {
            return Some(Fit::Whole(field));
        }
        if !glob && text.starts_with(pattern) {
            start = start.or(Some(Fit::Start(field)));
        }
    }
    let inside = |text: &str| {
        let text = text.to_lowercase();
        match glob {
            true => fits(&format!("*{pattern}*"), &text),
            false => text.contains(pattern),
        }
    };
    let parts = || {
        let part = |rank, field, hit: bool| hit.then_some(Fit::Part(rank, field));
        part(0, "name", !glob && inside(&card.name))
            .or_else(|| part(1, "title", card.title.as_deref().is_some_and(inside)))
            .or_else(|| part(2, "server", !glob && inside(&card.server)))
            .or_else(|| part(3, "parameters", card.parameters().any(|name| inside(name))))
            .or_else(|| part(4, "description", inside(&card.description)))
    };
    start.or_else(parts)
}

/// The name that was probably meant. Names are compared letter by letter, which is slow, so only
/// those that share most pairs of letters are.
fn near<'a>(pattern: &str, cards: impl Iterator<Item = &'a Card>) -> Option<Str> {
    let bare = pattern.replace('*', "");
    let pairs: Vec<&[u8]> = bare.as_bytes().windows(2).collect();
    let shared = |name: &str| {
        let name = name.to_lowercase();
        let has = |pair: &&&[u8]| name.as_bytes().windows(2).any(|other| other == **pair);
        pairs.iter().filter(has).count()
    };
    let mut names: Vec<(usize, &str, &Str)> = cards
        .flat_map(|card| [(card.id.as_str(), &card.id), (card.name.as_str(), &card.id)])
        .map(|(name, id)| (shared(name), name, id))
        .filter(|(shared, _, _)| *shared > 0)
        .collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.truncate(COMPARED_MAX);
    let meant = nearest(&bare, names.iter().map(|(_, name, _)| *name))?;
    let known = names.iter().find(|(_, name, _)| *name == meant);
    known.map(|(_, _, id)| (*id).clone())
}
