//! The planning context of a request: its words, the tools that search found, and the nearest precedents.

use super::precedents::{PrecedentIndex, ToolNo};
use super::{PlanInput, SearchResults, literals, text};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock};
use tramline_catalog::search::stemmed_words;
use tramline_engine::ports::Tool;
use tramline_expr::Value;

/// Number of precedents that vote.
const VOTERS_MAX: usize = 25;
/// Exponent by which a vote's weight falls with distance.
const STEEPNESS: i32 = 4;
/// Number of the tools found by search that become candidates.
const FOUND_TOOLS_MAX: usize = 8;
/// Most candidate tools. Sets of them are bits of a `u128`.
const TOOLS_MAX: usize = 120;
/// Lowest similarity at which an intent counts as the same request.
const SAME_REQUEST_MIN: f64 = 0.7;
/// Lowest similarity at which an intent counts as identical: the plan used last for it is the plan to use.
const IDENTICAL_REQUEST_MIN: f64 = 0.95;
/// Lowest similarity of a precedent that votes. A more distant one shares a word or two with the request, and its tools
/// would only crowd out those that search found.
const NEAR_MIN: f64 = 0.3;
/// Lowest similarity of a precedent that votes even if search found none of its tools.
const NEAR_UNSUPPORTED_MIN: f64 = 0.6;
/// Number of top hits for the request that support a precedent.
const SUPPORTING_HITS: usize = 8;
/// Number of top hits for a clause that support a precedent.
const SUPPORTING_CLAUSE_HITS: usize = 3;
/// Number of precedents at which learned weights have half of their full influence.
const HALF_TRUST_PRECEDENTS: f64 = 200.0;

/// By tool name, its score relative to the best and its rank.
type SearchScores = HashMap<String, (f64, usize)>;

/// The index of a candidate tool.
pub(super) type ToolIx = u8;

/// A candidate tool.
pub(super) struct CandidateTool {
    pub(super) tool: Arc<Tool>,
    /// Its number among precedents, if it was ever used.
    pub(super) number: Option<ToolNo>,
    /// Its search score relative to the best, from 0 to 1.
    pub(super) search_score: f64,
    /// The number of hits before it.
    pub(super) rank: usize,
    /// By clause of the request, its score relative to the best, from 0 to 1.
    pub(super) clause_scores: Vec<f64>,
    /// Its share of the votes.
    pub(super) vote: f64,
    /// By word of the request, how strongly the word points to it.
    pub(super) term_weights: Vec<f64>,
    /// Its mean position in the request, from 0 to 1.
    pub(super) position: f64,
    pub(super) stage: u8,
    /// The words of its name, sorted.
    pub(super) name: Vec<String>,
    /// The weighted share of the words of its name that the request contains, from 0 to 1.
    pub(super) name_coverage: f64,
    /// Whether it needs an id.
    pub(super) needs_id: bool,
}

impl CandidateTool {
    /// Its score for the clause that matches it best.
    pub(super) fn best_clause_score(&self) -> f64 {
        self.clause_scores.iter().copied().fold(0.0, f64::max)
    }
}

/// A precedent that votes, with its tools as candidate indices.
pub(super) struct VotingPrecedent {
    /// How similar its intent is to the request, from 0 to 1.
    pub(super) similarity: f64,
    /// How often the plan was used.
    count: u64,
    pub(super) share: f64,
    pub(super) tools: Vec<ToolIx>,
    pub(super) edges: Vec<(ToolIx, ToolIx)>,
}

pub(super) struct PlanContext<'a> {
    pub(super) precedents: &'a PrecedentIndex,
    pub(super) tools: Vec<CandidateTool>,
    pub(super) voters: Vec<VotingPrecedent>,
    /// By word of the request, its weight.
    pub(super) word_weights: Vec<f64>,
    /// How far the history can be trusted, from 0 to 1.
    pub(super) trust: f64,
    /// By clause of the request, its share of all term weights.
    pub(super) clause_shares: Vec<f64>,
    /// Whether search also used embeddings.
    pub(super) used_embeddings: bool,
    by_name: HashMap<String, ToolIx>,
}

/// The precedents that are similar enough to a request to vote.
#[derive(Default)]
pub(super) struct NearPrecedents {
    /// Their rows, most similar first, each with its similarity.
    rows: Vec<(f32, usize)>,
    /// The share of the request's words that occur in precedents.
    known: f64,
}

impl NearPrecedents {
    /// No precedents.
    pub(super) const NONE: Self = Self {
        rows: Vec::new(),
        known: 0.0,
    };

