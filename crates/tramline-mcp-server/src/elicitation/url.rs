//! Questions that the caller may not answer: sends the client's user to the studio if the client supports that,
//! and lets the caller wait for the answer.
//!
//! For clients with the newest protocol version, the call ends with the address and is repeated once the user
//! has been there. Older clients open the address while the call is waiting.

use crate::caller::Caller;
use crate::elicitation::{ElicitationChannel, url_channel};
use crate::request_state::{self, RequestState};
use crate::tool::CallContext;
use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, InputRequest, InputRequests, InputRequiredResult, ProgressNotificationParam,
    ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use std::time::Duration;
use tramline_engine::{Fault, PersonNeeded};
use tramline_expr::Value;
use tramline_workflow::ids::{Checkpoint, RunId};

/// Maximum wait of a caller in one call, in seconds: clients give up soon after.
pub(crate) const WAIT_SECONDS_MAX: u64 = 600;
/// Interval of progress messages to a waiting caller: silent connections are often closed after 30 seconds.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// State of a question that its caller may not answer.
pub(crate) enum UrlElicitation {
    /// A person has answered it.
    Answered,
    /// It is still open.
    Pending,
    /// The client sends its user to the studio and calls again.
    AskUser(Box<CallToolResponse>),
}

/// Sends the client's user to the studio, if possible, and waits until a person has answered: as long as the
/// caller asked for, or if the user went there.
pub(crate) async fn wait_for_person(
    means: &CallContext,
    tool: &str,
    needed: &PersonNeeded,
    arguments: &Value,
) -> Result<UrlElicitation, Fault> {
    let wanted = arguments.get("wait_seconds").and_then(Value::as_u64);
    let wanted = wanted.map(|seconds| seconds.min(WAIT_SECONDS_MAX));
    let went = match (user_went_there(means, needed), studio_url(needed)) {
        (Some(went), _) => went,
        (None, None) => false,
        (None, Some(url)) => match url_channel(&means.request) {
            ElicitationChannel::Unsupported => false,
            ElicitationChannel::DuringCall => open_url(means, url_request(needed, url)).await,
            ElicitationChannel::InReply => return end_with_url(means, tool, needed, url).await,
        },
    };
    let most = went.then_some(WAIT_SECONDS_MAX);
    let Some(seconds) = wanted.or(most).filter(|seconds| *seconds > 0) else {
        return Ok(UrlElicitation::Pending);
    };
    match wait_for_answer(means, &needed.checkpoint, Duration::from_secs(seconds)).await? {
        true => Ok(UrlElicitation::Answered),
        false => Ok(UrlElicitation::Pending),
    }
}

/// The run whose question was answered after an earlier call sent the user to the studio, and which this call
/// continues.
pub(crate) async fn answered_run(means: &CallContext) -> Result<Option<RunId>, Fault> {
    let Some((state, _)) = means.client_answers.as_ref().filter(|it| it.0.elsewhere) else {
        return Ok(None);
    };
    let run = means.engine.load(&state.run).await?.run;
    // The sealed state proves access to the session; the token decides about the run.
    let session = run.started.session.clone();
    if !Caller::of(&means.request).may_see(&run, session.as_deref()) {
        return Err(Fault::NotFound(state.run.clone()));
    }
    let waits = state.asked.iter().any(|seq| run.pauses.contains_key(seq));
    Ok((!waits).then(|| state.run.clone()))
}

/// Whether the client's user went to the studio, if an earlier call asked for that.
fn user_went_there(means: &CallContext, needed: &PersonNeeded) -> Option<bool> {
    let (state, responses) = means.client_answers.as_ref()?;
    let asked = &needed.checkpoint;
    let is_it = state.elsewhere && state.run == asked.run && state.asked.contains(&asked.seq);
    if !is_it {
        return None;
    }
    let response = responses.get(&asked.to_string()).cloned();
    let response = response.and_then(|it| serde_json::from_value::<ElicitResult>(it).ok());
    Some(response.is_some_and(|it| it.action == ElicitationAction::Accept))
}

async fn wait_for_answer(
    means: &CallContext,
    asked: &Checkpoint,
    most: Duration,
) -> Result<bool, Fault> {
    let answered = means.engine.wait_until_answered(asked);
    let over = tokio::time::sleep(most);
    tokio::pin!(answered, over);
    let mut beat = tokio::time::interval(KEEP_ALIVE_INTERVAL);
    let mut told = 0.0;
    loop {
        tokio::select! {
            done = &mut answered => return done.map(|()| true),
            () = &mut over => return Ok(false),
            () = means.request.ct.cancelled() => return Ok(false),
            _ = beat.tick() => {
                told += 1.0;
                send_progress(means, told).await;
            }
        }
    }
}

/// Sends progress to a caller that asked for it: the question is still open.
async fn send_progress(means: &CallContext, told: f64) {
    let Some(token) = means.request.meta.get_progress_token() else {
        return;
    };
    let progress = ProgressNotificationParam::new(token, told);
    let progress = progress.with_message("waiting for a person's answer");
    // A caller that disconnected is ignored.
    let _ = means.request.peer.notify_progress(progress).await;
}

/// The run's page in the studio, if the studio is served.
fn studio_url(needed: &PersonNeeded) -> Option<String> {
    let studio = needed.studio.as_ref()?;
    Some(format!("{studio}/runs/{}", needed.checkpoint.run))
}

/// The URL elicitation for the client's user.
fn url_request(needed: &PersonNeeded, url: String) -> ElicitRequest {
    let asked = &needed.checkpoint;
    ElicitRequest::new(ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: format!(
            "{} waits for your answer: {}",
            asked.run,
            needed.refusal.message()
        ),
        url,
        elicitation_id: asked.to_string(),
    })
}

/// Ends the call with the address for the user.
async fn end_with_url(
    means: &CallContext,
    tool: &str,
    needed: &PersonNeeded,
    url: String,
) -> Result<UrlElicitation, Fault> {
    let asked = &needed.checkpoint;
    let state = RequestState {
        run: asked.run.clone(),
        asked: vec![asked.seq],
        elsewhere: true,
        arguments: request_state::arguments_digest(&means.request),
    };
    let sealed = request_state::seal(means.engine.store(), tool, &state).await?;
    let mut requests = InputRequests::new();
    let request = InputRequest::Elicitation(url_request(needed, url));
    requests.insert(asked.to_string(), request);
    let carried = InputRequiredResult::new(Some(requests), Some(sealed));
    Ok(UrlElicitation::AskUser(Box::new(carried.into())))
}

/// Sends the client's user to the studio while the call is waiting. Returns whether they went there.
async fn open_url(means: &CallContext, request: ElicitRequest) -> bool {
    let request = ServerRequest::ElicitRequest(request);
    let options = PeerRequestOptions::no_options();
    let sent = means
        .request
        .peer
        .send_request_with_option(request, options);
    let Ok(mut sent) = sent.await else {
        return false;
    };
    let heard = tokio::time::timeout(Duration::from_secs(WAIT_SECONDS_MAX), &mut sent.rx).await;
    matches!(heard, Ok(Ok(Ok(ClientResult::ElicitResult(result))))
        if result.action == ElicitationAction::Accept)
}
