//! `tramline mcp import`: a client's servers move to Tramline, and one gated entry replaces them.

use super::client::{Client, Directories};
use super::config_file::ConfigFile;
use super::config_text::Syntax;
use super::existing_servers::ExistingServers;
use super::import_record::ImportRecord;
use super::install::{FileChange, entry_of, show_backup};
use super::servers::{self, ClientEntry, FoundServer, Secret};
use super::{Target, data_dir_arguments, own_command, show_diff, utf8};
use crate::cli::{CliError, CliResult, CommonArgs, Exit, output, runs};
use serde_json::{Value, json};
use tramline_engine::Settings;
use tramline_mcp_client::config::ServerConfig;
use tramline_workflow::journal::ContentDigest;

/// Move a client's servers to Tramline, and put one gated entry in their place.
#[derive(clap::Args)]
pub(super) struct Import {
    #[command(flatten)]
    pub(super) target: Target,
    /// Only these servers [default: all that can be moved]
    #[arg(long = "server", value_name = "NAME")]
    only: Vec<String>,
    /// Also use the servers that the project's `.tramline/mcp.json` has already
    #[arg(long, conflicts_with = "undo")]
    trust: bool,
    /// Give the servers back to the client
    #[arg(long, conflicts_with = "only")]
    undo: bool,
}

/// The toolsets of the gated entry: agents find tools, try them, and run them as workflows that ask
/// before anything destructive.
const GATED_TOOLSETS: &str = "library,control";

/// The maximum number of servers that one import moves: each is an edit of two files that is checked
/// against the whole file.
const SERVERS_MAX: usize = 256;

/// Everything that an import changes.
struct ImportPlan {
    moved: Vec<FoundServer>,
    /// Their names in Tramline's file.
    own_names: Vec<String>,
    stay: Vec<(String, String)>,
    /// The settings to make.
    secrets: Vec<Secret>,
    own: ConfigFile,
    /// The servers that Tramline's file in the project has already.
    existing: ExistingServers,
    own_text: String,
    client_text: String,
}

pub(super) async fn main(common: &CommonArgs, verb: &Import) -> CliResult {
    let target = &verb.target;
    if target.client == Client::Continue {
        return Err(CliError::bad_input(
            "Continue lists servers in several files; add them to a file for `--mcp-config` by hand, \
             then `tramline mcp install continue --mcp-config FILE`",
        ));
    }
    let at = target.directories()?;
    match verb.undo {
        true => undo(common, target, &at).await,
        false => import(common, verb, &at).await,
    }
}

async fn import(common: &CommonArgs, verb: &Import, at: &Directories) -> CliResult {
    let target = &verb.target;
    if ImportRecord::read(at, target.client, target.scope)?.is_some() {
        return Err(CliError::bad_input(format!(
            "the servers of {} were imported before; `--undo` gives them back first",
            target.client.title()
        )));
    }
    let file = target.file(at)?;
    let config = file.value()?;
    let settings = runs::open(common)?.settings;
    settings.reload().await?;
    let plan = ImportPlan::new(common, verb, at, (&file, &config), &settings)?;
    if plan.moved.is_empty() {
        if common.json {
            output::line(&plan.report(target, &file, None));
        } else {
            let place = file.path.display();
            output::status_line(&format!("{place} has no servers that can be moved"));
            plan.show_stay();
        }
        return Ok(Exit::Done);
    }
    if target.dry_run {
        plan.show_dry_run(common, target, (&file, &config));
        return Ok(Exit::Done);
    }
    plan.existing.confirm(verb.trust, common.json)?;
    let backup = plan.carry_out(target, at, &file, &settings).await?;
    if common.json {
        output::line(&plan.report(target, &file, Some(backup)));
        return Ok(Exit::Done);
    }
    let names: Vec<&str> = plan
        .moved
        .iter()
        .map(|server| server.name.as_str())
        .collect();
    output::status_line(&format!(
        "moved {} from {} to {}",
        names.join(", "),
        file.path.display(),
        plan.own.path.display()
    ));
    for secret in &plan.secrets {
        output::status_line(&format!("stored the setting `{}`", secret.key));
    }
    for server in plan.moved.iter().filter(|server| server.signs_in) {
        output::print_warning(&format!(
            "`{}` has no header; if {} signed in to it, give it a token with `headers` in {}",
            server.name,
            target.client.title(),
            plan.own.path.display()
        ));
    }
    plan.show_stay();
    show_backup(Some(std::path::Path::new(&backup)));
    if !plan.secrets.is_empty() {
        output::status_line(
            "that file still contains the secrets; delete it when you need no undo",
        );
    }
    output::status_line(&format!("next: {}", target.client.next_step()));
    output::status_line(&format!(
        "undo: tramline mcp import {} --scope {} --undo",
        target.client.name(),
        target.scope.name()
    ));
    Ok(Exit::Done)
}

