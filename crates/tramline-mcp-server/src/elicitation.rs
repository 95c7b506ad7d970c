//! Elicitation: asks the client's user the questions of a paused run.
//!
//! For clients with the newest protocol version, the call ends with the question and is repeated with the
//! answer. Older clients are asked while the call is waiting. The first answer counts, through the client or
//! any other channel.

use super::caller::{self, Caller};
use super::request_state::{self, RequestState};
use super::run_wait::{self, AwaitedRun, OnCancel};
use super::{SharedState, reply};
use form::{FormAnswer, FormDecision};
use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer, ServiceError};
use std::time::Duration;
use tramline_engine::{Engine, Fault, LoadedRun, QuestionReader, Respondent};
use tramline_views::pause_view::Extent;
use tramline_workflow::authority::AnswerChannel;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Answer, Event, Pause, RunEvent};

mod form;
pub(crate) mod url;

/// How long to wait for a client's answer; after that the run stays paused and can be answered through other
/// channels.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// Maximum number of questions of a run asked at once; the others follow when these are answered.
const QUESTIONS_MAX: usize = 16;
/// How often a form is shown again after an answer that does not fit it.
const FORM_ATTEMPTS_MAX: usize = 10;
/// Name in the journal of an answer through a client. It distinguishes a reused question from an answer through
/// another channel.
const CLIENT_NAME: &str = "MCP client";

/// What happens to a call whose run is paused.
pub(super) enum AfterElicitation {
    /// The run was answered; wait for it again.
    Resume,
    /// Return this reply to the caller.
    Reply(Box<CallToolResponse>),
}

/// How a client can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElicitationChannel {
    /// End the call with the question.
    InReply,
    /// Ask while the call is waiting.
    DuringCall,
    /// The client cannot be asked.
    Unsupported,
}

fn form_channel(context: &RequestContext<RoleServer>) -> ElicitationChannel {
    channel_for_version(shows_forms(context), context)
}

/// Whether a request has no session in which its client could be asked.
pub(super) fn asks_without_session(context: &RequestContext<RoleServer>) -> bool {
    channel_for_version(true, context) == ElicitationChannel::InReply
}

/// Whether a client is asked by ending the call with the question.
pub(super) fn asks_in_reply(context: &RequestContext<RoleServer>) -> bool {
    form_channel(context) == ElicitationChannel::InReply
}

/// How to ask a client that supports it, depending on its protocol version.
fn channel_for_version(can: bool, context: &RequestContext<RoleServer>) -> ElicitationChannel {
    let version = context.protocol_version();
    let legacy = version.is_none_or(|version| version.has_initialize());
    match (can, legacy) {
        (false, _) => ElicitationChannel::Unsupported,
        (true, false) => ElicitationChannel::InReply,
        (true, true) => ElicitationChannel::DuringCall,
    }
}

