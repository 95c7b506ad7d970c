//! `tramline runs approve`, `reject` and `replan`: decisions and additional tasks for a waiting
//! run.

use super::super::run_environment::{self, ResumeArgs};
use super::super::{CliError, CliResult, CommonArgs, Exit, documents, input, run_names};
use super::{confirmed_respondent, open, report_done, resume_after_answer, run_audited, user_name};
use tramline_engine::{Engine, QuestionReader};
use tramline_expr::{Map, Value};
use tramline_formats::{KnownServers, ReadOptions, json_dag};
use tramline_syntax::MistypedFields;
use tramline_views::pause_view;
use tramline_workflow::form::content_from_pairs;
use tramline_workflow::ids::{Checkpoint, RunId};
use tramline_workflow::journal::{Answer, Pause};
use tramline_workflow::run::Run;

/// Decide a run's question.
#[derive(clap::Args)]
pub(super) struct DecisionArgs {
    /// The run, or the checkpoint of one of its questions
    #[arg(value_name = "RUN|CHECKPOINT", value_parser = parse_target)]
    about: DecisionTarget,
    /// The reason, recorded in the journal
    #[arg(long)]
    why: Option<String>,
    /// With approve: call with this argument instead (JSON, or else text), or fill in this field of a
    /// form; may be repeated
    #[arg(long, value_name = "KEY=JSON", conflicts_with = "arguments")]
    set: Vec<String>,
    /// With approve: call with these arguments instead, all of them (JSON, @file or -)
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    #[command(flatten)]
    going_on: resume_after_answer::ContinueArgs,
}

/// The subject of a decision.
#[derive(Clone, Debug)]
pub(super) enum DecisionTarget {
    Run(RunId),
    Question(Checkpoint),
}

impl DecisionTarget {
    pub(super) fn run(&self) -> &RunId {
        match self {
            Self::Run(run) => run,
            Self::Question(point) => &point.run,
        }
    }
}

pub(super) fn parse_target(text: &str) -> Result<DecisionTarget, String> {
    match text.starts_with("chk_") {
        true => run_names::parse_checkpoint(text).map(DecisionTarget::Question),
        false => super::run_id(text).map(DecisionTarget::Run),
    }
}

pub(super) async fn decide(common: CommonArgs, verb: DecisionArgs, yes: bool) -> CliResult {
    let id = verb.about.run();
    let ours = open(&common)?.engine;
    let mut seen = 0;
    let work = async {
        let asks_form = question_of(&ours.load(id).await?.run, &verb.about)?
            .1
            .form()
            .is_some();
        let engine = match verb.has_edits() && !asks_form {
            // Its server must be available, because the tool's schema is needed.
            true => {
                run_environment::reopen(&common, &ResumeArgs::quiet_run(id.clone()))
                    .await?
                    .0
                    .engine
            }
            false => ours.clone(),
        };
        let run = engine.load(id).await?.run;
        seen = run.seq;
        let (asked, pause) = question_of(&run, &verb.about)?;
        let answer = match verb.has_edits() {
            true => edited_approval(&verb, pause, yes)?,
            false => answer_to(&engine, &run, &asked, pause, yes).await?,
        };
        let by = confirmed_respondent(&engine, &pause_view::message(&run.graph, pause)).await?;
        engine.answer(&asked, answer, by, verb.why.clone()).await?;
        Ok("answered")
    };
    let name = if yes { "approve" } else { "reject" };
    run_audited(&ours, name, id, (verb.why.as_deref(), None), Box::pin(work)).await?;
    match resume_after_answer::continue_run(&common, verb.going_on, id, seen).await? {
        // The expected outcome.
        Exit::Rejected if !yes => Ok(Exit::Done),
        exit => Ok(exit),
    }
}

impl DecisionArgs {
    fn has_edits(&self) -> bool {
        !self.set.is_empty() || self.arguments.is_some()
    }
}

/// An approval with edited arguments.
fn edited_approval(verb: &DecisionArgs, pause: &Pause, yes: bool) -> Result<Answer, CliError> {
    if !yes {
        let message = "--set and --arguments go with `runs approve`: a rejected call is not made";
        return Err(CliError::bad_input(message));
    }
    if let Some(whole) = &verb.arguments {
        let arguments = input::read_input(whole)?;
        return Ok(match pause {
            Pause::Form { .. } => Answer::Submit { content: arguments },
            _ => Answer::ProceedWith { arguments },
        });
    }
    if let Some(form) = pause.form() {
        let pairs: Result<Vec<_>, _> = verb.set.iter().map(|pair| key_and_text(pair)).collect();
        let content = content_from_pairs(form, &pairs?).map_err(CliError::bad_input)?;
        return Ok(Answer::Submit { content });
    }
    let before = pause.call().map(|call| &call.arguments);
    let mut arguments = match before {
        Some(Value::Object(map)) => Map::clone(map),
        _ => Map::new(),
    };
    for pair in &verb.set {
        let (key, text) = key_and_text(pair)?;
        let value = Value::from_json(&text).unwrap_or_else(|_| text.into());
        arguments.insert(key, value);
    }
    let arguments = arguments.into();
    Ok(Answer::ProceedWith { arguments })
}

