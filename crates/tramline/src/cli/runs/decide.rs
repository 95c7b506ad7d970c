//! `tramline runs approve`, `reject` and `replan`: decisions and more tasks for a run that waits.

use super::super::origin::{self, Again};
use super::super::{Common, Done, Exit, Stopped, documents, input};
use super::{after, done, myself, noting, open, person};
use tramline_core::formats::{Elsewhere, Hint, json_dag};
use tramline_core::ids::{Checkpoint, RunId};
use tramline_core::journal::{Answer, Pause};
use tramline_core::run::Run;
use tramline_core::{Map, Value, question};

/// Decide what a run waits for.
#[derive(clap::Args)]
pub(super) struct Deciding {
    /// Which run, or which of its questions by its checkpoint
    #[arg(value_name = "RUN|CHECKPOINT", value_parser = about)]
    about: About,
    /// Why, for whoever reads the run later
    #[arg(long)]
    why: Option<String>,
    /// With approve: call with this argument instead (JSON, or else text); may be repeated
    #[arg(long, value_name = "KEY=JSON", conflicts_with = "arguments")]
    set: Vec<String>,
    /// With approve: call with these arguments instead, all of them (JSON, @file or -)
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,
    #[command(flatten)]
    going_on: after::GoingOn,
}

/// What is decided about.
#[derive(Clone, Debug)]
enum About {
    Run(RunId),
    Question(Checkpoint),
}

impl About {
    fn run(&self) -> &RunId {
        match self {
            Self::Run(run) => run,
            Self::Question(point) => &point.run,
        }
    }
}

fn about(text: &str) -> Result<About, String> {
    match text.parse() {
        Ok(point) => Ok(About::Question(point)),
        Err(_) => super::run_id(text).map(About::Run),
    }
}

pub(super) async fn decide(common: Common, verb: Deciding, yes: bool) -> Done {
    let id = verb.about.run();
    let engine = match verb.edits() {
        // The tool is asked for its schema, so its server must be there.
        true => {
            origin::reopen(&common, &Again::quietly(id.clone()))
                .await?
                .0
                .engine
        }
        false => open(&common)?.engine,
    };
    let run = engine.load(id).await?.run;
    let work = async {
        let (asked, pause) = question_of(&run, &verb.about)?;
        let answer = match verb.edits() {
            true => edited(&verb, pause, yes)?,
            false => answer_to(&run, &asked, pause, yes)?,
        };
        let by = person(&engine, &question::says(&run.graph, pause)).await?;
        engine.answer(&asked, answer, by, verb.why.clone()).await?;
        Ok("answered")
    };
    let name = if yes { "approve" } else { "reject" };
    noting(&engine, name, id, verb.why.as_deref(), work).await?;
    match after::go_on(&common, verb.going_on, id, run.seq).await? {
        // What was wanted.
        Exit::Rejected if !yes => Ok(Exit::Done),
        exit => Ok(exit),
    }
}

impl Deciding {
    fn edits(&self) -> bool {
        !self.set.is_empty() || self.arguments.is_some()
    }
}

/// A yes with other arguments.
fn edited(verb: &Deciding, pause: &Pause, yes: bool) -> Result<Answer, Stopped> {
    if !yes {
        let message = "--set and --arguments go with `runs approve`: a rejected call is not made";
        return Err(Stopped::bad(message));
    }
    if let Some(whole) = &verb.arguments {
        let arguments = input::whole(whole)?;
        return Ok(Answer::ProceedWith { arguments });
    }
    let before = pause.call().map(|call| &call.arguments);
    let mut arguments = match before {
        Some(Value::Object(map)) => Map::clone(map),
        _ => Map::new(),
    };
    for pair in &verb.set {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Stopped::bad(format!("`{pair}` is no KEY=JSON")));
        };
        let value = Value::from_json(text).unwrap_or_else(|_| text.into());
        arguments.insert(key, value);
    }
    let arguments = arguments.into();
    Ok(Answer::ProceedWith { arguments })
}

/// What a plain yes or no means for a question.
fn answer_to(run: &Run, asked: &Checkpoint, pause: &Pause, yes: bool) -> Result<Answer, Stopped> {
    if !yes {
        return Ok(Answer::Reject);
    }
    if let Pause::InDoubt { .. } | Pause::Child { .. } = pause {
        let says = question::says(&run.graph, pause);
        return Err(Stopped::bad(format!(
            "{says} `tramline runs answer {asked} --retry` or `--skip JSON` decides"
        )));
    }
    Ok(match question::extension(pause) {
        Some(budget) => Answer::Extend { budget },
        None => Answer::Proceed,
    })
}

/// The question that is meant: the only decision that waits, unless one is named.
fn question_of<'r>(run: &'r Run, about: &About) -> Result<(Checkpoint, &'r Pause), Stopped> {
    let point = |seq: u64| Checkpoint {
        run: run.id.clone(),
        seq,
    };
    if let About::Question(asked) = about {
        return match run.pauses.get(&asked.seq) {
            Some(pause) => Ok((asked.clone(), pause)),
            None => Err(tramline_engine::stale(run, asked.seq).into()),
        };
    }
    let open: Vec<_> = run.pauses.iter().collect();
    match open.as_slice() {
        [] => Err(Stopped::bad(format!("{} waits for nothing", run.id))),
        [(seq, pause)] => Ok((point(**seq), pause)),
        several => {
            let points: Vec<_> = several
                .iter()
                .map(|(seq, _)| point(**seq).to_string())
                .collect();
            Err(Stopped::bad(format!(
                "{} waits for {} answers; name one: {}",
                run.id,
                points.len(),
                points.join(", ")
            )))
        }
    }
}

/// Add tasks to a run.
#[derive(clap::Args)]
pub(super) struct Replanning {
    /// Which run
    #[arg(value_name = "RUN", value_parser = super::run_id)]
    run: RunId,
    /// The tasks, a list as in a DAG: JSON, @file, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    tasks: String,
    /// Why, for whoever reads the audit later
    #[arg(long)]
    why: Option<String>,
}

pub(super) async fn replan(common: Common, verb: Replanning) -> Done {
    let tasks = input::whole(&verb.tasks)?;
    let engine = open(&common)?.engine;
    let run = engine.load(&verb.run).await?.run;
    let hint = Hint {
        elsewhere: Elsewhere::Any,
        ..Hint::default()
    };
    let mut count = 0;
    let work = async {
        let growth = json_dag::read_patch(&tasks, &run.graph, hint)
            .map_err(|flaws| documents::stopped("the tasks", &flaws))?;
        count = growth.patch.nodes.len();
        engine.amend(&verb.run, growth.patch, myself()).await?;
        Ok("replanned")
    };
    noting(&engine, "replan", &verb.run, verb.why.as_deref(), work).await?;
    let words = format!("{count} tasks are added to {}", verb.run);
    Ok(done(&common, &verb.run, "replanned", &words))
}
