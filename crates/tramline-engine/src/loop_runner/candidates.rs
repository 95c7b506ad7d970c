//! Which tools a planner is shown: a few that search finds and that can be used here and now, never all
//! there are.

use super::perform::is_summary;
use super::related;
use super::request::Request;
use crate::engine::Engine;
use crate::planner::{Plan, parts};
use crate::seams::Tool;
use crate::search::{Card, Index, Kind};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::{Str, Value};

/// A model is shown so many tools: more confuse it and cost.
const MODEL_TOOLS_MAX: usize = 20;
/// A calling agent is shown so many: it pays for every schema with its context, and can search for
/// more.
const AGENT_TOOLS_MAX: usize = 8;
/// So many hits of each search count.
const HITS: usize = 16;
/// So many parts of a request are searched for on their own.
const PARTS_MAX: usize = 6;
/// So many texts of related words are searched for.
const RELATED_MAX: usize = 6;
/// How fast a hit loses weight with its rank: half of the first one's weight at this rank.
const HALF_RANK: f64 = 4.0;
/// What related words count next to the request's own.
const RELATED_WEIGHT: f64 = 0.6;
/// Servers get so long to show that they can be reached.
const REACH_MAX: Duration = Duration::from_secs(15);

/// What a planning agent is offered.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// The tools that may serve, best first.
    pub(super) tools: Vec<Arc<Tool>>,
    /// Servers that cannot be reached now, with why. Their tools are not offered.
    pub(super) unreachable: Vec<(Str, Failure)>,
}

/// The tools that may serve a request, best first, with the one that sums up: what a model is shown.
/// `tools` are all that the request may use.
pub(super) async fn for_model(
    engine: &Engine,
    request: &Request,
    tools: &[Arc<Tool>],
) -> Vec<Arc<Tool>> {
    let usable = usable(engine, tools);
    let mut shown = ranked(engine, request, &usable, None).await;
    shown.truncate(MODEL_TOOLS_MAX);
    with_summary(&mut shown, &usable, MODEL_TOOLS_MAX);
    shown
}

/// What a calling agent is offered for a request, beside the plan that words gave.
pub(super) async fn for_agent(
    engine: &Engine,
    request: &Request,
    tools: &[Arc<Tool>],
    guess: Option<&Plan>,
    sums_up: bool,
) -> Offered {
    let usable = usable(engine, tools);
    let mut ranked = ranked(engine, request, &usable, guess).await;
    let mut offered = Offered::default();
    let list = engine.registry().list().await;
    if let Ok(list) = list {
        offered.unreachable = list.silent.clone();
    }
    let mut reached = BTreeSet::new();
    loop {
        let best = ranked.iter().take(AGENT_TOOLS_MAX);
        let servers: BTreeSet<Str> = best.map(|tool| tool.name.server.clone()).collect();
        let asked: BTreeSet<Str> = servers.difference(&reached).cloned().collect();
        if asked.is_empty() {
            break;
        }
        let lost = unreachable(engine, &asked).await;
        ranked.retain(|tool| !lost.iter().any(|(server, _)| *server == tool.name.server));
        reached.extend(asked);
        offered
            .unreachable
            .retain(|(known, _)| !lost.iter().any(|(one, _)| one == known));
        offered.unreachable.extend(lost);
    }
    ranked.truncate(AGENT_TOOLS_MAX);
    if sums_up {
        with_summary(&mut ranked, &usable, AGENT_TOOLS_MAX);
    }
    offered.tools = ranked;
    offered
}

/// Which of some servers cannot be reached now.
async fn unreachable(engine: &Engine, servers: &BTreeSet<Str>) -> Vec<(Str, Failure)> {
    let asking = engine.registry().unreachable(servers);
    match tokio::time::timeout(REACH_MAX, asking).await {
        Ok(lost) => lost,
        // Which of them hangs is not known; each is asked alone when it is called.
        Err(_) => {
            let message = format!("not reached within {REACH_MAX:?}");
            let lost = servers.iter().map(|server| {
                let failure = Failure::new(FailureKind::Timeout, message.clone());
                (server.clone(), failure)
            });
            lost.filter(|(server, _)| server != "builtin").collect()
        }
    }
}

fn usable(engine: &Engine, tools: &[Arc<Tool>]) -> Vec<Arc<Tool>> {
    let can = |tool: &&Arc<Tool>| engine.unusable(&tool.name).is_none();
    tools.iter().filter(can).cloned().collect()
}

