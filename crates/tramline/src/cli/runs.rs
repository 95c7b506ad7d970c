//! `tramline runs`: the runs in the data directory, whichever process made them.

use super::audited::{Command, DOOR};
use super::origin::Again;
use super::{Common, Done, Exit, Reach, Stopped, output};
use crate::wire::{self, House};
use clap::Subcommand;
use tramline_core::ids::RunId;
use tramline_engine::Engine;
use tramline_engine::audit::{Note, noted_by_door};

mod after;
mod answer;
mod compare;
mod decide;
mod export;
mod fork;
mod halt;
mod list;
mod past;
mod person;
mod prune;
mod remove;
pub(super) mod show;
mod steer;

pub(super) use person::{person, respondent};

/// List runs, read them, steer them.
#[derive(clap::Args)]
pub(super) struct Runs {
    #[command(subcommand)]
    verb: Option<RunsVerb>,
    #[command(flatten)]
    list: list::List,
}

#[derive(Subcommand)]
enum RunsVerb {
    /// Read a run: every step with what went in and what came out
    Show(show::Show),
    /// Go on with a run that was interrupted or has been answered
    Resume(Again),
    /// End a run, wherever it is driven
    Abort(steer::Abort),
    /// Answer what a run asks
    Answer(answer::Answering),
    /// Say where a run is to halt, in whichever process it is driven
    Watch(halt::Watching),
    /// Let a run halt before its next step
    Pause(halt::Pausing),
    /// Let a run that has halted take one step
    Step(Again),
    /// Let a run that has halted, or waits after a layer, go on
    Continue(Again),
    /// Add tasks to a run of tasks
    Replan(decide::Replanning),
    /// Agree to what a run asks
    Approve(decide::Deciding),
    /// Refuse what a run asks: it ends
    Reject(decide::Deciding),
    /// Branch off from a run at a step, and follow the new one
    Fork(fork::Forking),
    /// Write a run as one file, or what can be read of one that is damaged
    Export(export::Export),
    /// Show how two runs differ
    Compare(compare::Comparing),
    /// Forget runs that are over, by age and for room
    Prune(prune::Prune),
    /// Forget runs that are over
    Rm(remove::Remove),
}

pub(super) async fn main(common: Common, verb: Runs) -> Done {
    match verb.verb {
        None => list::main(common, verb.list).await,
        Some(RunsVerb::Show(verb)) => show::main(common, verb).await,
        Some(RunsVerb::Resume(verb)) => steer::resume(common, verb).await,
        Some(RunsVerb::Abort(verb)) => steer::abort(common, verb).await,
        Some(RunsVerb::Answer(verb)) => answer::main(common, verb).await,
        Some(RunsVerb::Watch(verb)) => noted_by_door(Box::pin(halt::watch(common, verb))).await,
        Some(RunsVerb::Pause(verb)) => noted_by_door(Box::pin(halt::pause(common, verb))).await,
        Some(RunsVerb::Step(again)) => noted_by_door(Box::pin(halt::go(common, again, true))).await,
        Some(RunsVerb::Continue(again)) => halt::go(common, again, false).await,
        Some(RunsVerb::Replan(verb)) => decide::replan(common, verb).await,
        Some(RunsVerb::Approve(verb)) => decide::decide(common, verb, true).await,
        Some(RunsVerb::Reject(verb)) => decide::decide(common, verb, false).await,
        Some(RunsVerb::Fork(verb)) => noted_by_door(Box::pin(fork::main(common, verb))).await,
        Some(RunsVerb::Export(verb)) => export::main(common, verb).await,
        Some(RunsVerb::Compare(verb)) => compare::main(common, verb).await,
        Some(RunsVerb::Prune(verb)) => prune::main(common, verb).await,
        Some(RunsVerb::Rm(verb)) => remove::main(common, verb).await,
    }
}

impl Runs {
    /// Whether the command may drive a run, which it then lets go of before it ends.
    pub(super) fn may_drive(&self) -> bool {
        match &self.verb {
            None => false,
            Some(
                RunsVerb::Resume(_)
                | RunsVerb::Answer(_)
                | RunsVerb::Step(_)
                | RunsVerb::Continue(_)
                | RunsVerb::Replan(_)
                | RunsVerb::Approve(_)
                | RunsVerb::Reject(_)
                | RunsVerb::Fork(_),
            ) => true,
            Some(
                RunsVerb::Show(_)
                | RunsVerb::Abort(_)
                | RunsVerb::Watch(_)
                | RunsVerb::Pause(_)
                | RunsVerb::Export(_)
                | RunsVerb::Compare(_)
                | RunsVerb::Prune(_)
                | RunsVerb::Rm(_),
            ) => false,
        }
    }

    /// What is to be noted of the command.
    pub(super) fn command(&self) -> Option<Command> {
        match self.verb.as_ref()? {
            RunsVerb::Watch(verb) => Command::new("runs watch", [verb.run()]),
            RunsVerb::Pause(verb) => Command::new("runs pause", [verb.run()]),
            RunsVerb::Step(again) => Command::new("runs step", [&again.run]),
            RunsVerb::Fork(verb) => Command::new("runs fork", [verb.run()]),
            RunsVerb::Rm(verb) => Command::new("runs rm", verb.runs()),
            RunsVerb::Prune(_) => Command::new("runs prune", [""; 0]),
            // These note themselves, with what was decided.
            RunsVerb::Abort(_)
            | RunsVerb::Answer(_)
            | RunsVerb::Continue(_)
            | RunsVerb::Replan(_)
            | RunsVerb::Approve(_)
            | RunsVerb::Reject(_) => None,
            // The journal has who took the run over.
            RunsVerb::Resume(_) => None,
            RunsVerb::Show(_) | RunsVerb::Compare(_) | RunsVerb::Export(_) => None,
        }
    }
}

/// The engine over the data directory, with no servers: for reading and for words.
pub(super) fn open(common: &Common) -> Result<House, Stopped> {
    Ok(wire::open(&common.config(&Reach::default())?, &[])?)
}

pub(super) fn run_id(text: &str) -> Result<RunId, String> {
    text.parse()
        .map_err(|bad: tramline_core::ids::BadId| bad.to_string())
}

/// Who we are in the journal: the person at this terminal.
pub(super) fn myself() -> tramline_core::Str {
    std::env::var("USER").map_or_else(|_| "command line".into(), |user| user.into())
}

fn done(common: &Common, run: &RunId, status: &str, words: &str) -> Exit {
    if common.json {
        output::line(&serde_json::json!({ "run_id": run, "status": status }));
    } else {
        output::say(words);
    }
    Exit::Done
}

/// Does what is commanded, and notes it with what came of it for `tramline audit`.
async fn noting(
    engine: &Engine,
    command: &str,
    run: &RunId,
    why: Option<&str>,
    work: impl Future<Output = Result<&'static str, Stopped>>,
) -> Result<&'static str, Stopped> {
    let mut note = Note::new(command, myself().as_str());
    note.door = Some(DOOR.to_owned());
    note.person = true;
    note.run = Some(run.to_string());
    note.why = why.map(str::to_owned);
    let complete = |note: &mut Note, came: &Result<&'static str, Stopped>| match came {
        Ok(how) => note.result = (*how).into(),
        Err(stopped) => {
            note.result = "refused".into();
            note.error = Some(stopped.message.clone());
        }
    };
    engine.noting(note, work, complete).await?
}
