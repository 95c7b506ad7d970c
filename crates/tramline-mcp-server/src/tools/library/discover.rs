//! `workflow_discover` and `registry_discover`: the best matches for a query, with confidence and reasons.

use super::describe::{add_interface, add_unreachable, add_usage};
use super::{LibraryReplyError, caller_key, reply_or_error, store_error, success, text_argument};
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_catalog::registry::ToolHit;
use tramline_expr::{Map, Str, Value};

/// Maximum number of workflows returned.
const WORKFLOWS_SHOWN: usize = 5;
/// Number of nodes returned if the caller sets no limit: their full interfaces fill an agent's context.
const NODES_SHOWN: usize = 8;
/// Largest number of nodes that a caller can ask for; the schema of the tool says the same.
const NODES_SHOWN_MAX: usize = 50;

pub(super) async fn workflow_discover(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(discover_workflows(&means, &arguments).await)
}

pub(super) async fn registry_discover(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(discover_nodes(&means, &arguments).await)
}

async fn discover_workflows(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let query = required_query(text_argument(arguments, "query"))?;
    let registry = means.catalog.registry();
    let hits = registry.search_workflows(query, WORKFLOWS_SHOWN).await;
    let hits = hits.map_err(|error| store_error(&error))?;
    remember_search(means, query, &hits);
    let matches = hits.iter().map(|hit| {
        let mut told = Map::new();
        told.insert("name", hit.tool.name.tool.clone().into());
        add_confidence(&mut told, hit);
        add_interface(&mut told, &hit.tool);
        add_usage(&mut told, means, &hit.tool.name);
        told.into()
    });
    let mut data = Map::new();
    data.insert("matches", Value::array(matches));
    if hits.is_empty() {
        data.insert("hint", "no match: build one with registry_discover".into());
    }
    Ok(success(data.into(), None))
}

async fn discover_nodes(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let task = required_query(text_argument(arguments, "task"))?;
    let registry = means.catalog.registry();
    let limit = arguments.get("limit").and_then(Value::as_i64);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(NODES_SHOWN).clamp(1, NODES_SHOWN_MAX);
    let found = registry.search(task, limit).await;
    let (list, hits) = found.map_err(|error| store_error(&error))?;
    remember_search(means, task, &hits);
    let nodes = hits.iter().map(|hit| {
        let mut told = Map::new();
        told.insert("node_type", hit.tool.name.to_string().into());
        add_confidence(&mut told, hit);
        add_interface(&mut told, &hit.tool);
        add_usage(&mut told, means, &hit.tool.name);
        told.into()
    });
    let mut data = Map::new();
    data.insert("nodes", Value::array(nodes));
    data.insert("searched", list.tools.len().into());
    add_unreachable(&mut data, &list);
    Ok(success(data.into(), None))
}

fn required_query(words: &str) -> Result<&str, LibraryReplyError> {
    match words.trim() {
        "" => Err(LibraryReplyError::new("validation", "the query is empty")
            .suggesting("describe the task in a sentence")),
        words => Ok(words),
    }
}

fn add_confidence(told: &mut Map, hit: &ToolHit) {
    let percent = (hit.confidence * 1_000.0).round() / 1_000.0;
    told.insert("confidence", percent.into());
    let reasons = hit.reasons.iter().map(|reason| reason.as_str().into());
    told.insert("reasons", Value::array(reasons));
}

/// Remembers the search until one of its results is used.
fn remember_search(means: &CallContext, words: &str, hits: &[ToolHit]) {
    let found = hits.iter().map(|hit| Str::from(hit.tool.name.to_string()));
    let uses = means.catalog.registry().usage();
    uses.record_search(&caller_key(means), words, found);
}