/// A pair as it is typed.
fn key_and_text(pair: &str) -> Result<(String, String), CliError> {
    match pair.split_once('=') {
        Some((key, text)) => Ok((key.to_owned(), text.to_owned())),
        None => Err(CliError::bad_input(format!(
            "`{pair}` is not a KEY=JSON pair"
        ))),
    }
}

/// The answer that approve or reject means for a question.
async fn answer_to(
    engine: &Engine,
    run: &Run,
    asked: &Checkpoint,
    pause: &Pause,
    yes: bool,
) -> Result<Answer, CliError> {
    if let Pause::Form { .. } = pause {
        let content = Map::new().into();
        return Ok(match yes {
            // With the values that the form begins with.
            true => Answer::Submit { content },
            false => Answer::Decline,
        });
    }
    if !yes {
        return Ok(Answer::Reject);
    }
    let says = pause_view::message(&run.graph, pause);
    if let Pause::Child { run: child, .. } = pause {
        return Err(CliError::bad_input(format!(
            "{says}: {}; or `tramline runs answer {asked} --skip JSON` ends {child} and uses \
             that result",
            child_commands(engine, child).await
        )));
    }
    if let Pause::InDoubt { .. } = pause {
        return Err(CliError::bad_input(format!(
            "{says} `tramline runs answer {asked} --retry` or `--skip JSON` decides"
        )));
    }
    Ok(match pause_view::default_extension(pause) {
        Some(budget) => Answer::Extend { budget },
        None => Answer::Proceed,
    })
}

/// The commands that answer the questions of a child run.
async fn child_commands(engine: &Engine, child: &RunId) -> String {
    let questions = engine
        .child_questions(child, QuestionReader::Person)
        .await
        .unwrap_or_default();
    let mut commands = Vec::new();
    let mut open = vec![&questions];
    // A child may itself wait for one.
    while let Some(child) = open.pop() {
        let waiting = child.get("waiting").and_then(Value::as_array);
        for question in waiting.unwrap_or_default() {
            open.extend(question.get("child"));
            let command = question.get("command").and_then(Value::as_str);
            commands.extend(command.map(|command| format!("`{command}`")));
        }
    }
    match commands.is_empty() {
        true => format!("`tramline runs show {child}` shows its questions"),
        false => commands.join(", "),
    }
}

/// The question to decide: the only open one, unless a checkpoint is given.
pub(super) fn question_of<'r>(
    run: &'r Run,
    about: &DecisionTarget,
) -> Result<(Checkpoint, &'r Pause), CliError> {
    let point = |seq: u64| Checkpoint {
        run: run.id.clone(),
        seq,
    };
    if let DecisionTarget::Question(asked) = about {
        return match run.pauses.get(&asked.seq) {
            Some(pause) => Ok((asked.clone(), pause)),
            None => Err(tramline_engine::stale_checkpoint(run, asked.seq).into()),
        };
    }
    let open: Vec<_> = run.pauses.iter().collect();
    match open.as_slice() {
        [] => Err(CliError::bad_input(format!(
            "{} has no open question",
            run.id
        ))),
        [(seq, pause)] => Ok((point(**seq), pause)),
        several => {
            let points: Vec<_> = several
                .iter()
                .map(|(seq, _)| point(**seq).to_string())
                .collect();
            Err(CliError::bad_input(format!(
                "{} has {} open questions; name one: {}",
                run.id,
                points.len(),
                points.join(", ")
            )))
        }
    }
}

/// Add tasks to a run.
#[derive(clap::Args)]
pub(super) struct ReplanArgs {
    /// The run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// The tasks, a list as in a DAG: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    tasks: String,
    /// The reason, recorded in the audit log
    #[arg(long)]
    why: Option<String>,
}

pub(super) async fn replan(common: CommonArgs, verb: ReplanArgs) -> CliResult {
    let tasks = input::read_input(&verb.tasks)?;
    let engine = open(&common)?.engine;
    let hint = ReadOptions {
        known_servers: KnownServers::Any,
        mistyped_fields: MistypedFields::Reject,
        ..ReadOptions::default()
    };
    let mut count = 0;
    let work = async {
        let run = engine.load(&verb.run).await?.run;
        let growth = json_dag::read_patch(&tasks, &run.graph, hint)
            .map_err(|flaws| documents::flaws_error("the tasks", &flaws))?;
        count = growth.patch.nodes.len();
        engine.amend(&verb.run, growth.patch, user_name()).await?;
        Ok("replanned")
    };
    let given = Value::object([("new_tasks", tasks.clone())]);
    let about = (verb.why.as_deref(), Some(given));
    run_audited(&engine, "replan", &verb.run, about, Box::pin(work)).await?;
    let words = format!("added {count} tasks to {}", verb.run);
    Ok(report_done(&common, &verb.run, "replanned", &words))
}
