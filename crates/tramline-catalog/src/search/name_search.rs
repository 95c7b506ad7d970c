//! Search by name: a part of a name, or a pattern with the wildcard `*`.

use super::document::{DocumentKind, SearchDocument};
use super::{HITS_MAX, SearchIndex};
use tramline_engine::policy::fits;
use tramline_expr::Str;
use tramline_workflow::text::nearest;

/// Longest pattern, in bytes. Longer ones are cut; no name is that long.
const PATTERN_BYTES_MAX: usize = 512;

/// Number of names that are compared with an unknown name for a suggestion.
const COMPARED_MAX: usize = 200;

/// The matches of a pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NameMatches {
    /// The matching documents, best first.
    pub matches: Vec<NameMatch>,
    /// The number of all matches, including those beyond the limit.
    pub total: usize,
    /// A similar name, if nothing matches.
    pub did_you_mean: Option<Str>,
}

/// A document that matches a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct NameMatch {
    /// The document's id.
    pub id: Str,
    /// What the document describes.
    pub kind: DocumentKind,
    /// The field that matches: `id`, `name`, `title`, `server`, `parameters`, `description`.
    pub field: &'static str,
}

/// How well a pattern matches, best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NameFit {
    Whole(&'static str),
    Start(&'static str),
    Part(u8, &'static str),
}

impl SearchIndex {
    /// The documents whose name, server, parameters or description contain a text or match a pattern with `*`.
    /// Case-insensitive. The empty text matches every document.
    pub fn find_names(
        &self,
        pattern: &str,
        most: usize,
        wanted: impl Fn(DocumentKind) -> bool,
    ) -> NameMatches {
        let cut = pattern.floor_char_boundary(PATTERN_BYTES_MAX);
        let pattern = pattern[..cut].trim().to_lowercase();
        let cards = || {
            self.documents
                .iter()
                .flatten()
                .filter(|card| wanted(card.kind))
        };
        let mut found: Vec<(NameFit, &SearchDocument)> = cards()
            .filter_map(|card| Some((name_fit(card, &pattern)?, card)))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.id.cmp(&b.1.id)));
        let total = found.len();
        let did_you_mean = match total {
            0 => suggest_name(&pattern, cards()),
            _ => None,
        };
        let named = found
            .into_iter()
            .take(most.min(HITS_MAX))
            .map(|(fit, card)| NameMatch {
                id: card.id.clone(),
                kind: card.kind,
                field: match fit {
                    NameFit::Whole(field) | NameFit::Start(field) | NameFit::Part(_, field) => {
                        field
                    }
                },
            });
        NameMatches {
            matches: named.collect(),
            total,
            did_you_mean,
        }
    }
}

fn name_fit(card: &SearchDocument, pattern: &str) -> Option<NameFit> {
    let glob = pattern.contains('*');
    let names = [("id", &card.id), ("name", &card.name)];
    let mut start = None;
    for (field, text) in names {
        let text = text.to_lowercase();
        if text == pattern || (glob && fits(pattern, &text)) {
            return Some(NameFit::Whole(field));
        }
        if !glob && text.starts_with(pattern) {
            start = start.or(Some(NameFit::Start(field)));
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
        let part = |rank, field, hit: bool| hit.then_some(NameFit::Part(rank, field));
        part(0, "name", !glob && inside(&card.name))
            .or_else(|| part(1, "title", card.title.as_deref().is_some_and(inside)))
            .or_else(|| part(2, "server", !glob && inside(&card.server)))
            .or_else(|| part(3, "parameters", card.parameters().any(|name| inside(name))))
            .or_else(|| part(4, "description", inside(&card.description)))
    };
    start.or_else(parts)
}

/// The name that was probably meant. Edit distance is slow, so it is computed only for the names that share the most
/// pairs of letters.
fn suggest_name<'a>(pattern: &str, cards: impl Iterator<Item = &'a SearchDocument>) -> Option<Str> {
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
