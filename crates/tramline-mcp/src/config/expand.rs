//! `${VAR}`, `${VAR:-default}`, `${env:VAR}` and `${settings.KEY}`: filled in when a server starts,
//! not before.

/// What the name of a setting begins with.
pub const SETTING: &str = "settings.";

/// A variable that has neither a value nor a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unset(pub String);

/// What to say of a variable or a setting without a value.
pub fn unset(name: &str) -> String {
    match name.strip_prefix(SETTING) {
        None => format!("the variable {name} is not set"),
        Some(key) => format!(
            "{}; if it is, `tramline settings get {key}` says why it cannot be read",
            tramline_engine::settings::missing(key)
        ),
    }
}

/// Fills in the variables of `text`. A `${` without its `}` is left as it stands.
pub fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, Unset> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let Some(len) = rest[at + 2..].find('}') else {
            break;
        };
        out.push_str(&rest[..at]);
        out.push_str(&value(&rest[at + 2..at + 2 + len], lookup)?);
        rest = &rest[at + 2 + len + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn value(inner: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, Unset> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    // As in a shell, `:-` also stands in for a variable that is set to nothing.
    let found = lookup(name).filter(|value| default.is_none() || !value.is_empty());
    found
        .or_else(|| default.map(str::to_owned))
        .ok_or_else(|| Unset(name.to_owned()))
}