impl ImportPlan {
    fn new(
        common: &CommonArgs,
        verb: &Import,
        at: &Directories,
        (file, config): (&ConfigFile, &Value),
        settings: &Settings,
    ) -> Result<Self, CliError> {
        let target = &verb.target;
        let client = target.client;
        let command = own_command()?;
        let mut moved = Vec::new();
        let mut stay = Vec::new();
        for found in servers::found(client, config, &command) {
            match found {
                ClientEntry::Server(server)
                    if verb.only.is_empty() || verb.only.contains(&server.name) =>
                {
                    moved.push(server);
                }
                ClientEntry::Server(_) | ClientEntry::Own { .. } => {}
                ClientEntry::Stays { name, why } => stay.push((name, why)),
            }
        }
        if moved.len() > SERVERS_MAX {
            return Err(CliError::bad_input(format!(
                "{} has {} servers, and one import moves at most {SERVERS_MAX}; choose some with `--server`",
                file.path.display(),
                moved.len()
            )));
        }
        check_names(&verb.only, &moved, &stay)?;
        let taken = entry_of(client, config, &target.name);
        let is_moved = moved.iter().any(|server| server.name == target.name);
        if taken.is_some_and(|entry| !servers::runs_tramline(entry, &command)) && !is_moved {
            return Err(CliError::bad_input(format!(
                "{} has another server called `{}`; choose a name with `--name`",
                file.path.display(),
                target.name
            )));
        }
        let own = ConfigFile::read(
            &at.own_servers(target.scope),
            Syntax::Json,
            target.follow_links,
        )?;
        let known = own.value()?;
        let existing = ExistingServers::read(&own, target.scope)?;
        let mut own_text = own.text().to_owned();
        if own_text.trim().is_empty() {
            own_text = format!("{:#}\n", servers::empty_document());
        }
        let mut own_names = Vec::new();
        let mut secrets = Vec::new();
        let mut client_text = file.text().to_owned();
        for server in &mut moved {
            secrets.extend(settle_secrets(server, settings, &secrets));
            let name = free_name(&known, &own_names, &server.name);
            own_text = own.with(&own_text, &["mcpServers", &name], &server.entry)?;
            own_names.push(name);
            client_text = file.without(&client_text, &[client.container(), &server.name])?;
        }
        // Tramline itself must be able to read the servers.
        read_servers(&own, &own_text)?;
        let mut args = data_dir_arguments(common)?;
        args.extend(["serve", "--toolsets", GATED_TOOLSETS, "--mcp-config"].map(str::to_owned));
        args.push(utf8(&own.path)?);
        let entry = client.entry(&target.name, &command, &args);
        if !moved.is_empty() {
            client_text = file.with(&client_text, &[client.container(), &target.name], &entry)?;
        }
        Ok(Self {
            moved,
            own_names,
            stay,
            secrets,
            own,
            existing,
            own_text,
            client_text,
        })
    }

    /// Stores the secrets, then the servers, then changes the client's file; takes everything back if
    /// one of them fails.
    async fn carry_out(
        &self,
        target: &Target,
        at: &Directories,
        file: &ConfigFile,
        settings: &Settings,
    ) -> Result<String, CliError> {
        let mut stored = Vec::new();
        for secret in &self.secrets {
            if let Err(fault) = settings.set(&secret.key, &secret.value, true).await {
                forget_settings(settings, &stored).await;
                return Err(fault.into());
            }
            stored.push(secret.key.clone());
        }
        let written = self.write_files(target, at, file, &stored);
        if written.is_err() {
            forget_settings(settings, &stored).await;
            // As it was: the import did not happen.
            let _ = ImportRecord::delete(at, target.client, target.scope);
        }
        written
    }

