//! `tramline mcp list`: which clients are configured, and where.

use super::client::{Client, Scope};
use super::config_file::ConfigFile;
use super::servers::{self, ClientEntry};
use super::{directories, own_command};
use crate::cli::doctor::Finding;
use crate::cli::output::{self, TextStyle};
use crate::cli::{CliError, CliResult, CommonArgs, Exit};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Show which clients are configured, and where.
#[derive(clap::Args)]
pub(super) struct ListClients {
    /// The directory of the project [default: the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Also show files that do not exist
    #[arg(long)]
    all: bool,
}

/// One file of a client.
struct ClientFile {
    client: Client,
    scope: Scope,
    path: PathBuf,
    exists: bool,
    /// The entries that start Tramline.
    own: Vec<String>,
    /// The names of other servers.
    others: Vec<String>,
    error: Option<String>,
}

pub(super) fn main(common: &CommonArgs, verb: &ListClients) -> CliResult {
    let files = read_all(verb.project.as_deref())?;
    if common.json {
        output::list("clients", files.iter().map(ClientFile::as_json), []);
        return Ok(Exit::Done);
    }
    let shown: Vec<_> = files
        .iter()
        .filter(|file| verb.all || file.exists)
        .collect();
    if shown.is_empty() {
        output::text_line("no client has a configuration file here");
        output::text_line(
            "`tramline mcp install CLIENT` makes one; `tramline mcp list --all` shows where",
        );
    }
    for file in shown {
        file.show();
    }
    Ok(Exit::Done)
}

/// Every client's files: those of this user, and those of a project.
fn read_all(project: Option<&Path>) -> Result<Vec<ClientFile>, CliError> {
    let at = directories(project)?;
    let command = own_command()?;
    let mut files = Vec::new();
    for client in Client::ALL {
        for scope in [Scope::User, Scope::Project] {
            if let Some(place) = client.place(scope, &at) {
                files.push(ClientFile::read(client, scope, &place, &command));
            }
        }
    }
    Ok(files)
}

/// Which clients start Tramline, for `tramline doctor`. Returns their details for scripts.
pub(in crate::cli) fn check_clients(findings: &mut Vec<Finding>) -> serde_json::Value {
    let files = match read_all(None) {
        Ok(files) => files,
        Err(error) => {
            findings.push(Finding::ok("clients", error.message));
            return serde_json::Value::Null;
        }
    };
    let configured: Vec<_> = files.iter().filter(|file| !file.own.is_empty()).collect();
    if configured.is_empty() {
        findings.push(Finding::ok(
            "clients",
            "none is configured: `tramline mcp install CLIENT` does that",
        ));
    }
    for file in &configured {
        findings.push(Finding::ok(
            format!("client {}", file.client.name()),
            format!("{} in {}", file.own.join(", "), file.path.display()),
        ));
    }
    // Another program's file that cannot be read is not a problem of this one, but may explain a missing client.
    for file in files.iter().filter(|file| file.exists) {
        if let Some(error) = &file.error {
            let client = format!("client {}", file.client.name());
            findings.push(Finding::ok(client, format!("cannot be read: {error}")));
        }
    }
    configured.iter().map(|file| file.as_json()).collect()
}

impl ClientFile {
    fn read(
        client: Client,
        scope: Scope,
        place: &super::client::ConfigPlace,
        command: &str,
    ) -> Self {
        let mut file = Self {
            client,
            scope,
            path: place.path.clone(),
            exists: place.path.exists(),
            own: Vec::new(),
            others: Vec::new(),
            error: None,
        };
        let read = ConfigFile::read(place, client.syntax(), true);
        match read.and_then(|read| read.value()) {
            Err(error) => file.error = Some(error.message),
            Ok(config) => {
                for found in servers::found(client, &config, command) {
                    match found {
                        ClientEntry::Own { name } => file.own.push(name),
                        ClientEntry::Server(server) => file.others.push(server.name),
                        ClientEntry::Stays { name, .. } => file.others.push(name),
                    }
                }
            }
        }
        file
    }

    fn show(&self) {
        let (good, bad, dim) = (TextStyle::Good, TextStyle::Bad, TextStyle::Dim);
        let state = match (&self.error, self.own.is_empty(), self.exists) {
            (Some(_), _, _) => format!("{bad}cannot be read{bad:#}"),
            (None, false, _) => format!("{good}configured{good:#} as {}", self.own.join(", ")),
            (None, true, true) => "not configured".to_owned(),
            (None, true, false) => format!("{dim}no file{dim:#}"),
        };
        let others = match self.others.len() {
            0 => String::new(),
            1 => ", 1 other server".to_owned(),
            count => format!(", {count} other servers"),
        };
        let name = format!("{} ({})", self.client.name(), self.scope.name());
        output::text_line(&format!("{name:<25} {state}{others}"));
        output::text_line(&format!("  {dim}{}{dim:#}", self.path.display()));
        if let Some(error) = &self.error {
            output::text_line(&format!("  {error}"));
        }
    }

    fn as_json(&self) -> serde_json::Value {
        json!({
            "client": self.client.name(),
            "title": self.client.title(),
            "scope": self.scope.name(),
            "file": self.path.display().to_string(),
            "exists": self.exists,
            "configured": !self.own.is_empty(),
            "entries": self.own,
            "other_servers": self.others,
            "error": self.error,
        })
    }
}
