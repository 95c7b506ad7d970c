//! `settings_set` and `settings_get`: keys and credentials by name, never by value.

use super::{Wrong, made, success};
use crate::server::toolset::Means;
use rmcp::model::CallToolResult;
use tramline_core::{Map, Value};
use tramline_engine::Settings;
use tramline_engine::settings::{Setter, SettingsFault, Shown, Source, missing};

pub(super) async fn set(means: Means, arguments: Value) -> CallToolResult {
    let text = |key| {
        arguments
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let secret = arguments.get("secret").and_then(Value::as_bool);
    let (key, value) = (text("key"), text("value"));
    made(try_set(&means, key, value, secret.unwrap_or(true)).await)
}

async fn try_set(
    means: &Means,
    key: &str,
    value: &str,
    secret: bool,
) -> Result<CallToolResult, Wrong> {
    let settings = settings(means)?;
    if means.caller().name.is_some() {
        let message = "settings are all callers' together, so the operator sets them";
        let command = format!("tramline settings set {key}");
        return Err(Wrong::new("forbidden", message).suggesting(command));
    }
    let set = settings.set_by(Setter::Agent, key, value, secret).await;
    set.map_err(refused)?;
    let shown = shown(means, settings, key).await?;
    Ok(success(shown.map_or(Value::Null, |one| told(&one)), None))
}

pub(super) async fn get(means: Means, arguments: Value) -> CallToolResult {
    let key = arguments.get("key").and_then(Value::as_str);
    made(try_get(&means, key.unwrap_or_default()).await)
}

async fn try_get(means: &Means, key: &str) -> Result<CallToolResult, Wrong> {
    let settings = settings(means)?;
    let shown = shown(means, settings, key).await?.ok_or_else(|| {
        Wrong::new("not_found", missing(key)).suggesting(format!("tramline settings set {key}"))
    })?;
    Ok(success(told(&shown), None))
}

fn settings(means: &Means) -> Result<&Settings, Wrong> {
    let none = || Wrong::new("not_found", "this server keeps no settings");
    means.engine.settings().ok_or_else(none)
}

async fn shown(means: &Means, settings: &Settings, key: &str) -> Result<Option<Shown>, Wrong> {
    let workflows = means.engine.workflows();
    settings.get(key, &**workflows).await.map_err(refused)
}

fn refused(fault: SettingsFault) -> Wrong {
    let kind = match &fault {
        SettingsFault::BadKey { .. }
        | SettingsFault::TooShort { .. }
        | SettingsFault::Guessable { .. }
        | SettingsFault::TooMuch(_) => "validation",
        SettingsFault::Operators { .. } => "forbidden",
        SettingsFault::Store(_)
        | SettingsFault::Sealed(_)
        | SettingsFault::Damaged { .. }
        | SettingsFault::Locked { .. } => "execution",
    };
    Wrong::new(kind, fault.to_string())
}

/// A setting as agents see it: of a secret not even the ends, which would help to find the rest.
fn told(shown: &Shown) -> Value {
    let mut told = Map::new();
    told.insert("key", shown.key.clone().into());
    told.insert("is_set", true.into());
    told.insert("secret", shown.secret.into());
    match &shown.value {
        Ok(_) if shown.secret => {}
        Ok(value) => {
            told.insert("value", value.as_str().into());
        }
        Err(why) => {
            told.insert("error", why.as_str().into());
        }
    }
    let source = match &shown.source {
        Source::Kept => "kept",
        Source::Environment(_) => "environment",
    };
    told.insert("source", source.into());
    told.insert("reference", format!("${{settings.{}}}", shown.key).into());
    let users = shown.used_by.iter().map(|user| user.as_str().into());
    told.insert("used_by", Value::array(users));
    told.into()
}
