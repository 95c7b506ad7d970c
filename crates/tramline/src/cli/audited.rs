//! Commands that change something, in the audit: decided for every verb in one place.

use super::{Common, Done, Verb, output, runs};
use tramline_core::ids::RunId;
use tramline_engine::audit::Note;

/// By which door these commands come.
pub(super) const DOOR: &str = "command-line";

/// A command that is to be noted: its words, and what it is about.
pub(super) struct Command {
    /// The verb, as it is typed.
    pub(super) name: &'static str,
    /// What it is about: names, and never a value that may be secret.
    pub(super) about: Vec<String>,
}

impl Command {
    pub(super) fn new<S: ToString>(
        name: &'static str,
        about: impl IntoIterator<Item = S>,
    ) -> Option<Self> {
        let about = about.into_iter().map(|one| one.to_string()).collect();
        Some(Self { name, about })
    }
}

/// The command to be noted. Nothing for those that only look, whose run has it all in its journal, or
/// that note themselves with what they decided (`runs approve` and its like).
pub(super) fn command(verb: &Verb) -> Option<Command> {
    match verb {
        Verb::Runs(verb) => verb.command(),
        Verb::Library(verb) => verb.command(),
        Verb::Learn(verb) => verb.command(),
        Verb::Settings(verb) => verb.command(),
        Verb::Trust(verb) => verb.command(),
        Verb::Run(_)
        | Verb::Loop(_)
        | Verb::Debug(_)
        | Verb::Registry(_)
        | Verb::Serve(_)
        | Verb::Studio(_)
        | Verb::Check(_)
        | Verb::Graph(_)
        | Verb::Convert(_)
        | Verb::Replay(_)
        | Verb::Sop(_)
        | Verb::Audit(_)
        | Verb::Trace(_)
        | Verb::Eval(_)
        | Verb::Explain(_)
        | Verb::Completions(_)
        | Verb::Doctor(_) => None,
    }
}

/// Notes a command that was carried out or refused.
pub(super) async fn note(common: Common, command: Command, done: &Done) -> Done {
    let engine = runs::open(&common)?.engine;
    let mut note = Note::new(command.name, runs::myself().as_str());
    note.door = Some(DOOR.to_owned());
    note.person = true;
    let first = command.about.first();
    note.run = first.filter(|one| one.parse::<RunId>().is_ok()).cloned();
    note.arguments = Some(command.about.into());
    match done {
        Ok(_) => note.result = "done".to_owned(),
        Err(stopped) => {
            note.result = "refused".to_owned();
            note.error = Some(stopped.message.clone());
        }
    }
    if let Err(fault) = engine.note(note).await {
        output::say(&format!("the command could not be noted: {fault}"));
    }
    Ok(super::Exit::Done)
}
