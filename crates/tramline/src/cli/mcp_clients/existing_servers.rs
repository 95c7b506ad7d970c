//! Servers that a project's file of servers had before an import: they may have come with the
//! project, and the entry that the import makes would start them.

use super::client::Scope;
use super::config_file::ConfigFile;
use super::import::read_servers;
use crate::cli::{CliError, output};
use crate::trust;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use tramline_mcp_client::config::ServerConfig;

/// The word to type to keep them.
const WORD: &str = "yes";

/// The servers that were there.
pub(super) struct ExistingServers {
    file: PathBuf,
    servers: Vec<ServerConfig>,
}

impl ExistingServers {
    /// Those of this file. The user's own file is the user's own doing.
    pub(super) fn read(own: &ConfigFile, scope: Scope) -> Result<Self, CliError> {
        let servers = match scope {
            Scope::Project if !own.text().trim().is_empty() => read_servers(own, own.text())?,
            Scope::Project | Scope::User => Vec::new(),
        };
        Ok(Self {
            file: own.path.clone(),
            servers,
        })
    }

    pub(super) fn names(&self) -> Vec<&str> {
        let names = self.servers.iter().map(|server| server.name.as_str());
        names.collect()
    }

    /// Shows what they start.
    pub(super) fn show(&self) {
        if self.servers.is_empty() {
            return;
        }
        output::status_line(&format!(
            "{} already has these servers, and the new entry would use them too:",
            self.file.display()
        ));
        for line in self.servers.iter().flat_map(trust::describe) {
            output::status_line(&format!("  {line}"));
        }
    }

    /// Fails unless a person or `--trust` agrees to use them.
    pub(super) fn confirm(&self, is_trusted: bool, as_json: bool) -> Result<(), CliError> {
        if self.servers.is_empty() {
            return Ok(());
        }
        if !as_json {
            self.show();
        }
        if is_trusted {
            return Ok(());
        }
        let mut input = std::io::stdin().lock();
        let can_ask = !as_json && input.is_terminal() && output::is_terminal();
        let mut typed = String::new();
        if can_ask {
            let question = format!("Type `{WORD}` to use these servers: ");
            let asked = output::print_question(&question);
            let answered = asked.and_then(|()| std::io::BufRead::read_line(&mut input, &mut typed));
            answered.map_err(|error| {
                CliError::bad_input(format!("cannot use the terminal: {error}"))
            })?;
        }
        match typed.trim() == WORD {
            true => Ok(()),
            false => Err(CliError::bad_input(format!(
                "{} already has the servers {}, which may have come with the project; nothing was changed. \
                 `--dry-run` shows what they start, `--trust` uses them; or remove them from the file",
                self.file.display(),
                self.names().join(", ")
            ))),
        }
    }
}
