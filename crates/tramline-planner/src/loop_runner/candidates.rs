//! Selects the tools that a planner is shown: the few that search finds and that can be used now, never all of them.

use super::related_words;
use super::request::LoopRequest;
use super::run_plan::is_summary;
use crate::planner::{TaskPlan, request_parts};
use crate::planning::Planner;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tramline_catalog::search::{DocumentKind, SearchDocument, SearchIndex};
use tramline_engine::ports::Tool;
use tramline_expr::{Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;

/// Number of tools shown to a model. More confuse it and cost tokens.
const MODEL_TOOLS_MAX: usize = 20;
/// Number of tools shown to a calling agent. Every schema costs some of its context, and it can search for more.
const AGENT_TOOLS_MAX: usize = 8;
/// Number of hits of each search that count.
const HITS_MAX: usize = 16;
/// Number of parts of a request that are searched for separately.
const PARTS_MAX: usize = 6;
/// Number of texts with related words that are searched for.
const RELATED_MAX: usize = 6;
/// Rank at which a hit has half the weight of the first one.
const HALF_RANK: f64 = 4.0;
/// Weight of related words relative to the request's own words.
const RELATED_WEIGHT: f64 = 0.6;
/// How long servers have to show that they can be reached.
const REACH_TIMEOUT: Duration = Duration::from_secs(15);

/// The tools offered to a planning agent.
#[derive(Debug, Default)]
pub(super) struct OfferedTools {
    /// The candidate tools, best first.
    pub(super) tools: Vec<Arc<Tool>>,
    /// Servers that cannot be reached now, with the reason. Their tools are not offered.
    pub(super) unreachable: Vec<(Str, Failure)>,
}

/// The tools shown to a model for a request, best first, including the summary tool. `tools` are all that the request
/// may use.
pub(super) async fn for_model(
    planner: &Planner,
    request: &LoopRequest,
    tools: &[Arc<Tool>],
) -> Vec<Arc<Tool>> {
    let usable = usable(planner, tools);
    let mut shown = ranked(planner, request, &usable, None).await;
    shown.truncate(MODEL_TOOLS_MAX);
    with_summary(&mut shown, &usable, MODEL_TOOLS_MAX);
    shown
}

/// The tools offered to a calling agent for a request. `guess` is the plan of the planner without a model.
pub(super) async fn for_agent(
    planner: &Planner,
    request: &LoopRequest,
    tools: &[Arc<Tool>],
    guess: Option<&TaskPlan>,
    sums_up: bool,
) -> OfferedTools {
    let usable = usable(planner, tools);
    let mut ranked = ranked(planner, request, &usable, guess).await;
    let mut offered = OfferedTools::default();
    let list = planner.catalog.registry().list().await;
    if let Ok(list) = list {
        offered.unreachable = list.unavailable.clone();
    }
    let mut reached = BTreeSet::new();
    loop {
        let best = ranked.iter().take(AGENT_TOOLS_MAX);
        let servers: BTreeSet<Str> = best.map(|tool| tool.name.server.clone()).collect();
        let asked: BTreeSet<Str> = servers.difference(&reached).cloned().collect();
        if asked.is_empty() {
            break;
        }
        let lost = unreachable(planner, &asked).await;
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
async fn unreachable(planner: &Planner, servers: &BTreeSet<Str>) -> Vec<(Str, Failure)> {
    let asking = planner.catalog.registry().unreachable(servers);
    match tokio::time::timeout(REACH_TIMEOUT, asking).await {
        Ok(lost) => lost,
        // It is not known which server hangs; a call contacts each one separately.
        Err(_) => {
            let message = format!("not reached within {REACH_TIMEOUT:?}");
            let lost = servers.iter().map(|server| {
                let failure = Failure::new(FailureKind::Timeout, message.clone());
                (server.clone(), failure)
            });
            lost.filter(|(server, _)| server != "builtin").collect()
        }
    }
}

fn usable(planner: &Planner, tools: &[Arc<Tool>]) -> Vec<Arc<Tool>> {
    let can = |tool: &&Arc<Tool>| planner.engine.unusable(&tool.name).is_none();
    tools.iter().filter(can).cloned().collect()
}

/// All usable tools, best first: recommended ones, then those that match the whole request, its parts, related words
/// and the guessed plan.
async fn ranked(
    planner: &Planner,
    request: &LoopRequest,
    tools: &[Arc<Tool>],
    guess: Option<&TaskPlan>,
) -> Vec<Arc<Tool>> {
    let finder = ToolSearch::new(planner, request, tools);
    let best = finder.best(request.last_message(), guess).await;
    let recommended = tools.iter().filter(|tool| is_recommended(request, tool));
    let mut all: Vec<Arc<Tool>> = recommended.cloned().collect();
    let mut names: HashSet<ToolName> = all.iter().map(|tool| tool.name.clone()).collect();
    let mine: HashMap<&ToolName, &Arc<Tool>> =
        tools.iter().map(|tool| (&tool.name, tool)).collect();
    let best = best.iter().filter_map(|name| mine.get(name).copied());
    // Tools without a match follow by name, so that a small set of tools is shown completely.
    for tool in best.chain(tools) {
        if names.insert(tool.name.clone()) {
            all.push(Arc::clone(tool));
        }
    }
    all
}

/// Where tools are searched for: in the whole registry, or among the few that a request names.
enum ToolSearch<'a> {
    Everything(&'a Planner),
    Few(Box<SearchIndex>, HashMap<Str, ToolName>),
}

impl<'a> ToolSearch<'a> {
    fn new(planner: &'a Planner, request: &LoopRequest, tools: &[Arc<Tool>]) -> Self {
        if request.available_tools.is_none() {
            return Self::Everything(planner);
        }
        let mut index = SearchIndex::new();
        for tool in tools {
            // Tools beyond the limit of the index are listed by name.
            let _ = index.put(SearchDocument::of_tool(DocumentKind::Tool, tool), None);
        }
        let named = |tool: &Arc<Tool>| (Str::from(tool.name.to_string()), tool.name.clone());
        Self::Few(Box::new(index), tools.iter().map(named).collect())
    }

    /// The tools that match a request, best first. The parts of a request take turns, so that one with many hits does
    /// not crowd out the others.
    async fn best(&self, wish: &str, guess: Option<&TaskPlan>) -> Vec<ToolName> {
        let mut whole = RankFusion::default();
        self.add_hits(wish, &mut whole).await;
        if let Some(guess) = guess {
            whole.add(1.0, guess.tools.clone());
        }
        let pieces = request_parts(wish);
        if pieces.len() < 2 {
            return whole.best();
        }
        let mut lists = Vec::new();
        for part in pieces.iter().take(PARTS_MAX) {
            let mut board = RankFusion::default();
            self.add_hits(part, &mut board).await;
            lists.push(board.best());
        }
        lists.push(whole.best());
        let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
        let turns = (0..longest).flat_map(|at| lists.iter().filter_map(move |list| list.get(at)));
        turns.cloned().collect()
    }

    /// Adds the hits for a text and for the words related to it.
    async fn add_hits(&self, text: &str, board: &mut RankFusion) {
        board.add(1.0, self.find(text).await);
        for related in related_words::related_texts(text)
            .into_iter()
            .take(RELATED_MAX)
        {
            board.add(RELATED_WEIGHT, self.find(related).await);
        }
    }

    /// The hits for a text, best first. Empty if the search fails.
    async fn find(&self, text: &str) -> Vec<ToolName> {
        match self {
            Self::Everything(planner) => {
                let hits = planner.catalog.registry().search(text, HITS_MAX).await;
                let hits = hits.map(|(_, hits)| hits).unwrap_or_default().into_iter();
                hits.map(|hit| hit.tool.name.clone()).collect()
            }
            Self::Few(index, names) => {
                let hits = index.search(text, None, HITS_MAX).into_iter();
                hits.filter_map(|hit| names.get(&hit.id).cloned()).collect()
            }
        }
    }
}

/// Sums up the hits of several searches: a tool that ranks high in many of them is probably needed.
#[derive(Default)]
struct RankFusion(HashMap<ToolName, f64>);

impl RankFusion {
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

/// Adds the summary tool at the end, if it may be used and is missing.
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
fn is_recommended(request: &LoopRequest, tool: &Tool) -> bool {
    let named = |hint: &Value| {
        let name = hint.as_str();
        let name = name.or_else(|| hint.get("tool").or_else(|| hint.get("name"))?.as_str());
        name.is_some_and(|name| name == tool.name.tool || name == tool.name.to_string())
    };
    request.recommendations.iter().any(named)
}
