//! `tramline runs watch`, `pause`, `step` and `continue`: breakpoints and resuming.

use super::super::breakpoints::{self, BreakpointArgs};
use super::super::run_environment::{self, ResumeArgs};
use super::super::{CliError, CliResult, CommonArgs, Exit, audit_record, output, run};
use super::{open, report_done, respondent, user_name};
use tramline_engine::{Engine, Fault, LoadedRun, run_status};
use tramline_expr::Map;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Answer, BreakpointSet, Pause};
use tramline_workflow::run::Run;

/// Set a run's breakpoints.
#[derive(clap::Args)]
pub(super) struct WatchArgs {
    /// The run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    #[command(flatten)]
    breaks: BreakpointArgs,
    /// Delete all breakpoints
    #[arg(long, conflicts_with_all = ["breaks", "step"])]
    clear: bool,
}

impl WatchArgs {
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }
}

/// Halt a run before its next step.
#[derive(clap::Args)]
pub(super) struct PauseArgs {
    /// The run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
}

impl PauseArgs {
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }
}

pub(super) async fn set_breakpoints(common: CommonArgs, verb: WatchArgs) -> CliResult {
    let engine = open(&common)?.engine;
    let loaded = engine.load(&verb.run).await?;
    let watch = if verb.breaks.is_empty() && !verb.clear {
        BreakpointSet::current(&loaded.entries)
    } else {
        let watch = verb.breaks.to_watch(&loaded.run.graph);
        engine
            .set_breakpoints(&verb.run, watch.clone(), user_name())
            .await?;
        watch
    };
    if common.json {
        output::line(&serde_json::json!({ "run_id": verb.run, "watch": watch }));
    } else {
        for line in breakpoints::render(&watch) {
            output::text_line(&line);
        }
    }
    Ok(Exit::Done)
}

pub(super) async fn pause(common: CommonArgs, verb: PauseArgs) -> CliResult {
    let engine = open(&common)?.engine;
    let loaded = engine.load(&verb.run).await?;
    set_stepping(&engine, &verb.run, &loaded, true).await?;
    let run = &verb.run;
    let words = if loaded.run.is_paused() {
        format!("{run} is already waiting, and will halt before its next step")
    } else if is_driven(&engine, run).await? {
        format!("{run} halts before its next step; `tramline debug --run {run}` inspects it")
    } else {
        format!("{run} will halt before its next step; `tramline runs resume {run}` continues it")
    };
    Ok(report_done(&common, run, "halting", &words))
}

/// Resumes a run, to the next step or to the next breakpoint.
pub(super) async fn resume(common: CommonArgs, again: ResumeArgs, stepping: bool) -> CliResult {
    let engine = open(&common)?.engine;
    let name = if stepping { "runs step" } else { "continue" };
    let work = resume_run(&common, &engine, &again, stepping);
    audit_record::run_recorded(&engine, (name, Some(&again.run)), None, Box::pin(work)).await
}

async fn resume_run(
    common: &CommonArgs,
    engine: &Engine,
    again: &ResumeArgs,
    stepping: bool,
) -> CliResult {
    let id = &again.run;
    let loaded = engine.load(id).await?;
    set_stepping(engine, id, &loaded, stepping).await?;
    let mut freed = engine.continue_from_halt(id, respondent()).await?;
    if !stepping {
        freed += answer_layer(engine, &loaded.run).await?;
    }
    if freed == 0 && loaded.run.is_paused() {
        let json = common.json.then(Map::new);
        return run::print_questions(engine, id, json).await;
    }
    let elsewhere = || {
        let words = format!("{id} continues in the process that drives it");
        report_done(common, id, "told", &words)
    };
    if is_driven(engine, id).await? {
        return Ok(elsewhere());
    }
    let (house, loaded) = run_environment::reopen(common, again).await?;
    let handle = match house.engine.resume(id).await {
        Ok(handle) => handle,
        Err(Fault::Elsewhere { .. }) => return Ok(elsewhere()),
        Err(fault) => return Err(fault.into()),
    };
    let manner = run::FollowOptions::after(loaded.run.seq, common, again.quiet);
    let done = run::follow(&house.engine, &loaded.run.graph, handle, manner).await;
    house.close().await;
    done
}

/// Continues a run that waits after a layer.
async fn answer_layer(engine: &Engine, run: &Run) -> Result<usize, CliError> {
    let mut freed = 0;
    for (seq, pause) in &run.pauses {
        if !matches!(pause, Pause::Layer { .. }) {
            continue;
        }
        let asked = Checkpoint {
            run: run.id.clone(),
            seq: *seq,
        };
        engine
            .answer(&asked, Answer::Proceed, respondent(), None)
            .await?;
        freed += 1;
    }
    Ok(freed)
}

/// Changes whether a run halts before every step; keeps its breakpoints.
async fn set_stepping(
    engine: &Engine,
    run: &RunId,
    loaded: &LoadedRun,
    stepping: bool,
) -> Result<(), CliError> {
    if loaded.run.outcome.is_some() {
        let status = run_status(&loaded.run).as_str();
        return Err(CliError::bad_input(format!(
            "{run} has ended ({status}); `tramline runs fork {run} --at STEP` forks it from a step"
        )));
    }
    let watch = BreakpointSet::current(&loaded.entries);
    if watch.stepping != stepping {
        let watch = BreakpointSet { stepping, ..watch };
        engine.set_breakpoints(run, watch, user_name()).await?;
    }
    Ok(())
}

async fn is_driven(engine: &Engine, run: &RunId) -> Result<bool, CliError> {
    let row = engine.store().row(run).await.map_err(Fault::from)?;
    Ok(row.is_some_and(|row| row.driven))
}
