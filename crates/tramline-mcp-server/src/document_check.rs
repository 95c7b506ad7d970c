//! Checks the calls of a document against the servers that are configured here, and shows flaws to agents.

use crate::tool::CallContext;
use std::collections::BTreeMap;
use std::time::Duration;
use tramline_expr::{Map, Str, Value};
use tramline_formats::yaml_graph::{self, CallSite, GraphDocument, ServerListing};
use tramline_workflow::flaw::{Flaw, Severity};
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// How long servers may take to list their tools.
pub(crate) const LIST_TOOLS_TIMEOUT: Duration = Duration::from_secs(15);

/// Flaws in the calls of a document that is about to run: unknown servers and tools. Asks its servers, so that
/// their annotations are known too.
pub(crate) async fn check_calls(with: &CallContext, document: &GraphDocument) -> Vec<Flaw> {
    let mut servers: Vec<&Str> = document
        .calls
        .iter()
        .map(|call| &call.name.server)
        .collect();
    servers.sort();
    servers.dedup();
    let tools = with.engine.tools();
    let asking = servers.into_iter().map(|server| tools.list_server(server));
    // A server that does not answer in time fails in the run.
    let _ = tokio::time::timeout(LIST_TOOLS_TIMEOUT, futures_util::future::join_all(asking)).await;
    let own = document.workflows.iter();
    let own = own.map(|graph| graph.workflow.name.clone()).collect();
    check_known_calls(with, &document.calls, own).await
}

/// Flaws in calls according to the registry; only servers that were never listed are asked.
pub(crate) async fn check_known_calls(
    with: &CallContext,
    calls: &[CallSite],
    mut workflows: Vec<Str>,
) -> Vec<Flaw> {
    let registry = with.catalog.registry();
    let mut said: BTreeMap<Str, ServerListing> = BTreeMap::new();
    for call in calls {
        let server = &call.name.server;
        if said.contains_key(server) {
            continue;
        }
        if server == WORKFLOW_SERVER {
            let _ = with.catalog.library().refresh().await;
            workflows.extend(with.engine.workflows().names());
            said.insert(
                server.clone(),
                ServerListing::Tools(std::mem::take(&mut workflows)),
            );
            continue;
        }
        let asked = tokio::time::timeout(LIST_TOOLS_TIMEOUT, registry.server_tools(server)).await;
        let listing = match asked {
            Ok(Ok(Some(Ok(tools)))) => {
                ServerListing::Tools(tools.iter().map(|tool| tool.name.tool.clone()).collect())
            }
            Ok(Ok(None)) => ServerListing::NoServer(registry.servers()),
            Ok(Ok(Some(Err(_))) | Err(_)) | Err(_) => ServerListing::Unlisted,
        };
        said.insert(server.clone(), listing);
    }
    yaml_graph::check_calls(calls, |server| {
        said.get(server).cloned().unwrap_or(ServerListing::Unlisted)
    })
}

/// Flaws as shown to agents.
pub(crate) fn flaws_value(flaws: &[Flaw]) -> Value {
    Value::array(flaws.iter().map(|flaw| {
        let mut told = Map::new();
        told.insert("code", flaw.code.as_str().into());
        let severity = match flaw.code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        told.insert("severity", severity.into());
        told.insert("line", flaw.span.line.into());
        told.insert("column", flaw.span.column.into());
        told.insert("path", flaw.span.pointer.as_str().into());
        told.insert("message", flaw.message.as_str().into());
        if let Some(suggestion) = &flaw.suggestion {
            told.insert("suggestion", suggestion.as_str().into());
        }
        told.into()
    }))
}
