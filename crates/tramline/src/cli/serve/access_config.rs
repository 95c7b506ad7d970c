//! What a server may touch and start: its roots, the paths protected from file tools, and which
//! servers it may start.

use super::super::trust::{self, TrustFlag};
use super::super::{CliError, CommonArgs};
use super::Serve;
use super::served_documents::ServedDocuments;
use crate::app;
use crate::config::Config;
use crate::protected_paths;
use crate::trust::StartGate;
use std::path::PathBuf;
use tramline_mcp_server::Toolset;

/// The reason given for a server that an edit adds.
const HELD_BACK_REASON: &str = "was added or changed by an edit and is not started; to apply it, \
                     restart the server or serve with --reload-servers";

/// Whether agents can submit documents through a toolset.
fn accepts_documents(toolset: Toolset) -> bool {
    match toolset {
        Toolset::Control | Toolset::Library | Toolset::Loop => true,
        Toolset::Graphs | Toolset::Debug | Toolset::Sop | Toolset::Runs => false,
    }
}

/// The configuration of a server. If agents can submit documents, file tools only get roots that
/// were named: the working directory contains the operator's own files.
pub(super) fn config(common: &CommonArgs, verb: &Serve) -> Result<Config, CliError> {
    let mut config = match verb.toolsets.iter().any(|set| accepts_documents(*set)) {
        true => common.config_with_named_roots(&verb.reach)?,
        false => common.config(&verb.reach)?,
    };
    let documents = verb
        .files
        .iter()
        .map(|path| protected_paths::document(path));
    config.protected.extend(documents);
    let tokens = verb
        .token_file
        .iter()
        .map(|path| protected_paths::token_file(path));
    config.protected.extend(tokens);
    Ok(config)
}

/// Sets which servers may be started. `serve` is permission to start what is named now, but not
/// what later edits add; opening a studio is read-only.
pub(super) fn set_start_gate(
    config: &mut Config,
    readings: &ServedDocuments,
    verb: &Serve,
    trusting: Option<TrustFlag>,
) -> Result<(), CliError> {
    let read = || {
        let each = readings.iter();
        each.map(|reading| (reading.path.as_path(), &reading.document))
    };
    if let Some(trusting) = trusting {
        return trust::restrict_starts(config, read(), &verb.files, trusting);
    }
    trust::trust_on_run(config, read(), true)?;
    let servers = app::servers(config, readings.documents())?;
    config.gate = match verb.reload_servers {
        true => StartGate::open(),
        false => StartGate::of_trusted(&servers, None, HELD_BACK_REASON.to_owned()),
    };
    Ok(())
}

/// The hint on how to allow the servers that were held back.
pub(super) fn allow_hint(config: &Config, files: &[PathBuf], drafts: bool) -> String {
    match drafts {
        true => format!("`{}` allows them", trust::trust_command(config, files)),
        false => "a restart applies them, and `--reload-servers` allows such edits".to_owned(),
    }
}
