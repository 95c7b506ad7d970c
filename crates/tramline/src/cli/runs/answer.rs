//! `tramline runs answer`: answers a run's question from the command line.

use super::super::{CliError, CliResult, CommonArgs, input};
use super::{confirmed_respondent, open, report_done, run_audited};
use tramline_views::pause_view;
use tramline_workflow::ids::Checkpoint;
use tramline_workflow::journal::{Answer, Budget};

/// Answer a run's question.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("answer").required(true))]
pub(super) struct AnswerArgs {
    /// The checkpoint of the question
    #[arg(value_name = "CHECKPOINT", value_parser = parse_checkpoint)]
    checkpoint: Checkpoint,
    /// Approve: continue
    #[arg(long, group = "answer")]
    yes: bool,
    /// Reject: the run ends
    #[arg(long, group = "answer")]
    no: bool,
    /// Make the call again, although it may already have happened
    #[arg(long, group = "answer")]
    retry: bool,
    /// Skip the call and use this output (JSON, @file or -)
    #[arg(long, group = "answer", value_name = "JSON")]
    skip: Option<String>,
    /// Extend the spent budget: an object such as {"calls": 10} (JSON, @file or -)
    #[arg(long, group = "answer", value_name = "JSON")]
    extend: Option<String>,
    /// The reason, recorded in the journal
    #[arg(long)]
    why: Option<String>,
}

fn parse_checkpoint(text: &str) -> Result<Checkpoint, String> {
    text.parse()
        .map_err(|bad: tramline_workflow::ids::InvalidId| bad.to_string())
}

/// The answer that the flags give.
fn answer_from_flags(verb: &AnswerArgs) -> Result<Answer, CliError> {
    if let Some(output) = &verb.skip {
        let output = input::read_input(output)?;
        return Ok(Answer::Skip { output });
    }
    if let Some(more) = &verb.extend {
        let budget = Budget::parse(&input::read_input(more)?).map_err(CliError::bad_input)?;
        return Ok(Answer::Extend { budget });
    }
    match (verb.yes, verb.no, verb.retry) {
        (true, ..) => Ok(Answer::Proceed),
        (_, true, _) => Ok(Answer::Reject),
        (_, _, true) => Ok(Answer::Retry),
        (false, false, false) => Err(CliError::bad_input(
            "give --yes, --no, --retry, --skip or --extend",
        )),
    }
}

pub(super) async fn main(common: CommonArgs, verb: AnswerArgs) -> CliResult {
    let answer = answer_from_flags(&verb)?;
    let house = open(&common)?;
    let run = &verb.checkpoint.run;
    let engine = &house.engine;
    let work = async {
        let asked = engine.load(run).await?.run;
        let pause = asked.pauses.get(&verb.checkpoint.seq);
        let says = pause.map(|pause| pause_view::message(&asked.graph, pause));
        let by = confirmed_respondent(engine, &says.unwrap_or_default()).await?;
        engine
            .answer(&verb.checkpoint, answer, by, verb.why.clone())
            .await?;
        Ok("answered")
    };
    run_audited(
        engine,
        "answer",
        run,
        (verb.why.as_deref(), None),
        Box::pin(work),
    )
    .await?;
    let driven = house
        .engine
        .store()
        .row(run)
        .await
        .map_err(tramline_engine::Fault::from)?;
    let words = if driven.is_some_and(|row| row.driven) {
        format!("answered; {run} continues")
    } else {
        format!("answered; `tramline runs resume {run}` continues it if no process drives it")
    };
    Ok(report_done(&common, run, "answered", &words))
}