/// All that may serve a request, best first: what is recommended, then what the whole request, its
/// parts, related words and the plan by words speak for.
async fn ranked(
    engine: &Engine,
    request: &Request,
    tools: &[Arc<Tool>],
    guess: Option<&Plan>,
) -> Vec<Arc<Tool>> {
    let finder = Searching::new(engine, request, tools);
    let best = finder.best(request.last(), guess).await;
    let recommended = tools.iter().filter(|tool| is_recommended(request, tool));
    let mut all: Vec<Arc<Tool>> = recommended.cloned().collect();
    let mut names: HashSet<ToolName> = all.iter().map(|tool| tool.name.clone()).collect();
    let mine: HashMap<&ToolName, &Arc<Tool>> =
        tools.iter().map(|tool| (&tool.name, tool)).collect();
    let best = best.iter().filter_map(|name| mine.get(name).copied());
    // What nothing speaks for is shown by name, so that few tools are all shown.
    for tool in best.chain(tools) {
        if names.insert(tool.name.clone()) {
            all.push(Arc::clone(tool));
        }
    }
    all
}

/// Where tools are searched for: among everything, or among the few that a request names.
enum Searching<'a> {
    Everything(&'a Engine),
    Few(Box<Index>, HashMap<Str, ToolName>),
}

impl<'a> Searching<'a> {
    fn new(engine: &'a Engine, request: &Request, tools: &[Arc<Tool>]) -> Self {
        if request.available.is_none() {
            return Self::Everything(engine);
        }
        let mut index = Index::new();
        for tool in tools {
            // One that does not fit in any more is shown by name.
            let _ = index.put(Card::of_tool(Kind::Tool, tool), None);
        }
        let named = |tool: &Arc<Tool>| (Str::from(tool.name.to_string()), tool.name.clone());
        Self::Few(Box::new(index), tools.iter().map(named).collect())
    }

    /// What speaks for tools in a request, best first. Each part of a request has its turn, so that one
    /// that finds much does not crowd out the others.
    async fn best(&self, wish: &str, guess: Option<&Plan>) -> Vec<ToolName> {
        let mut whole = Board::default();
        self.count(wish, &mut whole).await;
        if let Some(guess) = guess {
            whole.add(1.0, guess.tools.clone());
        }
        let pieces = parts(wish);
        if pieces.len() < 2 {
            return whole.best();
        }
        let mut lists = Vec::new();
        for part in pieces.iter().take(PARTS_MAX) {
            let mut board = Board::default();
            self.count(part, &mut board).await;
            lists.push(board.best());
        }
        lists.push(whole.best());
        let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
        let turns = (0..longest).flat_map(|at| lists.iter().filter_map(move |list| list.get(at)));
        turns.cloned().collect()
    }

    /// Counts what a text and the words that are related to it find.
    async fn count(&self, text: &str, board: &mut Board) {
        board.add(1.0, self.find(text).await);
        for related in related::texts(text).into_iter().take(RELATED_MAX) {
            board.add(RELATED_WEIGHT, self.find(related).await);
        }
    }

    /// What is found for a text, best first. What cannot be searched finds nothing.
    async fn find(&self, text: &str) -> Vec<ToolName> {
        match self {
            Self::Everything(engine) => {
                let hits = engine.registry().search(text, HITS).await;
                let hits = hits.map(|(_, hits)| hits).unwrap_or_default().into_iter();
                hits.map(|hit| hit.tool.name.clone()).collect()
            }
            Self::Few(index, names) => {
                let hits = index.search(text, None, HITS).into_iter();
                hits.filter_map(|hit| names.get(&hit.id).cloned()).collect()
            }
        }
    }
}

/// Adds up what several searches found: a tool that many of them have high is likely needed.
#[derive(Default)]
struct Board(HashMap<ToolName, f64>);

impl Board {
    fn add(&mut self, weight: f64, names: Vec<ToolName>) {
        for (rank, name) in names.into_iter().enumerate() {
            let share = weight * HALF_RANK / (HALF_RANK + rank as f64);
            *self.0.entry(name).or_default() += share;
        }
    }

    fn best(self) -> Vec<ToolName> {
        let mut all: Vec<(ToolName, f64)> = self.0.into_iter().collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all.into_iter().map(|(name, _)| name).collect()
    }
}

/// Puts the tool that sums up at the end, if it may be used and is not there.
fn with_summary(shown: &mut Vec<Arc<Tool>>, tools: &[Arc<Tool>], most: usize) {
    let summary = |tool: &&Arc<Tool>| is_summary(&tool.name.to_string());
    if let Some(summary) = tools.iter().find(summary)
        && !shown.iter().any(|tool| tool.name == summary.name)
    {
        shown.truncate(most - 1);
        shown.push(Arc::clone(summary));
    }
}

/// Whether a hint for the planner names a tool.
fn is_recommended(request: &Request, tool: &Tool) -> bool {
    let named = |hint: &Value| {
        let name = hint.as_str();
        let name = name.or_else(|| hint.get("tool").or_else(|| hint.get("name"))?.as_str());
        name.is_some_and(|name| name == tool.name.tool || name == tool.name.to_string())
    };
    request.recommendations.iter().any(named)
}
