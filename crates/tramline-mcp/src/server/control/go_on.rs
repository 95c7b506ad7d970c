//! `continue`: the next layer of a workflow that waits after one.

use super::super::toolset::Means;
use super::super::underway::{Cancelled, Underway};
use super::arrivals::Arrival;
use super::attend::{self, Came, attend, brought};
use super::told::{checkpoint_type, is_decision, point};
use super::wrong::Wrong;
use super::{read, seen};
use rmcp::model::CallToolResponse;
use tramline_core::ids::{Checkpoint, Seq};
use tramline_core::journal::{Answer, Event, Pause};
use tramline_core::run::Run;
use tramline_core::{Value, question};
use tramline_engine::{Fault, Loaded, Said, over, stale};

const TOOL: &str = "continue";

/// Two requests of one moment reach two processes at most this far apart, in milliseconds. Later,
/// whoever asks about a workflow that runs elsewhere comes back to it.
const AT_ONCE_MS: i64 = 2_000;

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let came = go_on(&means, &arguments).await;
    attend::reply(came)
}

async fn go_on(means: &Means, arguments: &Value) -> Result<Came, Wrong> {
    if let Some(came) = brought(means, TOOL).await? {
        return Ok(came);
    }
    let arrival = means.shared.desk.arrive(&read::workflow_id(arguments)?);
    let loaded = read::load(means, arguments).await?;
    let run = &loaded.run;
    means.shared.desk.admit(&run.id).await?;
    let named = read::checkpoint(arguments, run)?;
    let waits = waits_at(run, named.as_ref())?;
    if named.is_none() {
        seen::was_there(&loaded, &arrival)?;
    }
    if waits.is_empty() {
        is_left_alone(means, &loaded, &arrival).await?;
    }
    let why = read::text(arguments, "reason").map(str::to_owned);
    let by = means.respondent();
    let said = waits.iter().map(|pause| Said {
        pause: *pause,
        answer: Answer::Proceed,
        by: by.clone(),
        why: why.clone(),
    });
    let underway = match waits.last() {
        None => Underway::take_up(&means.engine, &run.id).await,
        Some(last) => {
            arrival.answers(*last);
            Underway::go_on(&means.engine, run, said.collect()).await
        }
    };
    let mut underway = underway.inspect_err(|_| arrival.was_refused())?;
    underway.cancelled = Cancelled::GoesOn;
    attend(means, TOOL, underway).await
}

/// The places where a run waits to be let on. Nothing if it runs.
fn waits_at(run: &Run, named: Option<&Checkpoint>) -> Result<Vec<Seq>, Wrong> {
    if run.outcome.is_some() {
        return Err(over(run).into());
    }
    if let Some(named) = named {
        return match run.pauses.get(&named.seq) {
            None => Err(Wrong::from(stale(run, named.seq)).about(run)),
            Some(pause) if is_decision(pause) => Err(decision(run, named.seq, pause)),
            Some(_) => Ok(vec![named.seq]),
        };
    }
    match run.pauses.iter().find(|(_, pause)| is_decision(pause)) {
        Some((seq, pause)) => Err(decision(run, *seq, pause)),
        None => Ok(run.pauses.keys().copied().collect()),
    }
}

/// Says that a decision waits, what it is about and how it is made.
fn decision(run: &Run, seq: Seq, pause: &Pause) -> Wrong {
    let says = question::says(&run.graph, pause);
    let point = point(run, seq);
    let message = format!(
        "`continue` does not decide anything, and {} waits for a decision: {says}; answer it with \
         approval_response and checkpoint_id {point}",
        run.id
    );
    Wrong::params(message)
        .about(run)
        .with("checkpoint_id", point)
        .with("checkpoint_type", checkpoint_type(pause))
        .with("decision_context", says)
        .with(
            "options",
            Value::array(["approval_response", "abort"].map(Value::from)),
        )
}

/// Refuses to wait for a workflow that another call has just let on and waits for.
async fn is_left_alone(means: &Means, loaded: &Loaded, arrival: &Arrival<'_>) -> Result<(), Wrong> {
    let run = &loaded.run;
    let running = |by: &str| {
        let message = format!("{} is running, and {by} waits for it", run.id);
        Err(Wrong::params(message).of(&run.id).with("status", "running"))
    };
    if means.shared.desk.is_attended(&run.id) || arrival.is_second() {
        return running("another call");
    }
    let answered = |event: &Event| matches!(event, Event::Answered { .. });
    let mut answers = loaded.entries.iter().rev();
    let last = answers.find(|entry| answered(&entry.event));
    let at_once = last.is_some_and(|entry| entry.at_ms > arrival.at_ms() - AT_ONCE_MS);
    let row = means.engine.store().row(&run.id).await;
    let driven = row.map_err(Fault::from)?.is_some_and(|row| row.driven);
    if at_once && driven && !means.engine.drives(&run.id) {
        return running("a call of another process");
    }
    Ok(())
}
