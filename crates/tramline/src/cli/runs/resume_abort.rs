//! `tramline runs resume` and `abort`.

use super::super::run_environment::{self, ResumeArgs};
use super::super::{CliResult, CommonArgs, audit_record, run};
use super::{open, report_done, run_audited, user_name};
use tramline_workflow::ids::RunId;

pub(super) async fn resume(common: CommonArgs, again: ResumeArgs) -> CliResult {
    let engine = open(&common)?.engine;
    let work = async {
        let (house, loaded) = run_environment::reopen(&common, &again).await?;
        let handle = house.engine.resume(&again.run).await?;
        let manner = run::FollowOptions::after(loaded.run.seq, &common, again.quiet);
        let done = run::follow(&house.engine, &loaded.run.graph, handle, manner).await;
        house.close().await;
        done
    };
    let command = ("runs resume", Some(&again.run));
    audit_record::run_recorded(&engine, command, None, Box::pin(work)).await
}

/// Abort a run.
#[derive(clap::Args)]
pub(super) struct AbortArgs {
    /// The run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// The reason, recorded in the journal
    #[arg(long)]
    why: Option<String>,
}

pub(super) async fn abort(common: CommonArgs, verb: AbortArgs) -> CliResult {
    let house = open(&common)?;
    let engine = &house.engine;
    let work = async {
        engine
            .abort(&verb.run, user_name(), verb.why.clone())
            .await?;
        Ok("aborted")
    };
    let why = (verb.why.as_deref(), None);
    run_audited(engine, "abort", &verb.run, why, work).await?;
    Ok(report_done(
        &common,
        &verb.run,
        "aborted",
        &format!("{} was aborted", verb.run),
    ))
}
