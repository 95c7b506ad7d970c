//! What a wish is planned from: its words, the tools that search found, and the precedents that are
//! nearest to it.

use super::past::{Past, ToolNo};
use super::{Ask, Found, literals, words};
use crate::seams::Tool;
use crate::search::said;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};
use tramline_core::Value;

/// So many precedents vote.
const VOTERS: usize = 25;
/// How fast a vote loses weight with distance.
const STEEPNESS: i32 = 4;
/// So many of the tools that search found are looked at.
const FOUND_MAX: usize = 8;
/// So many tools are looked at altogether; sets of them are bits of a number.
const TOOLS_MAX: usize = 120;
/// An intent so near to a wish wants the same.
const SAME_MIN: f64 = 0.7;
/// An intent so near to a wish is the same one: what was done for it last is what is wanted.
const VERY_SAME_MIN: f64 = 0.95;
/// A precedent that is further away does not vote: it shares a word or two with the wish, and its tools
/// would only crowd out those that were found.
const NEAR_MIN: f64 = 0.3;
/// A precedent that is no nearer than this votes only if search found one of its tools, too.
const NEAR_ALONE_MIN: f64 = 0.6;
/// So many of the tools that search found speak for a precedent.
const BACKED_BY: usize = 8;
/// The same of those that it found for a clause.
const BACKED_BY_CLAUSE: usize = 3;
/// So many precedents make what was learnt weigh half of what it can.
const HALF_TRUST: f64 = 200.0;

/// By tool, how well it was found next to the best, and how many were found before it.
type Scores = HashMap<String, (f64, usize)>;

/// The place of a tool among those that are looked at.
pub(super) type Place = u8;

/// A tool that may be meant.
pub(super) struct Seen {
    pub(super) tool: Arc<Tool>,
    /// Its number among precedents, if it was ever used.
    pub(super) number: Option<ToolNo>,
    /// How well it was found, next to the best, from 0 to 1.
    pub(super) found: f64,
    /// How many were found before it.
    pub(super) rank: usize,
    /// By clause of the wish, how well it was found for that, next to the best, from 0 to 1.
    pub(super) fits: Vec<f64>,
    /// Its share of the votes.
    pub(super) vote: f64,
    /// By word of the wish, how much that speaks for it.
    pub(super) pulls: Vec<f64>,
    /// Where the wish speaks of it, from 0 to 1.
    pub(super) at: f64,
    pub(super) stage: u8,
    /// The words of its name, sorted.
    pub(super) name: Vec<String>,
    /// How much of what its name tells the wish says, from 0 to 1.
    pub(super) named: f64,
    /// Whether it says that it needs to know which one.
    pub(super) by_id: bool,
}

impl Seen {
    /// How well it was found for the clause that speaks most of it.
    pub(super) fn fit(&self) -> f64 {
        self.fits.iter().copied().fold(0.0, f64::max)
    }
}

/// A past precedent that votes, its tools as places.
pub(super) struct Voter {
    /// How far its intent is the same as the wish, from 0 to 1.
    pub(super) same: f64,
    /// How often it was done.
    count: u64,
    pub(super) share: f64,
    pub(super) tools: Vec<Place>,
    pub(super) edges: Vec<(Place, Place)>,
}

pub(super) struct Scene<'a> {
    pub(super) past: &'a Past,
    pub(super) tools: Vec<Seen>,
    pub(super) voters: Vec<Voter>,
    /// By word, how much it tells.
    pub(super) telling: Vec<f64>,
    /// How far what was learnt is to be trusted, from 0 to 1.
    pub(super) trust: f64,
    /// By clause of the wish, how much of all it tells.
    pub(super) clauses: Vec<f64>,
    /// Whether tools were found by what they mean, too.
    pub(super) meant: bool,
    places: HashMap<String, Place>,
}

/// The precedents that are near enough to a request to vote.
#[derive(Default)]
pub(super) struct NearPrecedents {
    /// Their rows, nearest first, each with how near.
    rows: Vec<(f32, usize)>,
    /// The share of the request's words that the past knows.
    known: f64,
}

impl NearPrecedents {
    /// Of no past.
    pub(super) const NONE: Self = Self {
        rows: Vec::new(),
        known: 0.0,
    };

