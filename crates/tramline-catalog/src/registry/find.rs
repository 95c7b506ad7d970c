//! Looks up a tool or workflow by any of the names that documents use for it.

use super::Registry;
use super::search_index::SearchScope;
use crate::library::as_tool;
use std::sync::Arc;
use tramline_engine::ports::{Tool, Workflows as _};
use tramline_expr::Str;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// The server whose tools can be named without a server.
const BUILTIN: &str = "builtin";
/// Number of names that are suggested.
const SUGGESTED_MAX: usize = 3;

/// An unknown name, with suggestions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What is unknown.
    pub message: String,
    /// Similar names.
    pub suggestions: Vec<String>,
}

impl Registry {
    /// The tool with a name: `server:tool`, `mcp-server-tool`, a built-in tool, `workflow:name` or a workflow's name.
    /// Starts only the named server, and only if it was never listed.
    pub async fn find(&self, name: &str) -> Result<Arc<Tool>, UnknownName> {
        if let Some((server, tool)) = name.split_once(':') {
            return match server {
                WORKFLOW_SERVER => self.workflow(tool).await,
                _ => self.server_tool(server, tool).await,
            };
        }
        if let Some(rest) = name.strip_prefix("mcp-")
            && let Some(found) = self.by_hyphenated_name(rest).await
        {
            return found;
        }
        if let Ok(found) = self.server_tool(BUILTIN, name).await {
            return Ok(found);
        }
        match self.workflow(name).await {
            Ok(found) => Ok(found),
            Err(_) => Err(self.unknown_name(name).await),
        }
    }

    async fn workflow(&self, name: &str) -> Result<Arc<Tool>, UnknownName> {
        // If the store cannot be read, the cached workflows count; the run reports the failure.
        let _ = self.library.refresh().await;
        if let Some(found) = self.library.find(name) {
            return Ok(Arc::new(as_tool(&found.graph)));
        }
        let names = self.library.names();
        let near = nearest(name, names.iter().map(Str::as_str));
        Err(UnknownName {
            message: format!("there is no workflow `{}`", display_name(name)),
            suggestions: near
                .map(|near| format!("{WORKFLOW_SERVER}:{near}"))
                .into_iter()
                .collect(),
        })
    }

    /// A tool of a server.
    async fn server_tool(&self, server: &str, tool: &str) -> Result<Arc<Tool>, UnknownName> {
        let plain = |message: String| UnknownName {
            message,
            suggestions: Vec::new(),
        };
        match self.server_tools(server).await {
            Err(fault) => Err(plain(fault.to_string())),
            Ok(Some(Err(failure))) => Err(plain(failure.to_string())),
            Ok(None) => {
                let servers = self.servers();
                let near = nearest(server, servers.iter().map(Str::as_str));
                Err(UnknownName {
                    message: format!("no server `{}` is configured", display_name(server)),
                    suggestions: near
                        .map(|near| format!("{near}:{tool}"))
                        .into_iter()
                        .collect(),
                })
            }
            Ok(Some(Ok(tools))) => {
                if let Some(found) = tools.iter().find(|one| one.name.tool == tool) {
                    return Ok(Arc::clone(found));
                }
                let names = tools.iter().map(|one| one.name.tool.as_str());
                let near = nearest(tool, names);
                Err(UnknownName {
                    message: format!("server `{server}` has no tool `{}`", display_name(tool)),
                    suggestions: near
                        .map(|near| format!("{server}:{near}"))
                        .into_iter()
                        .collect(),
                })
            }
        }
    }

    /// A tool by its server's and its own name joined with a hyphen. Both may contain hyphens themselves, and a hyphen
    /// may replace an underscore.
    async fn by_hyphenated_name(&self, rest: &str) -> Option<Result<Arc<Tool>, UnknownName>> {
        let mut servers = self.servers();
        servers.sort_by_key(|server| std::cmp::Reverse(server.len()));
        let mut first = None;
        for server in servers {
            let Some(tool) = rest.strip_prefix(server.as_str()) else {
                continue;
            };
            let Some(tool) = tool.strip_prefix('-').filter(|tool| !tool.is_empty()) else {
                continue;
            };
            let found = match self.server_tool(&server, tool).await {
                Err(unknown) => match self.server_tool(&server, &tool.replace('-', "_")).await {
                    Ok(found) => Ok(found),
                    Err(_) => Err(unknown),
                },
                found => found,
            };
            if found.is_ok() {
                return Some(found);
            }
            first.get_or_insert(found);
        }
        first
    }

    /// Names similar to an unknown one, without starting any server.
    async fn unknown_name(&self, name: &str) -> UnknownName {
        let _ = self.sync().await;
        let list = self.current_list();
        let tools = list.tools.iter().map(|tool| tool.name.tool.as_str());
        let mut near: Vec<String> = nearest(name, tools)
            .and_then(|near| list.tools.iter().find(|tool| tool.name.tool == near))
            .map(|tool| tool.name.to_string())
            .into_iter()
            .collect();
        self.update_index(&list).await;
        for hit in self
            .search
            .search(name, SUGGESTED_MAX, SearchScope::All)
            .await
        {
            let name = hit.tool.name.to_string();
            if !near.contains(&name) && near.len() < SUGGESTED_MAX {
                near.push(name);
            }
        }
        UnknownName {
            message: format!("there is no node type `{}`", display_name(name)),
            suggestions: near,
        }
    }
}
