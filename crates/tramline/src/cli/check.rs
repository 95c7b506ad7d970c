//! `tramline check`: every flaw of every document, at its place.

use super::{Common, Done, Exit, Reach, documents, frames, output};
use std::path::PathBuf;
use tramline_core::flaw::Severity;
use tramline_core::formats::Elsewhere;

/// Check documents and show every flaw at its place.
#[derive(clap::Args)]
pub(super) struct Check {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn main(common: Common, verb: Check) -> Done {
    let elsewhere = documents::elsewhere(&common.config(&verb.reach))?;
    let (mut found, mut errors, mut warnings) = (Vec::new(), 0, 0);
    for path in &verb.files {
        let flawed = match documents::read(path, Elsewhere::Configured(&elsewhere)) {
            Ok((_, warned)) => warned,
            Err(Ok(flawed)) => flawed,
            Err(Err(stopped)) => return Err(stopped),
        };
        let is_error = |code: tramline_core::flaw::Code| code.severity() == Severity::Error;
        let wrong = flawed
            .flaws
            .iter()
            .filter(|flaw| is_error(flaw.code))
            .count();
        errors += wrong;
        warnings += flawed.flaws.len() - wrong;
        if common.json {
            found.extend(documents::as_json(&flawed));
        } else {
            frames::show(&flawed);
        }
    }
    if common.json {
        output::line(&found);
    } else {
        output::say(&summary(verb.files.len(), errors, warnings));
    }
    Ok(if errors > 0 {
        Exit::BadInput
    } else {
        Exit::Done
    })
}

fn summary(files: usize, errors: usize, warnings: usize) -> String {
    let many =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    match (errors, warnings) {
        (0, 0) => format!("{} sound", many(files, "document")),
        _ => format!(
            "{}, {} in {}",
            many(errors, "error"),
            many(warnings, "warning"),
            many(files, "document")
        ),
    }
}
