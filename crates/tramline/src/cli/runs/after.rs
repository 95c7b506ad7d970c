//! After an answer: the run goes on, in the process that drives it or else in this one.

use super::super::origin::{self, Again};
use super::super::{Common, Done, Exit, Reach, Stopped, ending, output, run};
use super::{done, open};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tramline_core::Map;
use tramline_core::ids::{RunId, Seq};
use tramline_core::run::Run;
use tramline_engine::seams::Status;
use tramline_engine::{Ended, Engine, Fault};

/// How often a run that another process drives is looked at, beside when the store says that
/// something happened: a process that dies says nothing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Another process gets so long to go on with a run before it goes on here.
const TAKEN_UP_MAX: Duration = Duration::from_secs(2);

/// How often it is looked whether one has.
const LOOK_SOON: Duration = Duration::from_millis(50);

/// How to go on with a run that was answered.
#[derive(clap::Args, Clone)]
pub(super) struct GoingOn {
    /// Only answer: neither run it here nor wait for it
    #[arg(long)]
    no_wait: bool,
    /// The document whose servers the run calls [default: the one it was started from]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Say nothing beside the result
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    reach: Reach,
}

/// Goes on with a run that was answered, and tells how it came out. `seen` is the last event
/// before the answer.
pub(super) async fn go_on(common: &Common, how: GoingOn, id: &RunId, seen: Seq) -> Done {
    if how.no_wait {
        let words = format!("answered; `tramline runs resume {id}` goes on if nobody drives it");
        return Ok(done(common, id, "answered", &words));
    }
    let again = Again {
        run: id.clone(),
        file: how.file,
        quiet: how.quiet,
        reach: how.reach,
    };
    let elsewhere = taken_up_elsewhere(common, id).await?;
    if elsewhere && !is_quiet(common, &again) {
        output::say(&format!(
            "answered; {id} goes on in the process that drives it"
        ));
    }
    let opened = origin::reopen(common, &again).await;
    let (house, _) = opened.map_err(|stopped| Stopped {
        message: format!(
            "it is answered, but cannot go on here: {}; `tramline runs resume {id}` goes on",
            stopped.message
        ),
        ..stopped
    })?;
    let done = follow(common, &house.engine, id, seen, again.quiet).await;
    house.close().await;
    done
}

/// Gives another living process a moment to go on with a run: the servers that the run has worked
/// with may be alive there. Whether one has.
async fn taken_up_elsewhere(common: &Common, id: &RunId) -> Result<bool, Stopped> {
    let house = open(common)?;
    let store = house.engine.store();
    let mut changes = store.changes();
    let began = Instant::now();
    while began.elapsed() < TAKEN_UP_MAX {
        changes.mark_unchanged();
        let row = store.row(id).await.map_err(Fault::from)?;
        if row.is_none_or(|row| row.driven || row.head.status != Status::Running) {
            return Ok(true);
        }
        if !store.is_shared().await.map_err(Fault::from)? {
            return Ok(false);
        }
        let _ = tokio::time::timeout(LOOK_SOON, changes.changed()).await;
    }
    Ok(false)
}

fn is_quiet(common: &Common, again: &Again) -> bool {
    common.json || again.quiet
}

/// Drives a run, or waits for the process that does.
async fn follow(common: &Common, engine: &Engine, id: &RunId, seen: Seq, quiet: bool) -> Done {
    let mut changes = engine.store().changes();
    loop {
        changes.mark_unchanged();
        match engine.resume(id).await {
            Ok(handle) => {
                let graph = engine.load(id).await?.run.graph;
                let manner = run::Manner::since(seen, common, quiet);
                return run::follow(engine, &graph, handle, manner).await;
            }
            Err(Fault::Elsewhere { .. } | Fault::Over { .. } | Fault::Expired { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
        let row = engine.store().row(id).await.map_err(Fault::from)?;
        let Some(row) = row else {
            return Err(Fault::NotFound(id.clone()).into());
        };
        if row.head.status != Status::Running && !row.driven {
            let run = engine.load(id).await?.run;
            let json = common.json.then(Map::new);
            return run::tell(engine, &run.graph, id, ended(&run), json).await;
        }
        tokio::select! {
            _ = tokio::time::timeout(LOOK_EVERY, changes.changed()) => {}
            () = ending::requested() => return Ok(Exit::Interrupted),
        }
    }
}

fn ended(run: &Run) -> Ended {
    match &run.outcome {
        Some(outcome) => Ended::Finished(outcome.clone()),
        None => Ended::Paused(run.pauses.clone().into_iter().collect()),
    }
}
