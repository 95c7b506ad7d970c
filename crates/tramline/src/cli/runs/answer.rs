//! `tramline runs answer`: what a run asks, answered from the command line.

use super::super::{Common, Done, Stopped, input};
use super::{done, noting, open, person};
use tramline_core::ids::Checkpoint;
use tramline_core::journal::{Answer, Budget};
use tramline_core::question;

/// Answer what a run asks.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("answer").required(true))]
pub(super) struct Answering {
    /// Which question: its checkpoint
    #[arg(value_name = "CHECKPOINT", value_parser = checkpoint)]
    checkpoint: Checkpoint,
    /// Go on
    #[arg(long, group = "answer")]
    yes: bool,
    /// End the run as rejected
    #[arg(long, group = "answer")]
    no: bool,
    /// Call again, knowing that it may be the second time
    #[arg(long, group = "answer")]
    retry: bool,
    /// Do not call again; this is the output (JSON, @file or -)
    #[arg(long, group = "answer", value_name = "JSON")]
    skip: Option<String>,
    /// Add to the budget that is spent: an object, such as {"calls": 10} (JSON, @file or -)
    #[arg(long, group = "answer", value_name = "JSON")]
    extend: Option<String>,
    /// Why, for whoever reads the run later
    #[arg(long)]
    why: Option<String>,
}

fn checkpoint(text: &str) -> Result<Checkpoint, String> {
    text.parse()
        .map_err(|bad: tramline_core::ids::BadId| bad.to_string())
}

/// The answer that the flags give.
fn said(verb: &Answering) -> Result<Answer, Stopped> {
    if let Some(output) = &verb.skip {
        let output = input::whole(output)?;
        return Ok(Answer::Skip { output });
    }
    if let Some(more) = &verb.extend {
        let budget = Budget::read(&input::whole(more)?).map_err(Stopped::bad)?;
        return Ok(Answer::Extend { budget });
    }
    match (verb.yes, verb.no, verb.retry) {
        (true, ..) => Ok(Answer::Proceed),
        (_, true, _) => Ok(Answer::Reject),
        (_, _, true) => Ok(Answer::Retry),
        (false, false, false) => Err(Stopped::bad(
            "give --yes, --no, --retry, --skip or --extend",
        )),
    }
}

pub(super) async fn main(common: Common, verb: Answering) -> Done {
    let answer = said(&verb)?;
    let house = open(&common)?;
    let run = &verb.checkpoint.run;
    let engine = &house.engine;
    let work = async {
        let asked = engine.load(run).await?.run;
        let pause = asked.pauses.get(&verb.checkpoint.seq);
        let says = pause.map(|pause| question::says(&asked.graph, pause));
        let by = person(engine, &says.unwrap_or_default()).await?;
        engine
            .answer(&verb.checkpoint, answer, by, verb.why.clone())
            .await?;
        Ok("answered")
    };
    noting(engine, "answer", run, verb.why.as_deref(), work).await?;
    let driven = house
        .engine
        .store()
        .row(run)
        .await
        .map_err(tramline_engine::Fault::from)?;
    let words = if driven.is_some_and(|row| row.driven) {
        format!("answered; {run} goes on")
    } else {
        format!("answered; `tramline runs resume {run}` goes on")
    };
    Ok(done(&common, run, "answered", &words))
}
