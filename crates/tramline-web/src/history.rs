//! The history of a run: its timeline, one step in detail, its state after any event.

use crate::AppState;
use crate::extract::{PathParams, QueryParams};
use crate::response::{self, ApiError, to_json};
use crate::summary;
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value as Told, json};
use std::time::Instant;
use tramline_engine::ports::RunStatus;
use tramline_engine::{RunOwner, run_status, try_blocking};
use tramline_views::branch_explanation::{RuleEvaluation, explain_branch};
use tramline_views::compare::{fork_relation, step_pairs, value_differences};
use tramline_views::snapshot::RunSnapshot;
use tramline_views::timeline::Timeline;
use tramline_views::trace::{self, Trace};
use tramline_workflow::explanation::{ExplanationNode, trial_limits};
use tramline_workflow::ids::{RunId, Seq, StepNo, ToolName};
use tramline_workflow::inspect::RunInspector;
use tramline_workflow::journal::{Entry, Event, Outcome, SopEvent};
use tramline_workflow::scope::EvalMoment;

/// The maximum number of steps in one reply.
const STEPS_MAX: usize = 100_000;
/// The maximum number of step pairs in a comparison.
const PAIRS_MAX: usize = 10_000;

/// The requested range of steps.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StepRange {
    #[serde(default)]
    after: StepNo,
    most: Option<usize>,
}

pub(crate) async fn timeline(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    Path(run): Path<String>,
    QueryParams(stretch): QueryParams<StepRange>,
) -> Result<impl IntoResponse, ApiError> {
    let run: RunId = run.parse()?;
    response::load_started(&desk, &owner, &run).await?;
    let entries = desk.engine.entries(&run).await?;
    let most = stretch.most.unwrap_or(5_000).clamp(1, STEPS_MAX);
    let timeline = Timeline::of(&entries, stretch.after, most);
    let body = serde_json::to_vec(&timeline).unwrap_or_default();
    Ok(([(CONTENT_TYPE, "application/json")], body))
}

pub(crate) async fn at(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    PathParams((run, seq)): PathParams<(String, Seq)>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    response::load_started(&desk, &owner, &run).await?;
    let entries = desk.engine.entries(&run).await?;
    let past = up_to(&run, &entries, seq)?;
    if let Some(Event::Sop(SopEvent::SopStarted(begun))) = past.first().map(|entry| &entry.event) {
        let Some(sop) = begun.sops.first() else {
            return Err(ApiError::not_found("the run is not an SOP session"));
        };
        let mut told = serde_json::to_value(RunSnapshot::of_sop(sop, past)).unwrap_or_default();
        let ended = past.last().and_then(|entry| entry.event.outcome());
        let ended = ended.map(Outcome::status);
        told["status"] = json!(ended.unwrap_or(RunStatus::SopSession.as_str()));
        told["questions"] = json!([]);
        return Ok(Json(told));
    }
    let look = inspector(&run, past)?;
    let mut told = serde_json::to_value(RunSnapshot::of(look.run(), past)).unwrap_or_default();
    told["status"] = json!(run_status(look.run()).as_str());
    told["questions"] = json!(response::questions(look.run()));
    if let Some(rejection) = summary::rejection(look.run(), past) {
        told["rejection"] = rejection;
    }
    Ok(Json(told))
}

/// The journal up to an event.
pub(crate) fn up_to<'e>(
    run: &RunId,
    entries: &'e [Entry],
    seq: Seq,
) -> Result<&'e [Entry], ApiError> {
    let last = entries.len();
    let past = entries.get(..seq as usize).filter(|past| !past.is_empty());
    past.ok_or_else(|| {
        ApiError::not_found(format!("{run} has no event {seq}; its journal has {last}"))
    })
}

/// Inspects a run from its journal.
pub(crate) fn inspector(run: &RunId, past: &[Entry]) -> Result<RunInspector, ApiError> {
    RunInspector::at(run.clone(), past)
        .map_err(|illegal| ApiError::bad_request(illegal.to_string()))
}

