//! `tramline library`: workflows saved under names, with all their versions.

use super::audit_record::AuditedCommand;
use super::output::{self, Column, Table, ago};
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, diagnostics, documents, runs};
use crate::app::App;
use crate::config::read_document;
use clap::Subcommand;
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use std::sync::Arc;
use tramline_catalog::library::{LibraryError, SaveRequest, SavedWorkflow, Saver, WorkflowName};
use tramline_engine::clock;
use tramline_expr::Str;
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::WORKFLOW_SERVER;

mod folder;

/// Save workflows under names, list and show them.
#[derive(clap::Args)]
pub(super) struct Library {
    #[command(subcommand)]
    verb: LibraryVerb,
}

#[derive(Subcommand)]
enum LibraryVerb {
    /// Save a document's workflow
    Save(SaveArgs),
    /// List saved workflows
    #[command(aliases = ["ls"])]
    List {
        /// Only those with these words in name or description
        #[arg(value_name = "WORDS")]
        filter: Vec<String>,
    },
    /// Print a saved workflow's document; --json adds its metadata
    #[command(aliases = ["get", "view", "cat"])]
    Show {
        /// Its name
        name: String,
        /// An earlier version [default: the latest]
        #[arg(long, value_name = "N")]
        version: Option<u64>,
    },
    /// List the versions of a saved workflow
    Versions {
        /// Its name
        name: String,
    },
    /// Remove saved workflows with all their versions
    #[command(aliases = ["remove", "delete"])]
    Rm {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
    },
    /// Save every workflow of a folder
    Import(folder::ImportArgs),
    /// Write every saved workflow to a folder
    Export {
        /// The folder; created if missing
        folder: PathBuf,
    },
}

