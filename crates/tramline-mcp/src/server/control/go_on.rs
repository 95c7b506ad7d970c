//! `continue`: the next layer of a workflow that waits after one.

use super::super::toolset::Means;
use super::super::underway::{Cancelled, Underway};
use super::attend::{self, Came, attend, brought};
use super::read;
use super::told::{is_decision, point};
use super::wrong::Wrong;
use rmcp::model::CallToolResponse;
use tramline_core::Value;
use tramline_core::ids::{Checkpoint, Seq};
use tramline_core::journal::Answer;
use tramline_core::run::Run;
use tramline_engine::{Said, over, stale};

const TOOL: &str = "continue";

pub(super) async fn answer(means: Means, arguments: Value) -> CallToolResponse {
    let came = go_on(&means, &arguments).await;
    attend::reply(came)
}

async fn go_on(means: &Means, arguments: &Value) -> Result<Came, Wrong> {
    if let Some(came) = brought(means, TOOL).await? {
        return Ok(came);
    }
    let run = read::load(means, arguments).await?.run;
    means.shared.desk.admit(&run.id)?;
    let named = read::checkpoint(arguments, &run.id)?;
    let waits = waits_at(&run, named.as_ref())?;
    if waits.is_empty() && means.shared.desk.is_attended(&run.id) {
        let message = format!("{} is running, and another call waits for it", run.id);
        return Err(Wrong::params(message).of(&run.id).with("status", "running"));
    }
    let why = read::text(arguments, "reason").map(str::to_owned);
    let by = means.respondent();
    let said = waits.iter().map(|pause| Said {
        pause: *pause,
        answer: Answer::Proceed,
        by: by.clone(),
        why: why.clone(),
    });
    let mut underway = match waits.is_empty() {
        true => Underway::take_up(&means.engine, &run.id).await?,
        false => Underway::go_on(&means.engine, &run, said.collect()).await?,
    };
    underway.cancelled = Cancelled::GoesOn;
    attend(means, TOOL, underway).await
}

/// The places where a run waits to be let on. Nothing if it runs.
fn waits_at(run: &Run, named: Option<&Checkpoint>) -> Result<Vec<Seq>, Wrong> {
    if run.outcome.is_some() {
        return Err(over(run).into());
    }
    if let Some(named) = named
        && !run.pauses.contains_key(&named.seq)
    {
        return Err(stale(run, named.seq).into());
    }
    if let Some((seq, pause)) = run.pauses.iter().find(|(_, pause)| is_decision(pause)) {
        let says = tramline_core::question::says(&run.graph, pause);
        let message = format!("it waits for a decision: {says}; answer with approval_response");
        return Err(Wrong::params(message)
            .of(&run.id)
            .with("checkpoint_id", point(run, *seq)));
    }
    Ok(run.pauses.keys().copied().collect())
}
