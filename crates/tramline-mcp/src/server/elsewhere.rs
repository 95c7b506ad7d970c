//! A question that the caller may not answer: its client's user is pointed to the studio where the
//! client can do that, and the caller can wait until a person has answered.
//!
//! Clients of the newest revision carry the address: the call ends with it and is made again once the
//! user has been there. Older ones open it while the call lasts.

use super::caller::Caller;
use super::pausing::{Channel, settled, url_channel};
use super::seal::{self, State};
use super::toolset::Means;
use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, InputRequest, InputRequests, InputRequiredResult, ProgressNotificationParam,
    ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use std::time::Duration;
use tramline_core::Value;
use tramline_core::ids::{Checkpoint, RunId};
use tramline_engine::{Fault, PersonNeeded};

/// A caller waits at most so long in one call: clients give up soon after.
pub(super) const WAIT_SECONDS_MAX: u64 = 600;
/// How often a caller that waits is told so: connections that stay silent are cut, often after thirty
/// seconds.
const BEAT_EVERY: Duration = Duration::from_secs(15);

/// What became of a question that its caller may not answer.
pub(super) enum Elsewhere {
    /// A person has answered it.
    Answered,
    /// It waits on.
    Waits,
    /// The client is asked to send its user to the studio, and comes back.
    Sends(Box<CallToolResponse>),
}

/// Sends the client's user to the studio, if that can be done, and waits until a person has answered
/// a question: as long as the caller wants, or its client's user went there.
pub(super) async fn answered(
    means: &Means,
    tool: &str,
    needed: &PersonNeeded,
    arguments: &Value,
) -> Result<Elsewhere, Fault> {
    let wanted = arguments.get("wait_seconds").and_then(Value::as_u64);
    let wanted = wanted.map(|seconds| seconds.min(WAIT_SECONDS_MAX));
    let went = match (came_back(means, needed), address(needed)) {
        (Some(went), _) => went,
        (None, None) => false,
        (None, Some(url)) => match url_channel(&means.context) {
            Channel::None => false,
            Channel::Open => went_there(means, request(needed, url)).await,
            Channel::Carried => return carried(means, tool, needed, url).await,
        },
    };
    let most = went.then_some(WAIT_SECONDS_MAX);
    let Some(seconds) = wanted.or(most).filter(|seconds| *seconds > 0) else {
        return Ok(Elsewhere::Waits);
    };
    match wait(means, &needed.asked, Duration::from_secs(seconds)).await? {
        true => Ok(Elsewhere::Answered),
        false => Ok(Elsewhere::Waits),
    }
}

/// The run whose question was answered while the client's user was sent to the studio by an earlier
/// call, which this one goes on with.
pub(super) async fn settled_meanwhile(means: &Means) -> Result<Option<RunId>, Fault> {
    let Some((state, _)) = means.brought.as_ref().filter(|it| it.0.elsewhere) else {
        return Ok(None);
    };
    let run = means.engine.load(&state.run).await?.run;
    // The seal is the right to the session; whose run it is, the token says.
    let session = run.started.session.clone();
    if !Caller::of(&means.context).sees(&run, session.as_deref()) {
        return Err(Fault::NotFound(state.run.clone()));
    }
    let waits = state.asked.iter().any(|seq| run.pauses.contains_key(seq));
    Ok((!waits).then(|| state.run.clone()))
}

/// Whether the client's user went to the studio, if an earlier call asked for that.
fn came_back(means: &Means, needed: &PersonNeeded) -> Option<bool> {
    let (state, responses) = means.brought.as_ref()?;
    let asked = &needed.asked;
    let is_it = state.elsewhere && state.run == asked.run && state.asked.contains(&asked.seq);
    if !is_it {
        return None;
    }
    let response = responses.get(&asked.to_string()).cloned();
    let response = response.and_then(|it| serde_json::from_value::<ElicitResult>(it).ok());
    Some(response.is_some_and(|it| it.action == ElicitationAction::Accept))
}

async fn wait(means: &Means, asked: &Checkpoint, most: Duration) -> Result<bool, Fault> {
    let answered = settled(&means.engine, asked);
    let over = tokio::time::sleep(most);
    tokio::pin!(answered, over);
    let mut beat = tokio::time::interval(BEAT_EVERY);
    let mut told = 0.0;
    loop {
        tokio::select! {
            done = &mut answered => return done.map(|()| true),
            () = &mut over => return Ok(false),
            () = means.context.ct.cancelled() => return Ok(false),
            _ = beat.tick() => {
                told += 1.0;
                tell(means, told).await;
            }
        }
    }
}

/// Tells a caller that asked for progress that the question still waits.
async fn tell(means: &Means, told: f64) {
    let Some(token) = means.context.meta.get_progress_token() else {
        return;
    };
    let progress = ProgressNotificationParam::new(token, told);
    let progress = progress.with_message("a person is asked");
    // Who has gone needs to hear nothing.
    let _ = means.context.peer.notify_progress(progress).await;
}

/// The run's page in the studio, if that is served.
fn address(needed: &PersonNeeded) -> Option<String> {
    let studio = needed.studio.as_ref()?;
    Some(format!("{studio}/runs/{}", needed.asked.run))
}

/// What the client is asked to do for its user.
fn request(needed: &PersonNeeded, url: String) -> ElicitRequest {
    let asked = &needed.asked;
    ElicitRequest::new(ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: format!(
            "{} waits for your answer: {}",
            asked.run,
            needed.refusal.says()
        ),
        url,
        elicitation_id: asked.to_string(),
    })
}

/// Ends the call with the address.
async fn carried(
    means: &Means,
    tool: &str,
    needed: &PersonNeeded,
    url: String,
) -> Result<Elsewhere, Fault> {
    let asked = &needed.asked;
    let state = State {
        run: asked.run.clone(),
        asked: vec![asked.seq],
        elsewhere: true,
    };
    let sealed = seal::seal(means.engine.store(), tool, &state).await?;
    let mut requests = InputRequests::new();
    let request = InputRequest::Elicitation(request(needed, url));
    requests.insert(asked.to_string(), request);
    let carried = InputRequiredResult::new(Some(requests), Some(sealed));
    Ok(Elsewhere::Sends(Box::new(carried.into())))
}

/// Sends the client's user to the studio while the call lasts. Whether they went there.
async fn went_there(means: &Means, request: ElicitRequest) -> bool {
    let request = ServerRequest::ElicitRequest(request);
    let options = PeerRequestOptions::no_options();
    let sent = means
        .context
        .peer
        .send_request_with_option(request, options);
    let Ok(mut sent) = sent.await else {
        return false;
    };
    let heard = tokio::time::timeout(Duration::from_secs(WAIT_SECONDS_MAX), &mut sent.rx).await;
    matches!(heard, Ok(Ok(Ok(ClientResult::ElicitResult(result))))
        if result.action == ElicitationAction::Accept)
}
