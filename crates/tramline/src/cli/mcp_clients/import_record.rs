//! What an import did, kept so that it can be undone.
//!
//! Records are in the user's own configuration directory, also those of projects: a file in a project
//! may have come with it, and an undo deletes settings and restores commands.

use super::client::{Client, ConfigPlace, Directories, Scope};
use super::config_file::{BYTES_MAX, ConfigFile};
use super::config_text::Syntax;
use crate::cli::CliError;
use crate::config::read_bounded;
use serde_json::{Value, json};
use std::path::PathBuf;
use tramline_workflow::journal::ContentDigest;

/// What an import did.
pub(super) struct ImportRecord {
    /// The name of the entry that replaced the servers.
    pub(super) entry: String,
    /// The entries that were there before, by name, are in this copy of the client's file.
    pub(super) backup: PathBuf,
    /// The digest of that copy: the directory of a project may be written by others.
    pub(super) backup_digest: Option<String>,
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
        let own = at.own_servers(Scope::User);
        let mut folder = own.path.parent().unwrap_or(&own.base).join("imports");
        match scope {
            Scope::User => {}
            Scope::Project => {
                let digest = ContentDigest::of(at.project.as_os_str().as_encoded_bytes());
                let digits = digest.as_bytes().iter().map(|byte| format!("{byte:02x}"));
                folder.extend(["projects".to_owned(), digits.collect()]);
            }
        }
        ConfigPlace {
            path: folder.join(format!("{}.json", client.name())),
            base: own.base,
            in_project: false,
        }
    }

    /// Refuses a record in the project: it may have come with the project.
    fn refuse_from_project(at: &Directories, client: Client, scope: Scope) -> Result<(), CliError> {
        let own = at.own_servers(scope).path;
        let path = own.with_file_name("imports");
        let path = path.join(format!("{}.json", client.name()));
        if scope == Scope::User || path.symlink_metadata().is_err() {
            return Ok(());
        }
        Err(CliError::bad_input(format!(
            "{} is not used: it is in the project, so others may have written it. Records of imports are in your own \
             configuration directory. If an earlier version made it, take the servers back by hand from {} and the \
             client's `*.tramline-backup-*`. Then delete it",
            path.display(),
            own.display()
        )))
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
            Self::refuse_from_project(at, client, scope)?;
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
            backup_digest: text("backup_digest"),
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
        let project = match scope {
            Scope::User => None,
            Scope::Project => Some(at.project.display().to_string()),
        };
        let value = json!({
            "project": project,
            "entry": self.entry,
            "backup": self.backup.display().to_string(),
            "backup_digest": self.backup_digest,
            "servers": self.servers,
            "own_names": self.own_names,
            "settings": self.settings,
            "own_file": self.own_file.display().to_string(),
        });
        file.overwrite(&format!("{value:#}\n"))
    }

    /// The client's file as it was before the import.
    pub(super) fn text_before(&self) -> Result<String, CliError> {
        let bytes = read_bounded(&self.backup, BYTES_MAX).map_err(|_| {
            CliError::bad_input(format!(
                "the copy {} is gone; the servers are in {}",
                self.backup.display(),
                self.own_file.display()
            ))
        })?;
        let is_changed = |digest: &String| *digest != ContentDigest::of(&bytes).to_string();
        let text = String::from_utf8(bytes.clone()).ok();
        match text.filter(|_| !self.backup_digest.as_ref().is_some_and(is_changed)) {
            Some(text) => Ok(text),
            None => Err(CliError::bad_input(format!(
                "the copy {} was changed after the import, so nothing is taken from it; the servers are in {}",
                self.backup.display(),
                self.own_file.display()
            ))),
        }
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
