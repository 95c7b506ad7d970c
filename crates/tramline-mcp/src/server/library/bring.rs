//! What an agent brings: the name of a workflow that is known here, or a document.

use super::{With, Wrong};
use std::sync::Arc;
use std::time::Duration;
use tramline_core::flaw::{Flaw, Severity};
use tramline_core::formats::yaml_graph::{Document, Listing};
use tramline_core::formats::{self, Elsewhere, Hint};
use tramline_core::graph::Graph;
use tramline_core::text::nearest;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_core::{Map, Str, Value};

/// Larger documents are refused before they are read.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;
/// Servers get so long to say what tools they have.
const ASK_MAX: Duration = Duration::from_secs(15);

/// What was brought.
pub(super) enum Brought {
    /// A workflow that is known here, with where it is to be found again.
    Known(Arc<Graph>, Value),
    /// A document.
    Document(Box<Document>),
    /// A document that cannot be used.
    Flawed(Vec<Flaw>),
}

/// Finds or reads what was brought.
pub(super) fn bring(with: With<'_>, given: &Value) -> Result<Brought, Wrong> {
    let text = match given {
        Value::String(text) => {
            if let Some(known) = with.engine.workflows().find(text) {
                return Ok(Brought::Known(known.graph, known.origin));
            }
            if !text.contains(['\n', '{']) {
                return Err(unknown(with, text));
            }
            text.to_string()
        }
        other => other.to_json(),
    };
    if text.len() > DOCUMENT_BYTES_MAX {
        let message = format!("a document may have {DOCUMENT_BYTES_MAX} bytes");
        return Err(Wrong::new("validation", message));
    }
    let hint = Hint {
        elsewhere: Elsewhere::Any,
        ..Hint::default()
    };
    Ok(match formats::read(text.as_bytes(), hint) {
        Ok(read) => Brought::Document(Box::new(read.document)),
        Err(flaws) => Brought::Flawed(flaws),
    })
}

fn unknown(with: With<'_>, name: &str) -> Wrong {
    let names = with.engine.workflows().names();
    let shown = tramline_core::text::shown(name);
    let wrong = Wrong::new("not_found", format!("there is no workflow `{shown}`"));
    match nearest(name, names.iter().map(Str::as_str)) {
        Some(near) => wrong.suggesting(format!("did you mean `{near}`?")),
        None => {
            let names: Vec<_> = names.iter().take(20).map(Str::as_str).collect();
            wrong.suggesting(format!("there are {}", names.join(", ")))
        }
    }
}

/// What is wrong with the calls of a document: servers and tools that are not there.
pub(in super::super) async fn check_calls(with: With<'_>, document: &Document) -> Vec<Flaw> {
    if document.calls.is_empty() {
        return Vec::new();
    }
    let listed = tokio::time::timeout(ASK_MAX, with.engine.tools().list()).await;
    let listed = listed.unwrap_or_default();
    let own = document
        .workflows
        .iter()
        .map(|graph| graph.workflow.name.clone());
    let workflows: Vec<Str> = own.chain(with.engine.workflows().names()).collect();
    document.check_tools(|server| {
        if server == WORKFLOW_SERVER {
            return Listing::Tools(workflows.clone());
        }
        match listed.iter().find(|listing| listing.server == server) {
            None => Listing::NoServer(listed.iter().map(|one| one.server.clone()).collect()),
            Some(listing) => match &listing.tools {
                Ok(tools) => {
                    Listing::Tools(tools.iter().map(|tool| tool.name.tool.clone()).collect())
                }
                Err(_) => Listing::Silent,
            },
        }
    })
}

/// Whether something about it keeps a document from being used.
pub(super) fn fatal(flaws: &[Flaw]) -> bool {
    flaws
        .iter()
        .any(|flaw| flaw.code.severity() == Severity::Error)
}

/// Flaws as agents read them.
pub(in super::super) fn told(flaws: &[Flaw]) -> Value {
    Value::array(flaws.iter().map(|flaw| {
        let mut told = Map::new();
        told.insert("code", flaw.code.as_str().into());
        let severity = match flaw.code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        told.insert("severity", severity.into());
        told.insert("line", flaw.place.line.into());
        told.insert("column", flaw.place.column.into());
        told.insert("path", flaw.place.pointer.as_str().into());
        told.insert("message", flaw.message.as_str().into());
        if let Some(suggestion) = &flaw.suggestion {
            told.insert("suggestion", suggestion.as_str().into());
        }
        told.into()
    }))
}

/// A document that cannot be run, as an error.
pub(super) fn unusable(flaws: &[Flaw]) -> Wrong {
    let count = flaws.len();
    let mut wrong = Wrong::new("validation", format!("the workflow has {count} flaws"));
    wrong.details = told(flaws);
    wrong.suggestions = flaws
        .iter()
        .filter_map(|flaw| flaw.suggestion.clone())
        .take(5)
        .collect();
    wrong
}
