//! `continue`: runs the next layer of a workflow that paused after one.

use super::arrivals::Arrival;
use super::error::ControlError;
use super::status::{checkpoint_id, needs_decision};
use super::wait::{self, ControlReply, resume_with_answer, wait_for_run};
use super::{read, seen_checkpoint};
use crate::pause_reply::checkpoint_type;
use crate::run_wait::{AwaitedRun, OnCancel};
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use tramline_engine::{Fault, LoadedRun, PauseAnswer, ended_fault, stale_checkpoint};
use tramline_expr::Value;
use tramline_views::pause_view;
use tramline_workflow::ids::{Checkpoint, Seq};
use tramline_workflow::journal::{Answer, Event, Pause, RunEvent};
use tramline_workflow::run::Run;

const TOOL: &str = "continue";

/// Maximum delay between two simultaneous requests that reach two processes, in milliseconds. A later request
/// returns to a workflow that runs in another process.
const SIMULTANEOUS_MS: i64 = 2_000;

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResponse {
    let came = continue_run(&means, &arguments).await;
    wait::tool_response(came)
}

async fn continue_run(
    means: &CallContext,
    arguments: &Value,
) -> Result<ControlReply, ControlError> {
    if let Some(came) = resume_with_answer(means, TOOL).await? {
        return Ok(came);
    }
    let arrival = means
        .shared
        .toolset_state
        .control
        .arrive(&read::workflow_id(arguments)?);
    let loaded = read::load_workflow(means, arguments).await?;
    let run = &loaded.run;
    means.shared.toolset_state.control.admit(&run.id).await?;
    let named = read::checkpoint(arguments, run)?;
    let waits = pending_pauses(run, named.as_ref())?;
    if named.is_none() {
        seen_checkpoint::check_was_seen(&loaded, &arrival)?;
    }
    if waits.is_empty() {
        check_not_awaited(means, &loaded, &arrival).await?;
    }
    let why = read::text(arguments, "reason").map(str::to_owned);
    let by = means.respondent();
    let said = waits.iter().map(|pause| PauseAnswer {
        pause: *pause,
        answer: Answer::Proceed,
        by: by.clone(),
        why: why.clone(),
    });
    let said: Vec<_> = said.collect();
    let underway = match waits.last() {
        None => Ok(AwaitedRun::of(&loaded.run)),
        Some(last) => {
            arrival.record_answer(*last);
            AwaitedRun::answer_and_resume(&means.engine, loaded, said).await
        }
    };
    let mut underway = underway.inspect_err(|_| arrival.discard_answer())?;
    underway.on_cancel = OnCancel::Continue;
    wait_for_run(means, TOOL, underway).await
}

/// The pauses where a run waits for `continue`. Empty if it runs.
fn pending_pauses(run: &Run, named: Option<&Checkpoint>) -> Result<Vec<Seq>, ControlError> {
    if run.outcome.is_some() {
        return Err(ended_fault(run).into());
    }
    if let Some(named) = named {
        return match run.pauses.get(&named.seq) {
            None => Err(ControlError::from(stale_checkpoint(run, named.seq)).with_run_state(run)),
            Some(pause) if needs_decision(pause) => Err(decision_required(run, named.seq, pause)),
            Some(_) => Ok(vec![named.seq]),
        };
    }
    match run.pauses.iter().find(|(_, pause)| needs_decision(pause)) {
        Some((seq, pause)) => Err(decision_required(run, *seq, pause)),
        None => Ok(run.pauses.keys().copied().collect()),
    }
}

/// The error for a run that waits for a decision: what it is about and how to answer it.
fn decision_required(run: &Run, seq: Seq, pause: &Pause) -> ControlError {
    let says = pause_view::message(&run.graph, pause);
    let point = checkpoint_id(run, seq);
    let message = format!(
        "{} waits for a decision that `continue` cannot make: {says}; answer it with \
         approval_response and checkpoint_id {point}",
        run.id
    );
    ControlError::invalid_params(message)
        .with_run_state(run)
        .with("checkpoint_id", point)
        .with("checkpoint_type", checkpoint_type(pause))
        .with("decision_context", says)
        .with(
            "options",
            Value::array(["approval_response", "abort"].map(Value::from)),
        )
}

/// Rejects waiting for a workflow that another call has just resumed and waits for.
async fn check_not_awaited(
    means: &CallContext,
    loaded: &LoadedRun,
    arrival: &Arrival<'_>,
) -> Result<(), ControlError> {
    let run = &loaded.run;
    let running = |by: &str| {
        let message = format!("{} is running, and {by} waits for it", run.id);
        Err(ControlError::invalid_params(message)
            .with_workflow(&run.id)
            .with("status", "running"))
    };
    if means.shared.toolset_state.control.is_awaited(&run.id) || arrival.is_concurrent() {
        return running("another call");
    }
    let answered = |event: &Event| matches!(event, Event::Run(RunEvent::Answered { .. }));
    let mut answers = loaded.entries.iter().rev();
    let last = answers.find(|entry| answered(&entry.event));
    let at_once = last.is_some_and(|entry| entry.at_ms > arrival.at_ms() - SIMULTANEOUS_MS);
    let row = means.engine.store().row(&run.id).await;
    let driven = row.map_err(Fault::from)?.is_some_and(|row| row.driven);
    if at_once && driven && !means.engine.drives(&run.id) {
        return running("a call in another process");
    }
    Ok(())
}
