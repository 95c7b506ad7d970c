//! `workflow_discover` and `registry_discover`: what fits a wish best, how sure that is, and why.

use super::describe::{interface, silent, used};
use super::{Wrong, caller_key, fault, made, success, text};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::{Map, Str, Value};
use tramline_engine::registry::Hit;

/// So many workflows are shown.
const WORKFLOWS_SHOWN: usize = 5;
/// So many nodes are shown: with their whole interfaces they fill an agent's memory.
const NODES_SHOWN: usize = 8;

pub(super) async fn workflows(means: Means, arguments: Value) -> CallToolResult {
    made(of_workflows(&means, &arguments).await)
}

pub(super) async fn nodes(means: Means, arguments: Value) -> CallToolResult {
    made(of_nodes(&means, &arguments).await)
}

async fn of_workflows(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let query = wanted(text(arguments, "query"))?;
    let registry = means.engine.registry();
    let hits = registry.search_workflows(query, WORKFLOWS_SHOWN).await;
    let hits = hits.map_err(|error| fault(&error))?;
    wished(means, query, &hits);
    let matches = hits.iter().map(|hit| {
        let mut told = Map::new();
        told.insert("name", hit.tool.name.tool.clone().into());
        judged(&mut told, hit);
        interface(&mut told, &hit.tool);
        used(&mut told, means, &hit.tool.name);
        told.into()
    });
    let mut data = Map::new();
    data.insert("matches", Value::array(matches));
    if hits.is_empty() {
        data.insert("hint", "none fits: build one with registry_discover".into());
    }
    Ok(success(data.into(), None))
}

async fn of_nodes(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let task = wanted(text(arguments, "task"))?;
    let registry = means.engine.registry();
    let found = registry.search(task, NODES_SHOWN).await;
    let (list, hits) = found.map_err(|error| fault(&error))?;
    wished(means, task, &hits);
    let nodes = hits.iter().map(|hit| {
        let mut told = Map::new();
        told.insert("node_type", hit.tool.name.to_string().into());
        judged(&mut told, hit);
        interface(&mut told, &hit.tool);
        told.into()
    });
    let mut data = Map::new();
    data.insert("nodes", Value::array(nodes));
    data.insert("searched", list.tools.len().into());
    silent(&mut data, &list);
    Ok(success(data.into(), None))
}

fn wanted(words: &str) -> Result<&str, Wrong> {
    match words.trim() {
        "" => Err(Wrong::new("validation", "nothing is asked for")
            .suggesting("say in a sentence what is to be done")),
        words => Ok(words),
    }
}

fn judged(told: &mut Map, hit: &Hit) {
    let percent = (hit.confidence * 1_000.0).round() / 1_000.0;
    told.insert("confidence", percent.into());
    let reasons = hit.reasons.iter().map(|reason| reason.as_str().into());
    told.insert("reasons", Value::array(reasons));
}

/// Remembers what was looked for until some of what was found is used.
fn wished(means: &Means, words: &str, hits: &[Hit]) {
    let found = hits.iter().map(|hit| Str::from(hit.tool.name.to_string()));
    let uses = means.engine.registry().uses();
    uses.wished(&caller_key(means), words, found);
}
