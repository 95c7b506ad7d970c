//! What an import did, kept so that it can be undone.

use super::client::{Client, ConfigPlace, Directories, Scope};
use super::config_file::ConfigFile;
use super::config_text::Syntax;
use crate::cli::CliError;
use serde_json::{Value, json};
use std::path::PathBuf;

/// What an import did.
pub(super) struct ImportRecord {
    /// The name of the entry that replaced the servers.
    pub(super) entry: String,
    /// The entries that were there before, by name, are in this copy of the client's file.
    pub(super) backup: PathBuf,
    /// The client's names of the servers.
    pub(super) servers: Vec<String>,
    /// Their names in Tramline's file.
    pub(super) own_names: Vec<String>,
    /// The settings that were made for them.
    pub(super) settings: Vec<String>,
    /// Tramline's file.
    pub(super) own_file: PathBuf,
}

impl ImportRecord {
    fn place(at: &Directories, client: Client, scope: Scope) -> ConfigPlace {
        let own = at.own_servers(scope);
        let folder = own.path.parent().unwrap_or(&own.base).join("imports");
        ConfigPlace {
            path: folder.join(format!("{}.json", client.name())),
            base: own.base,
        }
    }

    fn file(at: &Directories, client: Client, scope: Scope) -> Result<ConfigFile, CliError> {
        ConfigFile::read(&Self::place(at, client, scope), Syntax::Json, false)
    }

    /// The record of the import that is in effect.
    pub(super) fn read(
        at: &Directories,
        client: Client,
        scope: Scope,
    ) -> Result<Option<Self>, CliError> {
        let file = Self::file(at, client, scope)?;
        if file.text.is_none() {
            return Ok(None);
        }
        let value = file.value()?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let texts = |key: &str| -> Vec<String> {
            let items = value
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            items
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect()
        };
        let (Some(entry), Some(backup), Some(own_file)) =
            (text("entry"), text("backup"), text("own_file"))
        else {
            let message = format!("{} is not the record of an import", file.path.display());
            return Err(CliError::bad_input(message));
        };
        Ok(Some(Self {
            entry,
            backup: backup.into(),
            servers: texts("servers"),
            own_names: texts("own_names"),
            settings: texts("settings"),
            own_file: own_file.into(),
        }))
    }

    /// Stores the record before the client's file is changed.
    pub(super) fn write(
        &self,
        at: &Directories,
        client: Client,
        scope: Scope,
    ) -> Result<(), CliError> {
        let file = Self::file(at, client, scope)?;
        let value = json!({
            "entry": self.entry,
            "backup": self.backup.display().to_string(),
            "servers": self.servers,
            "own_names": self.own_names,
            "settings": self.settings,
            "own_file": self.own_file.display().to_string(),
        });
        file.overwrite(&format!("{value:#}\n"))
    }

    /// Forgets the record.
    pub(super) fn delete(at: &Directories, client: Client, scope: Scope) -> Result<(), CliError> {
        let file = Self::file(at, client, scope)?;
        match file.text {
            Some(_) => file.delete(),
            None => Ok(()),
        }
    }
}
