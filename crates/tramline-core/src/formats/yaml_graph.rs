//! YAML graphs: a file that describes a server, and each of whose tools is a graph of nodes.
//!
//! Every dialect that files in the wild use is read into the same workflows (`dialects`). All
//! flaws are found in one go, those of expressions and of the graph's shape included.

use super::{Elsewhere, Flaws, document};
use crate::flaw::{Code, Flaw};
use crate::graph::Graph;
use std::sync::Arc;
use tramline_expr::{Str, Value};

mod acts;
mod arguments;
pub(super) mod calls;
pub(super) mod care;
mod dialects;
pub(super) mod editor;
pub(super) mod fields;
pub(super) mod limits;
pub(super) mod nodes;
mod places;
pub(super) mod servers;
pub(super) mod tools;
pub(super) mod write;

pub use calls::{CallSite, Listing, check_calls};
pub use editor::json_schema;
pub use write::write;

/// The server whose tools need no configuration.
pub const BUILTIN: &str = "builtin";

/// A document read and checked: ready to be served.
#[derive(Debug)]
pub struct Document {
    /// What the document says of itself as a server.
    pub server: ServerInfo,
    /// The downstream servers as written, by name; an empty object if there are none.
    pub servers: Value,
    /// One graph for each tool, in document order.
    pub workflows: Vec<Arc<Graph>>,
    /// Flaws that do not keep it from being used, by place.
    pub warnings: Vec<Flaw>,
    /// Every call that its nodes make, with its place.
    pub calls: Vec<CallSite>,
    /// The workflows of documents beside it that its nodes call by path, each named by that path.
    /// Readers leave it empty: they read no files.
    pub companions: Vec<Arc<Graph>>,
}

/// What a document says of itself as a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerInfo {
    /// Its name.
    pub name: Str,
    /// Its version.
    pub version: Str,
    /// A name for people; the name, where the document gives no other.
    pub title: Str,
    /// How agents should use it.
    pub instructions: Option<Str>,
}

impl Document {
    /// The graph of a tool.
    pub fn workflow(&self, name: &str) -> Option<&Arc<Graph>> {
        self.workflows
            .iter()
            .find(|graph| graph.workflow.name == name)
    }
}

/// Reads a document whose servers are all in it.
pub fn read(bytes: &[u8]) -> Result<Document, Vec<Flaw>> {
    read_with(bytes, &[])
}

/// Reads a document that may also use servers which are configured elsewhere.
pub fn read_with(bytes: &[u8], elsewhere: &[Str]) -> Result<Document, Vec<Flaw>> {
    read_tree(&document::read(bytes)?, Elsewhere::Configured(elsewhere))
}

/// Reads a document that was made out of text already.
pub(super) fn read_tree(
    tree: &document::Tree,
    elsewhere: Elsewhere<'_>,
) -> Result<Document, Vec<Flaw>> {
    let root = tree.root();
    let mut flaws = Flaws::default();
    if root.value.as_object().is_none() {
        let message = format!("a document must be an object, not {}", root.value.kind());
        let hint = "begin with `server:` and `tools:`";
        flaws.add(Code::WrongType, root.place(), message, hint);
        return Err(flaws.sorted());
    }
    const KNOWN: [&str; 7] = [
        "version",
        "server",
        "mcpServers",
        "servers",
        "executionLimits",
        "tools",
        "nodes",
    ];
    fields::unknown(root, "the document", &KNOWN, &mut flaws);
    let server = servers::info(root, &mut flaws);
    let servers = servers::downstream(root, &mut flaws);
    let tools = tools::read(root, &mut flaws);
    calls::check_servers(&tools.calls, &servers, elsewhere, &mut flaws);
    if flaws.fatal() {
        return Err(flaws.sorted());
    }
    Ok(Document {
        server,
        servers,
        workflows: tools.workflows,
        warnings: flaws.sorted(),
        calls: tools.calls,
        companions: Vec::new(),
    })
}
