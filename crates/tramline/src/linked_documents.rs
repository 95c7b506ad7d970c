//! Reads the documents that a document's nodes call by path.
//!
//! They must be in the directory of the document or below it, and symlinks must not lead outside.
//! Once read, each is called by its full path, so two documents can use one name for different
//! files.

use crate::config::read_document;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_expr::{Map, Str, Value};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_formats::{Format, KnownServers, ReadOptions};
use tramline_syntax::{MistypedFields, relative_path};
use tramline_workflow::flaw::{Flaw, FlawCode, SourceSpan};
use tramline_workflow::graph::Graph;
use tramline_workflow::text::io_reason;
use tramline_workflow::tool_schema::BuiltinSchemas;
use tramline_workflow::workflow::{Action, WORKFLOW_SERVER, Workflow};

/// At most this many documents may be called by path from one document. Bounds what one document
/// can make the process read.
const LINKED_DOCUMENTS_MAX: usize = 100;

/// Reads the documents that a document calls by path, recursively.
pub fn read(
    path: &Path,
    document: &mut GraphDocument,
    elsewhere: KnownServers<'_>,
) -> Result<(), Vec<Flaw>> {
    let mut flaws = Vec::new();
    let mut wanted = called_paths(document, None);
    if wanted.is_empty() {
        return Ok(());
    }
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let base = match directory.canonicalize() {
        Ok(base) => base,
        Err(error) => {
            return Err(vec![flaw(
                &wanted[0].1,
                format!("{}: {}", directory.display(), io_reason(&error)),
            )]);
        }
    };
    let mut found: BTreeMap<Str, Arc<Graph>> = BTreeMap::new();
    let mut servers = Map::new();
    while let Some((name, place)) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        if found.len() == LINKED_DOCUMENTS_MAX {
            let message = format!("more than {LINKED_DOCUMENTS_MAX} documents are called by path");
            flaws.push(flaw(&place, message));
            break;
        }
        match read_companion(&base, &name, elsewhere) {
            Ok(mut read) => {
                wanted.extend(called_paths(&read, Some(&place)));
                for (server, entry) in read.servers.as_object().into_iter().flat_map(Map::iter) {
                    servers.insert(server.clone(), entry.clone());
                }
                found.extend(read.workflows.pop().map(|graph| (name, graph)));
            }
            Err(message) => flaws.push(flaw(&place, message)),
        }
    }
    if !flaws.is_empty() {
        return Err(flaws);
    }
    for (name, entry) in document.servers.as_object().into_iter().flat_map(Map::iter) {
        servers.insert(name.clone(), entry.clone());
    }
    document.servers = Value::from(servers);
    for graph in &mut document.workflows {
        *graph = with_full_paths(graph, None, &base);
    }
    for call in &mut document.calls {
        if let Some(whole) = full_path_of_call(&call.name.server, &call.name.tool, &base) {
            call.name.tool = whole;
        }
    }
    let named = found.into_iter();
    document.linked_workflows = named
        .map(|(name, graph)| with_full_paths(&graph, Some(full_path(&base, &name)), &base))
        .collect();
    Ok(())
}

/// The paths that a document calls, each with the place to report problems at.
fn called_paths(document: &GraphDocument, place: Option<&SourceSpan>) -> Vec<(Str, SourceSpan)> {
    let calls = document.calls.iter();
    let calls = calls.filter(|call| is_path(&call.name.server, &call.name.tool));
    calls
        .map(|call| (call.name.tool.clone(), place.unwrap_or(&call.tool).clone()))
        .collect()
}

fn is_path(server: &str, tool: &str) -> bool {
    server == WORKFLOW_SERVER && relative_path::is_path(tool) && !Path::new(tool).is_absolute()
}

fn flaw(place: &SourceSpan, message: String) -> Flaw {
    Flaw {
        code: FlawCode::UnknownTool,
        span: place.clone(),
        message,
        suggestion: Some("name a document in the directory of this one".to_owned()),
    }
}

fn full_path(base: &Path, name: &str) -> Str {
    let inside = name.strip_prefix("./").unwrap_or(name);
    base.join(inside).to_string_lossy().into_owned().into()
}

fn full_path_of_call(server: &str, tool: &str, base: &Path) -> Option<Str> {
    is_path(server, tool).then(|| full_path(base, tool))
}

/// Reads one document, if it is inside the directory and contains exactly one workflow.
fn read_companion(
    base: &Path,
    name: &str,
    elsewhere: KnownServers<'_>,
) -> Result<GraphDocument, String> {
    let path = PathBuf::from(full_path(base, name).as_str());
    let real = path.canonicalize();
    let real =
        real.map_err(|error| format!("cannot find document `{name}`: {}", io_reason(&error)))?;
    if !real.starts_with(base) {
        return Err(format!("`{name}` is outside the directory of the document"));
    }
    let bytes = read_document(&real)?;
    let inside = name.strip_prefix("./").unwrap_or(name);
    let (folder, file) = inside.rsplit_once('/').unwrap_or(("", inside));
    let (format, stem) = Format::of_file(file);
    let hint = ReadOptions {
        format,
        name: stem,
        known_servers: elsewhere,
        mistyped_fields: MistypedFields::Warn,
        folder,
        tools: &BuiltinSchemas,
    };
    let read = tramline_formats::read(&bytes, hint).map_err(|flaws| {
        let first = flaws.first().map(ToString::to_string).unwrap_or_default();
        format!(
            "`{name}` has {} flaws; the first is at {first}",
            flaws.len()
        )
    })?;
    match read.document.workflows.len() {
        1 => Ok(read.document),
        many => Err(format!(
            "`{name}` contains {many} workflows; it must contain one"
        )),
    }
}

/// The same graph, with its calls changed to full paths.
fn with_full_paths(graph: &Arc<Graph>, name: Option<Str>, base: &Path) -> Arc<Graph> {
    let mut workflow = Workflow::clone(&graph.workflow);
    for node in &mut workflow.nodes {
        if let Action::Call { tool, .. } = &mut node.action
            && let Some(whole) = full_path_of_call(&tool.server, &tool.tool, base)
        {
            tool.tool = whole;
        }
    }
    workflow.name = name.unwrap_or(workflow.name);
    // Only names changed, so a graph that was valid stays valid.
    Graph::build(Arc::new(workflow))
        .map_or_else(|_| Arc::clone(graph), |(built, _)| Arc::new(built))
}
