//! `tramline library`: workflows saved under names, with every version they had.

use super::audited::Command;
use super::output::{self, span};
use super::{Common, Done, Exit, Reach, Stopped, documents, frames, runs};
use crate::config::read_document;
use crate::wire::House;
use clap::Subcommand;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_core::Str;
use tramline_core::ids::ToolName;
use tramline_core::workflow::WORKFLOW_SERVER;
use tramline_engine::clock;
use tramline_engine::library::{Name, Refusal, Save, Saved, Saver};

mod folder;

/// Save workflows under names, list and read them.
#[derive(clap::Args)]
pub(super) struct Library {
    #[command(subcommand)]
    verb: LibraryVerb,
}

#[derive(Subcommand)]
enum LibraryVerb {
    /// Save a document's workflow
    Save(Saving),
    /// List saved workflows
    List {
        /// Only those with these words in name or description
        #[arg(value_name = "WORDS")]
        filter: Vec<String>,
    },
    /// Print a saved workflow's document, and with --json all that is known of it
    Show {
        /// Which one
        name: String,
        /// A former version [default: the latest]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// List the versions of a saved workflow
    Versions {
        /// Which one
        name: String,
    },
    /// Remove saved workflows with all their versions
    Rm {
        /// Which ones
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Save every workflow of a folder
    Import(folder::Importing),
    /// Write every saved workflow into a folder
    Export {
        /// The folder; it is made where it is missing
        folder: PathBuf,
    },
}

impl Library {
    /// What is to be noted of the command.
    pub(super) fn command(&self) -> Option<Command> {
        match &self.verb {
            LibraryVerb::Save(saving) => Command::new("library save", [saving.file.display()]),
            LibraryVerb::Rm { names } => Command::new("library rm", names),
            LibraryVerb::Import(importing) => {
                Command::new("library import", [importing.folder.display()])
            }
            LibraryVerb::List { .. }
            | LibraryVerb::Show { .. }
            | LibraryVerb::Versions { .. }
            | LibraryVerb::Export { .. } => None,
        }
    }
}

/// Save a document's workflow.
#[derive(clap::Args)]
struct Saving {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Its name in the library, lowercase-with-hyphens [default: the file's]
    #[arg(long)]
    name: Option<String>,
    /// What it does [default: what the document says]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Which of the document's workflows, where it has several
    #[arg(long)]
    tool: Option<String>,
    /// Make it the next version of what has the name already
    #[arg(long)]
    force: bool,
    /// Save it even if it calls itself, directly or through others
    #[arg(long)]
    allow_recursion: bool,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn main(common: Common, verb: Library) -> Done {
    match verb.verb {
        LibraryVerb::Save(saving) => save(&common, saving).await,
        LibraryVerb::List { filter } => list(&common, &filter.join(" ")).await,
        LibraryVerb::Show { name, version } => show(&common, &name, version).await,
        LibraryVerb::Versions { name } => versions(&common, &name).await,
        LibraryVerb::Rm { names } => remove(&common, &names).await,
        LibraryVerb::Import(importing) => folder::import(&common, importing).await,
        LibraryVerb::Export { folder } => folder::export(&common, &folder).await,
    }
}

async fn save(common: &Common, saving: Saving) -> Done {
    let config = common.config(&saving.reach)?;
    let bytes = read_document(&saving.file).map_err(Stopped::bad)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Stopped::bad(format!("{} is not text", saving.file.display())))?;
    let stem = saving
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default().to_owned();
    let save = Save {
        name: Name::new(saving.name.as_deref().unwrap_or(&stem)).map_err(Refusal::from)?,
        text: text.as_str().into(),
        description: saving.description.unwrap_or_default().into(),
        tool: saving.tool.map(Into::into),
        by: runs::myself(),
        operator: true,
        saver: Saver::Operator,
        force: saving.force,
        recursive: saving.allow_recursion,
    };
    let save = described(save).map_err(|refusal| flawed(common, &saving.file, &text, refusal))?;
    let house = crate::wire::open(&config, &[])?;
    let kept = house.engine.library().save(save).await?;
    house.close().await;
    let Saved { name, version, .. } = &*kept.saved;
    if common.json {
        output::line(&json!({ "name": name, "version": version, "new": kept.new }));
    } else if kept.new {
        output::say(&format!("saved {name}, version {version}"));
    } else {
        output::say(&format!("{name} is the same already, version {version}"));
    }
    Ok(Exit::Done)
}

/// Takes the description from the document where none is given.
fn described(mut save: Save) -> Result<Save, Refusal> {
    let tool = save.tool.as_deref();
    let name = save.name.as_str();
    let read = tramline_engine::library::read(&save.text, name, tool, &save.description)?;
    let said = read.graph.workflow.description.clone();
    if save.description.is_empty() {
        save.description = said.unwrap_or_else(|| Str::from(name.replace('-', " ")));
    }
    Ok(save)
}

/// A document that cannot be saved, its flaws shown where they are.
fn flawed(common: &Common, path: &std::path::Path, text: &str, refusal: Refusal) -> Stopped {
    let Refusal::Flawed(flaws) = refusal else {
        return refusal.into();
    };
    let flawed = documents::Flawed {
        path: path.display().to_string(),
        text: text.to_owned(),
        flaws,
    };
    if !common.json {
        frames::show(&flawed);
    }
    documents::stopped(&flawed.path, &flawed.flaws)
}

async fn list(common: &Common, filter: &str) -> Done {
    let house = runs::open(common)?;
    let found = house.engine.library().list(Some(filter)).await?;
    // How often they were used is beside the point: the list stands without it.
    let _ = house.engine.registry().uses().refresh().await;
    if common.json {
        let all: Vec<_> = found.iter().map(|saved| as_json(&house, saved)).collect();
        output::line(&json!({ "workflows": all }));
    } else if found.is_empty() {
        output::say("nothing is saved: `tramline library save FILE --name NAME` saves a workflow");
    } else {
        for saved in &found {
            output::text_line(&as_text(&house, saved));
        }
    }
    Ok(Exit::Done)
}

async fn show(common: &Common, name: &str, version: Option<u64>) -> Done {
    let house = runs::open(common)?;
    let saved = house.engine.library().get(name, version).await?;
    if common.json {
        let _ = house.engine.registry().uses().refresh().await;
        let mut told = as_json(&house, &saved);
        told["text"] = json!(saved.text);
        output::line(&told);
    } else {
        output::result(saved.text.trim_end());
    }
    Ok(Exit::Done)
}

async fn versions(common: &Common, name: &str) -> Done {
    let house = runs::open(common)?;
    let all = house.engine.library().versions(name).await?;
    if common.json {
        let told = |saved: &Arc<Saved>| {
            let Saved {
                version,
                description,
                by,
                at_ms,
                ..
            } = &**saved;
            json!({ "version": version, "description": description, "saved_by": by, "saved_ms": at_ms })
        };
        let all: Vec<_> = all.iter().map(told).collect();
        output::line(&json!({ "name": name, "versions": all }));
        return Ok(Exit::Done);
    }
    for saved in &all {
        let ago = span((clock::now_ms() - saved.at_ms).max(0));
        let Saved {
            version,
            by,
            description,
            ..
        } = &**saved;
        output::text_line(&format!("{version:>6}  {ago} ago by {by}  {description}"));
    }
    Ok(Exit::Done)
}

async fn remove(common: &Common, names: &[String]) -> Done {
    let house = runs::open(common)?;
    for name in names {
        house.engine.remove_workflow(name).await?;
    }
    if common.json {
        output::line(&json!({ "removed": names }));
    } else {
        output::say(&format!("removed {}", names.join(", ")));
    }
    Ok(Exit::Done)
}

fn as_json(house: &House, saved: &Saved) -> Json {
    let named = ToolName::new(WORKFLOW_SERVER, saved.name.clone());
    let used = house.engine.registry().uses().of(&named.to_string());
    json!({
        "name": saved.name,
        "version": saved.version,
        "description": saved.description,
        "format": saved.format,
        "tool": saved.tool,
        "saved_by": saved.by,
        "saved_ms": saved.at_ms,
        "runs": used.runs,
        "last_run": used.last_run,
        "last_run_ms": used.last_run.is_some().then_some(used.last_ms),
    })
}

fn as_text(house: &House, saved: &Saved) -> String {
    let named = ToolName::new(WORKFLOW_SERVER, saved.name.clone());
    let runs = match house.engine.registry().uses().of(&named.to_string()).runs {
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    };
    let Saved {
        name,
        version,
        description,
        ..
    } = saved;
    let line = description.lines().next().unwrap_or_default();
    format!("{name:<28}  v{version:<4}  {runs:>9}  {line}")
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        let exit = match &refusal {
            Refusal::Name(_)
            | Refusal::Taken { .. }
            | Refusal::NotYours { .. }
            | Refusal::Flawed(_)
            | Refusal::Several(_)
            | Refusal::Recursive { .. }
            | Refusal::TooLarge(_)
            | Refusal::NotFound { .. }
            | Refusal::NoVersion { .. } => Exit::BadInput,
            Refusal::Damaged { .. } | Refusal::Store(_) => Exit::Failed,
        };
        Self {
            exit,
            message: refusal.to_string(),
        }
    }
}