    fn write_files(
        &self,
        target: &Target,
        at: &Directories,
        file: &ConfigFile,
        stored: &[String],
    ) -> Result<String, CliError> {
        self.own.write(&self.own_text)?;
        let undo_own = |error: CliError| {
            let _ = self.own.put_back();
            error
        };
        let backup = file.back_up().map_err(undo_own)?;
        let before = file.text.as_deref().unwrap_or_default();
        let digest = ContentDigest::of(before.as_bytes()).to_string();
        let record = ImportRecord {
            entry: target.name.clone(),
            backup: backup.clone(),
            backup_digest: Some(digest),
            servers: self
                .moved
                .iter()
                .map(|server| server.name.clone())
                .collect(),
            own_names: self.own_names.clone(),
            settings: stored.to_vec(),
            own_file: self.own.path.clone(),
        };
        record
            .write(at, target.client, target.scope)
            .map_err(undo_own)?;
        file.overwrite(&self.client_text).map_err(undo_own)?;
        Ok(backup.display().to_string())
    }

    fn show_stay(&self) {
        for (name, why) in &self.stay {
            output::status_line(&format!("`{name}` stays with the client: {why}"));
        }
    }

    fn show_dry_run(
        &self,
        common: &CommonArgs,
        target: &Target,
        (file, config): (&ConfigFile, &Value),
    ) {
        let of_client = FileChange {
            file,
            config,
            edited: Some(&self.client_text),
        };
        let of_own = FileChange {
            file: &self.own,
            config,
            edited: Some(&self.own_text),
        };
        if common.json {
            let mut said = self.report(target, file, None);
            said["diff"] = format!("{}{}", of_client.diff(), of_own.diff()).into();
            output::line(&said);
            return;
        }
        show_diff(&of_client.diff());
        show_diff(&of_own.diff());
        self.existing.show();
        for secret in &self.secrets {
            output::status_line(&format!("would store the setting `{}`", secret.key));
        }
        self.show_stay();
    }

    fn report(&self, target: &Target, file: &ConfigFile, backup: Option<String>) -> Value {
        let stay = self.stay.iter();
        json!({
            "client": target.client.name(),
            "scope": target.scope.name(),
            "file": file.path.display().to_string(),
            "own_file": self.own.path.display().to_string(),
            "name": target.name,
            "dry_run": target.dry_run,
            "moved": self.own_names,
            "existing": self.existing.names(),
            "settings": self.secrets.iter().map(|secret| &secret.key).collect::<Vec<_>>(),
            "stay": stay.map(|(name, why)| json!({ "name": name, "why": why })).collect::<Vec<_>>(),
            "backup": backup,
        })
    }
}

/// Deletes settings that an import had made.
async fn forget_settings(settings: &Settings, keys: &[String]) {
    for key in keys {
        // Best effort: the failure that led here is the one to report.
        let _ = settings.unset(key).await;
    }
}

/// Names given with `--server` must exist.
fn check_names(
    only: &[String],
    moved: &[FoundServer],
    stay: &[(String, String)],
) -> Result<(), CliError> {
    for name in only {
        if moved.iter().any(|server| server.name == *name) {
            continue;
        }
        let message = match stay.iter().find(|(stays, _)| stays == name) {
            Some((_, why)) => format!("`{name}` cannot be moved: {why}"),
            None => format!("the client has no server `{name}`"),
        };
        return Err(CliError::bad_input(message));
    }
    Ok(())
}

