//! A run that waits for a person, and a client that may reach one.
//!
//! Clients of the newest revision carry the question: the call ends with it and is made again with
//! the answer. Older ones are asked while the call lasts. Whoever answers first is heard, be it
//! through the client or elsewhere.

use super::caller::Caller;
use super::question::{self, Decision, Said};
use super::seal::{self, State};
use super::underway::{self, Cancelled, Underway};
use super::{Shared, reply};
use rmcp::model::{
    CallToolResponse, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer, ServiceError};
use std::time::Duration;
use tramline_core::authority::AnswerChannel;
use tramline_core::ids::{Checkpoint, RunId, Seq};
use tramline_core::journal::{Event, Pause};
use tramline_core::question::Extent;
use tramline_engine::{Engine, Fault, Loaded, Respondent};

/// A client is waited for so long; the run waits on, and can be answered by the other ways.
const ANSWER_MAX: Duration = Duration::from_secs(60 * 60);
/// So many questions of a run are asked at once; the others when these are answered.
const ASKED_MAX: usize = 16;
/// How often a run is looked at while a client is asked, beside when the store says so.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Who answers through a client, in the journal. It tells a second use of a question from an
/// answer that came another way.
const CLIENT: &str = "MCP client";

/// What becomes of a call whose run waits.
pub(super) enum Next {
    /// The run was answered: wait for it again.
    GoOn,
    /// The caller gets this.
    Reply(Box<CallToolResponse>),
}

/// How a client can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    /// By ending the call with the question.
    Carried,
    /// While the call lasts.
    Open,
    /// Not at all.
    None,
}

fn channel(context: &RequestContext<RoleServer>) -> Channel {
    by_version(shows_forms(context), context)
}

/// How a client is asked that can be: that follows from the revision of the protocol it speaks.
fn by_version(can: bool, context: &RequestContext<RoleServer>) -> Channel {
    let version = context.protocol_version();
    let legacy = version.is_none_or(|version| version.has_initialize());
    match (can, legacy) {
        (false, _) => Channel::None,
        (true, false) => Channel::Carried,
        (true, true) => Channel::Open,
    }
}

