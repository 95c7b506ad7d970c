//! `approval_response`: a decision that a workflow waits for.

use super::super::elsewhere::{self, Elsewhere};
use super::super::toolset::Means;
use super::super::underway::{Cancelled, Underway};
use super::attend::{self, Came, attend, brought};
use super::read;
use super::wrong::Wrong;
use rmcp::model::CallToolResponse;
use tramline_core::ids::RunId;
use tramline_core::journal::{Answer, Budget, Pause};
use tramline_core::{Value, question};
use tramline_engine::{Fault, PersonNeeded, Said, over, stale};

const TOOL: &str = "approval_response";

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let came = respond(&means, &arguments).await;
    attend::reply(came)
}

async fn respond(means: &Means, arguments: &Value) -> Result<Came, Wrong> {
    if let Some(came) = brought(means, TOOL).await? {
        return Ok(came);
    }
    if let Some(run) = elsewhere::settled_meanwhile(means).await? {
        return on_with(means, &run).await;
    }
    let arrival = means.shared.desk.arrive(&read::workflow_id(arguments)?);
    let run = read::load(means, arguments).await?.run;
    means.shared.desk.admit(&run.id).await?;
    let asked = read::checkpoint(arguments, &run)?;
    let asked = asked.ok_or_else(|| Wrong::params("`checkpoint_id` is missing"))?;
    if run.outcome.is_some() {
        return Err(over(&run).into());
    }
    let Some(pause) = run.pauses.get(&asked.seq) else {
        return Err(stale(&run, asked.seq).into());
    };
    let answer = said(arguments, pause).map_err(|wrong| wrong.of(&run.id))?;
    let why = read::text(arguments, "feedback").filter(|text| !text.is_empty());
    let said = Said {
        pause: asked.seq,
        answer,
        by: means.respondent(),
        why: why.map(str::to_owned),
    };
    arrival.answers(asked.seq);
    let gone_on = Underway::go_on(&means.engine, &run, vec![said]).await;
    let gone_on = gone_on.inspect_err(|_| arrival.was_refused());
    let mut underway = match gone_on {
        Err(Fault::PersonNeeded(needed)) if means.respondent().shows_forms => {
            return by_form(means, *needed).await;
        }
        Err(Fault::PersonNeeded(needed)) => {
            match elsewhere::answered(means, TOOL, &needed, arguments).await? {
                Elsewhere::Answered => return on_with(means, &run.id).await,
                Elsewhere::Sends(reply) => return Ok(Came::Asks(reply)),
                Elsewhere::Waits => return Err(Fault::PersonNeeded(needed).into()),
            }
        }
        other => other?,
    };
    underway.cancelled = Cancelled::GoesOn;
    attend(means, TOOL, underway).await
}

/// Waits for a workflow that a person has answered elsewhere.
async fn on_with(means: &Means, run: &RunId) -> Result<Came, Wrong> {
    let mut underway = Underway::take_up(&means.engine, run).await?;
    underway.cancelled = Cancelled::GoesOn;
    attend(means, TOOL, underway).await
}

/// Puts a question that the agent may not answer to its client's user.
async fn by_form(means: &Means, needed: PersonNeeded) -> Result<Came, Wrong> {
    let came = on_with(means, &needed.asked.run).await?;
    let asked = Value::from(needed.asked.to_string());
    match &came {
        // The user decided nothing, so nothing was answered.
        Came::Stands(told) if told.get("checkpoint_id") == Some(&asked) => {
            Err(Fault::PersonNeeded(Box::new(needed)).into())
        }
        Came::Stands(_) | Came::Asks(_) => Ok(came),
    }
}

/// What was decided about a pause.
fn said(arguments: &Value, pause: &Pause) -> Result<Answer, Wrong> {
    let approved = arguments.get("approved").and_then(Value::as_bool);
    let word = read::text(arguments, "answer");
    if approved == Some(false) || word == Some("reject") {
        return Ok(Answer::Reject);
    }
    let fits = question::options(pause);
    let usual = match pause {
        Pause::InDoubt { .. } | Pause::Child { .. } => None,
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
            let message = format!(
                "say by `answer` what is to be done: it takes {}",
                fits.join(", ").replace("proceed", "approve")
            );
            Err(Wrong::params(message))
        }
    }
}

fn extension(arguments: &Value, pause: &Pause) -> Result<Answer, Wrong> {
    let budget = match arguments.get("budget") {
        Some(budget) => Budget::read(budget).map_err(Wrong::params)?,
        None => question::extension(pause).unwrap_or_default(),
    };
    Ok(Answer::Extend { budget })
}
