//! The debugger: where a run halts, how it goes on, and another way from one of its steps.

use crate::answers::Speaker;
use crate::asked::{Body, Traced};
use crate::told::{self, Wrong};
use crate::tools::{self, Breakpoint};
use crate::{Desk, answers};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value as Told, json};
use tramline_core::Str;
use tramline_core::ids::{Checkpoint, RunId, StepNo};
use tramline_core::journal::{Answer, Pause, Watch};
use tramline_core::run::Run;
use tramline_engine::{At, Branch, Effects, Fault, Owner, Respondent};

/// Nothing needs to be said.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Where a run is to halt.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Breakpoints {
    breakpoints: Vec<Breakpoint>,
}

pub(crate) async fn pause(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    speaker: Speaker,
    Path(run): Path<String>,
    Body(_): Body<Nothing>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let by = answers::respondent(&owner, None, &speaker);
    set_stepping(&desk, &owner, &run, true, &by.name).await?;
    told(&desk, &owner, &run).await
}

pub(crate) async fn step(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    speaker: Speaker,
    Path(run): Path<String>,
    Body(_): Body<Nothing>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let by = answers::respondent(&owner, None, &speaker);
    set_stepping(&desk, &owner, &run, true, &by.name).await?;
    go_on(&desk, &owner, &run, by).await
}

pub(crate) async fn proceed(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    speaker: Speaker,
    Path(run): Path<String>,
    Body(_): Body<Nothing>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let by = answers::respondent(&owner, None, &speaker);
    set_stepping(&desk, &owner, &run, false, &by.name).await?;
    let stood = told::load(&desk.engine, &owner, &run).await?.run;
    for seq in layers(&stood) {
        let asked = Checkpoint {
            run: run.clone(),
            seq,
        };
        let answer = desk
            .engine
            .answer(&asked, Answer::Proceed, by.clone(), None);
        answer.await?;
    }
    go_on(&desk, &owner, &run, by).await
}

pub(crate) async fn breakpoints(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    speaker: Speaker,
    Path(run): Path<String>,
    Body(given): Body<Breakpoints>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let loaded = told::load(&desk.engine, &owner, &run).await?;
    let watch = Watch {
        breaks: tools::breaks(given.breakpoints),
        stepping: Watch::current(&loaded.entries).stepping,
    };
    let by = answers::respondent(&owner, None, &speaker);
    desk.engine.watch(&run, watch, by.name).await?;
    told(&desk, &owner, &run).await
}

/// The questions of a run after a layer.
fn layers(run: &Run) -> Vec<u64> {
    let layers = run.pauses.iter();
    let layers = layers.filter(|(_, pause)| matches!(pause, Pause::Layer { .. }));
    layers.map(|(seq, _)| *seq).collect()
}

/// Keeps the breakpoints of a run and says whether it halts before every step.
async fn set_stepping(
    desk: &Desk,
    owner: &Owner,
    run: &RunId,
    stepping: bool,
    by: &Str,
) -> Result<(), Wrong> {
    let loaded = told::load(&desk.engine, owner, run).await?;
    if loaded.run.outcome.is_some() {
        return Err(tramline_engine::over(&loaded.run).into());
    }
    let watch = Watch::current(&loaded.entries);
    if watch.stepping != stepping {
        let watch = Watch { stepping, ..watch };
        desk.engine.watch(run, watch, by.clone()).await?;
    }
    Ok(())
}

/// Lets a run that has halted go on, here unless another drives it.
async fn go_on(
    desk: &Desk,
    owner: &Owner,
    run: &RunId,
    by: Respondent,
) -> Result<Json<Told>, Wrong> {
    desk.engine.go_on(run, by.clone()).await?;
    let stood = told::load(&desk.engine, owner, run).await?.run;
    if !stood.is_paused() {
        match desk.engine.resume(run).await {
            Ok(_) | Err(Fault::Elsewhere { .. } | Fault::Over { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    told(desk, owner, run).await
}

async fn told(desk: &Desk, owner: &Owner, run: &RunId) -> Result<Json<Told>, Wrong> {
    let loaded = told::load(&desk.engine, owner, run).await?;
    Ok(Json(told::whole(&loaded)))
}

/// How to go another way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forked {
    /// After which step; 0 is the beginning.
    #[serde(default)]
    step: StepNo,
    /// The output that the step is taken to have given.
    output: Option<Told>,
    /// Another input, which only a run from its beginning can have.
    input: Option<Told>,
    #[serde(default)]
    breakpoints: Vec<Breakpoint>,
    #[serde(default)]
    pause_at_start: bool,
    /// Whether calls that the other run has made are made again unasked.
    #[serde(default)]
    repeat_effects: bool,
}

pub(crate) async fn fork(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    speaker: Speaker,
    Path(run): Path<String>,
    Traced(upstream): Traced,
    Body(given): Body<Forked>,
) -> Result<(StatusCode, Json<Told>), Wrong> {
    let run: RunId = run.parse()?;
    told::load(&desk.engine, &owner, &run).await?;
    if given.repeat_effects {
        let by = answers::respondent(&owner, None, &speaker);
        desk.engine.may_repeat_effects(&by)?;
    }
    let branch = Branch {
        at: match given.step {
            0 => At::Event(1),
            step => At::Step(step),
        },
        output: given.output.map(Into::into),
        input: given.input.map(Into::into),
        effects: match given.repeat_effects {
            true => Effects::Repeat,
            false => Effects::Ask,
        },
        watch: Some(Watch {
            breaks: tools::breaks(given.breakpoints),
            stepping: given.pause_at_start,
        }),
        upstream,
    };
    let handle = desk.engine.fork(&run, branch).await?.handle;
    let new = handle.run.clone();
    tools::kept(&desk.engine, handle).await?;
    Ok((
        StatusCode::CREATED,
        Json(json!({"run_id": new, "forked_from": run})),
    ))
}
