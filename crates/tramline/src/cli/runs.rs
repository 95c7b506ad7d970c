//! `tramline runs`: the runs in the data directory, whichever process started them.

use super::audit_record::{AuditedCommand, CLI_DOOR};
use super::run_environment::ResumeArgs;
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, output, run_names};
use crate::app::{self, App};
use clap::Subcommand;
use tramline_engine::Engine;
use tramline_engine::audit::{AuditNote, audited_by_front_end};
use tramline_expr::Value;
use tramline_workflow::ids::RunId;

mod answer;
mod approve;
mod breakpoints;
mod compare;
mod export;
mod fork;
mod list;
mod prune;
mod remove;
mod respondent;
mod resume_abort;
mod resume_after_answer;
pub(super) mod show;
mod show_at;

pub(super) use respondent::{confirmed_respondent, respondent};

/// List, inspect and control runs.
#[derive(clap::Args)]
pub(super) struct Runs {
    #[command(subcommand)]
    verb: Option<RunsVerb>,
    #[command(flatten)]
    list: list::ListArgs,
}

#[derive(Subcommand)]
enum RunsVerb {
    /// List runs, newest first: the same as `tramline runs`
    #[command(alias = "ls")]
    List(list::ListArgs),
    /// Show a run: every step with its input and output
    #[command(aliases = ["get", "view", "describe", "status"])]
    Show(show::ShowRunArgs),
    /// Continue a run that was interrupted or answered
    Resume(ResumeArgs),
    /// Abort a run, in whichever process it is driven
    #[command(aliases = ["cancel", "stop", "kill"])]
    Abort(resume_abort::AbortArgs),
    /// Answer a run's question
    Answer(answer::AnswerArgs),
    /// Set a run's breakpoints, in whichever process it is driven
    Watch(breakpoints::WatchArgs),
    /// Halt a run before its next step
    Pause(breakpoints::PauseArgs),
    /// Let a halted run make one step
    Step(ResumeArgs),
    /// Continue a run that has halted or waits after a layer
    Continue(ResumeArgs),
    /// Add tasks to a run of a DAG
    Replan(approve::ReplanArgs),
    /// Approve a run's question
    Approve(approve::DecisionArgs),
    /// Reject a run's question: the run ends
    Reject(approve::DecisionArgs),
    /// Fork a run after a step, and follow the new run
    Fork(fork::ForkArgs),
    /// Write a run to a file; of a damaged run, everything that can be read
    Export(export::ExportArgs),
    /// Show how two runs differ
    #[command(aliases = ["diff"])]
    Compare(compare::CompareArgs),
    /// Delete finished runs by age and total size
    Prune(prune::PruneArgs),
    /// Delete finished runs
    #[command(aliases = ["remove", "delete"])]
    Rm(remove::RemoveArgs),
}

pub(super) async fn main(common: CommonArgs, verb: Runs) -> CliResult {
    match verb.verb {
        None => list::main(common, verb.list).await,
        Some(RunsVerb::List(list)) => list::main(common, list).await,
        Some(RunsVerb::Show(verb)) => show::main(common, verb).await,
        Some(RunsVerb::Resume(verb)) => Box::pin(resume_abort::resume(common, verb)).await,
        Some(RunsVerb::Abort(verb)) => resume_abort::abort(common, verb).await,
        Some(RunsVerb::Answer(verb)) => Box::pin(answer::main(common, verb)).await,
        Some(RunsVerb::Watch(verb)) => {
            audited_by_front_end(Box::pin(breakpoints::set_breakpoints(common, verb))).await
        }
        Some(RunsVerb::Pause(verb)) => {
            audited_by_front_end(Box::pin(breakpoints::pause(common, verb))).await
        }
        Some(RunsVerb::Step(again)) => Box::pin(breakpoints::resume(common, again, true)).await,
        Some(RunsVerb::Continue(again)) => {
            Box::pin(breakpoints::resume(common, again, false)).await
        }
        Some(RunsVerb::Replan(verb)) => Box::pin(approve::replan(common, verb)).await,
        Some(RunsVerb::Approve(verb)) => Box::pin(approve::decide(common, verb, true)).await,
        Some(RunsVerb::Reject(verb)) => Box::pin(approve::decide(common, verb, false)).await,
        Some(RunsVerb::Fork(verb)) => Box::pin(fork::main(common, verb)).await,
        Some(RunsVerb::Export(verb)) => export::main(common, verb).await,
        Some(RunsVerb::Compare(verb)) => compare::main(common, verb).await,
        Some(RunsVerb::Prune(verb)) => prune::main(common, verb).await,
        Some(RunsVerb::Rm(verb)) => remove::main(common, verb).await,
    }
}

impl Runs {
    /// Whether the command may drive a run, which it releases before it ends.
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
                RunsVerb::List(_)
                | RunsVerb::Show(_)
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

    /// The command as recorded in the audit log.
    pub(super) fn command(&self) -> Option<AuditedCommand> {
        match self.verb.as_ref()? {
            RunsVerb::Watch(verb) => AuditedCommand::new("runs watch", [verb.run()]),
            RunsVerb::Pause(verb) => AuditedCommand::new("runs pause", [verb.run()]),
            RunsVerb::Rm(verb) => AuditedCommand::new("runs rm", verb.runs()),
            RunsVerb::Prune(_) => AuditedCommand::new("runs prune", [""; 0]),
            // These record themselves, with the decision or the run.
            RunsVerb::Abort(_)
            | RunsVerb::Fork(_)
            | RunsVerb::Resume(_)
            | RunsVerb::Step(_)
            | RunsVerb::Answer(_)
            | RunsVerb::Continue(_)
            | RunsVerb::Replan(_)
            | RunsVerb::Approve(_)
            | RunsVerb::Reject(_) => None,
            RunsVerb::List(_) | RunsVerb::Show(_) | RunsVerb::Compare(_) | RunsVerb::Export(_) => {
                None
            }
        }
    }
}

/// An engine on the data directory without servers: for reading and for commands.
pub(super) fn open(common: &CommonArgs) -> Result<App, CliError> {
    Ok(app::open(&common.config(&AccessArgs::default())?, &[])?)
}

pub(super) fn run_id(text: &str) -> Result<RunId, String> {
    run_names::parse(text)
}

/// The name of the person at this terminal, as recorded in the journal.
pub(super) fn user_name() -> tramline_expr::Str {
    std::env::var("USER").map_or_else(|_| "command line".into(), |user| user.into())
}

fn report_done(common: &CommonArgs, run: &RunId, status: &str, words: &str) -> Exit {
    if common.json {
        output::line(&serde_json::json!({ "run_id": run, "status": status }));
    } else {
        output::status_line(words);
    }
    Exit::Done
}

/// Carries out a command and records it with its result for `tramline audit`.
async fn run_audited(
    engine: &Engine,
    command: &str,
    run: &RunId,
    (why, arguments): (Option<&str>, Option<Value>),
    work: impl Future<Output = Result<&'static str, CliError>>,
) -> Result<&'static str, CliError> {
    let mut note = AuditNote::new(command, user_name().as_str());
    note.channel = Some(CLI_DOOR.to_owned());
    note.person = true;
    note.run = Some(run.to_string());
    note.why = why.map(str::to_owned);
    note.arguments = arguments.map(|given| engine.audit_value(&given));
    let complete = |note: &mut AuditNote, came: &Result<&'static str, CliError>| match came {
        Ok(how) => note.result = (*how).into(),
        Err(stopped) => {
            note.result = "refused".into();
            note.error = Some(stopped.message.clone());
        }
    };
    engine.audited_command(note, work, complete).await?
}
