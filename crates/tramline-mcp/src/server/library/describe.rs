//! `registry_describe`, `registry_search` and `registry_list`: what can be called, in full and in short.

use super::{Wrong, fault, made, success, text};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::ids::ToolName;
use tramline_core::{Map, Value};
use tramline_engine::registry::{List, Unknown};
use tramline_engine::seams::Tool;

/// So many nodes are described at once.
const DESCRIBED_MAX: usize = 50;
/// So many are listed by a search.
const FOUND_MAX: usize = 100;
/// A short description has so many characters.
const SHORT_CHARS_MAX: usize = 120;

pub(super) async fn nodes(means: Means, arguments: Value) -> CallToolResult {
    made(described(&means, &arguments).await)
}

pub(super) async fn search(means: Means, arguments: Value) -> CallToolResult {
    made(searched(&means, &arguments).await)
}

pub(super) async fn all(means: Means) -> CallToolResult {
    made(listed(&means).await)
}

async fn described(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let names = arguments.get("nodes").and_then(Value::as_array);
    let names = names.unwrap_or_default();
    if names.is_empty() || names.len() > DESCRIBED_MAX {
        let message = format!("`nodes` names 1 to {DESCRIBED_MAX} nodes");
        return Err(Wrong::new("validation", message));
    }
    let registry = means.engine.registry();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for name in names.iter().filter_map(Value::as_str) {
        match registry.find(name).await {
            Ok(tool) => {
                let mut told = Map::new();
                told.insert("node_type", tool.name.to_string().into());
                interface(&mut told, &tool);
                used(&mut told, means, &tool.name);
                found.push(told.into());
            }
            Err(unknown) => missing.push(unknown),
        }
    }
    if found.is_empty() {
        return Err(not_found(&missing));
    }
    let mut data = Map::new();
    data.insert("nodes", Value::array(found));
    if !missing.is_empty() {
        let told = missing
            .iter()
            .map(|one| not_found(std::slice::from_ref(one)));
        let told = told.map(|wrong| wrong.error());
        data.insert("not_found", Value::array(told));
    }
    Ok(success(data.into(), None))
}

async fn searched(means: &Means, arguments: &Value) -> Result<CallToolResult, Wrong> {
    let pattern = text(arguments, "pattern").trim();
    if pattern.is_empty() {
        return Err(Wrong::new("validation", "the pattern is empty")
            .suggesting("write a part of a name, or a pattern such as `github:*issue*`"));
    }
    let registry = means.engine.registry();
    let found = registry.fitting(pattern, FOUND_MAX).await;
    let (list, found) = found.map_err(|error| fault(&error))?;
    let mut data = Map::new();
    data.insert("matches", found.total.into());
    let shown = found.tools.iter().map(|tool| short(tool));
    data.insert("nodes", Value::array(shown));
    if let Some(near) = found.did_you_mean {
        data.insert("did_you_mean", near.into());
    }
    silent(&mut data, &list);
    Ok(success(data.into(), None))
}

async fn listed(means: &Means) -> Result<CallToolResult, Wrong> {
    let registry = means.engine.registry();
    let list = registry.list().await.map_err(|error| fault(&error))?;
    let mut data = Map::new();
    data.insert("count", list.tools.len().into());
    data.insert(
        "nodes",
        Value::array(list.tools.iter().map(|tool| short(tool))),
    );
    silent(&mut data, &list);
    Ok(success(data.into(), None))
}

fn short(tool: &Tool) -> Value {
    let mut told = Map::new();
    told.insert("node_type", tool.name.to_string().into());
    if let Some(description) = &tool.description {
        let line = description.lines().next().unwrap_or_default();
        let cut = match line.char_indices().nth(SHORT_CHARS_MAX) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line.to_owned(),
        };
        told.insert("description", cut.into());
    }
    told.into()
}

/// What something takes and gives, and what it does to the world.
pub(super) fn interface(told: &mut Map, tool: &Tool) {
    if let Some(description) = &tool.description {
        told.insert("description", description.clone().into());
    }
    told.insert("inputs", tool.input_schema.clone());
    if let Some(schema) = &tool.output_schema {
        told.insert("outputs", schema.clone());
    }
    let hints = [
        ("read_only", tool.hints.read_only),
        ("destructive", tool.hints.destructive),
    ];
    for (key, said) in hints {
        if let Some(said) = said {
            told.insert(key, said.into());
        }
    }
}

/// How often something was used, where that is known.
pub(super) fn used(told: &mut Map, means: &Means, name: &ToolName) {
    let used = means.engine.registry().uses().of(&name.to_string());
    if used.runs > 0 {
        told.insert("runs", used.runs.into());
        told.insert("last_run_ms", used.last_ms.into());
    }
}

/// The servers whose tools are not in the list.
pub(super) fn silent(data: &mut Map, list: &List) {
    if list.silent.is_empty() {
        return;
    }
    let told = list.silent.iter().map(|(server, failure)| {
        Value::object([
            ("server", server.clone().into()),
            ("message", failure.to_string().into()),
        ])
    });
    data.insert("unreachable", Value::array(told));
}

/// Names that nothing has, as an error.
pub(super) fn not_found(unknown: &[Unknown]) -> Wrong {
    let says: Vec<_> = unknown.iter().map(|one| one.message.as_str()).collect();
    let mut wrong = Wrong::new("not_found", says.join("; "));
    for near in unknown.iter().flat_map(|one| &one.near) {
        wrong = wrong.suggesting(format!("did you mean `{near}`?"));
    }
    wrong.suggesting("registry_search finds nodes by a part of their name")
}
