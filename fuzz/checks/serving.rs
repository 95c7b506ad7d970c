//! A server in this process with every toolset, a store in memory and fake tools.

use std::sync::Arc;
use tokio::runtime::Runtime;
use tramline_engine::testing::{FakeTools, MemoryStore};
use tramline_expr::Value;
use tramline_formats::yaml_graph;
use tramline_mcp_server::{Server, ServerDescription, Toolset};
use tramline_planner::{ServiceOptions, Services};

const GRAPH: &[u8] = b"version: '1.0'\nserver: {name: s, version: '1'}\ntools:\n  - name: echo_it\n    description: e\n    inputSchema: {type: object}\n    \
nodes:\n      - {id: entry, type: entry, next: say}\n      - {id: say, type: transform, transform: {expr: entry}, next: exit}\n      - {id: exit, type: exit}\n";

/// A runtime for one input.
pub(crate) fn runtime() -> Option<Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().ok()
}

/// A new server.
pub(crate) fn server() -> Option<Server> {
    let store = Arc::new(MemoryStore::default());
    let services = Services::new(store, Arc::new(FakeTools::new()), ServiceOptions::default());
    let document = yaml_graph::read(GRAPH).ok()?;
    let graphs = document.workflows.iter().cloned();
    let graphs: Vec<_> = graphs.map(|graph| (graph, Value::Null)).collect();
    let toolsets = [
        Toolset::Graphs,
        Toolset::Control,
        Toolset::Library,
        Toolset::Debug,
        Toolset::Sop,
    ];
    Server::new(services, ServerDescription::default(), &toolsets, graphs).ok()
}
