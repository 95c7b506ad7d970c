//! `run_answer`: an answer to what a run waits for. What the caller may not answer is put to its
//! client's user, by a form or by an address.

use super::super::elsewhere::{self, Elsewhere};
use super::super::pausing::{self, Next};
use super::super::reply;
use super::super::toolset::Means;
use super::super::underway::Underway;
use super::steer::{driven, settled};
use rmcp::model::CallToolResponse;
use tramline_core::Value;
use tramline_core::ids::{BadId, Checkpoint, RunId};
use tramline_core::journal::{Answer, Budget};
use tramline_engine::{Fault, PersonNeeded};

const TOOL: &str = "run_answer";

/// What an answer came to: the run goes on, or the client is asked first.
enum Outcome {
    GoesOn(RunId),
    Asks(Box<CallToolResponse>),
}

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let asked = arguments.get("checkpoint_id").and_then(Value::as_str);
    let asked: Checkpoint = match asked.unwrap_or_default().parse() {
        Ok(asked) => asked,
        Err(bad) => return reply::fault(&Fault::Refused(BadId::to_string(&bad)), None).into(),
    };
    let came = match brought(&means).await {
        Ok(Some(came)) => Ok(came),
        Ok(None) => respond(&means, &asked, &arguments).await,
        Err(fault) => Err(fault),
    };
    match came {
        Ok(Outcome::Asks(reply)) => *reply,
        Ok(Outcome::GoesOn(run)) => {
            let stands = match driven(&means, &run).await {
                Ok(()) | Err(Fault::Over { .. } | Fault::Expired { .. }) => {
                    settled(&means, &run).await
                }
                Err(fault) => Err(fault),
            };
            reply::made(stands, Some(&run)).into()
        }
        Err(fault) => reply::fault(&fault, Some(&asked.run)).into(),
    }
}

/// What the client brings back from an earlier call of this tool, if it does.
async fn brought(means: &Means) -> Result<Option<Outcome>, Fault> {
    let Some((state, responses)) = &means.brought else {
        return Ok(None);
    };
    if state.elsewhere {
        let answered = elsewhere::settled_meanwhile(means).await?;
        return Ok(answered.map(Outcome::GoesOn));
    }
    let answered = pausing::answered(&means.shared, state.clone(), responses, &means.context);
    match answered.await? {
        (underway, Next::GoOn) => Ok(Some(Outcome::GoesOn(underway.run))),
        (_, Next::Reply(reply)) => Ok(Some(Outcome::Asks(reply))),
    }
}

async fn respond(means: &Means, asked: &Checkpoint, arguments: &Value) -> Result<Outcome, Fault> {
    let answer = said(arguments)?;
    let why = arguments.get("why").and_then(Value::as_str);
    let by = means.respondent();
    let shows_forms = by.shows_forms;
    let put = means
        .engine
        .answer(asked, answer, by, why.map(str::to_owned));
    match put.await {
        Ok(()) => Ok(Outcome::GoesOn(asked.run.clone())),
        Err(Fault::PersonNeeded(needed)) if shows_forms => by_form(means, needed).await,
        Err(Fault::PersonNeeded(needed)) => {
            match elsewhere::answered(means, TOOL, &needed, arguments).await? {
                Elsewhere::Answered => Ok(Outcome::GoesOn(asked.run.clone())),
                Elsewhere::Sends(reply) => Ok(Outcome::Asks(reply)),
                Elsewhere::Waits => Err(Fault::PersonNeeded(needed)),
            }
        }
        Err(fault) => Err(fault),
    }
}

/// Puts a question that the agent may not answer to its client's user.
async fn by_form(means: &Means, needed: Box<PersonNeeded>) -> Result<Outcome, Fault> {
    let asked = &needed.asked;
    let loaded = means.engine.load(&asked.run).await?;
    let Some(pause) = loaded.run.pauses.get(&asked.seq) else {
        return Ok(Outcome::GoesOn(asked.run.clone()));
    };
    let underway = Underway::take_up(&means.engine, &asked.run).await?;
    let open = [(asked.seq, pause.clone())];
    let (shared, context) = (&means.shared, &means.context);
    match pausing::put(shared, TOOL, &underway, &open, context).await? {
        Some(Next::GoOn) => Ok(Outcome::GoesOn(asked.run.clone())),
        Some(Next::Reply(reply)) => Ok(Outcome::Asks(reply)),
        // The user decided nothing, so nothing was answered.
        None => Err(Fault::PersonNeeded(needed)),
    }
}

/// What was decided.
fn said(arguments: &Value) -> Result<Answer, Fault> {
    Ok(match arguments.get("answer").and_then(Value::as_str) {
        Some("approve" | "proceed") => Answer::Proceed,
        Some("retry") => Answer::Retry,
        Some("skip") => Answer::Skip {
            output: arguments.get("output").cloned().unwrap_or_default(),
        },
        Some("extend") => match arguments.get("budget").map(Budget::read) {
            Some(Ok(budget)) => Answer::Extend { budget },
            Some(Err(wrong)) => return Err(Fault::Refused(wrong)),
            None => {
                let says = "`extend` needs `budget`: what is added, such as {\"calls\": 10}";
                return Err(Fault::Refused(says.into()));
            }
        },
        Some(_) | None => Answer::Reject,
    })
}
