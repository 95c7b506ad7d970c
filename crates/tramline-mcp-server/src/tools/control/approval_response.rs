//! `approval_response`: answers a decision that a workflow waits for.

use super::error::ControlError;
use super::read;
use super::wait::{self, ControlReply, resume_with_answer, wait_for_run};
use crate::elicitation::url::{self as url_elicitation, UrlElicitation};
use crate::form_answer;
use crate::run_wait::{AwaitedRun, OnCancel};
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use tramline_engine::{Fault, PauseAnswer, PersonNeeded, ended_fault, stale_checkpoint};
use tramline_expr::Value;
use tramline_views::pause_view;
use tramline_workflow::ids::RunId;
use tramline_workflow::journal::{Answer, Budget, Pause};

const TOOL: &str = "approval_response";

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResponse {
    let came = respond(&means, &arguments).await;
    wait::tool_response(came)
}

async fn respond(means: &CallContext, arguments: &Value) -> Result<ControlReply, ControlError> {
    if let Some(came) = resume_with_answer(means, TOOL).await? {
        return Ok(came);
    }
    if let Some(run) = url_elicitation::answered_run(means).await? {
        return wait_for_answered_run(means, &run).await;
    }
    let arrival = means
        .shared
        .toolset_state
        .control
        .arrive(&read::workflow_id(arguments)?);
    let loaded = read::load_workflow(means, arguments).await?;
    let run = &loaded.run;
    means.shared.toolset_state.control.admit(&run.id).await?;
    let asked = read::checkpoint(arguments, run)?;
    let asked = asked.ok_or_else(|| ControlError::invalid_params("`checkpoint_id` is required"))?;
    if run.outcome.is_some() {
        return Err(ended_fault(run).into());
    }
    let Some(pause) = run.pauses.get(&asked.seq) else {
        return Err(stale_checkpoint(run, asked.seq).into());
    };
    let answer = read_decision(arguments, pause).map_err(|wrong| wrong.with_workflow(&run.id))?;
    let why = read::text(arguments, "feedback").filter(|text| !text.is_empty());
    let said = PauseAnswer {
        pause: asked.seq,
        answer,
        by: means.respondent(),
        why: why.map(str::to_owned),
    };
    arrival.record_answer(asked.seq);
    let id = run.id.clone();
    let gone_on = AwaitedRun::answer_and_resume(&means.engine, loaded, vec![said]).await;
    let gone_on = gone_on.inspect_err(|_| arrival.discard_answer());
    let mut underway = match gone_on {
        Err(Fault::PersonNeeded(needed)) if means.respondent().shows_forms => {
            return ask_client_user(means, *needed).await;
        }
        Err(Fault::PersonNeeded(needed)) => {
            match url_elicitation::wait_for_person(means, TOOL, &needed, arguments).await? {
                UrlElicitation::Answered => return wait_for_answered_run(means, &id).await,
                UrlElicitation::AskUser(reply) => return Ok(ControlReply::Question(reply)),
                UrlElicitation::Pending => return Err(Fault::PersonNeeded(needed).into()),
            }
        }
        other => other?,
    };
    underway.on_cancel = OnCancel::Continue;
    wait_for_run(means, TOOL, underway).await
}

/// Waits for a workflow that a person has answered through another channel.
async fn wait_for_answered_run(
    means: &CallContext,
    run: &RunId,
) -> Result<ControlReply, ControlError> {
    let mut underway = AwaitedRun::load(&means.engine, run).await?;
    underway.on_cancel = OnCancel::Continue;
    wait_for_run(means, TOOL, underway).await
}

/// Asks the client's user a question that the agent may not answer.
async fn ask_client_user(
    means: &CallContext,
    needed: PersonNeeded,
) -> Result<ControlReply, ControlError> {
    let came = wait_for_answered_run(means, &needed.checkpoint.run).await?;
    let asked = Value::from(needed.checkpoint.to_string());
    match &came {
        // The user made no decision, so the question is still open.
        ControlReply::Status(told) if told.get("checkpoint_id") == Some(&asked) => {
            Err(Fault::PersonNeeded(Box::new(needed)).into())
        }
        ControlReply::Status(_) | ControlReply::Question(_) => Ok(came),
    }
}

/// The decision about a pause.
fn read_decision(arguments: &Value, pause: &Pause) -> Result<Answer, ControlError> {
    if let Pause::Form { .. } = pause {
        return form_answer::read(arguments).map_err(ControlError::invalid_params);
    }
    let approved = arguments.get("approved").and_then(Value::as_bool);
    let word = read::text(arguments, "answer");
    if approved == Some(false) || word == Some("reject") {
        return Ok(Answer::Reject);
    }
    let fits = pause.options();
    let usual = match pause {
        Pause::InDoubt { .. } | Pause::Child { .. } | Pause::Form { .. } => None,
        Pause::Budget { .. } => Some("extend"),
        Pause::Layer { .. }
        | Pause::Approval { .. }
        | Pause::Break { .. }
        | Pause::Effect { .. } => Some("approve"),
    };
    match word.or(usual) {
        Some("approve" | "proceed") if fits.contains(&"proceed") => Ok(Answer::Proceed),
        Some("retry") if fits.contains(&"retry") => Ok(Answer::Retry),
        Some("skip") if fits.contains(&"skip") => Ok(Answer::Skip {
            output: arguments.get("output").cloned().unwrap_or_default(),
        }),
        Some("extend") if fits.contains(&"extend") => extension(arguments, pause),
        Some(_) | None => {
            let mut message = format!(
                "`answer` is required and must be one of: {}",
                fits.join(", ").replace("proceed", "approve")
            );
            if let Pause::Child { run: child, .. } = pause {
                message.push_str(&format!(
                    "; to approve what {child} asks, answer there: pass it as workflow_id, with \
                     its checkpoint_id"
                ));
            }
            Err(ControlError::invalid_params(message))
        }
    }
}

fn extension(arguments: &Value, pause: &Pause) -> Result<Answer, ControlError> {
    let budget = match arguments.get("budget") {
        Some(budget) => Budget::parse(budget).map_err(ControlError::invalid_params)?,
        None => pause_view::default_extension(pause).unwrap_or_default(),
    };
    Ok(Answer::Extend { budget })
}
