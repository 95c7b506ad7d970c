//! After an answer: the run continues, in the process that drives it or else in this one.

use super::super::run_environment::{self, ResumeArgs};
use super::super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, output, run, shutdown};
use super::{open, report_done};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tramline_engine::ports::RunStatus;
use tramline_engine::{DriveOutcome, Engine, Fault};
use tramline_expr::Map;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::run::Run;

/// How often to check a run that another process drives, in addition to change notifications: a
/// process that dies sends none.
const DRIVER_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long another process has to resume a run before it is resumed here.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(2);

/// How often to check whether another process resumed it.
const TAKEOVER_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How to continue a run that was answered.
#[derive(clap::Args, Clone)]
pub(super) struct ContinueArgs {
    /// Only answer: do not run it here or wait for it
    #[arg(long)]
    no_wait: bool,
    /// The document whose servers the run calls [default: the one it was started from]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print nothing but the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    reach: AccessArgs,
}

/// Continues a run that was answered, and reports its outcome. `seen` is the last event before the
/// answer.
pub(super) async fn continue_run(
    common: &CommonArgs,
    how: ContinueArgs,
    id: &RunId,
    seen: Seq,
) -> CliResult {
    if how.no_wait {
        let words =
            format!("answered; `tramline runs resume {id}` continues it if no process drives it");
        return Ok(report_done(common, id, "answered", &words));
    }
    let again = ResumeArgs {
        run: id.clone(),
        file: how.file,
        quiet: how.quiet,
        reach: how.reach,
    };
    let elsewhere = is_resumed_elsewhere(common, id).await?;
    if elsewhere && !is_quiet(common, &again) {
        output::status_line(&format!(
            "answered; {id} continues in the process that drives it"
        ));
    }
    let opened = run_environment::reopen(common, &again).await;
    let (house, _) = opened.map_err(|stopped| CliError {
        message: format!(
            "answered, but it cannot continue here: {}; `tramline runs resume {id}` continues it",
            stopped.message
        ),
        ..stopped
    })?;
    let done = follow(common, &house.engine, id, seen, again.quiet).await;
    house.close().await;
    done
}

/// Gives another live process a moment to resume a run, because it may still have the run's
/// servers. Returns whether one did.
async fn is_resumed_elsewhere(common: &CommonArgs, id: &RunId) -> Result<bool, CliError> {
    let house = open(common)?;
    let store = house.engine.store();
    let rows = house.engine.watch_row(id);
    let mut rows = rows.every(TAKEOVER_POLL_INTERVAL);
    let began = Instant::now();
    while began.elapsed() < TAKEOVER_TIMEOUT {
        if rows
            .next()
            .await?
            .is_none_or(|row| row.driven || row.index_row.status != RunStatus::Running)
        {
            return Ok(true);
        }
        if !store.is_shared().await.map_err(Fault::from)? {
            return Ok(false);
        }
    }
    Ok(false)
}

fn is_quiet(common: &CommonArgs, again: &ResumeArgs) -> bool {
    common.json || again.quiet
}

/// Drives a run, or waits for the process that does.
async fn follow(
    common: &CommonArgs,
    engine: &Engine,
    id: &RunId,
    seen: Seq,
    quiet: bool,
) -> CliResult {
    let mut changes = engine.store().changes();
    loop {
        changes.mark_unchanged();
        match engine.resume(id).await {
            Ok(handle) => {
                let graph = engine.load(id).await?.run.graph;
                let manner = run::FollowOptions::after(seen, common, quiet);
                return run::follow(engine, &graph, handle, manner).await;
            }
            Err(Fault::Elsewhere { .. } | Fault::Ended { .. } | Fault::Expired { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
        let row = engine.store().row(id).await.map_err(Fault::from)?;
        let Some(row) = row else {
            return Err(Fault::NotFound(id.clone()).into());
        };
        if row.index_row.status != RunStatus::Running && !row.driven {
            let run = engine.load(id).await?.run;
            let json = common.json.then(Map::new);
            return run::report_end(engine, &run.graph, id, drive_outcome(&run), json).await;
        }
        tokio::select! {
            _ = tokio::time::timeout(DRIVER_CHECK_INTERVAL, changes.changed()) => {}
            () = shutdown::wait_for_request() => return Ok(Exit::Interrupted),
        }
    }
}

fn drive_outcome(run: &Run) -> DriveOutcome {
    match &run.outcome {
        Some(outcome) => DriveOutcome::Finished(outcome.clone()),
        None => DriveOutcome::Paused(run.pauses.clone().into_iter().collect()),
    }
}
