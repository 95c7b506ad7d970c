//! `tramline sop`: checks procedures, runs them by hand, and audits agents against them.

use super::documents::{DocumentFlaws, as_json};
use super::{CliError, CliResult, CommonArgs, diagnostics, documents, output, runs};
use crate::config::read_document;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_engine::ports::RunFilter;
use tramline_formats::SourceKind;
use tramline_formats::sop_markdown::{self, SopDocument};
use tramline_sop::audit as transcripts;
use tramline_sop::audit::Transcript;
use tramline_syntax::mermaid::{self, Diagram, StyleStatement};
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::Entry;
use tramline_workflow::sop::{Sop, SopFiles};

mod audit;
mod check;
mod coverage;
mod manual_session;
mod show;

/// Check, run and audit procedures.
#[derive(clap::Args)]
pub(super) struct SopVerb {
    #[command(subcommand)]
    verb: SopSubcommand,
}

#[derive(clap::Subcommand)]
enum SopSubcommand {
    /// Check a procedure and show every flaw with its line
    Check(check::SopCheckArgs),
    /// Run a procedure by hand
    Walk(manual_session::SopWalkArgs),
    /// Check transcripts against a procedure: was every move legal?
    Audit(audit::SopAuditArgs),
    /// Show which nodes and edges sessions took, and where they stopped
    Coverage(coverage::SopCoverageArgs),
    /// Show a session from its journal
    Show(show::SopShowArgs),
}

pub(super) async fn main(common: CommonArgs, verb: SopVerb) -> CliResult {
    match verb.verb {
        SopSubcommand::Check(verb) => check::main(&verb, common.json),
        SopSubcommand::Walk(verb) => manual_session::main(&verb, common.json),
        SopSubcommand::Audit(verb) => audit::main(&common, &verb).await,
        SopSubcommand::Coverage(verb) => coverage::main(&common, &verb).await,
        SopSubcommand::Show(verb) => show::main(&common, &verb).await,
    }
}

/// The sessions to compare with a procedure.
#[derive(clap::Args)]
struct SessionArgs {
    /// Transcripts: a JSON document or JSON lines, with `events` or `messages`
    #[arg(long = "transcript", value_name = "FILE")]
    transcripts: Vec<PathBuf>,
    /// Sessions in the data directory, by their ids
    #[arg(long = "run", value_name = "RUN", value_parser = runs::run_id)]
    runs: Vec<RunId>,
    /// All sessions of this procedure in the data directory
    #[arg(long)]
    all: bool,
}

/// At most this many sessions are read at once.
const RUNS_MAX: usize = 10_000;

impl SessionArgs {
    /// Reads all of them.
    async fn read(&self, common: &CommonArgs, sop: &Sop) -> Result<Vec<Transcript>, CliError> {
        let mut found = Vec::new();
        for path in &self.transcripts {
            let bytes = read_document(path).map_err(CliError::bad_input)?;
            let text = String::from_utf8_lossy(&bytes);
            let read = transcripts::read(&text);
            found.extend(
                read.map_err(|why| CliError::bad_input(format!("{}: {why}", path.display())))?,
            );
        }
        if !self.runs.is_empty() || self.all {
            found.extend(self.stored_sessions(common, sop).await?);
        }
        match found.is_empty() {
            true => Err(CliError::bad_input(
                "no sessions given: use --transcript FILE, --run RUN or --all",
            )),
            false => Ok(found),
        }
    }

    async fn stored_sessions(
        &self,
        common: &CommonArgs,
        sop: &Sop,
    ) -> Result<Vec<Transcript>, CliError> {
        let house = runs::open(common)?;
        let mut ids = self.runs.clone();
        if self.all {
            let filter = RunFilter {
                workflow: Some(sop.name.clone()),
                limit: RUNS_MAX,
                ..RunFilter::default()
            };
            ids.extend(
                house
                    .engine
                    .runs(filter)
                    .await?
                    .rows
                    .into_iter()
                    .map(|row| row.run),
            );
        }
        let mut found = Vec::new();
        for id in ids {
            let entries: Vec<Entry> = house.engine.entries(&id).await?;
            found.extend(Transcript::of_journal(&id, &entries));
        }
        house.close().await;
        Ok(found)
    }
}

/// Reads a procedure; shows its flaws and fails if it is invalid.
fn read(path: &Path, json: bool) -> Result<SopDocument, CliError> {
    let (read, flawed) = read_with_flaws(path)?;
    read.ok_or_else(|| {
        if json {
            output::line(&as_json(&flawed).collect::<Vec<_>>());
        } else {
            diagnostics::show(&flawed);
        }
        CliError::bad_input(format!("{} is invalid", path.display()))
    })
}

/// Reads a procedure and the ones it links to; fails if one of them is invalid.
fn read_with_includes(path: &Path, json: bool) -> Result<SopFiles, CliError> {
    let mut gathering = SopFiles::new(&path.to_string_lossy());
    while let Some(file) = gathering.next_file().map_err(CliError::bad_input)? {
        let document = read(Path::new(file.path.as_str()), json)?;
        gathering.add(file, document.sop);
    }
    Ok(gathering)
}

/// Whether a file is a procedure, by its name and its text.
pub(super) fn is_procedure(path: &Path) -> Result<bool, CliError> {
    let bytes = read_document(path).map_err(CliError::bad_input)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let form = SourceKind::detect(&name, &String::from_utf8_lossy(&bytes));
    Ok(form == Some(SourceKind::Procedure))
}

/// Reads a procedure, with all its flaws.
pub(super) fn read_with_flaws(
    path: &Path,
) -> Result<(Option<SopDocument>, DocumentFlaws), CliError> {
    let bytes = read_document(path).map_err(CliError::bad_input)?;
    Ok(read_bytes(path, &bytes))
}

/// Reads a procedure, or shows its flaws and fails.
pub(super) fn read_valid(path: &Path, json: bool) -> Result<Arc<Sop>, CliError> {
    let (document, flawed) = read_with_flaws(path)?;
    if let Some(document) = document {
        return Ok(Arc::new(document.sop));
    }
    if json {
        return Err(documents::flaws_error(&flawed.path, &flawed.flaws));
    }
    diagnostics::show(&flawed);
    let count = output::counted(flawed.flaws.len(), "flaw");
    Err(CliError::bad_input(format!("{} has {count}", flawed.path)))
}

/// The same for a procedure whose text may differ from its file.
pub(super) fn read_bytes(path: &Path, bytes: &[u8]) -> (Option<SopDocument>, DocumentFlaws) {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let (document, flaws) = match sop_markdown::read(bytes, &name) {
        Ok(read) => {
            let warnings = read.warnings.clone();
            (Some(read), warnings)
        }
        Err(flaws) => (None, flaws),
    };
    let flawed = DocumentFlaws {
        path: path.display().to_string(),
        text: String::from_utf8_lossy(bytes).into_owned(),
        flaws,
    };
    (document, flawed)
}

/// The flowchart with these nodes coloured.
fn with_colours<'a>(
    sop: &Arc<Sop>,
    nodes: impl Iterator<Item = (&'a str, &'static str)>,
) -> String {
    let Ok(Diagram::Flowchart(mut chart)) = mermaid::read(sop.chart.as_bytes()) else {
        return sop.chart.to_string();
    };
    for (id, colour) in nodes {
        let style = format!("{id} fill:{colour},stroke:#333");
        chart.styles.push(StyleStatement::Style(style.into()));
    }
    mermaid::print(&Diagram::Flowchart(chart))
}
