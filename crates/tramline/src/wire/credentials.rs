//! Credentials that are given to servers past the settings: from the environment, or as they stand.
//!
//! A server that refuses a request often says what it was sent. So what opens servers is searched
//! for like a setting, if its name says that it is a credential and it is no common text.

use super::Trouble;
use tramline_engine::Settings;
use tramline_engine::settings::is_strong;
use tramline_mcp::config::{Reach, SETTING, ServerConfig, expand};

/// What the name of a credential has in it, in small letters.
const NAMES: [&str; 9] = [
    "auth",
    "bearer",
    "cookie",
    "credential",
    "key",
    "passw",
    "pwd",
    "secret",
    "token",
];

/// Hides the credentials of these servers.
pub(super) fn hide(settings: &Settings, servers: &[ServerConfig]) -> Result<(), Trouble> {
    for server in servers {
        let given = match &server.reach {
            Reach::Stdio { env, .. } => env,
            Reach::Http { headers, .. } => headers,
        };
        for (name, text) in given {
            if let Some(secret) = credential(name, text) {
                let called = format!("{}:{name}", server.name);
                let hidden = settings.also_hide(&called, &secret);
                hidden.map_err(|fault| Trouble::Config(fault.to_string()))?;
            }
        }
    }
    Ok(())
}

/// The secret in a header or a variable, if it is one and no setting, which is hidden already.
fn credential(name: &str, text: &str) -> Option<String> {
    let name = name.to_lowercase();
    let named = NAMES.iter().any(|part| name.contains(part));
    if !named || text.contains(&format!("${{{SETTING}")) {
        return None;
    }
    // A variable that is not set is told when the server starts.
    let value = expand(text, &|name| std::env::var(name).ok()).ok()?;
    // `Bearer`, `Basic` and the like are no part of it.
    let secret = value.rsplit(' ').next().unwrap_or(&value);
    is_strong(secret).then(|| secret.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_told_by_their_names_and_by_what_they_hold() {
        let key = "ghp_9aB3xKq77LmNzz0PqRsTuVwX";
        let found = |name, text: &str| credential(name, text);
        assert_eq!(
            found("Authorization", &format!("Bearer {key}")).as_deref(),
            Some(key)
        );
        assert_eq!(found("X-Api-Key", key).as_deref(), Some(key));
        assert_eq!(found("GITHUB_TOKEN", key).as_deref(), Some(key));
        assert_eq!(found("Accept", key), None);
        assert_eq!(found("Authorization", "Bearer ${settings.KEY}"), None);
        assert_eq!(found("Authorization", "none"), None);
        assert_eq!(found("API_KEY_FILE", "/etc/keys/github"), None);
    }
}
