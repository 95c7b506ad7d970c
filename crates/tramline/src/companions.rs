//! Documents beside a document: those that its nodes call by path are read with it.
//!
//! They lie in the directory of the document or below it; no link leads out. Once read, each is
//! called by its whole path, so that two documents may mean different files by one name.

use crate::config::read_document;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_core::flaw::{Code, Flaw, Place};
use tramline_core::formats::yaml_graph::Document;
use tramline_core::formats::{self, Elsewhere, Format, Hint, beside};
use tramline_core::graph::Graph;
use tramline_core::workflow::{Action, WORKFLOW_SERVER, Workflow};
use tramline_core::{Map, Str, Value};

/// More documents than this beside one are refused.
const COMPANIONS_MAX: usize = 100;

/// Reads the documents that a document calls by path, and those that they call.
pub fn read(
    path: &Path,
    document: &mut Document,
    elsewhere: Elsewhere<'_>,
) -> Result<(), Vec<Flaw>> {
    let mut flaws = Vec::new();
    let mut wanted = paths(document, None);
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
                format!("{}: {error}", directory.display()),
            )]);
        }
    };
    let mut found: BTreeMap<Str, Arc<Graph>> = BTreeMap::new();
    let mut servers = Map::new();
    while let Some((name, place)) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        if found.len() == COMPANIONS_MAX {
            let message = format!("more than {COMPANIONS_MAX} documents are called by path");
            flaws.push(flaw(&place, message));
            break;
        }
        match companion(&base, &name, elsewhere) {
            Ok(mut read) => {
                wanted.extend(paths(&read, Some(&place)));
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
        *graph = renamed(graph, None, &base);
    }
    for call in &mut document.calls {
        if let Some(whole) = whole(&call.name.server, &call.name.tool, &base) {
            call.name.tool = whole;
        }
    }
    let named = found.into_iter();
    document.companions = named
        .map(|(name, graph)| renamed(&graph, Some(full(&base, &name)), &base))
        .collect();
    Ok(())
}

/// The paths that a document calls, each with where that is to be told.
fn paths(document: &Document, place: Option<&Place>) -> Vec<(Str, Place)> {
    let calls = document.calls.iter();
    let calls = calls.filter(|call| is_path(&call.name.server, &call.name.tool));
    calls
        .map(|call| (call.name.tool.clone(), place.unwrap_or(&call.tool).clone()))
        .collect()
}

fn is_path(server: &str, tool: &str) -> bool {
    server == WORKFLOW_SERVER && beside::is_path(tool) && !Path::new(tool).is_absolute()
}

fn flaw(place: &Place, message: String) -> Flaw {
    Flaw {
        code: Code::UnknownTool,
        place: place.clone(),
        message,
        suggestion: Some("name a document in the directory of this one".to_owned()),
    }
}

fn full(base: &Path, name: &str) -> Str {
    let inside = name.strip_prefix("./").unwrap_or(name);
    base.join(inside).to_string_lossy().into_owned().into()
}

fn whole(server: &str, tool: &str, base: &Path) -> Option<Str> {
    is_path(server, tool).then(|| full(base, tool))
}

/// One document, if it lies in the directory and holds one workflow.
fn companion(base: &Path, name: &str, elsewhere: Elsewhere<'_>) -> Result<Document, String> {
    let path = PathBuf::from(full(base, name).as_str());
    let real = path.canonicalize();
    let real = real.map_err(|error| format!("there is no document `{name}`: {error}"))?;
    if !real.starts_with(base) {
        return Err(format!(
            "`{name}` leads out of the directory of the document"
        ));
    }
    let bytes = read_document(&real)?;
    let inside = name.strip_prefix("./").unwrap_or(name);
    let (folder, file) = inside.rsplit_once('/').unwrap_or(("", inside));
    let (format, stem) = Format::of_file(file);
    let hint = Hint {
        format,
        name: stem,
        elsewhere,
        folder,
    };
    let read = formats::read(&bytes, hint).map_err(|flaws| {
        let first = flaws.first().map(ToString::to_string).unwrap_or_default();
        format!(
            "`{name}` has {} flaws; the first is at {first}",
            flaws.len()
        )
    })?;
    match read.document.workflows.len() {
        1 => Ok(read.document),
        many => Err(format!("`{name}` holds {many} workflows, not one")),
    }
}

/// The same graph, with its calls by whole paths.
fn renamed(graph: &Arc<Graph>, name: Option<Str>, base: &Path) -> Arc<Graph> {
    let mut workflow = Workflow::clone(&graph.workflow);
    for node in &mut workflow.nodes {
        if let Action::Call { tool, .. } = &mut node.action
            && let Some(whole) = whole(&tool.server, &tool.tool, base)
        {
            tool.tool = whole;
        }
    }
    workflow.name = name.unwrap_or(workflow.name);
    // What was sound stays so: only names have changed.
    Graph::build(Arc::new(workflow))
        .map_or_else(|_| Arc::clone(graph), |(built, _)| Arc::new(built))
}
