//! The calls a document makes: whether their servers and tools are there.

use super::tools::Tool;
use super::{BUILTIN, Document};
use crate::flaw::{Code, Flaw, Place};
use crate::formats::{Elsewhere, Flaws};
use crate::ids::ToolName;
use crate::text::{nearest, shown};
use crate::workflow::{Action, WORKFLOW_SERVER};
use std::collections::HashMap;
use tramline_expr::{Str, Value};

/// A call that a node makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// What is called.
    pub name: ToolName,
    /// Where the server is named.
    pub server: Place,
    /// Where the tool is named.
    pub tool: Place,
}

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// There is no server of that name; these there are.
    NoServer(Vec<Str>),
    /// It is there, but could not be asked for its tools.
    Silent,
    /// The tools it has.
    Tools(Vec<Str>),
}

impl Document {
    /// Checks every call against what is known of its server, asking once for each server.
    pub fn check_tools(&self, listing: impl FnMut(&str) -> Listing) -> Vec<Flaw> {
        check_calls(&self.calls, listing)
    }
}

/// Checks calls against what is known of their servers, asking once for each server.
pub fn check_calls(calls: &[CallSite], mut listing: impl FnMut(&str) -> Listing) -> Vec<Flaw> {
    let mut flaws = Flaws::default();
    let mut known: HashMap<&str, Listing> = HashMap::new();
    for call in calls {
        let server = call.name.server.as_str();
        match known.entry(server).or_insert_with(|| listing(server)) {
            Listing::Silent => {}
            Listing::NoServer(others) => {
                no_server(call, others.iter().map(Str::as_str), &mut flaws);
            }
            Listing::Tools(tools) if tools.contains(&call.name.tool) => {}
            Listing::Tools(tools) => no_tool(call, tools, &mut flaws),
        }
    }
    flaws.sorted()
}

/// The calls of a tool's nodes.
pub(super) fn of(tool: &Tool<'_>) -> Vec<CallSite> {
    let mut calls = Vec::new();
    for draft in &tool.nodes {
        if let Action::Call { tool: name, .. } = &draft.node.action
            && let Some(server) = draft.sources.server
        {
            calls.push(CallSite {
                name: name.clone(),
                server: server.place(),
                tool: draft.sources.tool.unwrap_or(server).place(),
            });
        }
    }
    calls
}

/// Flaws every call to a server that is configured neither in the document nor elsewhere.
pub(in crate::formats) fn check_servers(
    calls: &[CallSite],
    servers: &Value,
    elsewhere: Elsewhere<'_>,
    flaws: &mut Flaws,
) {
    let Elsewhere::Configured(elsewhere) = elsewhere else {
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
            no_server(call, names.chain([BUILTIN]), flaws);
        }
    }
}

fn no_server<'a>(call: &CallSite, known: impl Iterator<Item = &'a str>, flaws: &mut Flaws) {
    let hint = match nearest(&call.name.server, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add it under `mcpServers`, or use `builtin`".to_owned(),
    };
    let message = format!("there is no server `{}`", shown(&call.name.server));
    flaws.add(Code::UnknownServer, call.server.clone(), message, hint);
}

fn no_tool(call: &CallSite, tools: &[Str], flaws: &mut Flaws) {
    let ToolName { server, tool } = &call.name;
    let hint = match nearest(tool, tools.iter().map(Str::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if tools.is_empty() => "it has no tools at all".to_owned(),
        None => {
            /// So many names are enough to see what kind of tools a server has.
            const NAMES_SHOWN: usize = 8;
            let names: Vec<_> = tools
                .iter()
                .take(NAMES_SHOWN)
                .map(|tool| shown(tool))
                .collect();
            format!("it has {}", names.join(", "))
        }
    };
    let message = format!(
        "the server `{}` has no tool `{}`",
        shown(server),
        shown(tool)
    );
    flaws.add(Code::UnknownTool, call.tool.clone(), message, hint);
}
