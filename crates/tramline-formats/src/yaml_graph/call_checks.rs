//! The tool calls of a document: checks that their servers and tools exist.

use super::GraphDocument;
use super::tools::ToolDraft;
use crate::KnownServers;
use std::collections::HashMap;
use tramline_expr::{Str, Value};
use tramline_syntax::FlawCollector;
use tramline_workflow::builtin_tools;
use tramline_workflow::flaw::{Flaw, FlawCode, SourceSpan};
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::{Action, WORKFLOW_SERVER};

/// A call that a node makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The tool.
    pub name: ToolName,
    /// The location of the server's name.
    pub server: SourceSpan,
    /// The location of the tool's name.
    pub tool: SourceSpan,
}

/// What is known about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerListing {
    /// There is no server with that name; these exist.
    NoServer(Vec<Str>),
    /// It exists, but its tools could not be listed.
    Unlisted,
    /// Its tools.
    Tools(Vec<Str>),
}

impl GraphDocument {
    /// Checks every call against its server's tools; each server is queried once.
    pub fn check_tools(&self, listing: impl FnMut(&str) -> ServerListing) -> Vec<Flaw> {
        check_calls(&self.calls, listing)
    }
}

/// Checks calls against their servers' tools; each server is queried once.
pub fn check_calls(
    calls: &[CallSite],
    mut listing: impl FnMut(&str) -> ServerListing,
) -> Vec<Flaw> {
    let mut flaws = FlawCollector::default();
    let mut known: HashMap<&str, ServerListing> = HashMap::new();
    for call in calls {
        let server = call.name.server.as_str();
        match known.entry(server).or_insert_with(|| listing(server)) {
            ServerListing::Unlisted => {}
            ServerListing::NoServer(others) => {
                report_unknown_server(call, others.iter().map(Str::as_str), &mut flaws);
            }
            ServerListing::Tools(tools) if tools.contains(&call.name.tool) => {}
            // Reported by the reader.
            ServerListing::Tools(_) if is_unknown_builtin(&call.name) => {}
            ServerListing::Tools(tools) => report_unknown_tool(call, tools, &mut flaws),
        }
    }
    flaws.into_sorted()
}

fn is_unknown_builtin(tool: &ToolName) -> bool {
    tool.server == BUILTIN && builtin_tools::schema(&tool.tool).is_none()
}

/// The calls of a tool's nodes.
pub(super) fn call_sites_of(tool: &ToolDraft<'_>) -> Vec<CallSite> {
    let mut calls = Vec::new();
    for draft in &tool.nodes {
        if let Action::Call { tool: name, .. } = &draft.node.action
            && let Some(server) = draft.sources.server
        {
            calls.push(CallSite {
                name: name.clone(),
                server: server.source_span(),
                tool: draft.sources.tool.unwrap_or(server).source_span(),
            });
        }
    }
    calls
}

/// Adds a flaw for every call to a server that is configured neither in the document nor elsewhere.
pub(crate) fn check_servers(
    calls: &[CallSite],
    servers: &Value,
    elsewhere: KnownServers<'_>,
    flaws: &mut FlawCollector,
) {
    let KnownServers::Configured(elsewhere) = elsewhere else {
        return;
    };
    let within = servers.as_object();
    for call in calls {
        let name = call.name.server.as_str();
        let known = name == BUILTIN
            || name == WORKFLOW_SERVER
            || servers.get(name).is_some()
            || elsewhere.iter().any(|server| server == name);
        if !known {
            let names = within.into_iter().flat_map(|map| map.keys());
            let names = names.chain(elsewhere).map(Str::as_str);
            report_unknown_server(call, names.chain([BUILTIN]), flaws);
        }
    }
}

fn report_unknown_server<'a>(
    call: &CallSite,
    known: impl Iterator<Item = &'a str>,
    flaws: &mut FlawCollector,
) {
    let hint = match nearest(&call.name.server, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add it under `mcpServers`, or use `builtin`".to_owned(),
    };
    let message = format!("there is no server `{}`", display_name(&call.name.server));
    flaws.add(FlawCode::UnknownServer, call.server.clone(), message, hint);
}

fn report_unknown_tool(call: &CallSite, tools: &[Str], flaws: &mut FlawCollector) {
    let ToolName { server, tool } = &call.name;
    let hint = match nearest(tool, tools.iter().map(Str::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if tools.is_empty() => "it has no tools".to_owned(),
        None => {
            /// Most tool names listed in a hint.
            const NAMES_SHOWN: usize = 8;
            let names: Vec<_> = tools
                .iter()
                .take(NAMES_SHOWN)
                .map(|tool| display_name(tool))
                .collect();
            format!("it has {}", names.join(", "))
        }
    };
    let message = format!(
        "the server `{}` has no tool `{}`",
        display_name(server),
        display_name(tool)
    );
    flaws.add(FlawCode::UnknownTool, call.tool.clone(), message, hint);
}