/// Whether a client can show its user a form.
pub(super) fn shows_forms(context: &RequestContext<RoleServer>) -> bool {
    let declared = context
        .client_capabilities()
        .and_then(|can| can.elicitation);
    // Before there were kinds of elicitation, all of them were forms.
    declared.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// How a client can be asked to open an address for its user.
pub(super) fn url_channel(context: &RequestContext<RoleServer>) -> Channel {
    let declared = context
        .client_capabilities()
        .and_then(|can| can.elicitation);
    by_version(declared.is_some_and(|can| can.url.is_some()), context)
}

/// The questions of a run as a client is asked them.
pub(super) async fn requests(
    engine: &Engine,
    run: &RunId,
    asked: impl Fn(Seq) -> bool,
) -> Result<InputRequests, Fault> {
    let loaded = engine.load(run).await?;
    let mut requests = InputRequests::new();
    let pauses = loaded.run.pauses.iter().filter(|(seq, _)| asked(**seq));
    for (seq, pause) in pauses.take(ASKED_MAX) {
        let form = form(engine, &loaded, *seq, pause).await?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        let asked = Checkpoint {
            run: run.clone(),
            seq: *seq,
        };
        requests.insert(asked.to_string(), request);
    }
    Ok(requests)
}

/// A question as a form that shows everything about it.
async fn form(
    engine: &Engine,
    loaded: &Loaded,
    seq: Seq,
    pause: &Pause,
) -> Result<ElicitRequestParams, Fault> {
    let asked = engine.question(loaded, seq, pause, Extent::Bounded).await;
    let shown = question::Shown { asked, pause };
    question::form(&loaded.run.graph, &loaded.run.id, &shown).map_err(unshowable)
}

/// Asks the caller what its run asks, if it can be asked.
pub(super) async fn ask(
    shared: &Shared,
    tool: &str,
    underway: &Underway,
    pauses: &[(Seq, Pause)],
    context: &RequestContext<RoleServer>,
) -> Next {
    match put(shared, tool, underway, pauses, context).await {
        Ok(Some(next)) => next,
        Ok(None) => {
            let paused = reply::paused(&underway.graph, &underway.run, pauses);
            Next::Reply(Box::new(paused.into()))
        }
        Err(fault) => Next::Reply(Box::new(reply::fault(&fault, Some(&underway.run)).into())),
    }
}

/// Puts the questions to the caller; nothing if it cannot be asked or did not decide.
pub(super) async fn put(
    shared: &Shared,
    tool: &str,
    underway: &Underway,
    pauses: &[(Seq, Pause)],
    context: &RequestContext<RoleServer>,
) -> Result<Option<Next>, Fault> {
    match (channel(context), pauses) {
        (Channel::None, _) | (_, []) => Ok(None),
        (Channel::Carried, pauses) => carry(shared, tool, underway, pauses).await.map(Some),
        (Channel::Open, [first, ..]) => elicit(shared, underway, first, context).await,
    }
}

fn unshowable(error: serde_json::Error) -> Fault {
    Fault::Refused(format!("the question cannot be shown: {error}"))
}

/// Ends the call with the questions.
async fn carry(
    shared: &Shared,
    tool: &str,
    underway: &Underway,
    pauses: &[(Seq, Pause)],
) -> Result<Next, Fault> {
    let run = &underway.run;
    let pauses = &pauses[..pauses.len().min(ASKED_MAX)];
    let state = State {
        run: run.clone(),
        asked: pauses.iter().map(|(seq, _)| *seq).collect(),
        elsewhere: false,
    };
    let requests = requests(&shared.engine, run, |seq| state.asked.contains(&seq)).await?;
    let sealed = seal::seal(shared.engine.store(), tool, &state).await?;
    let carried = InputRequiredResult::new(Some(requests), Some(sealed));
    Ok(Next::Reply(Box::new(carried.into())))
}

/// Takes what a caller brings back, and the run that it belongs to.
pub(super) async fn answered(
    shared: &Shared,
    State { run, asked, .. }: State,
    responses: &InputResponses,
    context: &RequestContext<RoleServer>,
) -> Result<(Underway, Next), Fault> {
    let engine = &shared.engine;
    let loaded = engine.load(&run).await?;
    // The seal is the right to the session; whose run it is, the token says.
    let session = loaded.run.started.session.clone();
    if !Caller::of(context).sees(&loaded.run, session.as_deref()) {
        return Err(Fault::NotFound(run));
    }
    let underway = Underway::take_up(engine, &run).await?;
    for seq in asked {
        let asked = point(&underway, seq);
        let Some(response) = responses.get(&asked.to_string()) else {
            continue;
        };
        let Some(pause) = loaded.run.pauses.get(&seq) else {
            used(&loaded, asked)?;
            continue;
        };
        let response: ElicitResult = serde_json::from_value(response.clone())
            .map_err(|error| Fault::Refused(format!("{asked} has no answer in it: {error}")))?;
        if !take(engine, &asked, pause, &response, context).await? {
            let waits: Vec<_> = loaded.run.pauses.clone().into_iter().collect();
            let paused = reply::paused(&underway.graph, &run, &waits);
            return Ok((underway, Next::Reply(Box::new(paused.into()))));
        }
    }
    Ok((underway, Next::GoOn))
}

/// Refuses a question that a client has answered before. One that was answered in another way is
/// no fault of the client: its run goes on.
fn used(loaded: &Loaded, asked: Checkpoint) -> Result<(), Fault> {
    let by_client = loaded.entries.iter().any(|entry| {
        matches!(&entry.event, Event::Answered { pause, by, .. }
            if *pause == asked.seq && by.starts_with(CLIENT))
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

/// Asks while the call lasts.
async fn elicit(
    shared: &Shared,
    underway: &Underway,
    (seq, pause): &(Seq, Pause),
    context: &RequestContext<RoleServer>,
) -> Result<Option<Next>, Fault> {
    let engine = &shared.engine;
    let asked = point(underway, *seq);
    let loaded = engine.load(&underway.run).await?;
    let form = form(engine, &loaded, *seq, pause).await?;
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
            let taken = take(engine, &asked, pause, &result, context).await?;
            return Ok(taken.then_some(Next::GoOn));
        }
        gone = settled(engine, &asked) => gone.map(|()| "it was answered elsewhere"),
        () = context.ct.cancelled() => {
            if underway.cancelled == Cancelled::Ends {
                underway::end(engine, &underway.run).await;
            }
            Ok("the call was cancelled")
        }
        () = tokio::time::sleep(ANSWER_MAX) => {
            let _: Result<(), ServiceError> = sent.cancel(Some("nobody answered".into())).await;
            return Ok(None);
        }
    };
    let _: Result<(), ServiceError> = sent.cancel(why.as_deref().ok().map(str::to_owned)).await;
    why.map(|_| Some(Next::GoOn))
}

/// Waits until a question waits no more.
pub(super) async fn settled(engine: &Engine, asked: &Checkpoint) -> Result<(), Fault> {
    let mut changes = engine.store().changes();
    let mut seen = 0;
    loop {
        changes.mark_unchanged();
        let row = engine.store().row(&asked.run).await?;
        let last = row.map_or(0, |row| row.last);
        if last != seen {
            seen = last;
            if !engine
                .load(&asked.run)
                .await?
                .run
                .pauses
                .contains_key(&asked.seq)
            {
                return Ok(());
            }
        }
        let _ = tokio::time::timeout(LOOK_EVERY, changes.changed()).await;
    }
}

/// Writes down what a client answered; false if that was nothing.
pub(super) async fn take(
    engine: &Engine,
    asked: &Checkpoint,
    pause: &Pause,
    result: &ElicitResult,
    context: &RequestContext<RoleServer>,
) -> Result<bool, Fault> {
    let who = context.client_info().map(|client| client.name);
    let by = format!("{CLIENT} {}", who.unwrap_or_default());
    let written = match question::read(pause, result) {
        Said::Nothing => return Ok(false),
        Said::Wrong(says) => return Err(Fault::Refused(format!("{asked}: {says}"))),
        Said::Decided(Decision::Answer(answer), why) => {
            // A client that cannot show a form has not asked anybody.
            let channel = match shows_forms(context) {
                true => AnswerChannel::Form,
                false => AnswerChannel::Agent,
            };
            let by = Respondent::new(by, channel);
            engine.answer(asked, answer, by, why).await
        }
        Said::Decided(Decision::Abort, why) => engine.abort(&asked.run, by.into(), why).await,
    };
    match written {
        // Somebody was quicker: their answer stands.
        Ok(()) | Err(Fault::Stale { .. } | Fault::Over { .. } | Fault::Expired { .. }) => Ok(true),
        Err(fault) => Err(fault),
    }
}

fn point(underway: &Underway, seq: Seq) -> Checkpoint {
    Checkpoint {
        run: underway.run.clone(),
        seq,
    }
}
