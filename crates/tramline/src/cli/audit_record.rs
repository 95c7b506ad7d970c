//! Which commands are recorded in the audit log, decided for every verb in one place.

use super::{CliResult, CommonArgs, Exit, Verb, output, runs};
use serde_json::Value as Json;
use tramline_engine::Engine;
use tramline_engine::audit::AuditNote;
use tramline_workflow::ids::RunId;

/// The channel these commands arrive by, as recorded in the audit log.
pub(super) const CLI_DOOR: &str = "command-line";

/// A command to record: its name and its subject.
pub(super) struct AuditedCommand {
    /// The verb, as typed.
    pub(super) name: &'static str,
    /// Its subject: names, never a value that may be secret.
    pub(super) subjects: Vec<String>,
}

impl AuditedCommand {
    pub(super) fn new<S: ToString>(
        name: &'static str,
        about: impl IntoIterator<Item = S>,
    ) -> Option<Self> {
        let about = about.into_iter().map(|one| one.to_string()).collect();
        Some(Self {
            name,
            subjects: about,
        })
    }
}

/// The command to record. `None` for read-only commands, for commands whose run's journal contains
/// everything, and for commands that record themselves with their decision or their run (`runs
/// approve`, `registry run` and similar).
pub(super) fn audited_command(verb: &Verb) -> Option<AuditedCommand> {
    match verb {
        Verb::Runs(verb) => verb.command(),
        Verb::Library(verb) => verb.command(),
        Verb::Learn(verb) => verb.command(),
        Verb::Settings(verb) => verb.command(),
        Verb::Trust(verb) => verb.command(),
        Verb::Mcp(verb) => verb.command(),
        Verb::Init(_)
        | Verb::Run(_)
        | Verb::Loop(_)
        | Verb::Debug(_)
        | Verb::Registry(_)
        | Verb::Serve(_)
        | Verb::Studio(_)
        | Verb::Check(_)
        | Verb::Lock(_)
        | Verb::Graph(_)
        | Verb::Skills(_)
        | Verb::Convert(_)
        | Verb::Replay(_)
        | Verb::Replicas(_)
        | Verb::Sop(_)
        | Verb::Audit(_)
        | Verb::Trace(_)
        | Verb::Eval(_)
        | Verb::Explain(_)
        | Verb::Schema(_)
        | Verb::Lsp(_)
        | Verb::Completions(_)
        | Verb::Backup(_)
        | Verb::SelfCheck(_)
        | Verb::Doctor(_) => None,
    }
}

/// Carries out a command that starts or resumes runs. It is in the audit log before its first effect, and
/// completed with its result.
pub(super) async fn run_recorded(
    engine: &Engine,
    (name, run): (&str, Option<&RunId>),
    arguments: Option<Json>,
    work: impl Future<Output = CliResult>,
) -> CliResult {
    let mut note = AuditNote::new(name, runs::user_name().as_str());
    note.channel = Some(CLI_DOOR.to_owned());
    note.person = true;
    note.run = run.map(ToString::to_string);
    note.arguments = arguments.map(|given| engine.audit_value(&given.into()));
    let complete = |note: &mut AuditNote, done: &CliResult| match done {
        Ok(exit) => note.result = exit_result(*exit).to_owned(),
        Err(stopped) => {
            note.result = "refused".to_owned();
            note.error = Some(stopped.message.clone());
        }
    };
    engine.audited_command(note, work, complete).await?
}

/// The result of a command in the audit log.
fn exit_result(exit: Exit) -> &'static str {
    match exit {
        Exit::Done => "done",
        Exit::Failed => "failed",
        Exit::BadInput => "refused",
        Exit::Rejected => "rejected",
        Exit::Paused => "paused",
        Exit::Interrupted => "interrupted",
    }
}

/// Records a command that was carried out or refused.
pub(super) async fn record(
    common: CommonArgs,
    command: AuditedCommand,
    done: &CliResult,
) -> CliResult {
    let engine = runs::open(&common)?.engine;
    let mut note = AuditNote::new(command.name, runs::user_name().as_str());
    note.channel = Some(CLI_DOOR.to_owned());
    note.person = true;
    let first = command.subjects.first();
    note.run = first.filter(|one| one.parse::<RunId>().is_ok()).cloned();
    note.arguments = Some(command.subjects.into());
    match done {
        Ok(_) => note.result = "done".to_owned(),
        Err(stopped) => {
            note.result = "refused".to_owned();
            note.error = Some(stopped.message.clone());
        }
    }
    if let Err(fault) = engine.write_audit_note(note).await {
        output::status_line(&format!(
            "the command could not be recorded in the audit log: {fault}"
        ));
    }
    Ok(super::Exit::Done)
}