/// Gives every secret of a server a key that is free, and returns those that are not stored yet.
fn settle_secrets(server: &mut FoundServer, settings: &Settings, made: &[Secret]) -> Vec<Secret> {
    let mut new: Vec<Secret> = Vec::new();
    for secret in std::mem::take(&mut server.secrets) {
        let stored = |key: &str| settings.value(key).map(|value| value.ok());
        let same = |key: &str| {
            stored(key).is_some_and(|value| value.is_some_and(|value| *value == *secret.value))
        };
        let in_plan = |key: &str| made.iter().chain(&new).any(|other| other.key == key);
        let mut key = secret.key.clone();
        let mut number = 2;
        while in_plan(&key) || (stored(&key).is_some() && !same(&key)) {
            key = format!("{}-{number}", secret.key);
            number += 1;
        }
        if key != secret.key {
            let text = server.entry.to_string();
            let from = format!("${{settings.{}}}", secret.key);
            let text = text.replace(&from, &format!("${{settings.{key}}}"));
            server.entry = serde_json::from_str(&text).unwrap_or_default();
        }
        if !same(&key) {
            new.push(Secret {
                key,
                value: secret.value,
            });
        }
    }
    new
}

/// A name that Tramline's file does not have yet.
fn free_name(known: &Value, taken: &[String], name: &str) -> String {
    let used = |name: &str| {
        taken.iter().any(|other| other == name)
            || known
                .get("mcpServers")
                .is_some_and(|servers| servers.get(name).is_some())
    };
    let mut free = name.to_owned();
    let mut number = 2;
    while used(&free) {
        free = format!("{name}-{number}");
        number += 1;
    }
    free
}

/// The servers of a text of Tramline's file.
pub(super) fn read_servers(own: &ConfigFile, text: &str) -> Result<Vec<ServerConfig>, CliError> {
    let value = tramline_expr::Value::from_json(text)
        .map_err(|error| CliError::bad_input(format!("{}: {error}", own.path.display())))?;
    tramline_mcp_client::config::read(&value).map_err(|flaws| {
        let flaws: Vec<String> = flaws.iter().map(ToString::to_string).collect();
        CliError::bad_input(format!("{}: {}", own.path.display(), flaws.join("; ")))
    })
}

async fn undo(common: &CommonArgs, target: &Target, at: &Directories) -> CliResult {
    let client = target.client;
    let record = ImportRecord::read(at, client, target.scope)?.ok_or_else(|| {
        CliError::bad_input(format!("no import of {} is in effect here", client.title()))
    })?;
    let file = target.file(at)?;
    let config = file.value()?;
    let before = record.text_before()?;
    let old = client.syntax().parse(&before).unwrap_or_default();
    let mut text = file.without(file.text(), &[client.container(), &record.entry])?;
    // The entry may have been there before the import, with other arguments.
    for name in record.servers.iter().chain([&record.entry]) {
        if let Some(entry) = entry_of(client, &old, name) {
            text = file.with(&text, &[client.container(), name], entry)?;
        }
    }
    // To the byte, if nothing else has changed.
    if client.syntax().parse(&text).ok().as_ref() == Some(&old) {
        text = before;
    }
    let own_place = super::client::ConfigPlace {
        path: record.own_file.clone(),
        ..at.own_servers(target.scope)
    };
    let own = ConfigFile::read(&own_place, Syntax::Json, target.follow_links)?;
    let mut own_text = own.text().to_owned();
    for name in &record.own_names {
        own_text = own.without(&own_text, &["mcpServers", name])?;
    }
    let change = FileChange {
        file: &file,
        config: &old,
        edited: Some(&text),
    };
    if target.dry_run {
        let shown = change.diff();
        match common.json {
            true => {
                output::line(&json!({ "client": client.name(), "dry_run": true, "diff": shown }))
            }
            false => show_diff(&shown),
        }
        return Ok(Exit::Done);
    }
    drop(config);
    file.overwrite(&text)?;
    if own.text.is_some() {
        own.overwrite(&own_text)?;
    }
    let settings = runs::open(common)?.settings;
    forget_settings(&settings, &record.settings).await;
    ImportRecord::delete(at, client, target.scope)?;
    if common.json {
        output::line(&json!({
            "client": client.name(),
            "scope": target.scope.name(),
            "file": file.path.display().to_string(),
            "servers": record.servers,
        }));
    } else {
        output::status_line(&format!(
            "gave {} back to {} in {}",
            record.servers.join(", "),
            client.title(),
            file.path.display()
        ));
    }
    Ok(Exit::Done)
}
