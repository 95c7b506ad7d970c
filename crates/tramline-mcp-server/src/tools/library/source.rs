//! Resolves the workflow argument: the name of a known workflow, a file, or a document.

use super::{ContextRef, LibraryReplyError, caller_key};
use crate::document_check::{check_known_calls, flaws_value};
use std::sync::Arc;
use std::time::Duration;
use tramline_catalog::library::TEXT_BYTES_MAX;
use tramline_engine::KnownSchemas;
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_formats::{KnownServers, ReadOptions};
use tramline_syntax::MistypedFields;
use tramline_workflow::failure::FailureKind;
use tramline_workflow::flaw::{Flaw, Severity};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::BUILTIN;
use tramline_workflow::ids::ToolName;
use tramline_workflow::text::{display_name, nearest};
use tramline_workflow::tool_schema::{BuiltinSchemas, ToolSchemas};

/// How long reading a file may take: longer means that the disk hangs.
const READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of names shown for an unknown name.
const NAMES_SHOWN_MAX: usize = 20;

/// A resolved workflow argument.
pub(super) enum WorkflowSource {
    /// A workflow that is known here, with its origin.
    Known(Arc<Graph>, Value),
    /// A document.
    Document(DocumentText),
}

/// A document as text.
pub(super) struct DocumentText {
    pub(super) text: String,
    /// Default name of a workflow without a name.
    name: String,
}

/// Resolves the workflow argument.
pub(super) async fn resolve(
    with: ContextRef<'_>,
    given: &Value,
) -> Result<WorkflowSource, LibraryReplyError> {
    if let Some(name) = given.as_str().filter(|text| is_name(text)) {
        // If the store cannot be read, use the workflows already known; a run would report the fault.
        let _ = with.catalog.library().refresh().await;
        if let Some(known) = with.engine.workflows().find(name) {
            return Ok(WorkflowSource::Known(known.graph, known.origin));
        }
        if !is_path(name) {
            return Err(unknown_workflow(with, name));
        }
    }
    read_document(with, given)
        .await
        .map(WorkflowSource::Document)
}

/// Reads the document, given as text or as the path of a file.
pub(super) async fn read_document(
    with: ContextRef<'_>,
    given: &Value,
) -> Result<DocumentText, LibraryReplyError> {
    let (text, name) = match given {
        Value::String(path) if is_name(path) => (read_file(with, path).await?, stem(path)),
        Value::String(text) => (text.to_string(), "workflow".to_owned()),
        other => (other.to_json(), "workflow".to_owned()),
    };
    if text.len() > TEXT_BYTES_MAX {
        let message = format!(
            "the workflow has {} bytes; the limit is {TEXT_BYTES_MAX}",
            text.len()
        );
        let wrong = LibraryReplyError::new("validation", message);
        return Err(wrong.suggesting("split it into several workflows that call each other"));
    }
    Ok(DocumentText { text, name })
}

/// Whether a text is a name or a path rather than a document.
fn is_name(text: &str) -> bool {
    !text.contains(['\n', '{']) && !text.trim_start().starts_with('[')
}

fn is_path(text: &str) -> bool {
    const ENDINGS: [&str; 4] = [".yaml", ".yml", ".json", ".md"];
    text.contains(['/', '\\']) || ENDINGS.iter().any(|ending| text.ends_with(ending))
}

/// A file's name without its extensions.
fn stem(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    name.split('.').next().unwrap_or(name).to_owned()
}

/// Reads a file inside the allowed directories. The policy for `read-file` applies here too.
async fn read_file(with: ContextRef<'_>, path: &str) -> Result<String, LibraryReplyError> {
    let itself = "pass the document itself as text or object";
    if let Some(why) = with
        .engine
        .own_use_denial(&ToolName::new(BUILTIN, "read-file"))
    {
        return Err(LibraryReplyError::new("forbidden", why).suggesting(itself));
    }
    let read = with.engine.tools().document(path, READ_TIMEOUT).await;
    read.map_err(|failure| {
        let kind = match failure.kind {
            FailureKind::Forbidden => "validation",
            _ => "not_found",
        };
        LibraryReplyError::new(kind, failure.message.clone())
            .suggesting(format!("{itself}, or name a file inside the allowed roots"))
    })
}

impl DocumentText {
    /// Reads the document. Documents of agents run at once, so a misspelled field is an error.
    pub(super) fn read(&self) -> Result<GraphDocument, Vec<Flaw>> {
        self.read_with(&BuiltinSchemas)
    }

