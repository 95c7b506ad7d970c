//! `tramline runs watch`, `pause`, `step` and `continue`: where a run halts, and how it goes on.

use super::super::breaks::{self, Breaks};
use super::super::origin::{self, Again};
use super::super::{Common, Done, Exit, Stopped, output, run};
use super::{done, myself, noting, open, respondent};
use tramline_core::Map;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::journal::{Answer, Pause, Watch};
use tramline_core::run::Run;
use tramline_engine::{Engine, Fault, Loaded, status};

/// Say where a run is to halt.
#[derive(clap::Args)]
pub(super) struct Watching {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    #[command(flatten)]
    breaks: Breaks,
    /// Halt nowhere
    #[arg(long, conflicts_with_all = ["breaks", "step"])]
    clear: bool,
}

impl Watching {
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }
}

/// Let a run halt before its next step.
#[derive(clap::Args)]
pub(super) struct Pausing {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
}

impl Pausing {
    pub(super) fn run(&self) -> &RunId {
        &self.run
    }
}

pub(super) async fn watch(common: Common, verb: Watching) -> Done {
    let engine = open(&common)?.engine;
    let loaded = engine.load(&verb.run).await?;
    let watch = if verb.breaks.is_empty() && !verb.clear {
        Watch::current(&loaded.entries)
    } else {
        let watch = verb.breaks.watch(&loaded.run.graph);
        engine.watch(&verb.run, watch.clone(), myself()).await?;
        watch
    };
    if common.json {
        output::line(&serde_json::json!({ "run_id": verb.run, "watch": watch }));
    } else {
        for line in breaks::lines(&watch) {
            output::text_line(&line);
        }
    }
    Ok(Exit::Done)
}

pub(super) async fn pause(common: Common, verb: Pausing) -> Done {
    let engine = open(&common)?.engine;
    let loaded = engine.load(&verb.run).await?;
    set_stepping(&engine, &verb.run, &loaded, true).await?;
    let run = &verb.run;
    let words = if loaded.run.is_paused() {
        format!("{run} waits already, and will halt before its next step")
    } else if is_driven(&engine, run).await? {
        format!("{run} halts before its next step; `tramline debug --run {run}` looks around")
    } else {
        format!("{run} will halt before its next step; `tramline runs resume {run}` goes on")
    };
    Ok(done(&common, run, "halting", &words))
}

/// Lets a run go on, to the next step or to the next breakpoint.
pub(super) async fn go(common: Common, again: Again, stepping: bool) -> Done {
    let engine = open(&common)?.engine;
    let id = &again.run;
    let loaded = engine.load(id).await?;
    set_stepping(&engine, id, &loaded, stepping).await?;
    let mut freed = engine.go_on(id, respondent()).await?;
    if !stepping {
        freed += next_layer(&engine, &loaded.run).await?;
    }
    if freed == 0 && loaded.run.is_paused() {
        let json = common.json.then(Map::new);
        return run::paused(&engine, id, json).await;
    }
    let elsewhere = || {
        let words = format!("{id} goes on in the process that drives it");
        done(&common, id, "told", &words)
    };
    if is_driven(&engine, id).await? {
        return Ok(elsewhere());
    }
    let (house, loaded) = origin::reopen(&common, &again).await?;
    let handle = match house.engine.resume(id).await {
        Ok(handle) => handle,
        Err(Fault::Elsewhere { .. }) => return Ok(elsewhere()),
        Err(fault) => return Err(fault.into()),
    };
    let manner = run::Manner::since(loaded.run.seq, &common, again.quiet);
    let done = run::follow(&house.engine, &loaded.run.graph, handle, manner).await;
    house.close().await;
    done
}

/// Lets a run that waits after a layer go on with the next.
async fn next_layer(engine: &Engine, run: &Run) -> Result<usize, Stopped> {
    let mut freed = 0;
    for (seq, pause) in &run.pauses {
        if !matches!(pause, Pause::Layer { .. }) {
            continue;
        }
        let asked = Checkpoint {
            run: run.id.clone(),
            seq: *seq,
        };
        let work = async {
            engine
                .answer(&asked, Answer::Proceed, respondent(), None)
                .await?;
            Ok("answered")
        };
        noting(engine, "continue", &run.id, None, work).await?;
        freed += 1;
    }
    Ok(freed)
}

/// Keeps a run's breakpoints and says whether it halts before every step.
async fn set_stepping(
    engine: &Engine,
    run: &RunId,
    loaded: &Loaded,
    stepping: bool,
) -> Result<(), Stopped> {
    if loaded.run.outcome.is_some() {
        let status = status(&loaded.run).as_str();
        return Err(Stopped::bad(format!(
            "{run} has ended ({status}); `tramline runs fork {run} --at STEP` goes another way from a step of it"
        )));
    }
    let watch = Watch::current(&loaded.entries);
    if watch.stepping != stepping {
        let watch = Watch { stepping, ..watch };
        engine.watch(run, watch, myself()).await?;
    }
    Ok(())
}

async fn is_driven(engine: &Engine, run: &RunId) -> Result<bool, Stopped> {
    let row = engine.store().row(run).await.map_err(Fault::from)?;
    Ok(row.is_some_and(|row| row.driven))
}
