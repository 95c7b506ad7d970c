//! The procedures of `--sop`: read once with the operator's rights, pinned, and watched for edits,
//! which are not applied.

use super::Serve;
use crate::cli::sop;
use crate::cli::{CliError, output};
use crate::config::{Config, read_document};
use crate::protected_paths;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tramline_builtin::ProtectedPath;
use tramline_mcp_server::{PinOptions, PinnedProcedure, Server, Toolset};
use tramline_workflow::sop::SopFiles;

/// How often the files of pinned procedures are compared with the pinned versions.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The files of pinned procedures, with their pinned bytes.
#[derive(Default)]
pub(super) struct PinnedFiles(Vec<(PathBuf, Vec<u8>)>);

/// Pins the named procedures, and prints the effect.
pub(super) async fn pin(
    server: &Server,
    verb: &Serve,
    config: &Config,
) -> Result<PinnedFiles, CliError> {
    let serves_sops = verb.toolsets.contains(&Toolset::Sop);
    if verb.sops.is_empty() {
        if serves_sops {
            output::status_line(
                "no procedure is pinned: agents may load any in the allowed roots, so its gate is advisory; \
                 --sop FILE pins one",
            );
        }
        return Ok(PinnedFiles::default());
    }
    if !serves_sops {
        return Err(CliError::bad_input("--sop needs --toolsets sop"));
    }
    let (mut pinned, mut watched) = (Vec::new(), PinnedFiles::default());
    for place in &verb.sops {
        pinned.push(match place.contains("://") {
            true => fetch_procedure(server, place).await?,
            false => read_pinned(place, config, &mut watched)?,
        });
    }
    let free = verb.free.iter().chain(&config.sop.free_tools).cloned();
    let terms = PinOptions {
        ungated: free.collect(),
        sessions_max: config.sop.conversations,
    };
    let lax = pinned.iter().filter(|one| !one.enforces());
    let lax: Vec<&str> = lax.map(|one| one.name().as_str()).collect();
    let lax = lax.join(", ");
    let lines = pinned.iter().map(|one| pin_message(one, &terms, &lax));
    let lines: Vec<String> = lines.collect();
    let told = server
        .pin_procedures(pinned, terms)
        .await
        .map_err(CliError::bad_input)?;
    for line in told.iter().chain(&lines) {
        output::status_line(line);
    }
    Ok(watched)
}

/// The effect of a pinned procedure. `lax` names the pinned ones that reject no calls.
fn pin_message(one: &PinnedProcedure, terms: &PinOptions, lax: &str) -> String {
    let (name, place) = (one.name(), &one.location);
    if !one.enforces() {
        return format!(
            "the procedure {name} of {place} is pinned but does not reject calls: its gate is advisory"
        );
    }
    let free: Vec<&str> = terms.ungated.iter().map(|it| it.as_str()).collect();
    let free = match free.is_empty() {
        true => String::new(),
        false => format!(", except {}", free.join(", ")),
    };
    if !lax.is_empty() {
        return format!(
            "the procedure {name} of {place} is pinned: calls of the tools it names go through its gate{free}; other \
             tools can be called in a session of {lax}, which rejects no calls"
        );
    }
    format!(
        "the procedure {name} of {place} is pinned: all calls of agents go through its gate{free}"
    )
}

async fn fetch_procedure(server: &Server, place: &str) -> Result<PinnedProcedure, CliError> {
    let read = server.read_procedure(place).await;
    let (procedure, warnings) = read.map_err(CliError::bad_input)?;
    warnings.iter().for_each(|line| output::status_line(line));
    Ok(procedure)
}

/// Reads a procedure and the ones it links to, in the working directory or in an allowed root.
fn read_pinned(
    place: &str,
    config: &Config,
    watched: &mut PinnedFiles,
) -> Result<PinnedProcedure, CliError> {
    let found = find(Path::new(place), &config.roots);
    let path = std::fs::canonicalize(&found).unwrap_or(found);
    let mut gathering = SopFiles::new(&path.to_string_lossy());
    let mut paths = Vec::new();
    while let Some(file) = gathering.next_file().map_err(CliError::bad_input)? {
        let at = PathBuf::from(file.path.as_str());
        let (document, flawed) = sop::read_with_flaws(&at)?;
        for flaw in &flawed.flaws {
            output::status_line(&format!("{}:{flaw}", at.display()));
        }
        let Some(document) = document else {
            return Err(CliError::bad_input(format!("{} is invalid", at.display())));
        };
        watched.0.push((at.clone(), flawed.text.into_bytes()));
        paths.push(at);
        gathering.add(file, document.sop);
    }
    Ok(PinnedProcedure {
        location: place.to_owned(),
        sops: gathering.sops,
        files: gathering.files,
        paths,
    })
}

/// The file relative to the working directory, or else in the first root that has it.
fn find(place: &Path, roots: &[PathBuf]) -> PathBuf {
    let mut all = std::iter::once(place.to_owned()).chain(roots.iter().map(|it| it.join(place)));
    all.find(|it| it.is_file())
        .unwrap_or_else(|| place.to_owned())
}

impl PinnedFiles {
    /// The files of the procedures, which file tools must not touch.
    pub(super) fn protected(&self) -> impl Iterator<Item = ProtectedPath> + '_ {
        self.0
            .iter()
            .map(|(path, _)| protected_paths::procedure(path))
    }

    /// Reports each changed file once: the pinned version stays in force.
    pub(super) async fn watch(mut self) {
        while !self.0.is_empty() {
            tokio::time::sleep(FILE_CHECK_INTERVAL).await;
            self.0.retain(|(path, pinned)| {
                // A file that is missing for a moment is being saved.
                let same = read_document(path).map_or(true, |now| is_unchanged(&now, pinned));
                if !same {
                    output::status_line(&format!(
                        "{} has changed: the pinned version stays in force until the server is restarted",
                        path.display()
                    ));
                }
                same
            });
        }
    }
}

/// Whether a file is the same as when it was pinned.
fn is_unchanged(now: &[u8], pinned: &[u8]) -> bool {
    String::from_utf8_lossy(now).as_bytes() == pinned
}
