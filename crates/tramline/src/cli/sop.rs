//! `tramline sop`: procedures checked, walked by hand, and held against what agents did.

use super::documents::{Flawed, as_json};
use super::{Common, Done, Stopped, frames, output, runs};
use crate::config::read_document;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_core::formats::checked::Form;
use tramline_core::formats::mermaid::{self, Decoration, Diagram};
use tramline_core::formats::sop_markdown::{self, Document};
use tramline_core::ids::RunId;
use tramline_core::journal::Entry;
use tramline_core::navigate::audit::{self, Transcript};
use tramline_core::sop::{Gathering, Sop};
use tramline_engine::seams::RunFilter;

mod audits;
mod check;
mod coverage;
mod show;
mod walk;

/// Check, walk and audit procedures.
#[derive(clap::Args)]
pub(super) struct SopVerb {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Check a procedure and show every flaw at its line
    Check(check::Check),
    /// Walk a procedure by hand
    Walk(walk::Walk),
    /// Was a transcript a legal walk? Where did it leave the procedure?
    Audit(audits::Audit),
    /// Which nodes and ways did conversations take, and where did they stop?
    Coverage(coverage::Coverage),
    /// Tell a conversation from its journal
    Show(show::Show),
}

pub(super) async fn main(common: Common, verb: SopVerb) -> Done {
    match verb.verb {
        Verb::Check(verb) => check::main(&verb, common.json),
        Verb::Walk(verb) => walk::main(&verb, common.json),
        Verb::Audit(verb) => audits::main(&common, &verb).await,
        Verb::Coverage(verb) => coverage::main(&common, &verb).await,
        Verb::Show(verb) => show::main(&common, &verb).await,
    }
}

/// What is held against a procedure.
#[derive(clap::Args)]
struct Conversations {
    /// Transcripts: JSON or a line of JSON each, with `events` or `messages`
    #[arg(long = "transcript", value_name = "FILE")]
    transcripts: Vec<PathBuf>,
    /// Conversations that were held here, by their ids
    #[arg(long = "run", value_name = "RUN", value_parser = runs::run_id)]
    runs: Vec<RunId>,
    /// All conversations along the procedure of this name that were held here
    #[arg(long)]
    all: bool,
}

/// More conversations than this are not read at once.
const RUNS_MAX: usize = 10_000;

impl Conversations {
    /// Reads them all.
    async fn read(&self, common: &Common, sop: &Sop) -> Result<Vec<Transcript>, Stopped> {
        let mut found = Vec::new();
        for path in &self.transcripts {
            let bytes = read_document(path).map_err(Stopped::bad)?;
            let text = String::from_utf8_lossy(&bytes);
            let read = audit::read(&text);
            found.extend(read.map_err(|why| Stopped::bad(format!("{}: {why}", path.display())))?);
        }
        if !self.runs.is_empty() || self.all {
            found.extend(self.held_here(common, sop).await?);
        }
        match found.is_empty() {
            true => Err(Stopped::bad(
                "there is nothing to look at: name --transcript FILE, --run RUN or --all",
            )),
            false => Ok(found),
        }
    }

    async fn held_here(&self, common: &Common, sop: &Sop) -> Result<Vec<Transcript>, Stopped> {
        let house = runs::open(common)?;
        let mut ids = self.runs.clone();
        if self.all {
            let filter = RunFilter {
                workflow: Some(sop.name.clone()),
                most: RUNS_MAX,
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

/// Reads a procedure; shows its flaws and stops if it cannot be used.
fn read(path: &Path, json: bool) -> Result<Document, Stopped> {
    let (read, flawed) = look(path)?;
    read.ok_or_else(|| {
        if json {
            output::line(&as_json(&flawed).collect::<Vec<_>>());
        } else {
            frames::show(&flawed);
        }
        Stopped::bad(format!("{} cannot be used", path.display()))
    })
}

/// Reads a procedure and those that it leads into; stops if one of them cannot be used.
fn gather(path: &Path, json: bool) -> Result<Gathering, Stopped> {
    let mut gathering = Gathering::new(&path.to_string_lossy());
    while let Some(file) = gathering.wants().map_err(Stopped::bad)? {
        let document = read(Path::new(file.place.as_str()), json)?;
        gathering.add(file, document.sop);
    }
    Ok(gathering)
}

/// Whether a file is a procedure, by its name and its text.
pub(super) fn is_one(path: &Path) -> Result<bool, Stopped> {
    let bytes = read_document(path).map_err(Stopped::bad)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let form = Form::of(&name, &String::from_utf8_lossy(&bytes));
    Ok(form == Some(Form::Procedure))
}

/// Reads a procedure, with all its flaws.
pub(super) fn look(path: &Path) -> Result<(Option<Document>, Flawed), Stopped> {
    let bytes = read_document(path).map_err(Stopped::bad)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let (document, flaws) = match sop_markdown::read(&bytes, &name) {
        Ok(read) => {
            let warnings = read.warnings.clone();
            (Some(read), warnings)
        }
        Err(flaws) => (None, flaws),
    };
    let flawed = Flawed {
        path: path.display().to_string(),
        text: String::from_utf8_lossy(&bytes).into_owned(),
        flaws,
    };
    Ok((document, flawed))
}

/// The flowchart with these nodes in a colour.
fn coloured<'a>(sop: &Arc<Sop>, nodes: impl Iterator<Item = (&'a str, &'static str)>) -> String {
    let Ok(Diagram::Flowchart(mut chart)) = mermaid::read(sop.chart.as_bytes()) else {
        return sop.chart.to_string();
    };
    for (id, colour) in nodes {
        let style = format!("{id} fill:{colour},stroke:#333");
        chart.decorations.push(Decoration::Style(style.into()));
    }
    mermaid::print(&Diagram::Flowchart(chart))
}
