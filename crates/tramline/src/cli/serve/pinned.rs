//! The procedures of `--sop`: read once by the operator's right, pinned, and watched for changes that
//! are not taken.

use super::Serve;
use crate::cli::sop;
use crate::cli::{Stopped, output};
use crate::config::{Config, read_document};
use crate::protect;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tramline_builtin::ProtectedPath;
use tramline_core::sop::Gathering;
use tramline_mcp::server::{PinTerms, PinnedProcedure, Server, Toolset};

/// How often the files of pinned procedures are compared with what was pinned.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The files of pinned procedures, with their bytes as they were pinned.
#[derive(Default)]
pub(super) struct Watched(Vec<(PathBuf, Vec<u8>)>);

/// Pins the procedures that were named, and says what that means.
pub(super) async fn pin(
    server: &Server,
    verb: &Serve,
    config: &Config,
) -> Result<Watched, Stopped> {
    let serves_sops = verb.toolsets.contains(&Toolset::Sop);
    if verb.sops.is_empty() {
        if serves_sops {
            output::say(
                "no procedure is pinned: agents may load any in the allowed roots, so its gate only advises; \
                 --sop FILE pins one",
            );
        }
        return Ok(Watched::default());
    }
    if !serves_sops {
        return Err(Stopped::bad("--sop needs --toolsets sop"));
    }
    let (mut pinned, mut watched) = (Vec::new(), Watched::default());
    for place in &verb.sops {
        pinned.push(match place.contains("://") {
            true => fetched(server, place).await?,
            false => read(place, config, &mut watched)?,
        });
    }
    let free = verb.free.iter().chain(&config.sop.free_tools).cloned();
    let terms = PinTerms {
        free: free.collect(),
        conversations_max: config.sop.conversations,
    };
    let lines: Vec<String> = pinned.iter().map(|one| says(one, &terms)).collect();
    let told = server.pin(pinned, terms).await.map_err(Stopped::bad)?;
    for line in told.iter().chain(&lines) {
        output::say(line);
    }
    Ok(watched)
}

fn says(one: &PinnedProcedure, terms: &PinTerms) -> String {
    let (name, place) = (one.name(), &one.place);
    if !one.enforces() {
        return format!(
            "the procedure {name} of {place} is pinned, and does not refuse calls: its gate only advises"
        );
    }
    let free: Vec<&str> = terms.free.iter().map(|it| it.as_str()).collect();
    let free = match free.is_empty() {
        true => String::new(),
        false => format!(", but for {}", free.join(", ")),
    };
    format!(
        "the procedure {name} of {place} is pinned: whatever agents call goes through its gate{free}"
    )
}

async fn fetched(server: &Server, place: &str) -> Result<PinnedProcedure, Stopped> {
    let read = server.read_procedure(place).await;
    let (procedure, warnings) = read.map_err(Stopped::bad)?;
    warnings.iter().for_each(|line| output::say(line));
    Ok(procedure)
}

/// Reads a procedure and those that it leads into, in the working directory or in an allowed root.
fn read(place: &str, config: &Config, watched: &mut Watched) -> Result<PinnedProcedure, Stopped> {
    let found = find(Path::new(place), &config.roots);
    let path = std::fs::canonicalize(&found).unwrap_or(found);
    let mut gathering = Gathering::new(&path.to_string_lossy());
    let mut paths = Vec::new();
    while let Some(file) = gathering.wants().map_err(Stopped::bad)? {
        let at = PathBuf::from(file.place.as_str());
        let (document, flawed) = sop::look(&at)?;
        for flaw in &flawed.flaws {
            output::say(&format!("{}:{flaw}", at.display()));
        }
        let Some(document) = document else {
            return Err(Stopped::bad(format!("{} cannot be used", at.display())));
        };
        watched.0.push((at.clone(), flawed.text.into_bytes()));
        paths.push(at);
        gathering.add(file, document.sop);
    }
    Ok(PinnedProcedure {
        place: place.to_owned(),
        sops: gathering.sops,
        files: gathering.files,
        paths,
    })
}

/// A file as it is named from the working directory, or else in the first root that has it.
fn find(place: &Path, roots: &[PathBuf]) -> PathBuf {
    let mut all = std::iter::once(place.to_owned()).chain(roots.iter().map(|it| it.join(place)));
    all.find(|it| it.is_file())
        .unwrap_or_else(|| place.to_owned())
}

impl Watched {
    /// The procedures, which file tools leave alone.
    pub(super) fn protected(&self) -> impl Iterator<Item = ProtectedPath> + '_ {
        self.0.iter().map(|(path, _)| protect::procedure(path))
    }

    /// Tells once of each file that changes: what was pinned stays in force.
    pub(super) async fn watch(mut self) {
        while !self.0.is_empty() {
            tokio::time::sleep(LOOK_EVERY).await;
            self.0.retain(|(path, pinned)| {
                // A file that is gone for a moment is being saved.
                let same = read_document(path).map_or(true, |now| same(&now, pinned));
                if !same {
                    output::say(&format!(
                        "{} has changed: the pinned version stays in force until the server is started again",
                        path.display()
                    ));
                }
                same
            });
        }
    }
}

/// Whether a file reads as it did when it was pinned.
fn same(now: &[u8], pinned: &[u8]) -> bool {
    String::from_utf8_lossy(now).as_bytes() == pinned
}
