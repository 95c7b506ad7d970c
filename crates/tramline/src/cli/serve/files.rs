//! What a server may touch and start: its roots, what its file tools leave alone, and which servers
//! it may start.

use super::super::trust::{self, Trusting};
use super::super::{Common, Stopped};
use super::Serve;
use super::readings::Readings;
use crate::config::Config;
use crate::protect;
use crate::trust::StartGate;
use crate::wire;
use std::path::PathBuf;
use tramline_mcp::server::Toolset;

/// What is said of a server that an edit adds.
const ADDED: &str = "was added or changed by an edit and is not started; the operator takes it by a \
                     restart, or serves with --reload-servers";

/// Whether agents bring documents of their own by a toolset.
fn brings_documents(toolset: Toolset) -> bool {
    match toolset {
        Toolset::Control | Toolset::Library | Toolset::Loop => true,
        Toolset::Graphs | Toolset::Debug | Toolset::Sop => false,
    }
}

/// The configuration of a server. Where agents bring documents, file tools get no directory that
/// was not named: the working directory is where the operator's own files lie.
pub(super) fn config(common: &Common, verb: &Serve) -> Result<Config, Stopped> {
    let mut config = match verb.toolsets.iter().any(|set| brings_documents(*set)) {
        true => common.config_as_named(&verb.reach)?,
        false => common.config(&verb.reach)?,
    };
    let documents = verb.files.iter().map(|path| protect::document(path));
    config.protected.extend(documents);
    let tokens = verb.token_file.iter().map(|path| protect::token_file(path));
    config.protected.extend(tokens);
    Ok(config)
}

/// Says which servers may be started. `serve` is the user's word to start what is named now, and
/// not what edits name later; a studio that is opened only looks.
pub(super) fn gate(
    config: &mut Config,
    readings: &Readings,
    verb: &Serve,
    trusting: Option<Trusting>,
) -> Result<(), Stopped> {
    let read = || {
        let each = readings.iter();
        each.map(|reading| (reading.path.as_path(), &reading.document))
    };
    if let Some(trusting) = trusting {
        return trust::look(config, read(), &verb.files, trusting);
    }
    trust::by_word(config, read(), true)?;
    let servers = wire::servers(config, readings.documents())?;
    config.gate = match verb.reload_servers {
        true => StartGate::open(),
        false => StartGate::of_trusted(&servers, None, ADDED.to_owned()),
    };
    Ok(())
}

/// What lets more servers be started than were held back.
pub(super) fn allowing(config: &Config, files: &[PathBuf], drafts: bool) -> String {
    match drafts {
        true => format!("`{}` allows them", trust::allowing(config, files)),
        false => "a restart takes them, and `--reload-servers` takes such edits".to_owned(),
    }
}
