//! Documents named on the command line: read, or all their flaws shown.

use super::{Exit, Stopped, frames};
use crate::config::{Config, read_document};
use crate::wire;
use std::path::Path;
use tramline_core::Str;
use tramline_core::flaw::Flaw;
use tramline_core::formats::yaml_graph::{self, Document};

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

/// Reads one document.
pub(super) fn read(
    path: &Path,
    elsewhere: &[Str],
) -> Result<(Document, Flawed), Result<Flawed, Stopped>> {
    let bytes = read_document(path).map_err(|message| Err(Stopped::bad(message)))?;
    let shown = path.display().to_string();
    let flawed = |flaws| Flawed {
        path: shown,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        flaws,
    };
    match yaml_graph::read_with(&bytes, elsewhere) {
        Ok(document) => {
            let warnings = flawed(document.warnings.clone());
            Ok((document, warnings))
        }
        Err(flaws) => Err(Ok(flawed(flaws))),
    }
}

/// Reads a document that is to be used; shows its flaws and stops if it cannot be.
pub(super) fn read_to_use(path: &Path, elsewhere: &[Str], json: bool) -> Result<Document, Stopped> {
    match read(path, elsewhere) {
        Ok((document, warned)) => {
            if !json {
                frames::show(&warned);
            }
            Ok(document)
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
