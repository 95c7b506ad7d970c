//! The debugger: breakpoints, stepping, resuming and forking.

use crate::answers::RequestAuthor;
use crate::extract::{CallerTrace, JsonBody};
use crate::response::{self, ApiError};
use crate::tools::{self, Breakpoint};
use crate::{AppState, answers};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value as Told, json};
use tramline_engine::{EffectPolicy, Fault, ForkRequest, JournalPoint, Respondent, RunOwner};
use tramline_expr::Str;
use tramline_workflow::ids::{Checkpoint, RunId, StepNo};
use tramline_workflow::journal::{Answer, BreakpointSet, Pause};
use tramline_workflow::run::Run;

/// An empty body.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

/// The breakpoints of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BreakpointsBody {
    breakpoints: Vec<Breakpoint>,
}

pub(crate) async fn pause(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(run): Path<String>,
    JsonBody(_): JsonBody<EmptyBody>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let by = answers::respondent(&owner, None, &speaker);
    set_stepping(&desk, &owner, &run, true, &by.name).await?;
    status_reply(&desk, &owner, &run).await
}

pub(crate) async fn step(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(run): Path<String>,
    JsonBody(_): JsonBody<EmptyBody>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let by = answers::respondent(&owner, None, &speaker);
    set_stepping(&desk, &owner, &run, true, &by.name).await?;
    resume(&desk, &owner, &run, by).await
}

pub(crate) async fn continue_run(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(run): Path<String>,
    JsonBody(_): JsonBody<EmptyBody>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let by = answers::respondent(&owner, None, &speaker);
    set_stepping(&desk, &owner, &run, false, &by.name).await?;
    let stood = response::load(&desk.engine, &owner, &run).await?.run;
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
    resume(&desk, &owner, &run, by).await
}

pub(crate) async fn breakpoints(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(run): Path<String>,
    JsonBody(given): JsonBody<BreakpointsBody>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let loaded = response::load(&desk.engine, &owner, &run).await?;
    let watch = BreakpointSet {
        breaks: tools::journal_breakpoints(given.breakpoints),
        stepping: BreakpointSet::current(&loaded.entries).stepping,
    };
    let by = answers::respondent(&owner, None, &speaker);
    desk.engine.set_breakpoints(&run, watch, by.name).await?;
    status_reply(&desk, &owner, &run).await
}

/// The questions of a run that wait after a layer.
fn layers(run: &Run) -> Vec<u64> {
    let layers = run.pauses.iter();
    let layers = layers.filter(|(_, pause)| matches!(pause, Pause::Layer { .. }));
    layers.map(|(seq, _)| *seq).collect()
}

/// Changes whether a run halts before every step; keeps its breakpoints.
async fn set_stepping(
    desk: &AppState,
    owner: &RunOwner,
    run: &RunId,
    stepping: bool,
    by: &Str,
) -> Result<(), ApiError> {
    let loaded = response::load(&desk.engine, owner, run).await?;
    if loaded.run.outcome.is_some() {
        return Err(tramline_engine::ended_fault(&loaded.run).into());
    }
    let watch = BreakpointSet::current(&loaded.entries);
    if watch.stepping != stepping {
        let watch = BreakpointSet { stepping, ..watch };
        desk.engine.set_breakpoints(run, watch, by.clone()).await?;
    }
    Ok(())
}

/// Resumes a halted run, here unless another process drives it.
async fn resume(
    desk: &AppState,
    owner: &RunOwner,
    run: &RunId,
    by: Respondent,
) -> Result<Json<Told>, ApiError> {
    desk.engine.continue_from_halt(run, by.clone()).await?;
    let stood = response::load(&desk.engine, owner, run).await?.run;
    if !stood.is_paused() {
        match desk.engine.resume_or_hand_over(run).await {
            Ok(_) | Err(Fault::Elsewhere { .. } | Fault::Ended { .. }) => {}
            Err(fault) => return Err(fault.into()),
        }
    }
    status_reply(desk, owner, run).await
}

async fn status_reply(
    desk: &AppState,
    owner: &RunOwner,
    run: &RunId,
) -> Result<Json<Told>, ApiError> {
    let loaded = response::load(&desk.engine, owner, run).await?;
    Ok(Json(response::run_details(&loaded)))
}

/// A fork request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// After which step; 0 is the start.
    #[serde(default)]
    step: StepNo,
    /// The replaced output of that step.
    output: Option<Told>,
    /// A different input, only for a fork from the start.
    input: Option<Told>,
    #[serde(default)]
    breakpoints: Vec<Breakpoint>,
    #[serde(default)]
    pause_at_start: bool,
    /// Whether to repeat the original run's later calls without asking.
    #[serde(default)]
    repeat_effects: bool,
}

pub(crate) async fn fork(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    speaker: RequestAuthor,
    Path(run): Path<String>,
    CallerTrace(upstream): CallerTrace,
    JsonBody(given): JsonBody<ForkBody>,
) -> Result<(StatusCode, Json<Told>), ApiError> {
    let run: RunId = run.parse()?;
    response::load(&desk.engine, &owner, &run).await?;
    let by = answers::respondent(&owner, None, &speaker);
    if given.repeat_effects {
        desk.engine.may_repeat_effects(&by)?;
    }
    let branch = ForkRequest {
        at: match given.step {
            0 => JournalPoint::Event(1),
            step => JournalPoint::Step(step),
        },
        output: given.output.map(Into::into),
        input: given.input.map(Into::into),
        effects: match given.repeat_effects {
            true => EffectPolicy::Repeat,
            false => EffectPolicy::Ask,
        },
        watch: Some(BreakpointSet {
            breaks: tools::journal_breakpoints(given.breakpoints),
            stepping: given.pause_at_start,
        }),
        upstream,
        by: Some(by.name),
    };
    let handle = desk.engine.fork(&run, branch).await?.handle;
    let new = handle.run.clone();
    tools::wait_until_stored(&desk.engine, handle).await?;
    Ok((
        StatusCode::CREATED,
        Json(json!({"run_id": new, "forked_from": run})),
    ))
}