    fn read_with(&self, tools: &dyn ToolSchemas) -> Result<GraphDocument, Vec<Flaw>> {
        let hint = ReadOptions {
            name: &self.name,
            known_servers: KnownServers::Any,
            mistyped_fields: MistypedFields::Reject,
            tools,
            ..ReadOptions::default()
        };
        tramline_formats::read(self.text.as_bytes(), hint).map(|read| read.document)
    }

    /// Reads the document and collects all its flaws, including those of its calls if it is invalid.
    pub(super) async fn check(&self, with: ContextRef<'_>) -> (Option<GraphDocument>, Vec<Flaw>) {
        let (calls, own) = match self.read() {
            Ok(document) => {
                let own = document.workflows.iter();
                let own = own.map(|graph| graph.workflow.name.clone()).collect();
                (document.calls, own)
            }
            Err(_) => {
                let calls = tramline_formats::call_sites::find_call_sites(self.text.as_bytes());
                (calls, Vec::new())
            }
        };
        let of_calls = check_known_calls(with, &calls, own).await;
        // The schemas of the servers' tools are known now.
        let schemas = KnownSchemas(with.engine.tools().as_ref());
        let (document, mut flaws) = match self.read_with(&schemas) {
            Ok(document) => {
                let warnings = document.warnings.clone();
                (Some(document), warnings)
            }
            Err(flaws) => (None, flaws),
        };
        flaws.extend(of_calls);
        if document.is_none() {
            flaws.sort_by_key(|flaw| (flaw.span.line, flaw.span.column));
            flaws.dedup();
        }
        (document, flaws)
    }

    /// The document and its warnings, if it has no fatal flaws.
    pub(super) async fn valid_document(
        &self,
        with: ContextRef<'_>,
    ) -> Result<(GraphDocument, Vec<Flaw>), LibraryReplyError> {
        match self.check(with).await {
            (Some(document), flaws) if !has_errors(&flaws) => Ok((document, flaws)),
            (_, flaws) => Err(invalid_document(&flaws)),
        }
    }
}

fn unknown_workflow(with: ContextRef<'_>, name: &str) -> LibraryReplyError {
    let names = with.engine.workflows().names();
    let message = format!("unknown workflow `{}`", display_name(name));
    let wrong = LibraryReplyError::new("not_found", message);
    let wrong = match nearest(name, names.iter().map(Str::as_str)) {
        Some(near) => wrong.suggesting(format!("did you mean `{near}`?")),
        None if names.is_empty() => wrong.suggesting("no workflows are saved yet: pass a document"),
        None => {
            let names: Vec<_> = names
                .iter()
                .take(NAMES_SHOWN_MAX)
                .map(Str::as_str)
                .collect();
            wrong.suggesting(format!("known workflows: {}", names.join(", ")))
        }
    };
    wrong.suggesting("workflow_discover finds one by what it does")
}

/// Whether any flaw is an error.
pub(super) fn has_errors(flaws: &[Flaw]) -> bool {
    flaws
        .iter()
        .any(|flaw| flaw.code.severity() == Severity::Error)
}

/// The error for an invalid document: each flaw with its line and fix.
pub(super) fn invalid_document(flaws: &[Flaw]) -> LibraryReplyError {
    /// Maximum number of suggestions; all flaws are in the details.
    const SUGGESTED_MAX: usize = 10;
    let count = match flaws.len() {
        1 => "a flaw".to_owned(),
        count => format!("{count} flaws"),
    };
    let mut wrong = LibraryReplyError::new("validation", format!("the workflow has {count}"));
    wrong.details = flaws_value(flaws);
    wrong.suggestions = flaws
        .iter()
        .filter_map(|flaw| {
            let mends = flaw.suggestion.as_ref()?;
            Some(format!("line {}: {mends}", flaw.span.line))
        })
        .take(SUGGESTED_MAX)
        .collect();
    wrong
}

/// The tools that a document calls, by registry name.
pub(super) fn called_tools(document: &GraphDocument) -> Vec<Str> {
    let mut names: Vec<Str> = document
        .calls
        .iter()
        .map(|call| call.name.to_string().into())
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Links the caller's recent searches to the tools it has now used successfully.
pub(super) fn record_use(with: ContextRef<'_>, names: &[Str]) {
    with.catalog
        .registry()
        .usage()
        .record_success(&caller_key(with), names);
}
