//! `tramline trust`: shows and trusts what documents start; enforces it for other commands.

use super::audit_record::AuditedCommand;
use super::{AccessArgs, CliError, CliResult, CommonArgs, Exit, documents, output};
use crate::app;
use crate::config::{Config, default_data_dir};
use crate::trust::{self, StartGate, TrustStore};
use std::path::{Path, PathBuf};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_mcp_client::config::ServerConfig;

/// Show what documents start, and trust it for read-only commands.
#[derive(clap::Args)]
pub(super) struct TrustCommand {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reach: AccessArgs,
}

/// For commands that only read documents.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(super) struct TrustFlag {
    /// Trust what these documents start, now and later, as `tramline trust` does
    #[arg(long)]
    pub(super) trust: bool,
}

impl TrustCommand {
    /// The command as recorded in the audit log.
    pub(super) fn command(&self) -> Option<AuditedCommand> {
        AuditedCommand::new("trust", self.files.iter().map(|file| file.display()))
    }
}

pub(super) fn main(common: &CommonArgs, verb: &TrustCommand) -> CliResult {
    let config = common.config(&verb.reach)?;
    let elsewhere = documents::known_servers(&config)?;
    let mut told = Vec::new();
    for path in &verb.files {
        let document = documents::read_valid(path, &elsewhere, common.json)?;
        let servers = trust::document_servers(&config, [&document])?;
        if !common.json {
            show(path, &servers);
        }
        told.extend(servers.iter().map(|server| {
            let starts = trust::describe(server).join("\n");
            serde_json::json!({ "file": path, "server": server.name, "starts": starts })
        }));
        save_trust(&config, &servers, path)?;
    }
    if common.json {
        output::list("servers", told, []);
    } else if told.is_empty() {
        output::status_line("these documents start nothing");
    } else {
        output::status_line(
            "trusted: read-only commands on these documents may start these servers",
        );
    }
    Ok(Exit::Done)
}

fn show(path: &Path, servers: &[ServerConfig]) {
    if servers.is_empty() {
        return;
    }
    output::status_line(&format!("{}", path.display()));
    for line in servers.iter().flat_map(trust::describe) {
        output::status_line(&format!("  {line}"));
    }
}

fn save_trust(config: &Config, servers: &[ServerConfig], path: &Path) -> Result<(), CliError> {
    let Some(store) = TrustStore::of(config) else {
        return Ok(());
    };
    let whose = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    store
        .add(servers, &whose.to_string_lossy())
        .map_err(|why| CliError::bad_input(format!("cannot save the trust: {why}")))
}

/// Lets a read-only command start servers that the user configured or trusted, nothing else. With
/// `--trust`, what these documents start is trusted first.
pub(super) fn restrict_starts<'d>(
    config: &mut Config,
    read: impl IntoIterator<Item = (&'d Path, &'d GraphDocument)> + Clone,
    files: &[PathBuf],
    trusting: TrustFlag,
) -> Result<(), CliError> {
    if trusting.trust {
        for (path, document) in read {
            save_trust(config, &trust::document_servers(config, [document])?, path)?;
        }
    }
    let own = app::configured_servers(config)?;
    config.gate =
        StartGate::of_trusted(&own, TrustStore::of(config), untrusted_hint(config, files));
    Ok(())
}

/// The hint for a server that is not trusted.
fn untrusted_hint(config: &Config, files: &[PathBuf]) -> String {
    let command = trust_command(config, files);
    let here = std::env::current_dir().unwrap_or_default();
    format!(
        "is not trusted yet, so it is not started; `{command}`, run in {}, shows what it starts and trusts it",
        here.display()
    )
}

/// The command that trusts what documents start.
pub(super) fn trust_command(config: &Config, files: &[PathBuf]) -> String {
    let mut words = vec!["tramline trust".to_owned()];
    let elsewhere = config.data_dir.as_ref();
    let elsewhere = elsewhere.filter(|dir| **dir != default_data_dir());
    words.extend(elsewhere.map(|dir| format!("--data-dir {}", dir.display())));
    let mcp_config = config.mcp_config.as_ref();
    words.extend(mcp_config.map(|path| format!("--mcp-config {}", path.display())));
    words.extend(files.iter().map(|file| file.display().to_string()));
    words.join(" ")
}

/// The user asked to start what a document names. Servers that were never started here are shown at
/// a terminal, and recorded as trusted.
pub(super) fn trust_on_run<'d>(
    config: &Config,
    read: impl IntoIterator<Item = (&'d Path, &'d GraphDocument)>,
    quiet: bool,
) -> Result<(), CliError> {
    let Some(store) = TrustStore::of(config) else {
        return Ok(());
    };
    let known = store.read();
    for (path, document) in read {
        let mut servers = trust::document_servers(config, [document])?;
        servers.retain(|server| !known.contains(&trust::NamedStart::of(server)));
        if servers.is_empty() {
            continue;
        }
        if !quiet && output::is_status_terminal() {
            output::status_line("these servers are started here for the first time:");
            show(path, &servers);
        }
        // If nothing can be written, they are shown again next time.
        let _ = save_trust(config, &servers, path);
    }
    Ok(())
}
