//! Checks with the servers that the tools which documents call exist.

use crate::app::ToolSources;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tramline_builtin::SERVER;
use tramline_engine::ports::{Tool, Tools as _};
use tramline_expr::Str;
use tramline_formats::yaml_graph::{GraphDocument, ServerListing};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::flaw::Flaw;
use tramline_workflow::ids::ToolName;
use tramline_workflow::tool_schema::{BuiltinSchemas, ToolSchema, ToolSchemas};
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// How long servers may take to list their tools. Slower servers are skipped, because a person
/// waits for the check.
pub(super) const LIST_TOOLS_TIMEOUT: Duration = Duration::from_secs(15);

/// The tool lists of servers.
pub(super) struct ServerTools {
    lists: BTreeMap<Str, Result<Vec<Str>, Failure>>,
    /// The schemas of the listed tools.
    schemas: ListedSchemas,
    /// The servers that can be called.
    known: Vec<Str>,
}

/// The schemas of tools that servers have listed.
#[derive(Debug, Default)]
struct ListedSchemas {
    schemas: HashMap<ToolName, ToolSchema>,
    tools: HashMap<ToolName, Arc<Tool>>,
}

/// Lists the tools of every server that these documents call, concurrently, for at most `patience`.
/// Saved workflows count as callable.
pub(super) async fn list_tools<'d>(
    equipment: &ToolSources,
    documents: impl IntoIterator<Item = &'d GraphDocument> + Clone,
    saved: Vec<Str>,
    patience: Duration,
) -> ServerTools {
    let workflows = documents.clone().into_iter();
    let workflows =
        workflows.flat_map(|document| document.workflows.iter().chain(&document.linked_workflows));
    let workflows = workflows.map(|graph| graph.workflow.name.clone());
    let workflows = workflows.chain(saved);
    let mut said = BTreeMap::from([(Str::from(WORKFLOW_SERVER), Ok(workflows.collect()))]);
    let calls = documents.into_iter().flat_map(|document| &document.calls);
    let called: BTreeSet<Str> = calls
        .map(|call| call.name.server.clone())
        .filter(|server| !said.contains_key(server))
        .collect();
    let mut asking = tokio::task::JoinSet::new();
    for server in called {
        let equipment = equipment.clone();
        asking.spawn(async move {
            let answer = tokio::time::timeout(patience, list(&equipment, &server)).await;
            let answer = answer.unwrap_or_else(|_| {
                let message = format!("server `{server}` did not respond within {patience:?}");
                Some(Err(Failure::new(FailureKind::Timeout, message)))
            });
            (server, answer)
        });
    }
    let mut schemas = ListedSchemas::default();
    while let Some(done) = asking.join_next().await {
        if let Ok((server, Some(answer))) = done {
            let names = answer.map(|tools| {
                schemas.add(&tools);
                let names = tools.iter().map(|tool| tool.name.tool.clone());
                names.collect()
            });
            said.insert(server, names);
        }
    }
    let mut known = equipment.servers.names();
    known.push(SERVER.into());
    ServerTools {
        lists: said,
        schemas,
        known,
    }
}

/// One server's tools.
async fn list(equipment: &ToolSources, server: &str) -> Option<Result<Vec<Arc<Tool>>, Failure>> {
    let tools = match server {
        SERVER => equipment.builtin.list().await.pop()?.tools,
        server => {
            // A server with a missing setting reports that itself.
            let _ = equipment.settings.refresh().await;
            equipment.servers.list_tools_of(server).await?
        }
    };
    Some(tools.map_err(|failure| equipment.settings.redact_failure(failure)))
}

impl ToolSchemas for ListedSchemas {
    fn find(&self, tool: &ToolName) -> Option<ToolSchema> {
        BuiltinSchemas
            .find(tool)
            .or_else(|| self.schemas.get(tool).cloned())
    }
}

impl ListedSchemas {
    fn add(&mut self, tools: &[Arc<Tool>]) {
        for tool in tools {
            let schema = ToolSchema {
                input: tool.input_schema.clone(),
                output: tool.output_schema.clone(),
                is_exact: false,
            };
            self.schemas.insert(tool.name.clone(), schema);
            self.tools.insert(tool.name.clone(), Arc::clone(tool));
        }
    }
}

impl ServerTools {
    /// The schemas of the listed tools.
    pub(super) fn schemas(&self) -> &dyn ToolSchemas {
        &self.schemas
    }

    /// A tool as its server listed it.
    pub(super) fn tool(&self, name: &ToolName) -> Option<Arc<Tool>> {
        self.schemas.tools.get(name).cloned()
    }

    /// The calls in a document to tools that no server has.
    pub(super) fn flaws(&self, document: &GraphDocument) -> Vec<Flaw> {
        document.check_tools(|server| match self.lists.get(server) {
            Some(Ok(tools)) => ServerListing::Tools(tools.clone()),
            Some(Err(_)) => ServerListing::Unlisted,
            None => ServerListing::NoServer(self.known.clone()),
        })
    }

    /// The servers that could not be listed, with the reason.
    pub(super) fn failed_servers(&self) -> impl Iterator<Item = (&Str, &Failure)> {
        let said = self.lists.iter();
        said.filter_map(|(server, answer)| Some((server, answer.as_ref().err()?)))
    }
}
