//! `tramline runs resume` and `abort`.

use super::super::origin::{self, Again};
use super::super::{Common, Done, run};
use super::{done, myself, noting, open};
use tramline_core::ids::RunId;

pub(super) async fn resume(common: Common, again: Again) -> Done {
    let (house, loaded) = origin::reopen(&common, &again).await?;
    let handle = house.engine.resume(&again.run).await?;
    let manner = run::Manner::since(loaded.run.seq, &common, again.quiet);
    let done = run::follow(&house.engine, &loaded.run.graph, handle, manner).await;
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
    let engine = &house.engine;
    let work = async {
        engine.abort(&verb.run, myself(), verb.why.clone()).await?;
        Ok("aborted")
    };
    noting(engine, "abort", &verb.run, verb.why.as_deref(), work).await?;
    Ok(done(
        &common,
        &verb.run,
        "aborted",
        &format!("{} is aborted", verb.run),
    ))
}