pub(crate) async fn step(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    PathParams((run, number)): PathParams<(String, StepNo)>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let loaded = response::load(&desk.engine, &owner, &run).await?;
    let (graph, entries) = (&loaded.run.graph, &loaded.entries);
    let trace = Trace::of(&run, graph, entries);
    let Some(step) = trace.steps.iter().find(|step| step.step == number) else {
        return Err(ApiError::not_found(format!("{run} has no step {number}")));
    };
    let mut told = serde_json::to_value(step).unwrap_or_default();
    if step.retried.is_empty() {
        told["retried"] = json!([]);
    }
    let (started, finished) = trace::step_seqs(entries, number);
    told["seqs"] = json!({"started": started, "finished": finished});
    if let Some(tool) = step.tool.as_deref() {
        add_wire_messages(&desk, &run, step, tool, &mut told);
    }
    if step.kind == "choose"
        && let (Some(node), Some(finished)) = (graph.find(&step.node), finished)
    {
        let past = up_to(&run, entries, finished - 1)?;
        let moment = EvalMoment {
            now_ms: entries[finished as usize - 1].at_ms,
            seed: 0,
        };
        let look = inspector(&run, past)?;
        let weighed = try_blocking(move || {
            explain_branch(&look, node, moment, &trial_limits(Instant::now()))
        });
        let weighed = weighed.await.flatten();
        if let Some(weighed) = weighed {
            let rules: Vec<_> = weighed.iter().map(rule_json).collect();
            told["why"] = json!({"rules": rules, "picked": step.label});
        }
    }
    Ok(Json(told))
}

/// Adds the wire messages of a call: as recorded, or the request as the journal has it.
fn add_wire_messages(
    desk: &AppState,
    run: &RunId,
    step: &trace::TraceStep,
    tool: &str,
    told: &mut Told,
) {
    let Some((server, name)) = tool.split_once(':') else {
        return;
    };
    let called = ToolName {
        server: server.into(),
        tool: name.into(),
    };
    let kept = desk.engine.exchange(run, step.step, &called);
    let kept = kept.unwrap_or_default();
    told["request"] = match &kept.request {
        Some(request) => json!({"kept": true, "message": to_json(request)}),
        None => {
            let arguments = step.input.as_ref().map(to_json);
            let params = json!({"name": name, "arguments": arguments});
            json!({"kept": false, "message": {"method": "tools/call", "params": params}})
        }
    };
    if let Some(response) = &kept.response {
        told["response"] = json!({"kept": true, "message": to_json(response)});
    }
    if !kept.stderr.is_empty() {
        told["stderr"] = json!(kept.stderr);
    }
}

fn rule_json(weighed: &RuleEvaluation) -> Told {
    json!({
        "index": weighed.index,
        "rule": to_json(&weighed.rule),
        "language": "jsonlogic",
        "label": weighed.label,
        "held": weighed.matched,
        "tree": explanation_json(&weighed.tree),
    })
}

/// An explanation as a tree.
pub(crate) fn explanation_json(explained: &ExplanationNode) -> Told {
    let below: Vec<_> = explained.children.iter().map(explanation_json).collect();
    let mut told = json!({
        "text": explained.what,
        "value": explained.value.as_ref().map(to_json),
        "children": below,
    });
    if explained.value.is_none() {
        told["undefined"] = json!(true);
    }
    told
}

/// The two runs to compare.
#[derive(Debug, Deserialize)]
pub(crate) struct CompareQuery {
    left: String,
    right: String,
}

pub(crate) async fn compare(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    QueryParams(both): QueryParams<CompareQuery>,
) -> Result<Json<Told>, ApiError> {
    let (left, right): (RunId, RunId) = (both.left.parse()?, both.right.parse()?);
    let first = response::load(&desk.engine, &owner, &left).await?;
    let second = response::load(&desk.engine, &owner, &right).await?;
    let first = Trace::of(&left, &first.run.graph, &first.entries);
    let second = Trace::of(&right, &second.run.graph, &second.entries);
    let mut steps = step_pairs(&first, &second);
    let same = steps.iter().all(|pair| pair.same);
    let more = steps.len() > PAIRS_MAX;
    steps.truncate(PAIRS_MAX);
    let input = value_differences(Some(&first.input), Some(&second.input));
    let outcome = value_differences(first.outcome.as_ref(), second.outcome.as_ref());
    let mut told = json!({
        "left": left,
        "right": right,
        "same": same && input.is_empty() && outcome.is_empty(),
        "input": input,
        "outcome": outcome,
        "steps": steps,
        "more": more,
    });
    if let Some(forked) = fork_relation(&first, &second) {
        let fork = if forked.which == "first" {
            "left"
        } else {
            "right"
        };
        told["forked"] = json!({"fork": fork, "seq": forked.seq});
    }
    Ok(Json(told))
}
