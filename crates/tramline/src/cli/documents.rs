//! Documents named on the command line: parses them, or shows all their flaws.

use super::{CliError, Exit, diagnostics, output};
use crate::config::{Config, ConfigFile, read_document};
use crate::{app, linked_documents};
use std::path::Path;
use std::sync::Arc;
use tramline_expr::Str;
use tramline_formats::yaml_graph::GraphDocument;
use tramline_formats::{Format, KnownServers, ParsedDocument, ReadOptions};
use tramline_workflow::flaw::Flaw;
use tramline_workflow::graph::Graph;
use tramline_workflow::text::nearest;
use tramline_workflow::tool_schema::{BuiltinSchemas, ToolSchemas};

/// A document's text with its flaws.
pub(super) struct DocumentFlaws {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) flaws: Vec<Flaw>,
}

/// The servers that documents may use without declaring them.
pub(super) fn known_servers(config: &Config) -> Result<Vec<Str>, CliError> {
    Ok(app::known_servers(config)?)
}

/// Reads one document in any format.
pub(super) fn read(
    path: &Path,
    elsewhere: KnownServers<'_>,
) -> Result<(ParsedDocument, DocumentFlaws), Result<DocumentFlaws, CliError>> {
    read_with(path, elsewhere, &BuiltinSchemas)
}

/// Reads one document in any format, and checks its calls against the schemas of these tools.
pub(super) fn read_with(
    path: &Path,
    elsewhere: KnownServers<'_>,
    tools: &dyn ToolSchemas,
) -> Result<(ParsedDocument, DocumentFlaws), Result<DocumentFlaws, CliError>> {
    let bytes = read_document(path).map_err(|message| Err(CliError::bad_input(message)))?;
    read_bytes(path, &bytes, elsewhere, tools).map_err(Ok)
}

/// The same for a document whose text may differ from its file.
pub(super) fn read_bytes(
    path: &Path,
    bytes: &[u8],
    elsewhere: KnownServers<'_>,
    tools: &dyn ToolSchemas,
) -> Result<(ParsedDocument, DocumentFlaws), DocumentFlaws> {
    let shown = path.display().to_string();
    let flawed = |flaws| DocumentFlaws {
        path: shown,
        text: String::from_utf8_lossy(bytes).into_owned(),
        flaws,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (format, name) = Format::of_file(&name);
    let hint = ReadOptions {
        format,
        name,
        known_servers: elsewhere,
        tools,
        ..ReadOptions::default()
    };
    match tramline_formats::read(bytes, hint) {
        Ok(mut read) => {
            if matches!(elsewhere, KnownServers::Configured(_))
                && let Err(flaws) = linked_documents::read(path, &mut read.document, elsewhere)
            {
                return Err(flawed(flaws));
            }
            let warnings = flawed(read.document.warnings.clone());
            Ok((read, warnings))
        }
        Err(flaws) => Err(flawed(flaws)),
    }
}

/// The error for a document with these flaws.
pub(super) fn flaws_error(what: &str, flaws: &[Flaw]) -> CliError {
    let all: Vec<_> = flaws.iter().map(|flaw| format!("{what}:{flaw}")).collect();
    CliError::bad_input(all.join("\n"))
}

/// Reads a configuration file; shows its flaws and fails if it is invalid.
pub(super) fn read_config(path: &Path, json: bool) -> Result<ConfigFile, CliError> {
    let shown = path.display().to_string();
    match ConfigFile::read(path) {
        Ok((file, _)) => Ok(file),
        Err(Err(message)) => Err(CliError::bad_input(message)),
        Err(Ok(flawed)) => {
            let flawed = DocumentFlaws {
                path: shown,
                text: flawed.text,
                flaws: flawed.flaws,
            };
            if json {
                return Err(flaws_error(&flawed.path, &flawed.flaws));
            }
            diagnostics::show(&flawed);
            let count = output::counted(flawed.flaws.len(), "flaw");
            Err(CliError::bad_input(format!("{} has {count}", flawed.path)))
        }
    }
}

/// Reads a document to run or serve; shows its flaws and fails if it is invalid.
pub(super) fn read_valid(
    path: &Path,
    elsewhere: &[Str],
    json: bool,
) -> Result<GraphDocument, CliError> {
    read_or_print_flaws(path, KnownServers::Configured(elsewhere), json).map(|read| read.document)
}

/// Reads a document only to display it: its calls need not resolve.
pub(super) fn read_for_display(path: &Path, json: bool) -> Result<ParsedDocument, CliError> {
    read_or_print_flaws(path, KnownServers::Any, json)
}

fn read_or_print_flaws(
    path: &Path,
    elsewhere: KnownServers<'_>,
    json: bool,
) -> Result<ParsedDocument, CliError> {
    match read(path, elsewhere) {
        Ok((read, warned)) => {
            if !json {
                diagnostics::show(&warned);
            }
            Ok(read)
        }
        Err(Err(stopped)) => Err(stopped),
        Err(Ok(flawed)) => {
            let count = flawed.flaws.len();
            if !json {
                diagnostics::show(&flawed);
            }
            let first = flawed
                .flaws
                .first()
                .map_or_else(String::new, ToString::to_string);
            let message = match count {
                1 if json => format!("{}:{first}", flawed.path),
                _ if json => format!("{}:{first} and {} more", flawed.path, count - 1),
                // The frames above have the rest.
                _ => format!("{} has {}", flawed.path, output::counted(count, "flaw")),
            };
            Err(CliError {
                exit: Exit::BadInput,
                message,
            })
        }
    }
}

/// A flaw as JSON.
pub(super) fn as_json(flawed: &DocumentFlaws) -> impl Iterator<Item = serde_json::Value> + '_ {
    flawed.flaws.iter().map(|flaw| {
        serde_json::json!({
            "code": flaw.code.as_str(),
            "severity": flaw.code.severity(),
            "path": flawed.path,
            "line": flaw.span.line,
            "column": flaw.span.column,
            "pointer": flaw.span.pointer,
            "message": flaw.message,
            "suggestion": flaw.suggestion,
        })
    })
}

/// The tools of a document, for a caller who has to choose.
pub(super) fn list_tools(document: &GraphDocument) -> String {
    let names: Vec<_> = document
        .workflows
        .iter()
        .map(|graph| graph.workflow.name.as_str())
        .collect();
    names.join(", ")
}

/// The tool with this name.
pub(super) fn tool(document: &GraphDocument, name: &str) -> Result<Arc<Graph>, CliError> {
    if let Some(graph) = document.workflow(name) {
        return Ok(Arc::clone(graph));
    }
    let names = document
        .workflows
        .iter()
        .map(|graph| graph.workflow.name.as_str());
    let near =
        nearest(name, names).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let all = list_tools(document);
    Err(CliError::bad_input(format!(
        "unknown tool `{name}`{near} (the document has {all})"
    )))
}

/// The only tool of a document.
pub(super) fn only_tool(document: &GraphDocument) -> Result<Arc<Graph>, CliError> {
    match document.workflows.as_slice() {
        [only] => Ok(Arc::clone(only)),
        _ => {
            let all = list_tools(document);
            Err(CliError::bad_input(format!(
                "the document has several tools; name one of {all}"
            )))
        }
    }
}
