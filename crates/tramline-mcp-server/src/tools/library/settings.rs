//! `settings_set` and `settings_get`: keys and credentials by name, never by value.

use super::{LibraryReplyError, reply_or_error, success};
use crate::tool::CallContext;
use rmcp::model::CallToolResult;
use tramline_engine::Settings;
use tramline_engine::settings::{
    Setter, SettingSource, SettingView, SettingsFault, missing_message,
};
use tramline_expr::{Map, Value};

pub(super) async fn settings_set(means: CallContext, arguments: Value) -> CallToolResult {
    let text = |key| {
        arguments
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let secret = arguments.get("secret").and_then(Value::as_bool);
    let (key, value) = (text("key"), text("value"));
    reply_or_error(try_set(&means, key, value, secret.unwrap_or(true)).await)
}

async fn try_set(
    means: &CallContext,
    key: &str,
    value: &str,
    secret: bool,
) -> Result<CallToolResult, LibraryReplyError> {
    let settings = settings(means)?;
    if means.caller().name.is_some() {
        let message = "settings are shared by all callers, so only the operator can set them";
        let command = format!("tramline settings set {key}");
        return Err(LibraryReplyError::new("forbidden", message).suggesting(command));
    }
    let set = settings.set_by(Setter::Agent, key, value, secret).await;
    set.map_err(settings_error)?;
    let shown = lookup(means, settings, key).await?;
    Ok(success(
        shown.map_or(Value::Null, |one| setting_value(&one)),
        None,
    ))
}

pub(super) async fn settings_get(means: CallContext, arguments: Value) -> CallToolResult {
    let key = arguments.get("key").and_then(Value::as_str);
    reply_or_error(try_get(&means, key.unwrap_or_default()).await)
}

async fn try_get(means: &CallContext, key: &str) -> Result<CallToolResult, LibraryReplyError> {
    let settings = settings(means)?;
    let shown = lookup(means, settings, key).await?.ok_or_else(|| {
        LibraryReplyError::new("not_found", missing_message(key))
            .suggesting(format!("tramline settings set {key}"))
    })?;
    Ok(success(setting_value(&shown), None))
}

fn settings(means: &CallContext) -> Result<&Settings, LibraryReplyError> {
    let none = || LibraryReplyError::new("not_found", "this server has no settings");
    means.engine.settings().ok_or_else(none)
}

async fn lookup(
    means: &CallContext,
    settings: &Settings,
    key: &str,
) -> Result<Option<SettingView>, LibraryReplyError> {
    let workflows = means.engine.workflows();
    settings
        .get(key, &**workflows)
        .await
        .map_err(settings_error)
}

fn settings_error(fault: SettingsFault) -> LibraryReplyError {
    let kind = match &fault {
        SettingsFault::BadKey { .. }
        | SettingsFault::TooShort { .. }
        | SettingsFault::Guessable { .. }
        | SettingsFault::TooMuch(_) => "validation",
        SettingsFault::OperatorOwned { .. } => "forbidden",
        SettingsFault::Store(_)
        | SettingsFault::Sealed(_)
        | SettingsFault::Damaged { .. }
        | SettingsFault::Locked { .. } => "execution",
    };
    LibraryReplyError::new(kind, fault.to_string())
}

/// A setting as shown to agents. A secret is not even partially shown, because that would help to guess it.
fn setting_value(shown: &SettingView) -> Value {
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
        SettingSource::Stored => "kept",
        SettingSource::Environment(_) => "environment",
    };
    told.insert("source", source.into());
    told.insert("reference", format!("${{settings.{}}}", shown.key).into());
    let users = shown.used_by.iter().map(|user| user.as_str().into());
    told.insert("used_by", Value::array(users));
    told.into()
}
