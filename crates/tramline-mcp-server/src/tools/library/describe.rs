//! `registry_describe`, `registry_search` and `registry_list`: callable nodes, in full and in short.

use super::{LibraryReplyError, reply_or_error, store_error, success, text_argument};
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_catalog::registry::{ToolList, UnknownName};
use tramline_engine::ports::Tool;
use tramline_expr::{Map, Value};
use tramline_formats::control_nodes::{ControlNode, control_nodes, find_control_node};
use tramline_workflow::ids::ToolName;

/// Maximum number of nodes described at once.
const DESCRIBED_MAX: usize = 50;
/// Maximum number of nodes listed by a search.
const FOUND_MAX: usize = 100;
/// Maximum length of a short description, in characters.
const SHORT_CHARS_MAX: usize = 120;

pub(super) async fn registry_describe(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(describe_nodes(&means, &arguments).await)
}

pub(super) async fn registry_search(means: CallContext, arguments: Value) -> CallToolResult {
    reply_or_error(search_nodes(&means, &arguments).await)
}

pub(super) async fn registry_list(means: CallContext) -> CallToolResult {
    reply_or_error(list_nodes(&means).await)
}

async fn describe_nodes(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let names = arguments.get("nodes").and_then(Value::as_array);
    let names = names.unwrap_or_default();
    if names.is_empty() || names.len() > DESCRIBED_MAX {
        let message = format!("`nodes` must contain 1 to {DESCRIBED_MAX} names");
        return Err(LibraryReplyError::new("validation", message));
    }
    let registry = means.catalog.registry();
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for name in names.iter().filter_map(Value::as_str) {
        if let Some(node) = find_control_node(name) {
            found.push(control_node(&node));
            continue;
        }
        match registry.find(name).await {
            Ok(tool) => {
                let mut told = Map::new();
                told.insert("node_type", tool.name.to_string().into());
                add_interface(&mut told, &tool);
                add_usage(&mut told, means, &tool.name);
                found.push(told.into());
            }
            Err(unknown) => missing.push(unknown),
        }
    }
    if found.is_empty() {
        return Err(nodes_not_found(&missing));
    }
    let mut data = Map::new();
    data.insert("nodes", Value::array(found));
    if !missing.is_empty() {
        let told = missing
            .iter()
            .map(|one| nodes_not_found(std::slice::from_ref(one)));
        let told = told.map(|wrong| wrong.error_value());
        data.insert("not_found", Value::array(told));
    }
    Ok(success(data.into(), None))
}

async fn search_nodes(
    means: &CallContext,
    arguments: &Value,
) -> Result<CallToolResult, LibraryReplyError> {
    let pattern = text_argument(arguments, "pattern").trim();
    if pattern.is_empty() {
        return Err(LibraryReplyError::new("validation", "the pattern is empty")
            .suggesting("use part of a name, or a pattern such as `github:*issue*`"));
    }
    let registry = means.catalog.registry();
    let found = registry.find_by_pattern(pattern, FOUND_MAX).await;
    let (list, found) = found.map_err(|error| store_error(&error))?;
    let control = control_nodes().into_iter().filter(|node| {
        let wanted = pattern.to_lowercase();
        node.name.contains(&wanted) || node.description.to_lowercase().contains(&wanted)
    });
    let control: Vec<Value> = control.map(|node| short_control_node(&node)).collect();
    let mut data = Map::new();
    data.insert("matches", (found.total + control.len()).into());
    let shown = found.tools.iter().map(|tool| short_description(tool));
    data.insert("nodes", Value::array(shown));
    if !control.is_empty() {
        data.insert("control_nodes", Value::array(control));
    }
    if let Some(near) = found.did_you_mean {
        data.insert("did_you_mean", near.into());
    }
    add_unreachable(&mut data, &list);
    Ok(success(data.into(), None))
}

async fn list_nodes(means: &CallContext) -> Result<CallToolResult, LibraryReplyError> {
    let registry = means.catalog.registry();
    let list = registry.list().await.map_err(|error| store_error(&error))?;
    let mut data = Map::new();
    data.insert("count", list.tools.len().into());
    data.insert(
        "nodes",
        Value::array(list.tools.iter().map(|tool| short_description(tool))),
    );
    let control = control_nodes();
    let control = control.iter().map(short_control_node);
    data.insert("control_nodes", Value::array(control));
    add_unreachable(&mut data, &list);
    Ok(success(data.into(), None))
}

fn short_description(tool: &Tool) -> Value {
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

/// A node that is not a tool, with its fields and an example for each format.
fn control_node(node: &ControlNode) -> Value {
    let examples = node.examples.iter();
    let examples = examples.map(|(format, text)| (format.name(), Value::from(*text)));
    let mut told = Map::new();
    told.insert("node_type", node.name.into());
    told.insert("kind", "control".into());
    told.insert("description", node.description.into());
    if !node.fields.is_null() {
        told.insert("fields", node.fields.clone());
    }
    told.insert("examples", Value::object(examples));
    told.into()
}

fn short_control_node(node: &ControlNode) -> Value {
    let description = node.description.split(". ").next().unwrap_or_default();
    Value::object([
        ("node_type", node.name.into()),
        ("description", description.trim_end_matches('.').into()),
    ])
}

/// Adds inputs, outputs and annotations of a tool.
pub(super) fn add_interface(told: &mut Map, tool: &Tool) {
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

/// Adds usage figures, if known.
pub(super) fn add_usage(told: &mut Map, means: &CallContext, name: &ToolName) {
    let used = means.catalog.registry().usage().get(&name.to_string());
    if used.runs > 0 {
        told.insert("runs", used.runs.into());
        told.insert("last_run_ms", used.last_ms.into());
    }
}

/// Adds the servers whose tools are missing from the list.
pub(super) fn add_unreachable(data: &mut Map, list: &ToolList) {
    if list.unavailable.is_empty() {
        return;
    }
    let told = list.unavailable.iter().map(|(server, failure)| {
        Value::object([
            ("server", server.clone().into()),
            ("message", failure.to_string().into()),
        ])
    });
    data.insert("unreachable", Value::array(told));
}

/// The error for unknown names.
pub(super) fn nodes_not_found(unknown: &[UnknownName]) -> LibraryReplyError {
    let says: Vec<_> = unknown.iter().map(|one| one.message.as_str()).collect();
    let mut wrong = LibraryReplyError::new("not_found", says.join("; "));
    for near in unknown.iter().flat_map(|one| &one.suggestions) {
        wrong = wrong.suggesting(format!("did you mean `{near}`?"));
    }
    wrong.suggesting("registry_search finds nodes by part of their name")
}
