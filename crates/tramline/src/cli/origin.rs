//! A run's surroundings, found again: its document, its servers, what it may touch.

use super::{Common, Reach, Stopped, documents, runs, trust};
use crate::config::Config;
use crate::protect;
use crate::wire::{self, House, Origin};
use std::path::PathBuf;
use tramline_core::Value;
use tramline_core::ids::RunId;
use tramline_engine::Loaded;

/// How to go on with a run that was started somewhere, some time.
#[derive(clap::Args, Clone)]
pub(super) struct Again {
    /// Which run
    #[arg(value_name = "RUN", value_parser = runs::run_id)]
    pub(super) run: RunId,
    /// The document whose servers the run calls [default: the one it was started from]
    #[arg(long, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,
    /// Say nothing beside the result
    #[arg(long, short)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) reach: Reach,
}

impl Again {
    /// A run with everything as it was started.
    pub(super) fn quietly(run: RunId) -> Self {
        Self {
            run,
            file: None,
            quiet: true,
            reach: Reach::default(),
        }
    }
}

/// The engine with a run's servers behind it, and the run. No server is started yet.
pub(super) async fn reopen(common: &Common, again: &Again) -> Result<(House, Loaded), Stopped> {
    let loaded = runs::open(common)?.engine.load(&again.run).await?;
    let (mut config, files) = surroundings(common, again, &loaded.run.started.origin)?;
    let documents = files.iter().map(|path| protect::document(path));
    config.protected.extend(documents);
    let elsewhere = documents::elsewhere(&config)?;
    let read = files
        .iter()
        .map(|path| documents::read_to_use(path, &elsewhere, common.json || again.quiet))
        .collect::<Result<Vec<_>, _>>()?;
    let named = files.iter().map(PathBuf::as_path).zip(&read);
    trust::by_word(&config, named, common.json || again.quiet)?;
    Ok((wire::open(&config, &read)?, loaded))
}

/// What the run was started with, unless the command line says otherwise.
fn surroundings(
    common: &Common,
    again: &Again,
    origin: &Value,
) -> Result<(Config, Vec<PathBuf>), Stopped> {
    let named = again.file.iter().cloned();
    let Some(origin) = Origin::from_value(origin) else {
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
            "{} is gone, which {} takes its servers from; name it with --file",
            gone.display(),
            again.run
        );
        return Err(Stopped::bad(message));
    }
    let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
    let files = files.into_iter().map(absolute).collect();
    config.data_dir = config.data_dir.map(absolute);
    // Servers read relative paths against the directory they were first started in.
    if origin.directory.is_dir() {
        std::env::set_current_dir(&origin.directory)
            .map_err(|error| Stopped::bad(format!("{}: {error}", origin.directory.display())))?;
    }
    Ok((config, files))
}
