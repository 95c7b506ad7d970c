//! YAML graphs: a file describes a server, and each of its tools is a graph of nodes.
//!
//! All dialects in use are read into the same workflows (`dialects`). All flaws are reported at once,
//! including those in expressions and in the shape of the graph.

use super::{KnownServers, ReadOptions, detect, workflow_builder};
use std::sync::Arc;
use tramline_expr::{Str, Value};
use tramline_syntax::{FlawCollector, document};
use tramline_workflow::flaw::{Flaw, FlawCode};
use tramline_workflow::graph::Graph;

pub(super) mod arguments;
pub(super) mod call_checks;
mod call_nodes;
pub mod content;
pub(super) mod editor_schema;
pub(super) mod fields;
mod legacy;
pub(super) mod limits;
pub(super) mod node_options;
pub(super) mod nodes;
mod problem_spans;
pub(super) mod schema_words;
pub(super) mod servers;
pub(super) mod tools;
pub(super) mod write;

pub use call_checks::{CallSite, ServerListing, check_calls};
pub use editor_schema::json_schema;
pub use write::write;

/// A parsed and checked document, ready to be served.
#[derive(Debug)]
pub struct GraphDocument {
    /// The server that the document describes.
    pub server: ServerInfo,
    /// The downstream servers as written, by name; an empty object if there are none.
    pub servers: Value,
    /// Its own resources and prompts.
    pub content: content::DeclaredContent,
    /// One graph for each tool, in document order.
    pub workflows: Vec<Arc<Graph>>,
    /// Warnings, ordered by location.
    pub warnings: Vec<Flaw>,
    /// Every tool call of its nodes, with its location.
    pub calls: Vec<CallSite>,
    /// The workflows of other documents that its nodes call by path, each named by that path. Readers
    /// leave it empty, because they do not read files.
    pub linked_workflows: Vec<Arc<Graph>>,
}

/// The server that a document describes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its name.
    pub name: Str,
    /// Its version.
    pub version: Str,
    /// The display name; defaults to the name.
    pub title: Str,
    /// How agents should use it.
    pub instructions: Option<Str>,
}

impl GraphDocument {
    /// The graph of a tool.
    pub fn workflow(&self, name: &str) -> Option<&Arc<Graph>> {
        self.workflows
            .iter()
            .find(|graph| graph.workflow.name == name)
    }
}

/// Reads a document that declares all of its servers.
pub fn read(bytes: &[u8]) -> Result<GraphDocument, Vec<Flaw>> {
    read_with(bytes, &[])
}

/// Reads a document that may also use servers configured elsewhere.
pub fn read_with(bytes: &[u8], elsewhere: &[Str]) -> Result<GraphDocument, Vec<Flaw>> {
    let hint = ReadOptions {
        known_servers: KnownServers::Configured(elsewhere),
        ..ReadOptions::default()
    };
    read_tree(&document::read(bytes)?, hint)
}

/// The version of the server of a document that is only a tool.
const BARE_VERSION: &str = "1.0.0";

/// Reads a document from a parsed tree.
pub(super) fn read_tree(
    tree: &document::SourceTree,
    hint: ReadOptions<'_>,
) -> Result<GraphDocument, Vec<Flaw>> {
    let root = tree.root();
    let mut flaws = FlawCollector::new(hint.mistyped_fields);
    if root.value.as_object().is_none() {
        let message = format!("a document must be an object, not {}", root.value.kind());
        let hint = "start with `server:` and `tools:`";
        flaws.add(FlawCode::WrongType, root.source_span(), message, hint);
        return Err(flaws.into_sorted());
    }
    const KNOWN: [&str; 9] = [
        "version",
        "server",
        "mcpServers",
        "servers",
        "executionLimits",
        "tools",
        "nodes",
        "resources",
        "prompts",
    ];
    let is_bare = detect::is_bare_tool(root);
    let server = match is_bare {
        true => {
            let known = [&KNOWN[..], &tools::FIELDS].concat();
            fields::warn_unknown(root, "the document", &known, &mut flaws);
            let name = workflow_builder::workflow_name(root, hint.name, &mut flaws);
            ServerInfo {
                title: name.clone(),
                name,
                version: BARE_VERSION.into(),
                instructions: None,
            }
        }
        false => {
            fields::warn_unknown(root, "the document", &KNOWN, &mut flaws);
            servers::server_info(root, &mut flaws)
        }
    };
    let servers = servers::downstream_servers(root, &mut flaws);
    let content = content::read(root, &mut flaws);
    let tools = tools::read(root, hint.tools, &mut flaws);
    call_checks::check_servers(&tools.calls, &servers, hint.known_servers, &mut flaws);
    if flaws.has_errors() {
        return Err(flaws.into_sorted());
    }
    Ok(GraphDocument {
        server,
        servers,
        content,
        workflows: tools.workflows,
        warnings: flaws.into_sorted(),
        calls: tools.calls,
        linked_workflows: Vec::new(),
    })
}
