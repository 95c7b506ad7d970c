//! `tramline mcp install` and `uninstall`: one entry in a client's configuration.

use super::client::Client;
use super::config_file::ConfigFile;
use super::import_record::ImportRecord;
use super::secret_texts::private_texts;
use super::{
    Target, data_dir_arguments, diff, own_command, servers, show_diff, toolset_name, utf8,
};
use crate::cli::{CliError, CliResult, CommonArgs, Exit, documents, output};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What an entry without documents serves: finding, building and running workflows.
const DEFAULT_TOOLSETS: [&str; 3] = ["library", "control", "runs"];

/// Add Tramline to a client's configuration.
#[derive(clap::Args)]
pub(super) struct Install {
    #[command(flatten)]
    pub(super) target: Target,
    /// The documents to serve [default: none, with the toolsets library, control and runs]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The toolsets to offer: graphs, control, library, debug, loop, sop, runs
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = toolset_name)]
    toolsets: Vec<String>,
    /// A procedure to pin; adds the toolset sop
    #[arg(long = "sop", value_name = "FILE")]
    sops: Vec<PathBuf>,
    /// A directory in which the tools may read and write files
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// The configuration file to serve with
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The MCP servers to serve with
    #[arg(long, value_name = "FILE")]
    mcp_config: Option<PathBuf>,
    /// Replace an entry of this name that does not start Tramline
    #[arg(long)]
    force: bool,
}

/// Remove Tramline from a client's configuration.
#[derive(clap::Args)]
pub(super) struct Uninstall {
    #[command(flatten)]
    pub(super) target: Target,
    /// Remove the entry even if it does not start Tramline, or replaced imported servers
    #[arg(long)]
    force: bool,
}

pub(super) fn install(common: &CommonArgs, verb: &Install) -> CliResult {
    let target = &verb.target;
    let client = target.client;
    let file = target.file(&target.directories()?)?;
    let config = file.value()?;
    let command = own_command()?;
    let mut args = data_dir_arguments(common)?;
    args.extend(serve_arguments(verb, common.json)?);
    let known = entry_of(client, &config, &target.name);
    if let Some(known) = known
        && !verb.force
        && !servers::runs_tramline(known, &command)
    {
        return Err(CliError::bad_input(format!(
            "{} has another server called `{}`; choose a name with `--name`, or replace it with `--force`",
            file.path.display(),
            target.name
        )));
    }
    let entry = client.entry(&target.name, &command, &args);
    let edited = file.with(file.text(), &[client.container(), &target.name], &entry)?;
    let change = FileChange {
        file: &file,
        config: &config,
        edited: Some(&edited),
    };
    let done = change.apply(target, common.json, Some(&entry))?;
    if !common.json && !target.dry_run {
        match done {
            Applied::Unchanged => output::status_line(&format!(
                "{} already has this entry in {}",
                client.title(),
                file.path.display()
            )),
            Applied::Written(backup) => {
                output::status_line(&format!(
                    "added `{}` to {} for {}",
                    target.name,
                    file.path.display(),
                    client.title()
                ));
                show_backup(backup.as_deref());
                output::status_line(&format!("next: {}", client.next_step()));
                output::status_line(&format!("undo: {}", uninstall_command(target)));
            }
        }
    }
    Ok(Exit::Done)
}

pub(super) fn uninstall(common: &CommonArgs, verb: &Uninstall) -> CliResult {
    let target = &verb.target;
    let client = target.client;
    let at = target.directories()?;
    let file = target.file(&at)?;
    let config = file.value()?;
    let Some(known) = entry_of(client, &config, &target.name) else {
        if common.json {
            output::line(&result(target, &file, false, None));
        } else {
            let place = file.path.display();
            output::status_line(&format!("{place} has no entry `{}`", target.name));
        }
        return Ok(Exit::Done);
    };
    if !verb.force && !servers::runs_tramline(known, &own_command()?) {
        return Err(CliError::bad_input(format!(
            "`{}` in {} does not start Tramline; `--force` removes it anyway",
            target.name,
            file.path.display()
        )));
    }
    if !verb.force
        && let Some(record) = ImportRecord::read(&at, client, target.scope)?
    {
        return Err(CliError::bad_input(format!(
            "this entry replaced {} imported servers; `tramline mcp import {} --scope {} --undo` gives them back",
            record.servers.len(),
            client.name(),
            target.scope.name()
        )));
    }
    let edited = restored(&file, client, &target.name)?;
    let change = FileChange {
        file: &file,
        config: &config,
        edited: edited.as_deref(),
    };
    let done = change.apply(target, common.json, None)?;
    if !common.json && !target.dry_run {
        let place = file.path.display();
        match (done, &edited) {
            (Applied::Written(_), None) => {
                output::status_line(&format!("deleted {place}, which had nothing else in it"));
            }
            (Applied::Written(backup), Some(_)) => {
                output::status_line(&format!("removed `{}` from {place}", target.name));
                show_backup(backup.as_deref());
            }
            (Applied::Unchanged, _) => {}
        }
    }
    Ok(Exit::Done)
}