/// Whether a client can show its user a form.
pub(super) fn shows_forms(context: &RequestContext<RoleServer>) -> bool {
    let declared = context
        .client_capabilities()
        .and_then(|can| can.elicitation);
    // Older protocol versions have only forms.
    declared.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// How a client can be asked to open a URL for its user.
pub(super) fn url_channel(context: &RequestContext<RoleServer>) -> ElicitationChannel {
    let declared = context
        .client_capabilities()
        .and_then(|can| can.elicitation);
    channel_for_version(declared.is_some_and(|can| can.url.is_some()), context)
}

/// The questions of a run as elicitation requests.
pub(super) async fn input_requests(
    engine: &Engine,
    run: &RunId,
    asked: impl Fn(Seq) -> bool,
) -> Result<InputRequests, Fault> {
    let loaded = engine.load(run).await?;
    let mut requests = InputRequests::new();
    let pauses = loaded.run.pauses.iter().filter(|(seq, _)| asked(**seq));
    for (seq, pause) in pauses.take(QUESTIONS_MAX) {
        let form = question_form(engine, &loaded, (*seq, pause), None).await?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        let asked = Checkpoint {
            run: run.clone(),
            seq: *seq,
        };
        requests.insert(asked.to_string(), request);
    }
    Ok(requests)
}

/// A question as a form with all its details.
async fn question_form(
    engine: &Engine,
    loaded: &LoadedRun,
    (seq, pause): (Seq, &Pause),
    note: Option<&str>,
) -> Result<ElicitRequestParams, Fault> {
    let asked = engine
        .pause_detail(loaded, seq, pause, Extent::Bounded, QuestionReader::Agent)
        .await;
    let shown = form::FormQuestion { asked, pause, note };
    form::form(&loaded.run.graph, &loaded.run.id, &shown).map_err(form_fault)
}

/// Asks the caller the questions of its run, or returns the pause as the reply.
pub(super) async fn ask_or_reply(
    shared: &SharedState,
    tool: &str,
    underway: &AwaitedRun,
    pauses: &[(Seq, Pause)],
    context: &RequestContext<RoleServer>,
) -> AfterElicitation {
    match ask_client(shared, tool, underway, pauses, context).await {
        Ok(Some(next)) => next,
        Ok(None) => {
            let paused = reply::paused_reply(&underway.graph, &underway.run, pauses);
            AfterElicitation::Reply(Box::new(paused.into()))
        }
        Err(fault) => AfterElicitation::Reply(Box::new(
            reply::fault_reply(&fault, Some(&underway.run)).into(),
        )),
    }
}

/// Asks the caller; `None` if it cannot be asked or did not decide.
pub(super) async fn ask_client(
    shared: &SharedState,
    tool: &str,
    underway: &AwaitedRun,
    pauses: &[(Seq, Pause)],
    context: &RequestContext<RoleServer>,
) -> Result<Option<AfterElicitation>, Fault> {
    match (form_channel(context), pauses) {
        (ElicitationChannel::Unsupported, _) | (_, []) => Ok(None),
        (ElicitationChannel::InReply, pauses) => {
            end_with_questions(shared, tool, underway, pauses, context)
                .await
                .map(Some)
        }
        (ElicitationChannel::DuringCall, [first, ..]) => {
            elicit(shared, underway, first, context).await
        }
    }
}

fn form_fault(error: serde_json::Error) -> Fault {
    Fault::Rejected(format!("the question cannot be shown: {error}"))
}

/// Ends the call with the questions.
async fn end_with_questions(
    shared: &SharedState,
    tool: &str,
    underway: &AwaitedRun,
    pauses: &[(Seq, Pause)],
    context: &RequestContext<RoleServer>,
) -> Result<AfterElicitation, Fault> {
    let run = &underway.run;
    let pauses = &pauses[..pauses.len().min(QUESTIONS_MAX)];
    let state = RequestState {
        run: run.clone(),
        asked: pauses.iter().map(|(seq, _)| *seq).collect(),
        elsewhere: false,
        arguments: request_state::arguments_digest(context),
    };
    let requests = input_requests(&shared.engine, run, |seq| state.asked.contains(&seq)).await?;
    let sealed = request_state::seal(shared.engine.store(), tool, &state).await?;
    let carried = InputRequiredResult::new(Some(requests), Some(sealed));
    Ok(AfterElicitation::Reply(Box::new(carried.into())))
}

/// Applies the answers that a caller returns, and loads the run they belong to.
pub(super) async fn apply_answers(
    shared: &SharedState,
    RequestState { run, asked, .. }: RequestState,
    responses: &InputResponses,
    context: &RequestContext<RoleServer>,
) -> Result<(AwaitedRun, AfterElicitation), Fault> {
    let engine = &shared.engine;
    let loaded = engine.load(&run).await?;
    // The sealed state proves access to the session; the token decides about the run.
    let session = loaded.run.started.session.clone();
    if !Caller::of(context).may_see(&loaded.run, session.as_deref()) {
        return Err(Fault::NotFound(run));
    }
    let underway = AwaitedRun::load(engine, &run).await?;
    for seq in asked {
        let asked = checkpoint(&underway, seq);
        let Some(response) = responses.get(&asked.to_string()) else {
            continue;
        };
        let Some(pause) = loaded.run.pauses.get(&seq) else {
            check_not_reused(&loaded, asked)?;
            continue;
        };
        let response: ElicitResult = serde_json::from_value(response.clone()).map_err(|error| {
            Fault::Rejected(format!("the response for {asked} is invalid: {error}"))
        })?;
        if !record_answer(engine, &asked, pause, &response, context).await? {
            let waits: Vec<_> = loaded.run.pauses.clone().into_iter().collect();
            let paused = reply::paused_reply(&underway.graph, &run, &waits);
            return Ok((underway, AfterElicitation::Reply(Box::new(paused.into()))));
        }
    }
    Ok((underway, AfterElicitation::Resume))
}

/// Rejects a question that a client has answered before. If it was answered through another channel, the client
/// is not at fault and the run continues.
fn check_not_reused(loaded: &LoadedRun, asked: Checkpoint) -> Result<(), Fault> {
    let by_client = loaded.entries.iter().any(|entry| {
        matches!(&entry.event, Event::Run(RunEvent::Answered { pause, by, .. })
            if *pause == asked.seq && by.starts_with(CLIENT_NAME))
    });
    if !by_client {
        return Ok(());
    }
    let run = &loaded.run.id;
    let point = |seq: &Seq| Checkpoint {
        run: run.clone(),
        seq: *seq,
    };
    Err(Fault::Stale {
        asked,
        current: loaded.run.pauses.keys().map(point).collect(),
    })
}

/// Asks the client while the call is waiting.
async fn elicit(
    shared: &SharedState,
    underway: &AwaitedRun,
    (seq, pause): &(Seq, Pause),
    context: &RequestContext<RoleServer>,
) -> Result<Option<AfterElicitation>, Fault> {
    let mut note: Option<String> = None;
    for _ in 0..FORM_ATTEMPTS_MAX {
        match elicit_once(shared, underway, (seq, pause), note.as_deref(), context).await {
            // The answer does not fit the form: the person sees why, and corrects it.
            Err(Fault::Rejected(says)) if pause.form().is_some() => note = Some(says),
            other => return other,
        }
    }
    Ok(None)
}

async fn elicit_once(
    shared: &SharedState,
    underway: &AwaitedRun,
    (seq, pause): (&Seq, &Pause),
    note: Option<&str>,
    context: &RequestContext<RoleServer>,
) -> Result<Option<AfterElicitation>, Fault> {
    let engine = &shared.engine;
    let asked = checkpoint(underway, *seq);
    let loaded = engine.load(&underway.run).await?;
    let form = question_form(engine, &loaded, (*seq, pause), note).await?;
    drop(loaded);
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::no_options();
    let sent = context
        .peer
        .send_request_with_option(request, options)
        .await;
    let Ok(mut sent) = sent else {
        return Ok(None);
    };
    let why = tokio::select! {
        answer = &mut sent.rx => {
            let Ok(Ok(ClientResult::ElicitResult(result))) = answer else {
                return Ok(None);
            };
            let taken = record_answer(engine, &asked, pause, &result, context).await?;
            return Ok(taken.then_some(AfterElicitation::Resume));
        }
        gone = engine.wait_until_answered(&asked) => gone.map(|()| "the question was answered elsewhere"),
        () = context.ct.cancelled() => {
            if underway.on_cancel == OnCancel::Abort {
                run_wait::abort_cancelled(engine, &underway.run).await;
            }
            Ok("the call was cancelled")
        }
        () = tokio::time::sleep(ANSWER_TIMEOUT) => {
            let _: Result<(), ServiceError> = sent.cancel(Some("no answer in time".into())).await;
            return Ok(None);
        }
    };
    let _: Result<(), ServiceError> = sent.cancel(why.as_deref().ok().map(str::to_owned)).await;
    why.map(|_| Some(AfterElicitation::Resume))
}

/// Records a client's answer; false if the client made no decision.
pub(super) async fn record_answer(
    engine: &Engine,
    asked: &Checkpoint,
    pause: &Pause,
    result: &ElicitResult,
    context: &RequestContext<RoleServer>,
) -> Result<bool, Fault> {
    let who = caller::client_name(context);
    let by = format!("{CLIENT_NAME} {}", who.unwrap_or_default());
    let written = match form::read_answer(pause, result) {
        FormAnswer::Undecided => return Ok(false),
        FormAnswer::Invalid(says) => return Err(Fault::Rejected(format!("{asked}: {says}"))),
        FormAnswer::Decided(FormDecision::Answer(answer), why) => {
            // A client that cannot show forms has not asked a person.
            let channel = match shows_forms(context) {
                true => AnswerChannel::Form,
                false => AnswerChannel::Agent,
            };
            let by = Respondent::new(by, channel);
            let is_cancel = answer == Answer::Cancel;
            match engine.answer(asked, answer, by, why).await {
                // Without a `cancel` edge, dismissing a form decides nothing.
                Err(Fault::Rejected(_)) if is_cancel => return Ok(false),
                other => other,
            }
        }
        FormAnswer::Decided(FormDecision::Abort, why) => {
            engine.abort(&asked.run, by.into(), why).await
        }
    };
    match written {
        // Another answer came first and counts.
        Ok(()) | Err(Fault::Stale { .. } | Fault::Ended { .. } | Fault::Expired { .. }) => Ok(true),
        Err(fault) => Err(fault),
    }
}

fn checkpoint(underway: &AwaitedRun, seq: Seq) -> Checkpoint {
    Checkpoint {
        run: underway.run.clone(),
        seq,
    }
}
