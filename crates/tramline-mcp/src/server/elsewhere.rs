//! A question that the caller may not answer: its client's user is pointed to the studio where the
//! client can do that, and the caller can wait until a person has answered.

use super::pausing::{settled, shows_urls};
use super::toolset::Means;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ProgressNotificationParam,
    ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use std::time::Duration;
use tramline_core::Value;
use tramline_core::ids::Checkpoint;
use tramline_engine::{Fault, PersonNeeded};

/// A caller waits at most so long in one call: clients give up soon after.
pub(super) const WAIT_SECONDS_MAX: u64 = 600;
/// How often a caller that waits is told so: connections that stay silent are cut, often after thirty
/// seconds.
const BEAT_EVERY: Duration = Duration::from_secs(15);

/// Waits until a person has answered a question, as long as the caller wants or its client's user
/// was sent to the studio. Whether somebody has.
pub(super) async fn answered(
    means: &Means,
    needed: &PersonNeeded,
    arguments: &Value,
) -> Result<bool, Fault> {
    let wanted = arguments.get("wait_seconds").and_then(Value::as_u64);
    let wanted = wanted.map(|seconds| seconds.min(WAIT_SECONDS_MAX));
    let sent = match sent_to_studio(means, needed).await {
        true => Some(WAIT_SECONDS_MAX),
        false => None,
    };
    let Some(seconds) = wanted.or(sent).filter(|seconds| *seconds > 0) else {
        return Ok(false);
    };
    wait(means, &needed.asked, Duration::from_secs(seconds)).await
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

/// Sends the client's user to the run's page in the studio, if the client can open addresses. Whether
/// they went there.
async fn sent_to_studio(means: &Means, needed: &PersonNeeded) -> bool {
    let PersonNeeded { asked, studio, .. } = needed;
    let Some(studio) = studio.as_ref().filter(|_| shows_urls(&means.context)) else {
        return false;
    };
    let params = ElicitRequestParams::UrlElicitationParams {
        meta: None,
        message: format!(
            "{} waits for your answer: {}",
            asked.run,
            needed.refusal.says()
        ),
        url: format!("{studio}/runs/{}", asked.run),
        elicitation_id: asked.to_string(),
    };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(params));
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
