//! Something callable by any of the names that documents use for it.

use super::Registry;
use super::rank::Scope;
use crate::library::as_tool;
use crate::seams::{Tool, Workflows as _};
use std::sync::Arc;
use tramline_core::Str;
use tramline_core::text::{nearest, shown};
use tramline_core::workflow::WORKFLOW_SERVER;

/// The server whose tools need no name of a server before them.
const BUILTIN: &str = "builtin";
/// So many names are suggested.
const SUGGESTED_MAX: usize = 3;

/// A name that nothing has, with what may have been meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What there is not.
    pub message: String,
    /// Names that may have been meant.
    pub near: Vec<String>,
}

impl Registry {
    /// What a name stands for: `server:tool`, `mcp-server-tool`, a built-in tool, `workflow:name` or
    /// a workflow's name. Only the server that it names is started, if that was never listed.
    pub async fn find(&self, name: &str) -> Result<Arc<Tool>, Unknown> {
        if let Some((server, tool)) = name.split_once(':') {
            return match server {
                WORKFLOW_SERVER => self.workflow(tool).await,
                _ => self.of(server, tool).await,
            };
        }
        if let Some(rest) = name.strip_prefix("mcp-")
            && let Some(found) = self.hyphened(rest).await
        {
            return found;
        }
        if let Ok(found) = self.of(BUILTIN, name).await {
            return Ok(found);
        }
        match self.workflow(name).await {
            Ok(found) => Ok(found),
            Err(_) => Err(self.unknown(name).await),
        }
    }

    async fn workflow(&self, name: &str) -> Result<Arc<Tool>, Unknown> {
        // What is known here counts where the store cannot be read; the run will say so.
        let _ = self.library.refresh().await;
        if let Some(found) = self.library.find(name) {
            return Ok(Arc::new(as_tool(&found.graph)));
        }
        let names = self.library.names();
        let near = nearest(name, names.iter().map(Str::as_str));
        Err(Unknown {
            message: format!("there is no workflow `{}`", shown(name)),
            near: near
                .map(|near| format!("{WORKFLOW_SERVER}:{near}"))
                .into_iter()
                .collect(),
        })
    }

    /// A tool of a server.
    async fn of(&self, server: &str, tool: &str) -> Result<Arc<Tool>, Unknown> {
        let plain = |message: String| Unknown {
            message,
            near: Vec::new(),
        };
        match self.of_server(server).await {
            Err(fault) => Err(plain(fault.to_string())),
            Ok(Some(Err(failure))) => Err(plain(failure.to_string())),
            Ok(None) => {
                let servers = self.servers();
                let near = nearest(server, servers.iter().map(Str::as_str));
                Err(Unknown {
                    message: format!("no server `{}` is configured", shown(server)),
                    near: near
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
                Err(Unknown {
                    message: format!("server `{server}` has no tool `{}`", shown(tool)),
                    near: near
                        .map(|near| format!("{server}:{near}"))
                        .into_iter()
                        .collect(),
                })
            }
        }
    }

    /// A tool by its server's and its own name with a hyphen between; either may have hyphens
    /// itself, and hyphens may stand for underscores.
    async fn hyphened(&self, rest: &str) -> Option<Result<Arc<Tool>, Unknown>> {
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
            let found = match self.of(&server, tool).await {
                Err(unknown) => match self.of(&server, &tool.replace('-', "_")).await {
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

    /// Names near to one that nothing has, among what is known without starting anything.
    async fn unknown(&self, name: &str) -> Unknown {
        let _ = self.settle().await;
        let list = self.listed();
        let tools = list.tools.iter().map(|tool| tool.name.tool.as_str());
        let mut near: Vec<String> = nearest(name, tools)
            .and_then(|near| list.tools.iter().find(|tool| tool.name.tool == near))
            .map(|tool| tool.name.to_string())
            .into_iter()
            .collect();
        self.follow(&list).await;
        for hit in self.seeker.search(name, SUGGESTED_MAX, Scope::All).await {
            let name = hit.tool.name.to_string();
            if !near.contains(&name) && near.len() < SUGGESTED_MAX {
                near.push(name);
            }
        }
        Unknown {
            message: format!("there is no node type `{}`", shown(name)),
            near,
        }
    }
}