/// The file without the entry: to the byte as it was before, if nothing else has changed. `None`
/// if the file had nothing else in it and was made by the installation.
fn restored(file: &ConfigFile, client: Client, name: &str) -> Result<Option<String>, CliError> {
    let path = [client.container(), name];
    let mut edited = file.without(file.text(), &path)?;
    let backups = file.backups();
    let remains = client.syntax().parse(&edited).unwrap_or_default();
    let same = |text: &String| {
        let value = client.syntax().parse(text).ok();
        value.is_some_and(|value| same_entries(&value, &remains, client.container()))
    };
    if let Some(before) = backups.iter().rev().find(|text| same(text)) {
        return Ok(Some(before.clone()));
    }
    let empty = |value: Option<&Value>| match value {
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(_) | None => false,
    };
    if backups.is_empty() && empty(remains.get(client.container())) {
        edited = file
            .without(&edited, &[client.container()])
            .unwrap_or(edited);
    }
    let left = client.syntax().parse(&edited).unwrap_or_default();
    match backups.is_empty() && empty(Some(&left)) {
        true => Ok(None),
        false => Ok(Some(edited)),
    }
}

/// Whether two configurations are equal, where an empty container is as good as none.
fn same_entries(one: &Value, other: &Value, container: &str) -> bool {
    let plain = |value: &Value| {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            let empty = fields.get(container).is_some_and(|inner| match inner {
                Value::Object(inner) => inner.is_empty(),
                Value::Null => true,
                Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
            });
            if empty {
                fields.shift_remove(container);
            }
        }
        value
    };
    plain(one) == plain(other)
}

/// The arguments of `tramline serve`, with absolute paths: clients start servers anywhere.
fn serve_arguments(verb: &Install, json: bool) -> Result<Vec<String>, CliError> {
    let mut args = vec!["serve".to_owned()];
    for file in &verb.files {
        let path = super::absolute(file)?;
        // A document with flaws would only fail later, inside the client.
        documents::read_for_display(&path, json)?;
        args.push(utf8(&path)?);
    }
    let mut toolsets = verb.toolsets.clone();
    if toolsets.is_empty() {
        match (verb.files.is_empty(), verb.sops.is_empty()) {
            (true, true) => toolsets.extend(DEFAULT_TOOLSETS.map(str::to_owned)),
            (false, true) => {}
            (true, false) => toolsets.push("sop".to_owned()),
            (false, false) => toolsets.extend(["graphs".to_owned(), "sop".to_owned()]),
        }
    } else if !verb.sops.is_empty() && !toolsets.iter().any(|name| name == "sop") {
        toolsets.push("sop".to_owned());
    }
    if !toolsets.is_empty() {
        args.extend(["--toolsets".to_owned(), toolsets.join(",")]);
    }
    let paths = |option: &str, paths: &[PathBuf]| -> Result<Vec<String>, CliError> {
        let mut words = Vec::new();
        for path in paths {
            words.extend([option.to_owned(), utf8(&super::absolute(path)?)?]);
        }
        Ok(words)
    };
    args.extend(paths("--sop", &verb.sops)?);
    args.extend(paths("--root", &verb.roots)?);
    args.extend(paths("--config", verb.config.as_slice())?);
    args.extend(paths("--mcp-config", verb.mcp_config.as_slice())?);
    Ok(args)
}

pub(super) fn entry_of<'v>(client: Client, config: &'v Value, name: &str) -> Option<&'v Value> {
    config.get(client.container())?.get(name)
}

/// A change of one file: its new text, or `None` to delete it.
pub(super) struct FileChange<'a> {
    pub(super) file: &'a ConfigFile,
    /// Its value before, whose private texts are not shown.
    pub(super) config: &'a Value,
    pub(super) edited: Option<&'a str>,
}

/// What was done to a file.
pub(super) enum Applied {
    Unchanged,
    Written(Option<PathBuf>),
}

impl FileChange<'_> {
    /// The change as a diff, without secrets.
    pub(super) fn diff(&self) -> String {
        let private = private_texts(self.config);
        let after = self.edited.unwrap_or_default();
        diff(&self.file.path, self.file.text(), after, &private)
    }

    /// Shows the change, or makes it; with `--json`, prints what was done.
    fn apply(
        &self,
        target: &Target,
        as_json: bool,
        entry: Option<&Value>,
    ) -> Result<Applied, CliError> {
        let changed = self.edited != self.file.text.as_deref();
        if target.dry_run {
            if as_json {
                let mut said = result(target, self.file, changed, entry);
                said["diff"] = self.diff().into();
                output::line(&said);
            } else {
                show_diff(&self.diff());
            }
            return Ok(Applied::Unchanged);
        }
        let backup = match (changed, self.edited) {
            (false, _) => None,
            (true, Some(text)) => self.file.write(text)?,
            (true, None) => {
                self.file.delete()?;
                None
            }
        };
        if as_json {
            let mut said = result(target, self.file, changed, entry);
            said["backup"] = backup
                .as_ref()
                .map(|path| path.display().to_string())
                .into();
            output::line(&said);
        }
        Ok(match changed {
            true => Applied::Written(backup),
            false => Applied::Unchanged,
        })
    }
}

fn result(target: &Target, file: &ConfigFile, changed: bool, entry: Option<&Value>) -> Value {
    json!({
        "client": target.client.name(),
        "scope": target.scope.name(),
        "file": file.path.display().to_string(),
        "name": target.name,
        "changed": changed,
        "dry_run": target.dry_run,
        "entry": entry,
    })
}

pub(super) fn show_backup(backup: Option<&Path>) {
    if let Some(backup) = backup {
        output::status_line(&format!("the file as it was: {}", backup.display()));
    }
}

/// The command that takes an installation back.
fn uninstall_command(target: &Target) -> String {
    let mut words = format!("tramline mcp uninstall {}", target.client.name());
    if target.scope == super::Scope::Project {
        words.push_str(" --scope project");
    }
    if target.name != super::ENTRY_NAME {
        words.push_str(&format!(" --name {}", target.name));
    }
    words
}
