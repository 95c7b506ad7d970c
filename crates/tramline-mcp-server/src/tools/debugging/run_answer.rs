//! `run_answer`: answers a waiting run. A question that the caller may not answer goes to its client's user, as
//! a form or a URL.

use super::stepping::{ensure_driven, state_when_settled};
use crate::elicitation::url::{self as url_elicitation, UrlElicitation};
use crate::elicitation::{self, AfterElicitation};
use crate::form_answer;
use crate::reply;
use crate::run_wait::AwaitedRun;
use crate::tool::CallContext;
use rmcp::model::CallToolResponse;
use tramline_engine::{Fault, PersonNeeded};
use tramline_expr::Value;
use tramline_workflow::ids::{Checkpoint, InvalidId, RunId};
use tramline_workflow::journal::{Answer, Budget};

const TOOL: &str = "run_answer";

/// Result of an answer: the run resumes, or the client is asked first.
enum AnswerOutcome {
    Resumed(RunId),
    Question(Box<CallToolResponse>),
}

pub(super) async fn call(means: CallContext, arguments: Value) -> CallToolResponse {
    let asked = arguments.get("checkpoint_id").and_then(Value::as_str);
    let asked: Checkpoint = match asked.unwrap_or_default().parse() {
        Ok(asked) => asked,
        Err(bad) => {
            return reply::fault_reply(&Fault::Rejected(InvalidId::to_string(&bad)), None).into();
        }
    };
    let came = match apply_client_answer(&means).await {
        Ok(Some(came)) => Ok(came),
        Ok(None) => respond(&means, &asked, &arguments).await,
        Err(fault) => Err(fault),
    };
    match came {
        Ok(AnswerOutcome::Question(reply)) => *reply,
        Ok(AnswerOutcome::Resumed(run)) => {
            let stands = match ensure_driven(&means, &run).await {
                Ok(()) | Err(Fault::Ended { .. } | Fault::Expired { .. }) => {
                    state_when_settled(&means, &run).await
                }
                Err(fault) => Err(fault),
            };
            reply::reply_or_fault(stands, Some(&run)).into()
        }
        Err(fault) => reply::fault_reply(&fault, Some(&asked.run)).into(),
    }
}

/// The client's response to a question of an earlier call of this tool, if any.
async fn apply_client_answer(means: &CallContext) -> Result<Option<AnswerOutcome>, Fault> {
    let Some((state, responses)) = &means.client_answers else {
        return Ok(None);
    };
    if state.elsewhere {
        let answered = url_elicitation::answered_run(means).await?;
        return Ok(answered.map(AnswerOutcome::Resumed));
    }
    let answered =
        elicitation::apply_answers(&means.shared, state.clone(), responses, &means.request);
    match answered.await? {
        (underway, AfterElicitation::Resume) => Ok(Some(AnswerOutcome::Resumed(underway.run))),
        (_, AfterElicitation::Reply(reply)) => Ok(Some(AnswerOutcome::Question(reply))),
    }
}

async fn respond(
    means: &CallContext,
    asked: &Checkpoint,
    arguments: &Value,
) -> Result<AnswerOutcome, Fault> {
    let answer = read_answer(arguments)?;
    let why = arguments.get("why").and_then(Value::as_str);
    let by = means.respondent();
    let shows_forms = by.shows_forms;
    let put = means
        .engine
        .answer(asked, answer, by, why.map(str::to_owned));
    match put.await {
        Ok(()) => Ok(AnswerOutcome::Resumed(asked.run.clone())),
        Err(Fault::PersonNeeded(needed)) if shows_forms => ask_client_user(means, needed).await,
        Err(Fault::PersonNeeded(needed)) => {
            match url_elicitation::wait_for_person(means, TOOL, &needed, arguments).await? {
                UrlElicitation::Answered => Ok(AnswerOutcome::Resumed(asked.run.clone())),
                UrlElicitation::AskUser(reply) => Ok(AnswerOutcome::Question(reply)),
                UrlElicitation::Pending => Err(Fault::PersonNeeded(needed)),
            }
        }
        Err(fault) => Err(fault),
    }
}

/// Asks the client's user a question that the agent may not answer.
async fn ask_client_user(
    means: &CallContext,
    needed: Box<PersonNeeded>,
) -> Result<AnswerOutcome, Fault> {
    let asked = &needed.checkpoint;
    let loaded = means.engine.load(&asked.run).await?;
    let Some(pause) = loaded.run.pauses.get(&asked.seq) else {
        return Ok(AnswerOutcome::Resumed(asked.run.clone()));
    };
    let underway = AwaitedRun::load(&means.engine, &asked.run).await?;
    let open = [(asked.seq, pause.clone())];
    let (shared, context) = (&means.shared, &means.request);
    match elicitation::ask_client(shared, TOOL, &underway, &open, context).await? {
        Some(AfterElicitation::Resume) => Ok(AnswerOutcome::Resumed(asked.run.clone())),
        Some(AfterElicitation::Reply(reply)) => Ok(AnswerOutcome::Question(reply)),
        // The user made no decision, so the question is still open.
        None => Err(Fault::PersonNeeded(needed)),
    }
}

/// The decision in the arguments.
fn read_answer(arguments: &Value) -> Result<Answer, Fault> {
    Ok(match arguments.get("answer").and_then(Value::as_str) {
        Some("approve" | "proceed") => Answer::Proceed,
        Some("retry") => Answer::Retry,
        Some("skip") => Answer::Skip {
            output: arguments.get("output").cloned().unwrap_or_default(),
        },
        Some("extend") => match arguments.get("budget").map(Budget::parse) {
            Some(Ok(budget)) => Answer::Extend { budget },
            Some(Err(wrong)) => return Err(Fault::Rejected(wrong)),
            None => {
                let says = "`extend` requires `budget`, such as {\"calls\": 10}";
                return Err(Fault::Rejected(says.into()));
            }
        },
        Some("reject") => Answer::Reject,
        Some("submit" | "decline" | "cancel") => {
            form_answer::read(arguments).map_err(Fault::Rejected)?
        }
        Some(_) | None => {
            let says = "`answer` must be one of: approve, proceed, retry, skip, extend, reject, \
                        submit, decline, cancel";
            return Err(Fault::Rejected(says.into()));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::read_answer;
    use tramline_expr::Value;
    use tramline_workflow::journal::Answer;

    #[test]
    fn only_a_known_answer_is_one() {
        for text in ["{}", r#"{"answer": "Approve"}"#, r#"{"answer": 1}"#] {
            let arguments = Value::from_json(text).unwrap();
            assert!(read_answer(&arguments).is_err(), "{text}");
        }
        let rejected = Value::from_json(r#"{"answer": "reject"}"#).unwrap();
        assert_eq!(read_answer(&rejected).unwrap(), Answer::Reject);
    }
}
