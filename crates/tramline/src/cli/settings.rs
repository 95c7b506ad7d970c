//! `tramline settings`: keys and secrets that documents and servers refer to by name.

use super::audit_record::AuditedCommand;
use super::output::{Column, Table};
use super::{CliError, CliResult, CommonArgs, Exit, output, runs};
use clap::Subcommand;
use std::io::{IsTerminal as _, Read as _};
use tramline_engine::settings::{
    STRONG_BYTES_MIN, SettingSource, SettingView, SettingsFault, VALUE_BYTES_MAX, is_strong,
    missing_message, not_redacted,
};
use tramline_workflow::text::io_reason;

/// Store the keys and secrets that documents and servers refer to.
#[derive(clap::Args)]
pub(super) struct Settings {
    #[command(subcommand)]
    verb: SettingsVerb,
}

#[derive(Subcommand)]
enum SettingsVerb {
    /// Set a setting; without a value, prompts for it or reads it from a pipe
    Set(SetArgs),
    /// Show a setting, masked if secret, and what uses it
    #[command(aliases = ["show"])]
    Get(SettingKey),
    /// Show all settings, secrets masked
    #[command(aliases = ["ls"])]
    List,
    /// Delete a setting
    #[command(aliases = ["remove", "delete", "unset"])]
    Rm(SettingKey),
    /// Write a new key file, for a store that several replicas share
    NewKey(NewKeyArgs),
}

impl Settings {
    /// The command as recorded in the audit log: names, never values.
    pub(super) fn command(&self) -> Option<AuditedCommand> {
        match &self.verb {
            SettingsVerb::Set(verb) => AuditedCommand::new("settings set", [&verb.key]),
            SettingsVerb::Rm(verb) => AuditedCommand::new("settings rm", [&verb.key]),
            SettingsVerb::Get(_) | SettingsVerb::List | SettingsVerb::NewKey(_) => None,
        }
    }
}

#[derive(clap::Args)]
struct SetArgs {
    /// The key: documents refer to it as ${settings.KEY}
    key: String,
    /// The value; other users may see it in the process list, and the shell records it
    value: Option<String>,
    /// Read the value from standard input
    #[arg(long, conflicts_with = "value")]
    stdin: bool,
    /// Not a secret: store and show it unencrypted
    #[arg(long)]
    plain: bool,
}

#[derive(clap::Args)]
struct NewKeyArgs {
    /// The file; it must not exist
    #[arg(value_name = "FILE")]
    file: std::path::PathBuf,
}

#[derive(clap::Args)]
struct SettingKey {
    /// The key
    key: String,
}

pub(super) async fn main(common: CommonArgs, verb: Settings) -> CliResult {
    // Without opening the store, which would need a key.
    if let SettingsVerb::NewKey(NewKeyArgs { file }) = &verb.verb {
        let made = tramline_vault::Vault::create(file);
        made.map_err(|fault| CliError::bad_input(fault.message))?;
        output::status_line(&format!(
            "wrote a new key to {}: copy it to every replica, and back it up",
            file.display()
        ));
        return Ok(Exit::Done);
    }
    let house = runs::open(&common)?;
    let settings = &house.settings;
    let workflows = house.engine.workflows();
    match verb.verb {
        SettingsVerb::Set(verb) => {
            let value = read_value(&verb)?;
            settings.set(&verb.key, &value, !verb.plain).await?;
            if let Some(warning) = weakness_warning(&verb.key, &value).filter(|_| !verb.plain) {
                output::print_warning(&warning);
            }
            if common.json {
                output::line(&serde_json::json!({ "key": verb.key, "secret": !verb.plain }));
            } else {
                let named = format!("${{settings.{}}}", verb.key);
                output::status_line(&format!("`{}` is set; refer to it as {named}", verb.key));
            }
        }
        SettingsVerb::Get(SettingKey { key }) => {
            let shown = settings.get(&key, &**workflows).await?;
            let shown = shown.ok_or_else(|| CliError::bad_input(missing_message(&key)))?;
            show(&shown, common.json);
        }
        SettingsVerb::List => {
            let all = settings.list(&**workflows).await?;
            if common.json {
                output::list("settings", all.iter().map(as_json), []);
            } else if all.is_empty() {
                output::status_line("no settings yet: `tramline settings set KEY` stores one");
            } else {
                table(&all).print();
            }
        }
        SettingsVerb::NewKey(_) => {}
        SettingsVerb::Rm(SettingKey { key }) => {
            if !settings.unset(&key).await? {
                return Err(CliError::bad_input(format!("`{key}` is not set here")));
            }
            if common.json {
                output::line(&serde_json::json!({ "key": key, "removed": true }));
            } else {
                output::status_line(&format!("deleted `{key}`"));
            }
        }
    }
    Ok(Exit::Done)
}

