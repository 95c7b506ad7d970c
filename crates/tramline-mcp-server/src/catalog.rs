//! The tool catalog: tools by name, and the list that clients see.

use super::ServerDescription;
use super::tool::ToolDef;
use super::tools::{Toolset, graphs};
use rmcp::model::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tramline_engine::ports::Tools;
use tramline_expr::{Str, Value};
use tramline_workflow::graph::Graph;
use tramline_workflow::text::nearest;

/// A graph with its origin.
pub(super) type GraphTool = (Arc<Graph>, Value);

/// A tool name that is used twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameTaken {
    /// Two graphs.
    #[error("two graphs are named `{0}`: tool names must be unique")]
    TwoGraphs(Str),
    /// A graph and a tool of a toolset.
    #[error(
        "graph `{name}` has the name of a tool in toolset `{}`: rename the graph, or remove the \
         toolset from --toolsets",
        .toolset.as_str()
    )]
    InToolset {
        /// The name.
        name: Str,
        /// The toolset with that name.
        toolset: Toolset,
    },
}

/// All tools at one point in time.
pub(super) struct ToolCatalog {
    /// Server info.
    pub(super) server: ServerDescription,
    graphs: BTreeMap<Str, GraphTool>,
    builtin: BTreeMap<&'static str, &'static ToolDef>,
    /// The names in listing order.
    order: Vec<Str>,
    /// Graphs with arguments that are also sent in headers.
    with_header_arguments: BTreeSet<Str>,
}

/// Marks an argument in a schema that is also sent in a header.
const HEADER_MARK: &str = "\"x-mcp-header\"";

/// The tool behind a name.
pub(super) enum CatalogEntry<'o> {
    /// A graph.
    Graph(&'o GraphTool),
    /// A built-in tool of a toolset.
    Builtin(&'static ToolDef),
}

impl ToolCatalog {
    /// Builds the catalog of these toolsets, with these graphs if the graph toolset is enabled.
    pub(super) fn new(
        about: ServerDescription,
        toolsets: &[Toolset],
        served: impl IntoIterator<Item = GraphTool>,
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
            if schema.is_some_and(|it| it.to_json().contains(HEADER_MARK)) {
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
                // A tool may be part of several toolsets and is listed once.
                if own.insert(tool.name, tool).is_none() {
                    order.push(tool.name.into());
                }
            }
        }
        Ok(Self {
            server: about,
            graphs,
            builtin: own,
            order,
            with_header_arguments: headed,
        })
    }

    /// The tools as `tools/list` shows them, with the annotations known so far.
    pub(super) fn list(&self, tools: &dyn Tools) -> Vec<Tool> {
        let names = self.order.iter();
        names
            .filter_map(|name| self.describe(name, tools))
            .collect()
    }

    /// One tool as `tools/list` shows it.
    pub(super) fn describe(&self, name: &str, tools: &dyn Tools) -> Option<Tool> {
        let graph_of = |name: &str| Some(self.graphs.get(name)?.0.as_ref());
        Some(match self.find(name).ok()? {
            CatalogEntry::Graph((graph, _)) => {
                graphs::describe(graph, graphs::annotations::derive(graph, tools, &graph_of))
            }
            CatalogEntry::Builtin(own) => own.describe(),
        })
    }

    /// The graphs, in listing order.
    pub(super) fn graphs(&self) -> impl Iterator<Item = &Arc<Graph>> {
        let names = self.order.iter();
        names.filter_map(|name| Some(&self.graphs.get(name)?.0))
    }

    /// The names of the graphs.
    pub(super) fn graph_names(&self) -> Vec<Str> {
        self.graphs.keys().cloned().collect()
    }

    /// Whether the tool exists and all its arguments are in the request body.
    pub(super) fn is_body_only(&self, name: &str) -> bool {
        let known = self.graphs.contains_key(name) || self.builtin.contains_key(name);
        known && !self.with_header_arguments.contains(name)
    }

    /// Finds a tool; otherwise returns the closest name.
    pub(super) fn find(&self, name: &str) -> Result<CatalogEntry<'_>, Option<&str>> {
        if let Some(graph) = self.graphs.get(name) {
            return Ok(CatalogEntry::Graph(graph));
        }
        match self.builtin.get(name) {
            Some(own) => Ok(CatalogEntry::Builtin(own)),
            None => {
                let graphs = self.graphs.keys().map(Str::as_str);
                Err(nearest(name, graphs.chain(self.builtin.keys().copied())))
            }
        }
    }
}
