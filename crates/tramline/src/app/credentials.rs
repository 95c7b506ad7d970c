//! Redacts credentials that servers get from the environment or as literals, not from settings.
//!
//! A server that rejects a request often repeats what it was sent. So credentials are redacted like
//! settings, if their name says that they are credentials and their value is not common text.

use super::AppError;
use tramline_engine::Settings;
use tramline_engine::settings::is_strong;
use tramline_mcp_client::config::{SETTING_PREFIX, ServerConfig, ServerEndpoint, expand};

/// Lowercase parts of names that mark a credential.
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

/// Redacts the credentials of these servers.
pub(super) fn hide(settings: &Settings, servers: &[ServerConfig]) -> Result<(), AppError> {
    for server in servers {
        let given = match &server.reach {
            ServerEndpoint::Stdio { env, .. } => env,
            ServerEndpoint::Http { headers, .. } => headers,
        };
        for (name, text) in given {
            if let Some(secret) = credential(name, text) {
                let called = format!("{}:{name}", server.name);
                let hidden = settings.redact_also(&called, &secret);
                hidden.map_err(|fault| AppError::Config(fault.to_string()))?;
            }
        }
    }
    Ok(())
}

/// The secret in a header or variable, if it is one. Settings are redacted already.
fn credential(name: &str, text: &str) -> Option<String> {
    let name = name.to_lowercase();
    let named = NAMES.iter().any(|part| name.contains(part));
    if !named || text.contains(&format!("${{{SETTING_PREFIX}")) {
        return None;
    }
    // A missing variable is reported when the server starts.
    let value = expand(text, &|name| std::env::var(name).ok()).ok()?;
    // `Bearer`, `Basic` and similar prefixes are not part of it.
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
