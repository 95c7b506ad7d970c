//! A plan on the engine: started, waited for, and read back from its journal.

use super::Terms;
use super::course::Course;
use super::request::Mend;
use super::response::{By, Standing, StepResult};
use crate::drive::Ended;
use crate::engine::{Engine, Handle, Loaded, Start};
use crate::fault::Fault;
use crate::seams::Status;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_core::formats::tool_plan::{OnError, Plan, Planned};
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Outcome, Pause, Spent};
use tramline_core::trace::{self, Trace};
use tramline_core::{Str, Value, question};

/// What runs of the loop are called in the list of runs.
const NAME: &str = "loop";
/// What plans call the tool that sums up.
const SUMMARY: &str = "finalize_summary";
/// How often a run that another process drives is looked at, beside when the store says that
/// something happened.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How a run stands that was waited for.
pub(super) enum Attended {
    /// It is over.
    Over,
    /// It waits for answers.
    Waits(Vec<(Seq, Pause)>),
}

/// An end that the plan's steps do not explain.
pub(super) struct End {
    pub(super) standing: Standing,
    pub(super) says: String,
}

/// Whether a plan's tool is the one that sums up.
pub(super) fn is_summary(tool: &str) -> bool {
    tool.rsplit(':').next() == Some(SUMMARY)
}

/// Starts a plan, or says why it is no graph.
pub(super) async fn start(
    engine: &Engine,
    course: &Course,
    runs: &Plan,
    terms: &Terms,
) -> Result<Result<Handle, Vec<String>>, Fault> {
    let on_error = match course.request.on_error {
        Mend::Continue => OnError::Continue,
        Mend::Stop | Mend::Replan => OnError::Stop,
    };
    let graph = match runs.graph(NAME, on_error) {
        Ok(graph) => graph,
        Err(flaws) => return Ok(Err(flaws.into_iter().map(|flaw| flaw.message).collect())),
    };
    let mut start = Start::new(graph, course.to_value());
    start.session = course.request.session.clone();
    start.origin = terms.origin.clone();
    start.owner = terms.owner.clone();
    start.ttl_ms = terms.ttl_ms;
    start.upstream = course.upstream.clone().or_else(|| terms.upstream.clone());
    start.intent = lesson(course);
    start.budget = course.budget().map(|mut budget| {
        // What planning took is gone before the first step.
        budget.spend(Spent::Tokens, course.tokens);
        budget
    });
    engine.start(start).await.map(Ok)
}

/// What the plan is a lesson for: the message, if somebody else than us made the plan, and made it for
/// all of the message rather than for what was left of it.
fn lesson(course: &Course) -> Option<Str> {
    let given = matches!(course.by, Some(By::Caller | By::Agent));
    (given && course.earlier.is_empty()).then(|| course.request.last().into())
}

/// Waits until a run ends or pauses, and drives it if it should go on and nobody does.
pub(super) async fn attend(
    engine: &Engine,
    run: &RunId,
    driver: Option<Handle>,
    cancel: &CancellationToken,
) -> Result<Attended, Fault> {
    let ended = wait(engine, run, driver);
    tokio::pin!(ended);
    tokio::select! {
        ended = &mut ended => ended,
        () = cancel.cancelled() => {
            let why = Some("the caller cancelled".to_owned());
            // It may have ended by itself in this moment; then that stands.
            let _ = engine.abort(run, "caller".into(), why).await;
            ended.await
        }
    }
}

async fn wait(engine: &Engine, run: &RunId, driver: Option<Handle>) -> Result<Attended, Fault> {
    let mut driver = driver;
    let mut changes = engine.store().changes();
    loop {
        if let Some(driver) = driver.take() {
            return match driver.ended().await? {
                Ended::Finished(_) => Ok(Attended::Over),
                Ended::Paused(pauses) => Ok(Attended::Waits(pauses)),
                Ended::Stopped => {
                    let message = format!("{run} goes on when the program is started again");
                    Err(Fault::Refused(message))
                }
            };
        }
        changes.mark_unchanged();
        let row = engine.store().row(run).await?;
        let row = row.ok_or_else(|| Fault::NotFound(run.clone()))?;
        match row.head.status {
            Status::Running | Status::Paused if row.driven => {}
            Status::Running => {
                match engine.resume(run).await {
                    Ok(handle) => driver = Some(handle),
                    Err(Fault::Elsewhere { .. } | Fault::Over { .. } | Fault::Expired { .. }) => {}
                    Err(fault) => return Err(fault),
                }
                continue;
            }
            Status::Paused | Status::Guided => {
                let pauses = engine.load(run).await?.run.pauses;
                return Ok(Attended::Waits(pauses.into_iter().collect()));
            }
            Status::Completed
            | Status::Failed
            | Status::Rejected
            | Status::Aborted
            | Status::Expired => {
                return Ok(Attended::Over);
            }
        }
        let _ = tokio::time::timeout(LOOK_EVERY, changes.changed()).await;
    }
}

/// What became of each step that has ended, in the plan's order.
pub(super) fn results(plan: &Plan, loaded: &Loaded) -> Vec<StepResult> {
    let trace = Trace::of(&loaded.run.id, &loaded.run.graph, &loaded.entries);
    let result = |step: &Planned| {
        let mut of = trace.steps.iter().rev();
        let ended = of.find(|one| one.node == step.id && one.item.is_none())?;
        (ended.status != "open").then(|| StepResult {
            id: step.id.clone(),
            tool: step.tool.clone(),
            input: ended.input.clone().unwrap_or_else(|| step.args.clone()),
            output: ended.output.clone().unwrap_or_default(),
            error: ended.error.as_ref().map(ToString::to_string),
            unknown: false,
        })
    };
    plan.steps.iter().filter_map(result).collect()
}

/// How a run ended, where its steps do not tell.
pub(super) fn end(loaded: &Loaded) -> Option<End> {
    let outcome = loaded.run.outcome.as_ref()?;
    let standing = match outcome {
        Outcome::Completed { .. } => return None,
        Outcome::Failed { .. } => Standing::Failed,
        Outcome::Rejected { .. } => Standing::Rejected,
        Outcome::Aborted { .. } if outcome.is_expired() => Standing::Expired,
        Outcome::Aborted { .. } => Standing::Aborted,
    };
    let how = trace::outcome(&loaded.run.graph, outcome);
    let says = how.get("error").and_then(|error| error.get("message"));
    let says = says.and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(End { standing, says })
}

/// What a run waits for, as callers read it.
pub(super) fn waiting(graph: &Graph, run: &RunId, pauses: &[(Seq, Pause)]) -> Value {
    let told = pauses.iter();
    Value::array(told.map(|(seq, pause)| question::value(graph, run, *seq, pause)))
}
