//! Documents named on the command line: read, or all their flaws shown.

use super::{Exit, Stopped, frames};
use crate::config::{Config, File, read_document};
use crate::{companions, wire};
use std::path::Path;
use std::sync::Arc;
use tramline_core::Str;
use tramline_core::flaw::Flaw;
use tramline_core::formats::yaml_graph::Document;
use tramline_core::formats::{self, Elsewhere, Format, Hint, Read};
use tramline_core::graph::Graph;
use tramline_core::text::nearest;

/// A document's text with what is wrong with it.
pub(super) struct Flawed {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) flaws: Vec<Flaw>,
}

/// The servers that documents may use without naming them.
pub(super) fn elsewhere(config: &Config) -> Result<Vec<Str>, Stopped> {
    Ok(wire::elsewhere(config)?)
}

/// Reads one document in any format.
pub(super) fn read(
    path: &Path,
    elsewhere: Elsewhere<'_>,
) -> Result<(Read, Flawed), Result<Flawed, Stopped>> {
    let bytes = read_document(path).map_err(|message| Err(Stopped::bad(message)))?;
    let shown = path.display().to_string();
    let flawed = |flaws| Flawed {
        path: shown,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        flaws,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (format, name) = Format::of_file(&name);
    let hint = Hint {
        format,
        name,
        elsewhere,
        ..Hint::default()
    };
    match formats::read(&bytes, hint) {
        Ok(mut read) => {
            if matches!(elsewhere, Elsewhere::Configured(_))
                && let Err(flaws) = companions::read(path, &mut read.document, elsewhere)
            {
                return Err(Ok(flawed(flaws)));
            }
            let warnings = flawed(read.document.warnings.clone());
            Ok((read, warnings))
        }
        Err(flaws) => Err(Ok(flawed(flaws))),
    }
}

/// Why something with these flaws cannot be used, in words.
pub(super) fn stopped(what: &str, flaws: &[Flaw]) -> Stopped {
    let all: Vec<_> = flaws.iter().map(|flaw| format!("{what}:{flaw}")).collect();
    Stopped::bad(all.join("\n"))
}

/// Reads a configuration file; shows its flaws and stops if it cannot be used.
pub(super) fn read_config(path: &Path, json: bool) -> Result<File, Stopped> {
    let shown = path.display().to_string();
    match File::read(path) {
        Ok((file, _)) => Ok(file),
        Err(Err(message)) => Err(Stopped::bad(message)),
        Err(Ok(flawed)) => {
            let flawed = Flawed {
                path: shown,
                text: flawed.text,
                flaws: flawed.flaws,
            };
            if !json {
                frames::show(&flawed);
            }
            Err(stopped(&flawed.path, &flawed.flaws))
        }
    }
}

/// Reads a document that is to be used; shows its flaws and stops if it cannot be.
pub(super) fn read_to_use(path: &Path, elsewhere: &[Str], json: bool) -> Result<Document, Stopped> {
    read_or_show(path, Elsewhere::Configured(elsewhere), json).map(|read| read.document)
}

/// Reads a document whose calls need not be possible: it is only looked at.
pub(super) fn read_to_show(path: &Path, json: bool) -> Result<Read, Stopped> {
    read_or_show(path, Elsewhere::Any, json)
}

fn read_or_show(path: &Path, elsewhere: Elsewhere<'_>, json: bool) -> Result<Read, Stopped> {
    match read(path, elsewhere) {
        Ok((read, warned)) => {
            if !json {
                frames::show(&warned);
            }
            Ok(read)
        }
        Err(Err(stopped)) => Err(stopped),
        Err(Ok(flawed)) => {
            let count = flawed.flaws.len();
            if !json {
                frames::show(&flawed);
            }
            let first = flawed
                .flaws
                .first()
                .map_or_else(String::new, ToString::to_string);
            let message = match count {
                1 => format!("{}:{first}", flawed.path),
                _ if json => format!("{}:{first} and {} more", flawed.path, count - 1),
                _ => format!("{} has {count} flaws", flawed.path),
            };
            Err(Stopped {
                exit: Exit::BadInput,
                message,
            })
        }
    }
}

/// A flaw as scripts read it.
pub(super) fn as_json(flawed: &Flawed) -> impl Iterator<Item = serde_json::Value> + '_ {
    flawed.flaws.iter().map(|flaw| {
        serde_json::json!({
            "code": flaw.code.as_str(),
            "severity": flaw.code.severity(),
            "path": flawed.path,
            "line": flaw.place.line,
            "column": flaw.place.column,
            "pointer": flaw.place.pointer,
            "message": flaw.message,
            "suggestion": flaw.suggestion,
        })
    })
}

/// Says what a document holds, for a caller who has to choose.
pub(super) fn tools_of(document: &Document) -> String {
    let names: Vec<_> = document
        .workflows
        .iter()
        .map(|graph| graph.workflow.name.as_str())
        .collect();
    names.join(", ")
}

/// The tool of a name.
pub(super) fn tool(document: &Document, name: &str) -> Result<Arc<Graph>, Stopped> {
    if let Some(graph) = document.workflow(name) {
        return Ok(Arc::clone(graph));
    }
    let names = document
        .workflows
        .iter()
        .map(|graph| graph.workflow.name.as_str());
    let near =
        nearest(name, names).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let all = tools_of(document);
    Err(Stopped::bad(format!(
        "there is no tool `{name}`{near} (the document has {all})"
    )))
}

/// The only tool of a document.
pub(super) fn only_tool(document: &Document) -> Result<Arc<Graph>, Stopped> {
    match document.workflows.as_slice() {
        [only] => Ok(Arc::clone(only)),
        _ => {
            let all = tools_of(document);
            Err(Stopped::bad(format!(
                "the document has several tools; name one of {all}"
            )))
        }
    }
}
