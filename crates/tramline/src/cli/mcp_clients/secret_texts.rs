//! Which texts of a configuration are probably secrets.

use serde_json::Value;

/// Lowercase parts of names that mark a credential.
const SECRET_NAMES: [&str; 10] = [
    "auth",
    "bearer",
    "cookie",
    "credential",
    "key",
    "passw",
    "pwd",
    "secret",
    "token",
    "dsn",
];
/// How keys of well-known services start.
const SECRET_STARTS: [&str; 13] = [
    "sk-",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
    "pypi-",
];
/// The shortest text that is stored as a secret, in bytes: shorter ones cannot be redacted.
pub(super) const SECRET_BYTES_MIN: usize = 4;

/// Every text of an entry that may be secret, for masking.
pub(super) fn private_texts(config: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect_private(config, "", false, &mut found);
    found.retain(|text| text.len() >= SECRET_BYTES_MIN);
    // Longer ones first, so that no part of one is left.
    found.sort_by_key(|text| std::cmp::Reverse(text.len()));
    found.dedup();
    found
}

fn collect_private(value: &Value, name: &str, inside: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if inside || is_secret(name, text) => {
            found.push(text.clone());
            found.extend(text.rsplit_once(' ').map(|(_, last)| last.to_owned()));
        }
        Value::Array(items) => {
            let mut before = "";
            for item in items {
                let text = item.as_str().unwrap_or_default();
                let (flag, given) = text.split_once('=').unwrap_or((before, text));
                if is_secret(flag.trim_start_matches('-'), given) && flag.starts_with('-') {
                    found.push(given.to_owned());
                }
                before = if text.contains('=') { "" } else { text };
                collect_private(item, "", inside, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let private = [
                    "env",
                    "envs",
                    "environment",
                    "headers",
                    "http_headers",
                    "oauth",
                ];
                let inside = inside || private.contains(&name.as_str());
                collect_private(value, name, inside, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a text is probably a credential.
pub(super) fn is_secret(name: &str, text: &str) -> bool {
    if text.len() < SECRET_BYTES_MIN || text.contains("${") {
        return false;
    }
    let name = name.to_lowercase();
    let named = SECRET_NAMES.iter().any(|part| name.contains(part));
    let path = text.starts_with(['/', '~', '.']);
    let starts = SECRET_STARTS.iter().any(|start| text.starts_with(start));
    (named && !path) || starts || is_secret_url(text)
}

/// Whether a text is an address with a password, or with a key in its query.
fn is_secret_url(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let password = host
        .split_once('@')
        .is_some_and(|(user, _)| user.contains(':'));
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let is_key = |(name, value): (&str, &str)| {
        let name = name.to_lowercase();
        value.len() >= SECRET_BYTES_MIN && SECRET_NAMES.iter().any(|part| name.contains(part))
    };
    password || pairs.any(is_key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn private_texts_are_found_for_masking() {
        let config = json!({ "mcpServers": { "a": {
            "env": { "MODE": "production" }, "headers": { "Authorization": "Bearer abcdefgh" },
            "args": ["--key", "12345678", "--token=abcd"], "url": "https://u:pass@h/x"
        } } });
        let found = private_texts(&config);
        for text in [
            "production",
            "Bearer abcdefgh",
            "abcdefgh",
            "12345678",
            "abcd",
            "https://u:pass@h/x",
        ] {
            assert!(found.iter().any(|one| one == text), "{text}: {found:?}");
        }
    }
}
