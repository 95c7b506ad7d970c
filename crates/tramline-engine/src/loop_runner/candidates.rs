//! Which tools a planner is shown: a few that search finds, never all there are.

use super::perform::is_summary;
use super::request::Request;
use crate::engine::Engine;
use crate::seams::Tool;
use crate::search::{Card, HITS_MAX, Index, Kind};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tramline_core::{Str, Value};

/// A planner is shown so many tools: more confuse it and cost.
pub(super) const TOOLS_MAX: usize = 20;

/// The tools that may serve a request, best first, with the one that sums up. `tools` are all that it
/// may use.
pub(super) async fn candidates(
    engine: &Engine,
    request: &Request,
    tools: &[Arc<Tool>],
) -> Vec<Arc<Tool>> {
    let mut shown = Shown::default();
    shown.add(tools.iter().filter(|tool| recommended(request, tool)));
    // What cannot be searched is shown by name: the loop goes on without a ranking.
    if let Ok((_, hits)) = engine.registry().search(request.last(), HITS_MAX).await {
        let mine: HashMap<_, _> = tools.iter().map(|tool| (&tool.name, tool)).collect();
        shown.add(
            hits.iter()
                .filter_map(|hit| mine.get(&hit.tool.name).copied()),
        );
    }
    if !shown.is_full() && request.available.is_some() {
        // Of everything there is, the best were others than these few.
        shown.add(among(request.last(), tools).into_iter());
    }
    shown.add(tools.iter());
    let mut shown = shown.tools;
    let summary = |tool: &&Arc<Tool>| is_summary(&tool.name.to_string());
    if let Some(summary) = tools.iter().find(summary)
        && !shown.iter().any(|tool| tool.name == summary.name)
    {
        shown.truncate(TOOLS_MAX - 1);
        shown.push(Arc::clone(summary));
    }
    shown
}

#[derive(Default)]
struct Shown {
    tools: Vec<Arc<Tool>>,
    names: HashSet<Str>,
}

impl Shown {
    fn is_full(&self) -> bool {
        self.tools.len() >= TOOLS_MAX
    }

    fn add<'t>(&mut self, tools: impl Iterator<Item = &'t Arc<Tool>>) {
        for tool in tools {
            if self.is_full() {
                return;
            }
            if self.names.insert(tool.name.to_string().into()) {
                self.tools.push(Arc::clone(tool));
            }
        }
    }
}

/// Whether a hint for the planner names a tool.
fn recommended(request: &Request, tool: &Tool) -> bool {
    let named = |hint: &Value| {
        let name = hint.as_str();
        let name = name.or_else(|| hint.get("tool").or_else(|| hint.get("name"))?.as_str());
        name.is_some_and(|name| name == tool.name.tool || name == tool.name.to_string())
    };
    request.recommendations.iter().any(named)
}

/// The nearest of some tools, found by their words.
fn among<'t>(wish: &str, tools: &'t [Arc<Tool>]) -> Vec<&'t Arc<Tool>> {
    let mut index = Index::new();
    let by_id: HashMap<Str, _> = tools
        .iter()
        .map(|tool| (Str::from(tool.name.to_string()), tool))
        .collect();
    for tool in tools {
        // One that does not fit in any more is shown by name.
        let _ = index.put(Card::of_tool(Kind::Tool, tool), None);
    }
    let hits = index.search(wish, None, TOOLS_MAX);
    hits.iter()
        .filter_map(|hit| by_id.get(&hit.id).copied())
        .collect()
}
