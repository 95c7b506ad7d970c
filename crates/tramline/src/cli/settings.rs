//! `tramline settings`: keys and secrets that documents and servers name and never hold.

use super::audited::Command;
use super::{Common, Done, Exit, Stopped, output, runs};
use clap::Subcommand;
use std::io::{IsTerminal as _, Read as _};
use tramline_engine::settings::{
    STRONG_BYTES_MIN, SettingsFault, Shown, Source, VALUE_BYTES_MAX, is_strong, missing, not_hidden,
};

/// Keep the keys and secrets that documents and servers name.
#[derive(clap::Args)]
pub(super) struct Settings {
    #[command(subcommand)]
    verb: SettingsVerb,
}

#[derive(Subcommand)]
enum SettingsVerb {
    /// Set a setting; without a value it is asked for, or read from a pipe
    Set(Setting),
    /// Show a setting, a secret masked, and what names it
    Get(Key),
    /// Show all settings, secrets masked
    List,
    /// Forget a setting
    Rm(Key),
}

impl Settings {
    /// What is to be noted of the command: names, never values.
    pub(super) fn command(&self) -> Option<Command> {
        match &self.verb {
            SettingsVerb::Set(verb) => Command::new("settings set", [&verb.key]),
            SettingsVerb::Rm(verb) => Command::new("settings rm", [&verb.key]),
            SettingsVerb::Get(_) | SettingsVerb::List => None,
        }
    }
}

#[derive(clap::Args)]
struct Setting {
    /// The key: documents name it as ${settings.KEY}
    key: String,
    /// The value; others may see it in the list of processes, and the shell remembers it
    value: Option<String>,
    /// Read the value from standard input
    #[arg(long, conflicts_with = "value")]
    stdin: bool,
    /// It is no secret: kept and shown as it is
    #[arg(long)]
    plain: bool,
}

#[derive(clap::Args)]
struct Key {
    /// The key
    key: String,
}

pub(super) async fn main(common: Common, verb: Settings) -> Done {
    let house = runs::open(&common)?;
    let settings = &house.settings;
    let workflows = house.engine.workflows();
    match verb.verb {
        SettingsVerb::Set(verb) => {
            let value = value(&verb)?;
            settings.set(&verb.key, &value, !verb.plain).await?;
            if let Some(warning) = weakness(&verb.key, &value).filter(|_| !verb.plain) {
                output::warn(&warning);
            }
            if common.json {
                output::line(&serde_json::json!({ "key": verb.key, "secret": !verb.plain }));
            } else {
                let named = format!("${{settings.{}}}", verb.key);
                output::say(&format!("`{}` is set; name it as {named}", verb.key));
            }
        }
        SettingsVerb::Get(Key { key }) => {
            let shown = settings.get(&key, &**workflows).await?;
            let shown = shown.ok_or_else(|| Stopped::bad(missing(&key)))?;
            show(&shown, common.json);
        }
        SettingsVerb::List => {
            let all = settings.list(&**workflows).await?;
            if common.json {
                output::line(&all.iter().map(as_json).collect::<Vec<_>>());
            } else {
                all.iter().for_each(|shown| show(shown, false));
            }
        }
        SettingsVerb::Rm(Key { key }) => {
            if !settings.unset(&key).await? {
                return Err(Stopped::bad(format!("`{key}` is not kept here")));
            }
            if common.json {
                output::line(&serde_json::json!({ "key": key, "removed": true }));
            } else {
                output::say(&format!("`{key}` is forgotten"));
            }
        }
    }
    Ok(Exit::Done)
}

/// What to say of a secret that is hidden badly.
fn weakness(key: &str, value: &str) -> Option<String> {
    if let Some(why) = not_hidden(value) {
        return Some(format!(
            "`{key}` is {why}: it is kept encrypted, but not replaced in results, journals and logs; \
             use a longer value"
        ));
    }
    (!is_strong(value)).then(|| {
        format!(
            "`{key}` can be guessed: an agent that tries values out sees which one is replaced by \
             [redacted:{key}], and every text that holds the value is changed; use at least \
             {STRONG_BYTES_MIN} bytes that are no words or numbers"
        )
    })
}

/// The value: as given, from a pipe, or asked for without showing it.
fn value(verb: &Setting) -> Result<String, Stopped> {
    if let Some(value) = &verb.value {
        return Ok(value.clone());
    }
    let cannot = |error: std::io::Error| Stopped::bad(format!("the value cannot be read: {error}"));
    if !verb.stdin && std::io::stdin().is_terminal() {
        let prompt = format!("value of {}: ", output::field(&verb.key));
        return rpassword::prompt_password(prompt).map_err(cannot);
    }
    let mut text = String::new();
    let most = VALUE_BYTES_MAX as u64 + 2;
    let read = std::io::stdin().take(most).read_to_string(&mut text);
    read.map_err(cannot)?;
    // The end of the line that `echo` writes is not part of it.
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

fn show(shown: &Shown, json: bool) {
    if json {
        return output::line(&as_json(shown));
    }
    let value = match &shown.value {
        Ok(value) => value.clone(),
        Err(why) => format!("cannot be read: {why}"),
    };
    let kind = match (shown.secret, shown.not_hidden) {
        (false, _) => "  (plain)".to_owned(),
        (true, None) => String::new(),
        (true, Some(why)) => format!("  ({why})"),
    };
    let by = if shown.by_agent {
        "  (set by an agent)"
    } else {
        ""
    };
    let from = match &shown.source {
        Source::Kept => String::new(),
        Source::Environment(name) => format!("  (from {name})"),
    };
    output::text_line(&format!("{}  {value}{kind}{from}{by}", shown.key));
    for user in &shown.used_by {
        output::text_line(&format!("    used by {user}"));
    }
}

fn as_json(shown: &Shown) -> serde_json::Value {
    let (value, error) = match &shown.value {
        Ok(value) => (Some(value), None),
        Err(why) => (None, Some(why)),
    };
    let source = match &shown.source {
        Source::Kept => "kept",
        Source::Environment(name) => name,
    };
    serde_json::json!({
        "key": shown.key,
        "value": value,
        "error": error,
        "secret": shown.secret,
        "hidden": shown.secret && shown.not_hidden.is_none(),
        "guessable": shown.guessable,
        "set_by": if shown.by_agent { "agent" } else { "operator" },
        "source": source,
        "set_ms": shown.set_ms,
        "used_by": shown.used_by,
    })
}

impl From<SettingsFault> for Stopped {
    fn from(fault: SettingsFault) -> Self {
        let exit = match &fault {
            SettingsFault::BadKey { .. }
            | SettingsFault::TooShort { .. }
            | SettingsFault::Guessable { .. }
            | SettingsFault::Operators { .. }
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
