//! Expands `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${settings.KEY}` when a server starts, not earlier.

/// Prefix that marks a name as a setting.
pub const SETTING_PREFIX: &str = "settings.";

/// A variable that has neither a value nor a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsetVariable(pub String);

/// The message for a variable or a setting that has no value.
pub fn unset_message(name: &str) -> String {
    match name.strip_prefix(SETTING_PREFIX) {
        None => format!("the variable {name} is not set"),
        Some(key) => format!(
            "{}; if it is set, `tramline settings get {key}` shows why it cannot be read",
            tramline_engine::settings::missing_message(key)
        ),
    }
}

/// Expands the variables in `text`. A `${` without a closing `}` is left unchanged.
pub fn expand(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, UnsetVariable> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let Some(len) = rest[at + 2..].find('}') else {
            break;
        };
        out.push_str(&rest[..at]);
        out.push_str(&variable_value(&rest[at + 2..at + 2 + len], lookup)?);
        rest = &rest[at + 2 + len + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn variable_value(
    inner: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, UnsetVariable> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    // As in a shell, `:-` also applies to a variable that is set but empty.
    let found = lookup(name).filter(|value| default.is_none() || !value.is_empty());
    found
        .or_else(|| default.map(str::to_owned))
        .ok_or_else(|| UnsetVariable(name.to_owned()))
}
