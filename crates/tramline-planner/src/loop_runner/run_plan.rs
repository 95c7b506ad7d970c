//! Runs a plan on the engine: starts it, waits for it, and reads the results from its journal.

use super::CallerContext;
use super::request::OnFailure;
use super::response::{LoopStatus, PlannerKind, StepResult};
use super::state::LoopState;
use tokio_util::sync::CancellationToken;
use tramline_engine::DriveOutcome;
use tramline_engine::{Engine, LoadedRun, RunHandle, RunStart, WaitPolicy};
use tramline_engine::{Fault, KnownSchemas};
use tramline_expr::{Str, Value};
use tramline_formats::tool_plan::{OnError, PlannedStep, ToolPlan};
use tramline_views::pause_view;
use tramline_views::trace::{self, Trace};
use tramline_workflow::flaw::{Flaw, Severity};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{BudgetPart, Outcome, Pause};

/// The workflow name of loop runs in the list of runs.
const NAME: &str = "loop";
/// The name of the summary tool in plans.
const SUMMARY: &str = "finalize_summary";

/// The state of a run after waiting for it.
pub(super) enum WaitResult {
    /// It is over.
    Ended,
    /// It waits for answers.
    Paused(Vec<(Seq, Pause)>),
}

/// An outcome that does not follow from the plan's steps.
pub(super) struct ForcedOutcome {
    pub(super) status: LoopStatus,
    pub(super) message: String,
}

/// Whether a tool of a plan is the summary tool.
pub(super) fn is_summary(tool: &str) -> bool {
    tool.rsplit(':').next() == Some(SUMMARY)
}

/// Starts a plan, or returns why it is not a valid graph.
pub(super) async fn start(
    engine: &Engine,
    course: &LoopState,
    runs: &ToolPlan,
    terms: &CallerContext,
    id: Option<RunId>,
) -> Result<Result<RunHandle, Vec<String>>, Fault> {
    let on_error = match course.request.on_error {
        OnFailure::Continue => OnError::Continue,
        OnFailure::Stop | OnFailure::Replan => OnError::Stop,
    };
    let schemas = KnownSchemas(engine.tools().as_ref());
    let graph = match runs.graph(NAME, on_error, &schemas) {
        Ok(graph) => graph,
        Err(flaws) => {
            let errors = flaws.into_iter();
            let errors = errors.filter(|flaw| flaw.code.severity() == Severity::Error);
            return Ok(Err(errors.map(problem_text).collect()));
        }
    };
    let mut start = RunStart::new(graph, course.to_value());
    start.id = id;
    start.session = course.request.session.clone();
    start.origin = terms.origin.clone();
    start.owner = terms.owner.clone();
    start.by = terms.caller.clone();
    start.ttl_ms = terms.ttl_ms;
    start.upstream = course.upstream.clone().or_else(|| terms.upstream.clone());
    start.intent = intent_to_learn(course);
    start.budget = course.budget().map(|mut budget| {
        // Planning tokens are deducted before the first step.
        budget.subtract(BudgetPart::Tokens, course.tokens);
        budget
    });
    engine.start(start).await.map(Ok)
}

/// A flaw of a plan as text, with how to fix it.
fn problem_text(flaw: Flaw) -> String {
    match flaw.suggestion {
        Some(suggestion) => format!("{} ({suggestion})", flaw.message),
        None => flaw.message,
    }
}

/// The intent to learn from this plan: the message, if a caller or an agent made the plan, and made it for the whole
/// message instead of the remaining work.
fn intent_to_learn(course: &LoopState) -> Option<Str> {
    let given = matches!(course.by, Some(PlannerKind::Caller | PlannerKind::Agent));
    (given && course.earlier.is_empty()).then(|| course.request.last_message().into())
}

/// Waits until a run ends or pauses, and drives it if no process does. Aborts it if the caller cancels.
pub(super) async fn wait_for_run(
    engine: &Engine,
    run: &RunId,
    driver: Option<RunHandle>,
    cancel: &CancellationToken,
) -> Result<WaitResult, Fault> {
    let ended = engine.wait(run, driver, WaitPolicy::Drive);
    tokio::pin!(ended);
    let ended = tokio::select! {
        ended = &mut ended => ended,
        () = cancel.cancelled() => {
            let why = Some("the caller cancelled".to_owned());
            // It may have ended on its own at this moment; then that outcome counts.
            let _ = engine.abort(run, "caller".into(), why).await;
            ended.await
        }
    };
    match ended?.outcome {
        DriveOutcome::Finished(_) => Ok(WaitResult::Ended),
        DriveOutcome::Paused(pauses) => Ok(WaitResult::Paused(pauses)),
        DriveOutcome::Stopped => {
            let message = format!("{run} resumes when the program is started again");
            Err(Fault::Rejected(message))
        }
    }
}

/// The result of each step that has ended, in the plan's order.
pub(super) fn results(plan: &ToolPlan, loaded: &LoadedRun) -> Vec<StepResult> {
    let trace = Trace::of(&loaded.run.id, &loaded.run.graph, &loaded.entries);
    let result = |step: &PlannedStep| {
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

/// The outcome of a run, if it does not follow from its steps.
pub(super) fn forced_outcome(loaded: &LoadedRun) -> Option<ForcedOutcome> {
    let outcome = loaded.run.outcome.as_ref()?;
    let standing = match outcome {
        Outcome::Completed { .. } => return None,
        Outcome::Failed { .. } => LoopStatus::Failed,
        Outcome::Rejected { .. } => LoopStatus::Rejected,
        Outcome::Aborted { .. } if outcome.is_expired() => LoopStatus::Expired,
        Outcome::Aborted { .. } => LoopStatus::Aborted,
    };
    let how = trace::outcome_value(&loaded.run.graph, outcome);
    let says = how.get("error").and_then(|error| error.get("message"));
    let says = says.and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(ForcedOutcome {
        status: standing,
        message: says,
    })
}

/// What a run waits for, in the format for callers.
pub(super) fn pauses_json(graph: &Graph, run: &RunId, pauses: &[(Seq, Pause)]) -> Value {
    let told = pauses.iter();
    Value::array(told.map(|(seq, pause)| pause_view::pause_value(graph, run, *seq, pause)))
}