/// The warning about a secret that cannot be redacted well.
fn weakness_warning(key: &str, value: &str) -> Option<String> {
    if let Some(why) = not_redacted(value) {
        return Some(format!(
            "`{key}` is {why}: it is stored encrypted, but not redacted in results, journals and logs; \
             use a longer value"
        ));
    }
    (!is_strong(value)).then(|| {
        format!(
            "`{key}` can be guessed: an agent that tries values sees which one is replaced by \
             [redacted:{key}], and every text that contains the value is changed; use at least \
             {STRONG_BYTES_MIN} bytes that are not words or numbers"
        )
    })
}

/// The value: as given, from a pipe, or from a prompt without echo.
fn read_value(verb: &SetArgs) -> Result<String, CliError> {
    if let Some(value) = &verb.value {
        return Ok(value.clone());
    }
    let cannot = |error: std::io::Error| {
        CliError::bad_input(format!("cannot read the value: {}", io_reason(&error)))
    };
    if !verb.stdin && std::io::stdin().is_terminal() {
        let prompt = format!("value of {}: ", output::field(&verb.key));
        return rpassword::prompt_password(prompt).map_err(cannot);
    }
    let mut text = String::new();
    let most = VALUE_BYTES_MAX as u64 + 2;
    let read = std::io::stdin().take(most).read_to_string(&mut text);
    read.map_err(cannot)?;
    // The newline that `echo` writes is not part of it.
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

fn table(all: &[SettingView]) -> Table<4> {
    let mut table = Table::new([
        Column::flexible("KEY", 16),
        Column::flexible("VALUE", 12),
        Column::flexible("NOTES", 12),
        Column::flexible("USED BY", 12),
    ]);
    for shown in all {
        table.row([
            shown.key.to_string(),
            value_text(shown),
            notes(shown).join(", "),
            shown.used_by.join(", "),
        ]);
    }
    table
}

fn value_text(shown: &SettingView) -> String {
    match &shown.value {
        Ok(value) => value.clone(),
        Err(why) => format!("cannot be read: {why}"),
    }
}

/// What is special about a setting.
fn notes(shown: &SettingView) -> Vec<String> {
    let mut notes = Vec::new();
    match (shown.secret, shown.not_redacted) {
        (false, _) => notes.push("plain".to_owned()),
        (true, None) => {}
        (true, Some(why)) => notes.push(why.to_string()),
    }
    if shown.by_agent {
        notes.push("set by an agent".to_owned());
    }
    if let SettingSource::Environment(name) = &shown.source {
        notes.push(format!("from {name}"));
    }
    notes
}

fn show(shown: &SettingView, json: bool) {
    if json {
        return output::line(&as_json(shown));
    }
    let value = value_text(shown);
    let notes: String = notes(shown)
        .iter()
        .map(|note| format!("  ({note})"))
        .collect();
    output::text_line(&format!("{}  {value}{notes}", shown.key));
    for user in &shown.used_by {
        output::text_line(&format!("    used by {user}"));
    }
}

fn as_json(shown: &SettingView) -> serde_json::Value {
    let (value, error) = match &shown.value {
        Ok(value) => (Some(value), None),
        Err(why) => (None, Some(why)),
    };
    let source = match &shown.source {
        SettingSource::Stored => "kept",
        SettingSource::Environment(name) => name,
    };
    serde_json::json!({
        "key": shown.key,
        "value": value,
        "error": error,
        "secret": shown.secret,
        "hidden": shown.secret && shown.not_redacted.is_none(),
        "guessable": shown.guessable,
        "set_by": if shown.by_agent { "agent" } else { "operator" },
        "source": source,
        "set_ms": shown.set_ms,
        "used_by": shown.used_by,
    })
}

impl From<SettingsFault> for CliError {
    fn from(fault: SettingsFault) -> Self {
        let exit = match &fault {
            SettingsFault::BadKey { .. }
            | SettingsFault::TooShort { .. }
            | SettingsFault::Guessable { .. }
            | SettingsFault::OperatorOwned { .. }
            | SettingsFault::TooMuch(_) => Exit::BadInput,
            SettingsFault::Store(_)
            | SettingsFault::Sealed(_)
            | SettingsFault::Damaged { .. }
            | SettingsFault::Locked { .. } => Exit::Failed,
        };
        Self {
            exit,
            message: fault.to_string(),
        }
    }
}
