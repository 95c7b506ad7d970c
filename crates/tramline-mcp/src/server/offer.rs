//! What a server offers at one moment: its tools by name, and the list that clients see.

use super::toolset::{Own, Toolset};
use super::{About, effects, graph_tools};
use rmcp::model::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tramline_core::graph::Graph;
use tramline_core::text::nearest;
use tramline_core::{Str, Value};
use tramline_engine::seams::Tools;

/// A graph with where it comes from.
pub(super) type Served = (Arc<Graph>, Value);

/// A tool's name that two want.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameTaken {
    /// Two graphs.
    #[error("two graphs are called `{0}`: a tool's name must be one graph's alone")]
    TwoGraphs(Str),
    /// A graph and a tool of a toolset.
    #[error(
        "a graph is called `{name}`, and so is a tool of the toolset `{}`: rename the graph, or leave the toolset out of --toolsets",
        .toolset.as_str()
    )]
    InToolset {
        /// The name.
        name: Str,
        /// Whose it is.
        toolset: Toolset,
    },
}

/// All tools at one moment.
pub(super) struct Offer {
    /// What the server says of itself.
    pub(super) about: About,
    graphs: BTreeMap<Str, Served>,
    own: BTreeMap<&'static str, &'static Own>,
    /// The names in the order in which they are listed.
    order: Vec<Str>,
    /// Graphs some of whose arguments travel in headers too.
    headed: BTreeSet<Str>,
}

/// What marks an argument in a schema that travels in a header too.
const IN_HEADER: &str = "\"x-mcp-header\"";

/// What stands behind a tool's name.
pub(super) enum Found<'o> {
    /// A graph.
    Graph(&'o Served),
    /// A tool of ours.
    Own(&'static Own),
}

impl Offer {
    /// The tools of these toolsets, with these graphs if graphs are switched on.
    pub(super) fn new(
        about: About,
        toolsets: &[Toolset],
        served: impl IntoIterator<Item = Served>,
    ) -> Result<Self, NameTaken> {
        let (mut graphs, mut own) = (BTreeMap::new(), BTreeMap::new());
        let (mut order, mut headed) = (Vec::new(), BTreeSet::new());
        for (graph, origin) in served {
            if !toolsets.contains(&Toolset::Graphs) {
                break;
            }
            let name = graph.workflow.name.clone();
            order.push(name.clone());
            let schema = graph.workflow.input_schema.as_ref();
            if schema.is_some_and(|it| it.to_json().contains(IN_HEADER)) {
                headed.insert(name.clone());
            }
            if graphs.insert(name.clone(), (graph, origin)).is_some() {
                return Err(NameTaken::TwoGraphs(name));
            }
        }
        for toolset in Toolset::ALL
            .into_iter()
            .filter(|set| toolsets.contains(set))
        {
            for tool in toolset.tools() {
                if graphs.contains_key(tool.name) {
                    let name = tool.name.into();
                    return Err(NameTaken::InToolset { name, toolset });
                }
                // A tool may be part of several toolsets, and is listed once.
                if own.insert(tool.name, tool).is_none() {
                    order.push(tool.name.into());
                }
            }
        }
        Ok(Self {
            about,
            graphs,
            own,
            order,
            headed,
        })
    }

    /// The tools as `tools/list` shows them, with what is known of what they call.
    pub(super) fn list(&self, tools: &dyn Tools) -> Vec<Tool> {
        let names = self.order.iter();
        names.filter_map(|name| self.show(name, tools)).collect()
    }

    /// One tool as `tools/list` shows it.
    pub(super) fn show(&self, name: &str, tools: &dyn Tools) -> Option<Tool> {
        let graph_of = |name: &str| Some(self.graphs.get(name)?.0.as_ref());
        Some(match self.find(name).ok()? {
            Found::Graph((graph, _)) => {
                graph_tools::describe(graph, effects::of(graph, tools, &graph_of))
            }
            Found::Own(own) => own.describe(),
        })
    }

    /// Whether there is this tool, and all that is sent to it is in the body of a request.
    pub(super) fn is_plain(&self, name: &str) -> bool {
        let known = self.graphs.contains_key(name) || self.own.contains_key(name);
        known && !self.headed.contains(name)
    }

    /// What answers calls of this tool; otherwise the name that may have been meant.
    pub(super) fn find(&self, name: &str) -> Result<Found<'_>, Option<&str>> {
        if let Some(graph) = self.graphs.get(name) {
            return Ok(Found::Graph(graph));
        }
        match self.own.get(name) {
            Some(own) => Ok(Found::Own(own)),
            None => {
                let graphs = self.graphs.keys().map(Str::as_str);
                Err(nearest(name, graphs.chain(self.own.keys().copied())))
            }
        }
    }
}
