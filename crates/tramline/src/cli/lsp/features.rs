//! Hover, go to node, and rename.

use super::completion;
use super::open_document::OpenDocument;
use super::positions::{self, Position};
use serde_json::{Value as Json, json};
use tramline_formats::edit::{self, GraphEdit};
use tramline_formats::{Format, KnownServers, ReadOptions};
use tramline_views::diagnostics;

/// What is known about the node or the field at a position.
pub(super) fn hover(document: &OpenDocument, at: Position) -> Json {
    let described = match document.node_under(at) {
        Some((node, word)) => {
            let text = describe_node(document, &node.id, at)
                .unwrap_or_else(|| format!("node `{}`", node.id));
            Some((text, word))
        }
        None => completion::describe(document, at),
    };
    let Some((text, word)) = described else {
        return Json::Null;
    };
    json!({
        "contents": { "kind": "markdown", "value": text },
        "range": word_range(document, at, &word),
    })
}

fn word_range(document: &OpenDocument, at: Position, word: &std::ops::Range<usize>) -> Json {
    let place = |byte| positions::in_line(&document.text, at.line, byte);
    positions::range(place(word.start), place(word.end))
}

fn describe_node(document: &OpenDocument, id: &str, at: Position) -> Option<String> {
    let name = document
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let hint = ReadOptions {
        name: Format::of_file(&name).1,
        known_servers: KnownServers::Any,
        ..ReadOptions::default()
    };
    let report = diagnostics::check(&document.text, document.kind, hint);
    let workflow = document.workflow_at(at);
    let mut graphs = report
        .workflows
        .iter()
        .filter(|one| workflow.is_none_or(|name| one.name == *name));
    let graph = graphs
        .next()
        .map(|one| &one.graph)
        .or(report.procedure.as_ref())?;
    let node = graph.nodes.iter().find(|node| node.id == id)?;
    let mut lines = vec![format!("**{}** ({})", node.id, node.kind)];
    if node.label != node.id {
        lines.push(verbatim(&node.label));
    }
    lines.extend(node.detail.as_deref().map(verbatim));
    lines.extend(node.tool.as_ref().map(|tool| format!("calls `{tool}`")));
    lines.extend(node.notes.iter().cloned());
    let next = graph.edges.iter().filter(|edge| edge.from == id);
    let next: Vec<_> = next.map(|edge| format!("`{}`", edge.to)).collect();
    if !next.is_empty() {
        lines.push(format!("leads to {}", next.join(", ")));
    }
    Some(lines.join("\n\n"))
}

/// Text of the document as an indented block: as Markdown it could load pictures from elsewhere.
fn verbatim(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

/// The place of the node whose id is at a position.
pub(super) fn definition(document: &OpenDocument, at: Position) -> Json {
    let Some((node, _)) = document.node_under(at) else {
        return Json::Null;
    };
    let (from, to) = positions::range_of(&document.text, &node.place);
    json!({ "uri": document.uri, "range": positions::range(from, to) })
}

/// The range and the id that would be renamed.
pub(super) fn prepare_rename(document: &OpenDocument, at: Position) -> Json {
    match document.node_under(at) {
        None => Json::Null,
        Some((node, word)) => json!({
            "range": word_range(document, at, &word),
            "placeholder": node.id,
        }),
    }
}

/// Renames a node and all references to it, as the studio's editor does.
pub(super) fn rename(document: &OpenDocument, at: Position, to: &str) -> Result<Json, String> {
    let Some((node, _)) = document.node_under(at) else {
        return Err("there is no node at this position".to_owned());
    };
    let edit = GraphEdit::RenameNode {
        id: node.id.to_string(),
        to: to.to_owned(),
    };
    let workflow = node.workflow.as_deref();
    let edited = edit::apply_edits(&document.text, document.kind, workflow, &[edit])?;
    let edits = edited.changes.iter().map(|change| {
        let place = |index| positions::of_char(&document.text, index);
        json!({
            "range": positions::range(place(change.from), place(change.to)),
            "newText": change.insert,
        })
    });
    let edits: Vec<_> = edits.collect();
    Ok(json!({ "changes": { document.uri.as_str(): edits } }))
}
