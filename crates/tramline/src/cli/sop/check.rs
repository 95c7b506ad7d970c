//! `tramline sop check`: every flaw of a procedure, with its line.

use super::{DocumentFlaws, as_json, diagnostics, output, read_with_flaws, with_colours};
use crate::cli::{CliError, CliResult, Exit};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_formats::sop_markdown::SopDocument;
use tramline_workflow::flaw::Severity;
use tramline_workflow::sop::SopFiles;

/// Check a procedure, with those it includes, and show every flaw with its line.
#[derive(clap::Args)]
pub(super) struct SopCheckArgs {
    /// The procedure
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print the flowchart with flawed nodes in red
    #[arg(long)]
    mermaid: bool,
}

/// One file of the procedure: what was read of it, and its flaws.
struct CheckedFile {
    sop: Option<SopDocument>,
    flawed: DocumentFlaws,
}

impl CheckedFile {
    fn error_count(&self) -> usize {
        let flaws = self.flawed.flaws.iter();
        flaws
            .filter(|it| it.code.severity() == Severity::Error)
            .count()
    }
}

/// Checks a file and those that its nodes name by `sop:`. Returns the reason why one of these cannot be read.
fn check_files(path: &Path) -> Result<(Vec<CheckedFile>, Option<String>), CliError> {
    let (sop, flawed) = read_with_flaws(path)?;
    let mut checked = Vec::new();
    let mut gathering = SopFiles::new(&path.to_string_lossy());
    let mut main = Some((sop, flawed));
    loop {
        let file = match gathering.next_file() {
            Ok(Some(file)) => file,
            Ok(None) => return Ok((checked, None)),
            Err(message) => return Ok((checked, Some(message))),
        };
        if file.path.contains("://") {
            // It is read when the procedure is loaded.
            continue;
        }
        let (sop, flawed) = match main.take() {
            Some(main) => main,
            None => match read_with_flaws(Path::new(file.path.as_str())) {
                Ok(read) => read,
                Err(error) => return Ok((checked, Some(error.message))),
            },
        };
        if let Some(document) = &sop {
            gathering.add(file, document.sop.clone());
        }
        checked.push(CheckedFile { sop, flawed });
    }
}

pub(super) fn main(verb: &SopCheckArgs, json: bool) -> CliResult {
    let (checked, unreadable) = check_files(&verb.file)?;
    let (main, inside) = checked
        .split_first()
        .ok_or_else(|| CliError::bad_input(format!("{} cannot be read", verb.file.display())))?;
    let errors: usize = checked.iter().map(CheckedFile::error_count).sum();
    let errors = errors + usize::from(unreadable.is_some());
    let flaws: usize = checked.iter().map(|it| it.flawed.flaws.len()).sum();
    let warnings = flaws + usize::from(unreadable.is_some()) - errors;
    let (read, flawed) = (&main.sop, &main.flawed);
    let picture = read.as_ref().filter(|_| verb.mermaid).map(|read| {
        let sop = Arc::new(read.sop.clone());
        let is_odd = |line: &usize| flawed.flaws.iter().any(|flaw| flaw.span.line == *line);
        let nodes = read.sop.nodes.iter().zip(&read.lines);
        let odd = nodes
            .filter(|(_, line)| is_odd(line))
            .map(|(node, _)| (node.id.as_str(), "#fcc"));
        with_colours(&sop, odd)
    });
    if json {
        let counts = read
            .as_ref()
            .map(|read| (read.sop.nodes.len(), read.sop.edges.len()));
        let mut told = serde_json::json!({
            "sound": errors == 0,
            "nodes": counts.map(|it| it.0),
            "edges": counts.map(|it| it.1),
            "flaws": as_json(flawed).collect::<Vec<_>>(),
            "mermaid": picture,
        });
        if !inside.is_empty() || unreadable.is_some() {
            let inside = inside.iter().map(|it| {
                serde_json::json!({
                    "file": it.flawed.path,
                    "sound": it.error_count() == 0,
                    "flaws": as_json(&it.flawed).collect::<Vec<_>>(),
                })
            });
            told["inside"] = inside.collect();
            told["unreadable"] = unreadable.into();
        }
        output::line(&told);
    } else {
        for file in &checked {
            diagnostics::show(&file.flawed);
        }
        if let Some(message) = unreadable {
            output::status_line(&message);
        }
        if let Some(picture) = picture {
            output::result(picture.trim_end());
        }
        let size = read.as_ref().map_or_else(String::new, |read| {
            format!(
                "{} nodes, {} edges, ",
                read.sop.nodes.len(),
                read.sop.edges.len()
            )
        });
        output::status_line(&format!("{size}{errors} errors, {warnings} warnings"));
    }
    Ok(if errors > 0 {
        Exit::BadInput
    } else {
        Exit::Done
    })
}