    pub(super) fn of(ask: &Ask<'_>) -> Self {
        // Values are not kept of an intent, and count for nothing in a wish.
        let spoken = said(&literals::without(ask.wish));
        let known = spoken.iter().filter(|word| ask.past.weight(word).is_some());
        let known = known.count() as f64 / spoken.len().max(1) as f64;
        let mut rows = ask.past.near(&spoken, VOTERS);
        let backed = backed(ask);
        rows.retain(|(like, row)| {
            let tools = &ask.past.row(*row).tools;
            let same = f64::from(*like) * known;
            let is_found = || tools.iter().any(|tool| backed.contains(tool));
            same >= NEAR_ALONE_MIN || (same >= NEAR_MIN && is_found())
        });
        Self { rows, known }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// What is known of a past that is not asked.
static NO_PAST: LazyLock<Past> = LazyLock::new(Past::default);

impl<'a> Scene<'a> {
    /// The scene of a request. Where no precedent votes, the past has no influence at all.
    pub(super) fn new(ask: &Ask<'a>, near: &NearPrecedents) -> Self {
        let past = if near.is_empty() { &*NO_PAST } else { ask.past };
        let wish = said(ask.wish);
        let nearest = near.rows.first().map_or(0.0, |(like, _)| f64::from(*like));
        let amount = past.len() as f64;
        let telling = wish.iter().map(|word| match past.weight(word) {
            Some(weight) => f64::from(weight),
            None => ask.found.telling(word) / 4.0,
        });
        let mut scene = Self {
            past,
            tools: Vec::new(),
            voters: Vec::new(),
            telling: telling.collect(),
            trust: amount / (amount + HALF_TRUST) * (2.0 * nearest).min(1.0),
            clauses: shares(ask.found),
            meant: ask.found.meant,
            places: HashMap::new(),
        };
        let top = ask
            .found
            .tools
            .first()
            .map_or(1.0, |(_, score)| *score)
            .max(f32::MIN_POSITIVE);
        let each = ask.found.tools.iter().enumerate();
        let scores: Scores = each
            .map(|(rank, (tool, score))| {
                let next = f64::from((score / top).clamp(0.0, 1.0));
                (tool.name.to_string(), (next, rank))
            })
            .collect();
        scene.vote(ask, near, &wish, &scores);
        if scene.voters.is_empty() {
            scene.trust = 0.0;
        }
        for (tool, _) in ask.found.tools.iter().take(FOUND_MAX) {
            scene.place(ask, tool, &wish, &scores);
        }
        for clause in &ask.found.clauses {
            let first = clause.hits.first();
            for (tool, _) in clause.best.iter().chain(first) {
                scene.place(ask, tool, &wish, &scores);
            }
        }
        scene
    }

    /// Lets the nearest precedents vote, what of them can still be called.
    fn vote(&mut self, ask: &Ask<'_>, near: &NearPrecedents, wish: &[String], scores: &Scores) {
        for (like, row) in &near.rows {
            let past = ask.past;
            let of = past.row(*row);
            let mut places = Vec::new();
            for tool in &of.tools {
                let there = (ask.lookup)(past.name(*tool));
                places.push(there.and_then(|tool| self.place(ask, &tool, wish, scores)));
            }
            let edge = |(from, to): &(usize, usize)| {
                Some((*places.get(*from)?.as_ref()?, *places.get(*to)?.as_ref()?))
            };
            let voter = Voter {
                same: f64::from(*like) * near.known,
                count: of.count,
                share: f64::from(like.powi(STEEPNESS)),
                edges: of.edges.iter().filter_map(edge).collect(),
                tools: places.iter().copied().flatten().collect(),
            };
            if !voter.tools.is_empty() {
                self.voters.push(voter);
            }
        }
        let all: f64 = self.voters.iter().map(|voter| voter.share).sum();
        for voter in &mut self.voters {
            voter.share /= all.max(f64::MIN_POSITIVE);
            let mut distinct = voter.tools.clone();
            distinct.sort_unstable();
            distinct.dedup();
            for place in distinct {
                self.tools[place as usize].vote += voter.share;
            }
        }
    }

    /// The place of a tool, a new one if need be and there is room.
    fn place(
        &mut self,
        ask: &Ask<'_>,
        tool: &Arc<Tool>,
        wish: &[String],
        scores: &Scores,
    ) -> Option<Place> {
        let name = tool.name.to_string();
        if let Some(place) = self.places.get(&name) {
            return Some(*place);
        }
        if self.tools.len() >= TOOLS_MAX {
            return None;
        }
        let place = self.tools.len() as Place;
        let number = self.past.number(&name);
        let doc = words_of(tool);
        let pulls: Vec<f64> = wish
            .iter()
            .map(|word| {
                let meant = doc
                    .get(word)
                    .map_or(0.0, |weight| weight * ask.found.telling(word) / 4.0);
                meant + number.map_or(0.0, |number| self.past.pull(word, number))
            })
            .collect();
        let (found, rank) = scores.get(&name).copied().unwrap_or((0.0, scores.len()));
        let fits = ask.found.clauses.iter().map(|clause| {
            let mut hits = clause.hits.iter();
            let hit = hits.find(|(one, _)| one.name == tool.name);
            hit.map_or(0.0, |(_, fit)| *fit)
        });
        let mut name_words = said(&tool.name.tool);
        name_words.sort();
        name_words.dedup();
        self.tools.push(Seen {
            tool: Arc::clone(tool),
            number,
            found,
            rank,
            fits: fits.collect(),
            vote: 0.0,
            at: middle(&pulls),
            pulls,
            stage: words::stage(&tool.name.tool),
            named: named(ask.found, &name_words, wish),
            by_id: words::by_id(tool),
            name: name_words,
        });
        self.places.insert(name, place);
        Some(place)
    }

    /// What was always done for wishes like this one, and how sure that is; nothing if there were none, or
    /// different things were done. What was done for the very same wish goes before all others: it may be
    /// a correction of what they would vote for.
    pub(super) fn habit(&self) -> Option<(&[Place], f64)> {
        self.agreed(VERY_SAME_MIN).or_else(|| self.agreed(SAME_MIN))
    }

    fn agreed(&self, least: f64) -> Option<(&[Place], f64)> {
        let alike = || self.voters.iter().filter(|voter| voter.same >= least);
        let first = alike().next()?;
        if !alike().all(|voter| voter.tools == first.tools) {
            return None;
        }
        let count = alike().map(|voter| voter.count).sum::<u64>() as f64;
        Some((
            &first.tools[..],
            first.same.min(1.0) * count / (count + 1.0),
        ))
    }

    /// The place of a tool that is looked at.
    pub(super) fn find(&self, tool: &Tool) -> Option<Place> {
        self.places.get(&tool.name.to_string()).copied()
    }

    pub(super) fn seen(&self, place: Place) -> &Seen {
        &self.tools[place as usize]
    }

    /// The tools that are most likely meant, best first.
    pub(super) fn best(&self, most: usize) -> Vec<Place> {
        let score = |place: &Place| {
            let seen = self.seen(*place);
            seen.vote + 0.3 * seen.found + 0.15 * seen.fit()
        };
        let mut all: Vec<Place> = (0..self.tools.len() as Place).collect();
        all.sort_by(|a, b| {
            let by_name = || self.seen(*a).tool.name.cmp(&self.seen(*b).tool.name);
            score(b).total_cmp(&score(a)).then_with(by_name)
        });
        all.truncate(most);
        all
    }
}

/// The tools that were ever used and that search found for the wish or for one of its clauses.
fn backed(ask: &Ask<'_>) -> HashSet<ToolNo> {
    let found = ask.found.tools.iter().take(BACKED_BY).map(|(tool, _)| tool);
    let clauses = ask.found.clauses.iter();
    let spoken = clauses.flat_map(|clause| clause.hits.iter().take(BACKED_BY_CLAUSE));
    let all = found.chain(spoken.map(|(tool, _)| tool));
    all.filter_map(|tool| ask.past.number(&tool.name.to_string()))
        .collect()
}

/// How much of what a name tells is said in a wish.
fn named(found: &Found, name: &[String], wish: &[String]) -> f64 {
    let telling = |word: &&String| found.usual(word);
    let said = name.iter().filter(|word| wish.contains(word));
    let said: f64 = said.map(|word| telling(&word)).sum();
    said / name
        .iter()
        .map(|word| telling(&word))
        .sum::<f64>()
        .max(f64::MIN_POSITIVE)
}

/// How much each clause tells of all that the wish tells.
fn shares(found: &Found) -> Vec<f64> {
    let telling = |words: &[String]| words.iter().map(|word| found.telling(word)).sum::<f64>();
    let each: Vec<f64> = found
        .clauses
        .iter()
        .map(|clause| telling(&clause.words))
        .collect();
    let all: f64 = each.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    each.iter().map(|one| one / all).collect()
}

/// Where the weight of many numbers lies, from 0 to 1.
fn middle(pulls: &[f64]) -> f64 {
    let all: f64 = pulls.iter().sum();
    let weighed: f64 = pulls
        .iter()
        .enumerate()
        .map(|(at, pull)| at as f64 * pull)
        .sum();
    match all > 0.0 {
        true => weighed / all / pulls.len().max(1) as f64,
        false => 0.5,
    }
}

/// The words of a tool, each with how much it says of it: as search weighs them.
fn words_of(tool: &Tool) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in said(text) {
            let known = all.entry(word).or_default();
            *known = (*known + weight).min(3.0);
        }
    };
    add(&tool.name.tool, 3.0);
    add(tool.title.as_deref().unwrap_or_default(), 1.0);
    add(tool.description.as_deref().unwrap_or_default(), 1.0);
    let properties = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    for name in properties.into_iter().flat_map(|map| map.keys()) {
        add(name, 1.0);
    }
    all
}
