//! `tramline runs resume` and `abort`.

use super::super::{Common, Done, Reach, Stopped, documents, run};
use super::{done, myself, open};
use crate::config::Config;
use crate::wire::{self, Origin};
use std::path::PathBuf;
use tramline_core::Value;
use tramline_core::ids::RunId;

/// Go on with a run.
#[derive(clap::Args)]
pub(super) struct Resume {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// The document whose servers the run calls [default: the one it was started from]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Say nothing beside the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn resume(common: Common, verb: Resume) -> Done {
    let loaded = open(&common)?.engine.load(&verb.run).await?;
    let (config, file) = surroundings(&common, &verb, &loaded.run.started.origin)?;
    let elsewhere = documents::elsewhere(&config)?;
    let read = file
        .iter()
        .map(|path| documents::read_to_use(path, &elsewhere, common.json || verb.quiet))
        .collect::<Result<Vec<_>, _>>()?;
    let house = wire::open(&config, &read)?;
    let (graph, seen) = (loaded.run.graph.clone(), loaded.run.seq);
    let handle = house.engine.resume(&verb.run).await?;
    let shown = !(common.json || verb.quiet);
    let done = run::follow(&house.engine, &graph, handle, shown, seen, common.json).await;
    house.close().await;
    done
}

/// What the run was started with, unless the command line says otherwise.
fn surroundings(
    common: &Common,
    verb: &Resume,
    origin: &Value,
) -> Result<(Config, Option<PathBuf>), Stopped> {
    let mut config = common.config(&verb.reach);
    let Some(origin) = Origin::from_value(origin) else {
        return Ok((config, verb.file.clone()));
    };
    if verb.reach.roots.is_empty() {
        config.roots = origin.roots;
    }
    if verb.reach.hosts.is_empty() {
        config.hosts = origin
            .hosts
            .iter()
            .filter_map(|host| host.parse().ok())
            .collect();
    }
    config.mcp_config = config.mcp_config.or(origin.mcp_config);
    let file = verb.file.clone().unwrap_or(origin.document);
    if !file.exists() {
        let message = format!(
            "{} is gone, which {} takes its servers from; name it with --file",
            file.display(),
            verb.run
        );
        return Err(Stopped::bad(message));
    }
    let file = std::path::absolute(&file).unwrap_or(file);
    if let Some(data_dir) = config.data_dir.take() {
        config.data_dir = Some(std::path::absolute(&data_dir).unwrap_or(data_dir));
    }
    // Servers read relative paths against the directory they were first started in.
    if origin.directory.is_dir() {
        std::env::set_current_dir(&origin.directory)
            .map_err(|error| Stopped::bad(format!("{}: {error}", origin.directory.display())))?;
    }
    Ok((config, Some(file)))
}

/// End a run.
#[derive(clap::Args)]
pub(super) struct Abort {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// Why, for whoever reads the run later
    #[arg(long)]
    why: Option<String>,
}

pub(super) async fn abort(common: Common, verb: Abort) -> Done {
    let house = open(&common)?;
    house.engine.abort(&verb.run, myself(), verb.why).await?;
    Ok(done(
        &common,
        &verb.run,
        "aborted",
        &format!("{} is aborted", verb.run),
    ))
}
