//! `tramline runs resume` and `abort`.

use super::super::{Common, Done, Reach, run};
use super::{done, myself, open};
use crate::wire;
use std::path::PathBuf;
use tramline_core::ids::RunId;

/// Go on with a run.
#[derive(clap::Args)]
pub(super) struct Resume {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// The document whose servers the run calls
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Say nothing beside the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    reach: Reach,
}

pub(super) async fn resume(common: Common, verb: Resume) -> Done {
    let config = common.config(&verb.reach);
    let elsewhere = super::super::documents::elsewhere(&config)?;
    let documents = verb
        .file
        .iter()
        .map(|path| super::super::documents::read_to_use(path, &elsewhere, common.json))
        .collect::<Result<Vec<_>, _>>()?;
    let house = wire::open(&config, &documents)?;
    let loaded = house.engine.load(&verb.run).await?;
    let (graph, seen) = (loaded.run.graph.clone(), loaded.run.seq);
    let handle = house.engine.resume(&verb.run).await?;
    let shown = !(common.json || verb.quiet);
    let done = run::follow(&house.engine, &graph, handle, shown, seen, common.json).await;
    house.close().await;
    done
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
    Ok(done(&common, &verb.run, "aborted", &format!("{} is aborted", verb.run)))
}
