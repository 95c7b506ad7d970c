//! Restores a run's environment: its document, its servers, its access rights.

use super::{AccessArgs, CliError, CommonArgs, documents, runs, trust};
use crate::app::{self, App, RunOrigin};
use crate::config::Config;
use crate::protected_paths;
use std::path::PathBuf;
use tramline_engine::LoadedRun;
use tramline_expr::Value;
use tramline_workflow::ids::RunId;
use tramline_workflow::text::io_reason;

/// How to continue a run that was started earlier.
#[derive(clap::Args, Clone)]
pub(super) struct ResumeArgs {
    /// The run
    #[arg(value_name = "RUN", value_parser = runs::run_id)]
    pub(super) run: RunId,
    /// The document whose servers the run calls [default: the one it was started from]
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Print nothing but the result
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) reach: AccessArgs,
}

impl ResumeArgs {
    /// Continues a run with its original environment, without progress output.
    pub(super) fn quiet_run(run: RunId) -> Self {
        Self {
            run,
            file: None,
            quiet: true,
            reach: AccessArgs::default(),
        }
    }
}

/// An engine with a run's servers, and the run. No server is started yet.
pub(super) async fn reopen(
    common: &CommonArgs,
    again: &ResumeArgs,
) -> Result<(App, LoadedRun), CliError> {
    let loaded = runs::open(common)?.engine.load(&again.run).await?;
    let (mut config, files) = restored_config(common, again, &loaded.run.started.origin)?;
    let documents = files.iter().map(|path| protected_paths::document(path));
    config.protected.extend(documents);
    let elsewhere = documents::known_servers(&config)?;
    let read = files
        .iter()
        .map(|path| documents::read_valid(path, &elsewhere, common.json || again.quiet))
        .collect::<Result<Vec<_>, _>>()?;
    let named = files.iter().map(PathBuf::as_path).zip(&read);
    trust::trust_on_run(&config, named, common.json || again.quiet)?;
    Ok((app::open(&config, &read)?, loaded))
}

/// The run's original environment, unless the command line overrides it.
fn restored_config(
    common: &CommonArgs,
    again: &ResumeArgs,
    origin: &Value,
) -> Result<(Config, Vec<PathBuf>), CliError> {
    let named = again.file.iter().cloned();
    let Some(origin) = RunOrigin::from_value(origin) else {
        return Ok((common.config(&again.reach)?, named.collect()));
    };
    let mut reach = again.reach.clone();
    reach.config = reach.config.or_else(|| origin.config.clone());
    let mut config = common.config(&reach)?;
    if reach.roots.is_empty() {
        config.roots = origin.roots.clone();
    }
    if reach.hosts.is_empty() {
        let hosts = origin.hosts.iter();
        config.hosts = hosts.filter_map(|host| host.parse().ok()).collect();
    }
    config.shell |= origin.shell;
    config.mcp_config = reach.mcp_config.or_else(|| origin.mcp_config.clone());
    let mut files: Vec<PathBuf> = named.collect();
    if files.is_empty() {
        files = origin.files();
    }
    if let Some(gone) = files.iter().find(|file| !file.exists()) {
        let message = format!(
            "{} is missing; {} needs it for its servers. Name it with --file",
            gone.display(),
            again.run
        );
        return Err(CliError::bad_input(message));
    }
    let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
    let files = files.into_iter().map(absolute).collect();
    config.data_dir = config.data_dir.map(absolute);
    // Relative paths of servers refer to the directory they were first started in.
    if origin.directory.is_dir() {
        std::env::set_current_dir(&origin.directory).map_err(|error| {
            CliError::bad_input(format!(
                "{}: {}",
                origin.directory.display(),
                io_reason(&error)
            ))
        })?;
    }
    Ok((config, files))
}
