//! `tramline runs answer`: what a run asks, answered from the command line.

use super::super::{Common, Done, Stopped, input};
use super::{done, myself, open};
use tramline_core::ids::Checkpoint;
use tramline_core::journal::Answer;

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
    /// Why, for whoever reads the run later
    #[arg(long)]
    why: Option<String>,
}

fn checkpoint(text: &str) -> Result<Checkpoint, String> {
    text.parse()
        .map_err(|bad: tramline_core::ids::BadId| bad.to_string())
}

pub(super) async fn main(common: Common, verb: Answering) -> Done {
    let answer = match (&verb.skip, verb.yes, verb.no, verb.retry) {
        (Some(output), ..) => Answer::Skip {
            output: input::whole(output)?,
        },
        (None, true, ..) => Answer::Proceed,
        (None, _, true, _) => Answer::Reject,
        (None, _, _, true) => Answer::Retry,
        (None, false, false, false) => {
            return Err(Stopped::bad("give --yes, --no, --retry or --skip"));
        }
    };
    let house = open(&common)?;
    house
        .engine
        .answer(&verb.checkpoint, answer, myself(), verb.why)
        .await?;
    let run = &verb.checkpoint.run;
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
