//! `tramline runs answer`: answers a run's question from the command line.

use super::super::{CliError, CliResult, CommonArgs, input};
use super::approve::{DecisionTarget, parse_target, question_of};
use super::{confirmed_respondent, open, report_done, run_audited};
use tramline_expr::Value;
use tramline_views::pause_view;
use tramline_workflow::form::content_from_pairs;
use tramline_workflow::journal::{Answer, Budget, Pause};

/// Answer a run's question.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("answer").required(true))]
pub(super) struct AnswerArgs {
    /// The run, if it has only one question, or the checkpoint of a question
    #[arg(value_name = "RUN|CHECKPOINT", value_parser = parse_target)]
    about: DecisionTarget,
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
    /// Fill in a field of the form; repeat it for every field
    #[arg(long, group = "answer", value_name = "FIELD=VALUE", value_parser = parse_field)]
    set: Vec<(String, String)>,
    /// Fill in the form: an object with its fields (JSON, @file or -)
    #[arg(long, group = "answer", value_name = "JSON")]
    content: Option<String>,
    /// Decline the form: the run continues at its `decline` edge, or ends as rejected
    #[arg(long, group = "answer")]
    decline: bool,
    /// Dismiss the form: the run continues at its `cancel` edge
    #[arg(long, group = "answer")]
    cancel: bool,
    /// The reason, recorded in the journal
    #[arg(long)]
    why: Option<String>,
}

fn parse_field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("write the field, `=` and its value, such as `name=Ada`")?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// The fields that were set, in the types of the form.
fn typed_answer(
    answer: Answer,
    verb: &AnswerArgs,
    pause: Option<&Pause>,
) -> Result<Answer, CliError> {
    let Some(form) = pause.and_then(Pause::form).filter(|_| !verb.set.is_empty()) else {
        return Ok(answer);
    };
    let content = content_from_pairs(form, &verb.set).map_err(CliError::bad_input)?;
    Ok(Answer::Submit { content })
}

/// The answer that the flags give.
fn answer_from_flags(verb: &AnswerArgs) -> Result<Answer, CliError> {
    if let Some(content) = &verb.content {
        let content = input::read_input(content)?;
        return Ok(Answer::Submit { content });
    }
    if !verb.set.is_empty() {
        // The types of the fields are read from the form.
        let fields = verb.set.iter();
        let fields = fields.map(|(name, text)| (name.as_str(), Value::from(text.as_str())));
        let content = Value::object(fields);
        return Ok(Answer::Submit { content });
    }
    if verb.decline {
        return Ok(Answer::Decline);
    }
    if verb.cancel {
        return Ok(Answer::Cancel);
    }
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
            "give --yes, --no, --retry, --skip, --extend, --set, --content, --decline or --cancel",
        )),
    }
}

pub(super) async fn main(common: CommonArgs, verb: AnswerArgs) -> CliResult {
    let answer = answer_from_flags(&verb)?;
    let house = open(&common)?;
    let run = verb.about.run();
    let engine = &house.engine;
    let work = async {
        let asked = engine.load(run).await?.run;
        let point = match &verb.about {
            DecisionTarget::Question(point) => point.clone(),
            DecisionTarget::Run(_) => question_of(&asked, &verb.about)?.0,
        };
        let pause = asked.pauses.get(&point.seq);
        let answer = typed_answer(answer, &verb, pause)?;
        let says = pause.map(|pause| pause_view::message(&asked.graph, pause));
        let by = confirmed_respondent(engine, &says.unwrap_or_default()).await?;
        engine.answer(&point, answer, by, verb.why.clone()).await?;
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
