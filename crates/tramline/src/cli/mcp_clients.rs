//! `tramline mcp`: puts Tramline into the configuration of MCP clients, and takes over their servers.

use super::audit_record::AuditedCommand;
use super::output::{self, TextStyle};
use super::{CliError, CliResult, CommonArgs};
use clap::Subcommand;
use client::{Client, Directories, Scope};
use std::path::{Path, PathBuf};
use tramline_mcp_server::Toolset;
use tramline_views::text_diff;
use tramline_workflow::text::io_reason;

mod client;
mod client_files;
mod config_file;
mod config_text;
mod existing_servers;
mod import;
mod import_record;
mod install;
mod jsonc;
mod list;
mod secret_texts;
mod servers;
mod toml_text;
mod yaml_text;

pub(crate) use client_files::{ClientFile, client_files};
pub(super) use list::check_clients;

/// The name of the entry in a client's configuration, unless another one is given.
const ENTRY_NAME: &str = "tramline";

/// Put Tramline into MCP clients, and take over their servers.
#[derive(clap::Args)]
pub(super) struct McpClients {
    #[command(subcommand)]
    verb: McpVerb,
}

#[derive(Subcommand)]
enum McpVerb {
    /// Add Tramline to a client's configuration
    Install(install::Install),
    /// Remove Tramline from a client's configuration
    Uninstall(install::Uninstall),
    /// Show which clients are configured, and where
    List(list::ListClients),
    /// Move a client's servers to Tramline, and put one gated entry in their place
    Import(import::Import),
}

/// The client and the file to change.
#[derive(clap::Args, Clone)]
struct Target {
    /// The client
    #[arg(value_name = "CLIENT")]
    client: Client,
    /// For every project of this user, or for one project
    #[arg(long, value_name = "SCOPE", default_value = "user")]
    scope: Scope,
    /// The directory of the project [default: the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The name of the entry
    #[arg(long, value_name = "NAME", default_value = ENTRY_NAME, value_parser = entry_name)]
    name: String,
    /// Show the change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Change the file even if a link leads to it from another place
    #[arg(long)]
    follow_links: bool,
}

impl Target {
    fn directories(&self) -> Result<Directories, CliError> {
        directories(self.project.as_deref())
    }

    fn file(&self, at: &Directories) -> Result<config_file::ConfigFile, CliError> {
        let place = self.client.place(self.scope, at).ok_or_else(|| {
            CliError::bad_input(format!(
                "{} has no configuration file in a project; use `--scope user`",
                self.client.title()
            ))
        })?;
        config_file::ConfigFile::read(&place, self.client.syntax(), self.follow_links)
    }
}

impl McpClients {
    /// The command as recorded in the audit log.
    pub(super) fn command(&self) -> Option<AuditedCommand> {
        let (name, target) = match &self.verb {
            McpVerb::Install(verb) => ("mcp install", &verb.target),
            McpVerb::Uninstall(verb) => ("mcp uninstall", &verb.target),
            McpVerb::Import(verb) => ("mcp import", &verb.target),
            McpVerb::List(_) => return None,
        };
        match target.dry_run {
            true => None,
            false => AuditedCommand::new(name, [target.client.name(), target.scope.name()]),
        }
    }
}

pub(super) async fn main(common: CommonArgs, verb: McpClients) -> CliResult {
    match verb.verb {
        McpVerb::Install(verb) => install::install(&common, &verb),
        McpVerb::Uninstall(verb) => install::uninstall(&common, &verb),
        McpVerb::List(verb) => list::main(&common, &verb),
        McpVerb::Import(verb) => import::main(&common, &verb).await,
    }
}

/// The home directory, if a variable names one.
fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    home.map(PathBuf::from).filter(|home| home.is_absolute())
}

fn directories(project: Option<&Path>) -> Result<Directories, CliError> {
    let home = home().ok_or_else(|| {
        CliError::bad_input("HOME is not set, so the clients' files cannot be found")
    })?;
    let project = absolute(project.unwrap_or(Path::new(".")))?;
    Ok(Directories { home, project })
}

fn absolute(path: &Path) -> Result<PathBuf, CliError> {
    let found = std::fs::canonicalize(path);
    found.map_err(|error| CliError::bad_input(format!("{}: {}", path.display(), io_reason(&error))))
}

/// A name that every client accepts.
fn entry_name(name: &str) -> Result<String, String> {
    /// Clients put the name in front of each tool's name, which may have 64 characters.
    const CHARS_MAX: usize = 32;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let fits = (1..=CHARS_MAX).contains(&name.len()) && name.chars().all(plain);
    match fits {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "use 1 to {CHARS_MAX} letters, digits, `-` and `_`: clients put it in front of tool names"
        )),
    }
}

/// The command that starts this program: as found in `PATH`, which survives an upgrade, or its file.
pub(super) fn own_command() -> Result<String, CliError> {
    let cannot = |error: std::io::Error| {
        CliError::bad_input(format!("cannot find this program: {}", io_reason(&error)))
    };
    let file = std::env::current_exe().map_err(cannot)?;
    let itself = std::fs::canonicalize(&file).map_err(cannot)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("tramline"))
        .find(|found| std::fs::canonicalize(found).is_ok_and(|found| found == itself));
    let command = named.unwrap_or(file);
    let text = command.to_str().map(str::to_owned);
    text.ok_or_else(|| CliError::bad_input(format!("the path {} is not UTF-8", command.display())))
}

/// `--data-dir` for the entry, if this command was given one: settings and runs are there.
fn data_dir_arguments(common: &CommonArgs) -> Result<Vec<String>, CliError> {
    let Some(dir) = &common.data_dir else {
        return Ok(Vec::new());
    };
    let dir = std::path::absolute(dir).map_err(|error| {
        CliError::bad_input(format!("{}: {}", dir.display(), io_reason(&error)))
    })?;
    Ok(vec!["--data-dir".to_owned(), utf8(&dir)?])
}

fn utf8(path: &Path) -> Result<String, CliError> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| CliError::bad_input(format!("the path {} is not UTF-8", path.display())))
}

fn toolset_name(name: &str) -> Result<String, String> {
    let known: Result<Toolset, _> = name.parse();
    known
        .map(|_| name.to_owned())
        .map_err(|error| format!("{error}"))
}

/// Replaces every private text of a diff.
fn masked(text: &str, private: &[String]) -> String {
    let mut out = text.to_owned();
    for secret in private {
        // As it is written in the file: with escapes.
        let written = serde_json::Value::from(secret.as_str()).to_string();
        let written = written.trim_matches('"');
        out = out
            .replace(written, "********")
            .replace(secret.as_str(), "********");
    }
    out
}

/// The unified diff of a file.
fn diff(path: &Path, before: &str, after: &str, private: &[String]) -> String {
    let hidden = (masked(before, private), masked(after, private));
    let changes = text_diff::unified(&hidden.0, &hidden.1);
    let path = path.display();
    let cut = if changes.is_truncated {
        "… (shortened)\n"
    } else {
        ""
    };
    format!("--- {path}\n+++ {path}\n{}{cut}", changes.text)
}

/// Shows a diff, in colour on a terminal.
fn show_diff(text: &str) {
    let (good, bad, dim) = (TextStyle::Good, TextStyle::Bad, TextStyle::Dim);
    for line in text.lines() {
        let styled = match line.as_bytes().first() {
            Some(b'+') => format!("{good}{line}{good:#}"),
            Some(b'-') => format!("{bad}{line}{bad:#}"),
            Some(b'@') => format!("{dim}{line}{dim:#}"),
            _ => line.to_owned(),
        };
        output::text_line(&styled);
    }
}