impl Library {
    /// The command as recorded in the audit log.
    pub(super) fn command(&self) -> Option<AuditedCommand> {
        match &self.verb {
            LibraryVerb::Save(saving) => {
                AuditedCommand::new("library save", [saving.file.display()])
            }
            LibraryVerb::Rm { names } => AuditedCommand::new("library rm", names),
            LibraryVerb::Import(importing) => {
                AuditedCommand::new("library import", [importing.folder.display()])
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
struct SaveArgs {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Its name in the library, lowercase-with-hyphens [default: the file's]
    #[arg(long)]
    name: Option<String>,
    /// Its description [default: the one in the document]
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// The workflow to save, if the document has several
    #[arg(long)]
    tool: Option<String>,
    /// Save as the next version if the name exists
    #[arg(long)]
    force: bool,
    /// Save it even if it calls itself, directly or indirectly
    #[arg(long)]
    allow_recursion: bool,
    #[command(flatten)]
    reach: AccessArgs,
}

pub(super) async fn main(common: CommonArgs, verb: Library) -> CliResult {
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

async fn save(common: &CommonArgs, saving: SaveArgs) -> CliResult {
    let config = common.config(&saving.reach)?;
    let bytes = read_document(&saving.file).map_err(CliError::bad_input)?;
    let text = String::from_utf8(bytes);
    let text =
        text.map_err(|_| CliError::bad_input(format!("{} is not text", saving.file.display())))?;
    let stem = saving
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default().to_owned();
    let save = SaveRequest {
        name: WorkflowName::new(saving.name.as_deref().unwrap_or(&stem))
            .map_err(LibraryError::from)?,
        text: text.as_str().into(),
        description: saving.description.unwrap_or_default().into(),
        tool: saving.tool.map(Into::into),
        by: runs::user_name(),
        operator: true,
        saver: Saver::Operator,
        force: saving.force,
        recursive: saving.allow_recursion,
    };
    let save = fill_description(save)
        .map_err(|refusal| flaws_error(common, &saving.file, &text, refusal))?;
    let house = crate::app::open(&config, &[])?;
    let kept = house.catalog.library().save(save).await?;
    house.close().await;
    let SavedWorkflow { name, version, .. } = &*kept.saved;
    if common.json {
        output::line(&json!({ "name": name, "version": version, "new": kept.new }));
    } else if kept.new {
        output::status_line(&format!("saved {name}, version {version}"));
    } else {
        output::status_line(&format!("{name} is unchanged, version {version}"));
    }
    Ok(Exit::Done)
}

/// Takes the description from the document if none is given.
fn fill_description(mut save: SaveRequest) -> Result<SaveRequest, LibraryError> {
    let tool = save.tool.as_deref();
    let name = save.name.as_str();
    let read =
        tramline_catalog::library::parse_workflow(&save.text, name, tool, &save.description)?;
    let said = read.graph.workflow.description.clone();
    if save.description.is_empty() {
        save.description = said.unwrap_or_else(|| Str::from(name.replace('-', " ")));
    }
    Ok(save)
}

/// The error for a document that cannot be saved; prints its flaws.
fn flaws_error(
    common: &CommonArgs,
    path: &std::path::Path,
    text: &str,
    refusal: LibraryError,
) -> CliError {
    let LibraryError::Flawed(flaws) = refusal else {
        return refusal.into();
    };
    let flawed = documents::DocumentFlaws {
        path: path.display().to_string(),
        text: text.to_owned(),
        flaws,
    };
    if common.json {
        return documents::flaws_error(&flawed.path, &flawed.flaws);
    }
    diagnostics::show(&flawed);
    let count = output::counted(flawed.flaws.len(), "flaw");
    CliError::bad_input(format!("{} has {count}", flawed.path))
}

async fn list(common: &CommonArgs, filter: &str) -> CliResult {
    let house = runs::open(common)?;
    let found = house.catalog.library().list(Some(filter)).await?;
    // Usage counts are optional: the list works without them.
    let _ = house.catalog.registry().usage().refresh().await;
    if common.json {
        let all = found.iter().map(|saved| as_json(&house, saved));
        output::list("workflows", all, []);
    } else if found.is_empty() && filter.is_empty() {
        output::status_line(
            "nothing is saved: `tramline library save FILE --name NAME` saves a workflow",
        );
    } else if found.is_empty() {
        output::status_line(&format!(
            "no saved workflow has `{filter}` in its name or description"
        ));
    } else {
        table(&house, &found).print();
    }
    Ok(Exit::Done)
}

async fn show(common: &CommonArgs, name: &str, version: Option<u64>) -> CliResult {
    let house = runs::open(common)?;
    let saved = house.catalog.library().get(name, version).await?;
    if common.json {
        let _ = house.catalog.registry().usage().refresh().await;
        let mut told = as_json(&house, &saved);
        told["text"] = json!(saved.text);
        output::line(&told);
    } else {
        output::result(saved.text.trim_end());
    }
    Ok(Exit::Done)
}

async fn versions(common: &CommonArgs, name: &str) -> CliResult {
    let house = runs::open(common)?;
    let all = house.catalog.library().versions(name).await?;
    if common.json {
        let told = |saved: &Arc<SavedWorkflow>| {
            let SavedWorkflow {
                version,
                description,
                by,
                at_ms,
                ..
            } = &**saved;
            json!({ "version": version, "description": description, "saved_by": by, "saved_ms": at_ms })
        };
        output::list("versions", all.iter().map(told), [("name", name.into())]);
        return Ok(Exit::Done);
    }
    let mut table = Table::new([
        Column::fixed("VERSION").right(),
        Column::fixed("SAVED"),
        Column::flexible("BY", 8),
        Column::flexible("DESCRIPTION", 12),
    ]);
    for saved in &all {
        table.row([
            saved.version.to_string(),
            ago(clock::now_ms() - saved.at_ms),
            saved.by.to_string(),
            first_line(&saved.description),
        ]);
    }
    table.print();
    Ok(Exit::Done)
}

async fn remove(common: &CommonArgs, names: &[String]) -> CliResult {
    let house = runs::open(common)?;
    for name in names {
        house.catalog.remove_workflow(name).await?;
    }
    if common.json {
        output::line(&json!({ "removed": names }));
    } else {
        output::status_line(&format!("removed {}", names.join(", ")));
    }
    Ok(Exit::Done)
}

fn as_json(house: &App, saved: &SavedWorkflow) -> Json {
    let named = ToolName::new(WORKFLOW_SERVER, saved.name.clone());
    let used = house.catalog.registry().usage().get(&named.to_string());
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

fn table(house: &App, found: &[Arc<SavedWorkflow>]) -> Table<4> {
    let mut table = Table::new([
        Column::flexible("NAME", 16),
        Column::fixed("VERSION").right(),
        Column::fixed("RUNS").right(),
        Column::flexible("DESCRIPTION", 16),
    ]);
    for saved in found {
        let named = ToolName::new(WORKFLOW_SERVER, saved.name.clone());
        let used = house.catalog.registry().usage().get(&named.to_string());
        table.row([
            saved.name.to_string(),
            format!("v{}", saved.version),
            used.runs.to_string(),
            first_line(&saved.description),
        ]);
    }
    table
}

fn first_line(description: &str) -> String {
    description.lines().next().unwrap_or_default().to_owned()
}

impl From<LibraryError> for CliError {
    fn from(refusal: LibraryError) -> Self {
        let exit = match &refusal {
            LibraryError::Name(_)
            | LibraryError::NameTaken { .. }
            | LibraryError::NotOwner { .. }
            | LibraryError::Flawed(_)
            | LibraryError::Ambiguous(_)
            | LibraryError::Recursive { .. }
            | LibraryError::TooLarge(_)
            | LibraryError::NotFound { .. }
            | LibraryError::NoVersion { .. } => Exit::BadInput,
            LibraryError::Damaged { .. } | LibraryError::Store(_) => Exit::Failed,
        };
        Self {
            exit,
            message: refusal.to_string(),
        }
    }
}
