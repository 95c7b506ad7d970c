//! `tramline trust`: what documents start, shown and allowed; and how other commands keep to it.

use super::audited::Command;
use super::{Common, Done, Exit, Reach, Stopped, documents, output};
use crate::config::{Config, default_data_dir};
use crate::trust::{self, StartGate, TrustStore};
use crate::wire;
use std::path::{Path, PathBuf};
use tramline_core::formats::yaml_graph::Document;
use tramline_mcp::config::ServerConfig;

/// Show what documents start, and allow it for commands that only look.
#[derive(clap::Args)]
pub(super) struct Trust {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reach: Reach,
}

/// For commands that only look at documents.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub(super) struct Trusting {
    /// Allow what these documents start, now and later, as `tramline trust` does
    #[arg(long)]
    pub(super) trust: bool,
}

impl Trust {
    /// What is to be noted of the command.
    pub(super) fn command(&self) -> Option<Command> {
        Command::new("trust", self.files.iter().map(|file| file.display()))
    }
}

pub(super) fn main(common: &Common, verb: &Trust) -> Done {
    let config = common.config(&verb.reach)?;
    let elsewhere = documents::elsewhere(&config)?;
    let mut told = Vec::new();
    for path in &verb.files {
        let document = documents::read_to_use(path, &elsewhere, common.json)?;
        let servers = trust::brought(&config, [&document])?;
        if !common.json {
            show(path, &servers);
        }
        told.extend(servers.iter().map(|server| {
            let starts = trust::described(server).join("\n");
            serde_json::json!({ "file": path, "server": server.name, "starts": starts })
        }));
        remember(&config, &servers, path)?;
    }
    if common.json {
        output::line(&told);
    } else if told.is_empty() {
        output::say("these documents start nothing");
    } else {
        output::say("trusted: commands that only look at these documents may start this too");
    }
    Ok(Exit::Done)
}

fn show(path: &Path, servers: &[ServerConfig]) {
    if servers.is_empty() {
        return;
    }
    output::say(&format!("{}", path.display()));
    for line in servers.iter().flat_map(trust::described) {
        output::say(&format!("  {line}"));
    }
}

fn remember(config: &Config, servers: &[ServerConfig], path: &Path) -> Result<(), Stopped> {
    let Some(store) = TrustStore::of(config) else {
        return Ok(());
    };
    let whose = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    store
        .add(servers, &whose.to_string_lossy())
        .map_err(|why| Stopped::bad(format!("the trust could not be kept: {why}")))
}

/// Lets a command that only looks start what is the user's own or was trusted, and nothing else.
/// With `--trust` what these documents start is trusted first.
pub(super) fn look<'d>(
    config: &mut Config,
    read: impl IntoIterator<Item = (&'d Path, &'d Document)> + Clone,
    files: &[PathBuf],
    trusting: Trusting,
) -> Result<(), Stopped> {
    if trusting.trust {
        for (path, document) in read {
            remember(config, &trust::brought(config, [document])?, path)?;
        }
    }
    let own = wire::configured(config)?;
    config.gate = StartGate::of_trusted(&own, TrustStore::of(config), advice(config, files));
    Ok(())
}

/// What to say of a server that is not trusted.
fn advice(config: &Config, files: &[PathBuf]) -> String {
    let command = allowing(config, files);
    let here = std::env::current_dir().unwrap_or_default();
    format!(
        "is not trusted yet, so it is not started; `{command}`, run in {}, shows what it starts and allows it",
        here.display()
    )
}

/// The command that allows what documents start.
pub(super) fn allowing(config: &Config, files: &[PathBuf]) -> String {
    let mut words = vec!["tramline trust".to_owned()];
    let elsewhere = config.data_dir.as_ref();
    let elsewhere = elsewhere.filter(|dir| **dir != default_data_dir());
    words.extend(elsewhere.map(|dir| format!("--data-dir {}", dir.display())));
    let mcp_config = config.mcp_config.as_ref();
    words.extend(mcp_config.map(|path| format!("--mcp-config {}", path.display())));
    words.extend(files.iter().map(|file| file.display().to_string()));
    words.join(" ")
}

/// The user has said to start what a document names. What was never started here is shown to
/// somebody at a terminal, and remembered.
pub(super) fn by_word<'d>(
    config: &Config,
    read: impl IntoIterator<Item = (&'d Path, &'d Document)>,
    quiet: bool,
) -> Result<(), Stopped> {
    let Some(store) = TrustStore::of(config) else {
        return Ok(());
    };
    let known = store.read();
    for (path, document) in read {
        let mut servers = trust::brought(config, [document])?;
        servers.retain(|server| !known.contains(&trust::digest(server)));
        if servers.is_empty() {
            continue;
        }
        if !quiet && output::is_said_to_terminal() {
            output::say("these servers are started here for the first time:");
            show(path, &servers);
        }
        // Where nothing can be written, it is shown the next time too.
        let _ = remember(config, &servers, path);
    }
    Ok(())
}