    pub(super) fn of(ask: &PlanInput<'_>) -> Self {
        // Values are not stored with an intent, so they are ignored in a request too.
        let spoken = stemmed_words(&literals::without_literals(ask.request));
        let known = spoken
            .iter()
            .filter(|word| ask.precedents.weight(word).is_some());
        let known = known.count() as f64 / spoken.len().max(1) as f64;
        let mut rows = ask.precedents.nearest(&spoken, VOTERS_MAX);
        let backed = supporting_tools(ask);
        rows.retain(|(like, row)| {
            let tools = &ask.precedents.row(*row).tools;
            let same = f64::from(*like) * known;
            let is_found = || tools.iter().any(|tool| backed.contains(tool));
            same >= NEAR_UNSUPPORTED_MIN || (same >= NEAR_MIN && is_found())
        });
        Self { rows, known }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The history of requests without similar precedents.
static NO_PRECEDENTS: LazyLock<PrecedentIndex> = LazyLock::new(PrecedentIndex::default);

impl<'a> PlanContext<'a> {
    /// The context of a request. If no precedent votes, the history has no influence at all.
    pub(super) fn new(ask: &PlanInput<'a>, near: &NearPrecedents) -> Self {
        let past = if near.is_empty() {
            &*NO_PRECEDENTS
        } else {
            ask.precedents
        };
        let wish = stemmed_words(ask.request);
        let nearest = near.rows.first().map_or(0.0, |(like, _)| f64::from(*like));
        let amount = past.len() as f64;
        let telling = wish.iter().map(|word| match past.weight(word) {
            Some(weight) => f64::from(weight),
            None => ask.search.term_weight(word) / 4.0,
        });
        let mut scene = Self {
            precedents: past,
            tools: Vec::new(),
            voters: Vec::new(),
            word_weights: telling.collect(),
            trust: amount / (amount + HALF_TRUST_PRECEDENTS) * (2.0 * nearest).min(1.0),
            clause_shares: clause_shares(ask.search),
            used_embeddings: ask.search.used_embeddings,
            by_name: HashMap::new(),
        };
        let top = ask
            .search
            .tools
            .first()
            .map_or(1.0, |(_, score)| *score)
            .max(f32::MIN_POSITIVE);
        let each = ask.search.tools.iter().enumerate();
        let scores: SearchScores = each
            .map(|(rank, (tool, score))| {
                let next = f64::from((score / top).clamp(0.0, 1.0));
                (tool.name.to_string(), (next, rank))
            })
            .collect();
        scene.count_votes(ask, near, &wish, &scores);
        if scene.voters.is_empty() {
            scene.trust = 0.0;
        }
        for (tool, _) in ask.search.tools.iter().take(FOUND_TOOLS_MAX) {
            scene.add_candidate(ask, tool, &wish, &scores);
        }
        for clause in &ask.search.clauses {
            let first = clause.hits.first();
            for (tool, _) in clause.best.iter().chain(first) {
                scene.add_candidate(ask, tool, &wish, &scores);
            }
        }
        scene
    }

    /// Lets the nearest precedents vote with those of their tools that still exist.
    fn count_votes(
        &mut self,
        ask: &PlanInput<'_>,
        near: &NearPrecedents,
        wish: &[String],
        scores: &SearchScores,
    ) {
        for (like, row) in &near.rows {
            let past = ask.precedents;
            let of = past.row(*row);
            let mut places = Vec::new();
            for tool in &of.tools {
                let there = (ask.lookup)(past.name(*tool));
                places.push(there.and_then(|tool| self.add_candidate(ask, &tool, wish, scores)));
            }
            let edge = |(from, to): &(usize, usize)| {
                Some((*places.get(*from)?.as_ref()?, *places.get(*to)?.as_ref()?))
            };
            let voter = VotingPrecedent {
                similarity: f64::from(*like) * near.known,
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

    /// The index of a candidate tool. Adds the tool unless the limit is reached.
    fn add_candidate(
        &mut self,
        ask: &PlanInput<'_>,
        tool: &Arc<Tool>,
        wish: &[String],
        scores: &SearchScores,
    ) -> Option<ToolIx> {
        let name = tool.name.to_string();
        if let Some(place) = self.by_name.get(&name) {
            return Some(*place);
        }
        if self.tools.len() >= TOOLS_MAX {
            return None;
        }
        let place = self.tools.len() as ToolIx;
        let number = self.precedents.number(&name);
        let doc = tool_words(tool);
        let pulls: Vec<f64> = wish
            .iter()
            .map(|word| {
                let meant = doc
                    .get(word)
                    .map_or(0.0, |weight| weight * ask.search.term_weight(word) / 4.0);
                meant + number.map_or(0.0, |number| self.precedents.affinity(word, number))
            })
            .collect();
        let (found, rank) = scores.get(&name).copied().unwrap_or((0.0, scores.len()));
        let fits = ask.search.clauses.iter().map(|clause| {
            let mut hits = clause.hits.iter();
            let hit = hits.find(|(one, _)| one.name == tool.name);
            hit.map_or(0.0, |(_, fit)| *fit)
        });
        let mut name_words = stemmed_words(&tool.name.tool);
        name_words.sort();
        name_words.dedup();
        self.tools.push(CandidateTool {
            tool: Arc::clone(tool),
            number,
            search_score: found,
            rank,
            clause_scores: fits.collect(),
            vote: 0.0,
            position: mean_position(&pulls),
            term_weights: pulls,
            stage: text::stage(&tool.name.tool),
            name_coverage: name_coverage(ask.search, &name_words, wish),
            needs_id: text::needs_id(tool),
            name: name_words,
        });
        self.by_name.insert(name, place);
        Some(place)
    }

    /// The plan always used for requests like this one, with its confidence; `None` if there is no such request or the
    /// plans differ. Identical requests take precedence: their plan may be a correction of what the others vote for.
    pub(super) fn unanimous_precedent(&self) -> Option<(&[ToolIx], f64)> {
        self.unanimous_above(IDENTICAL_REQUEST_MIN)
            .or_else(|| self.unanimous_above(SAME_REQUEST_MIN))
    }

    fn unanimous_above(&self, least: f64) -> Option<(&[ToolIx], f64)> {
        let alike = || self.voters.iter().filter(|voter| voter.similarity >= least);
        let first = alike().next()?;
        if !alike().all(|voter| voter.tools == first.tools) {
            return None;
        }
        let count = alike().map(|voter| voter.count).sum::<u64>() as f64;
        Some((
            &first.tools[..],
            first.similarity.min(1.0) * count / (count + 1.0),
        ))
    }

    /// The index of a candidate tool.
    pub(super) fn find(&self, tool: &Tool) -> Option<ToolIx> {
        self.by_name.get(&tool.name.to_string()).copied()
    }

    pub(super) fn candidate(&self, place: ToolIx) -> &CandidateTool {
        &self.tools[place as usize]
    }

    /// The most likely tools, best first.
    pub(super) fn best(&self, most: usize) -> Vec<ToolIx> {
        let score = |place: &ToolIx| {
            let seen = self.candidate(*place);
            seen.vote + 0.3 * seen.search_score + 0.15 * seen.best_clause_score()
        };
        let mut all: Vec<ToolIx> = (0..self.tools.len() as ToolIx).collect();
        all.sort_by(|a, b| {
            let by_name = || {
                self.candidate(*a)
                    .tool
                    .name
                    .cmp(&self.candidate(*b).tool.name)
            };
            score(b).total_cmp(&score(a)).then_with(by_name)
        });
        all.truncate(most);
        all
    }
}

/// The tools that were used before and that search found for the request or one of its clauses.
fn supporting_tools(ask: &PlanInput<'_>) -> HashSet<ToolNo> {
    let found = ask
        .search
        .tools
        .iter()
        .take(SUPPORTING_HITS)
        .map(|(tool, _)| tool);
    let clauses = ask.search.clauses.iter();
    let spoken = clauses.flat_map(|clause| clause.hits.iter().take(SUPPORTING_CLAUSE_HITS));
    let all = found.chain(spoken.map(|(tool, _)| tool));
    all.filter_map(|tool| ask.precedents.number(&tool.name.to_string()))
        .collect()
}

/// The weighted share of a name's words that the request contains.
fn name_coverage(found: &SearchResults, name: &[String], wish: &[String]) -> f64 {
    let telling = |word: &&String| found.name_term_weight(word);
    let said = name.iter().filter(|word| wish.contains(word));
    let said: f64 = said.map(|word| telling(&word)).sum();
    said / name
        .iter()
        .map(|word| telling(&word))
        .sum::<f64>()
        .max(f64::MIN_POSITIVE)
}

/// The share of each clause in the term weights of the request.
fn clause_shares(found: &SearchResults) -> Vec<f64> {
    let telling = |words: &[String]| {
        words
            .iter()
            .map(|word| found.term_weight(word))
            .sum::<f64>()
    };
    let each: Vec<f64> = found
        .clauses
        .iter()
        .map(|clause| telling(&clause.words))
        .collect();
    let all: f64 = each.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    each.iter().map(|one| one / all).collect()
}

/// The weighted mean position of some numbers, from 0 to 1.
fn mean_position(pulls: &[f64]) -> f64 {
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

/// The words of a tool with their weights, as in search.
fn tool_words(tool: &Tool) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in stemmed_words(text) {
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
