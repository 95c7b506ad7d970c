//! The servers of a client, in Tramline's form, with their secrets set apart.

use super::client::Client;
use super::secret_texts::{SECRET_BYTES_MIN, is_secret};
use serde_json::{Map, Value, json};
use tramline_engine::settings::VALUE_BYTES_MAX;

/// Headers that are no secrets.
const PLAIN_HEADERS: [&str; 5] = [
    "accept",
    "accept-language",
    "content-type",
    "user-agent",
    "mcp-protocol-version",
];
/// A secret that goes to the settings.
pub(super) struct Secret {
    /// The key of the setting.
    pub(super) key: String,
    pub(super) value: String,
}

/// A server of a client.
pub(super) struct FoundServer {
    pub(super) name: String,
    /// The entry for `mcpServers` of Tramline, with references instead of secrets.
    pub(super) entry: Value,
    pub(super) secrets: Vec<Secret>,
    /// Whether it may need a sign-in that only the client has.
    pub(super) signs_in: bool,
}

/// What an import does with an entry.
pub(super) enum ClientEntry {
    Server(FoundServer),
    /// It stays with the client, for this reason.
    Stays {
        name: String,
        why: String,
    },
    /// It runs Tramline.
    Own {
        name: String,
    },
}

/// Every entry of a client's configuration.
pub(super) fn found(client: Client, config: &Value, own_command: &str) -> Vec<ClientEntry> {
    let entries = config.get(client.container()).and_then(Value::as_object);
    let entries = entries.into_iter().flatten();
    entries
        .map(|(name, entry)| {
            if runs_tramline(entry, own_command) {
                return ClientEntry::Own { name: name.clone() };
            }
            match read(client, name, entry) {
                Ok(server) => ClientEntry::Server(server),
                Err(why) => ClientEntry::Stays {
                    name: name.clone(),
                    why,
                },
            }
        })
        .collect()
}

/// Whether an entry starts Tramline.
pub(super) fn runs_tramline(entry: &Value, own_command: &str) -> bool {
    let command = entry.get("command").or_else(|| entry.get("cmd"));
    let command = match command {
        Some(Value::Array(words)) => words.first().and_then(Value::as_str),
        Some(other) => other.as_str(),
        None => None,
    };
    command.is_some_and(|command| {
        let file = std::path::Path::new(command).file_stem();
        command == own_command || file.is_some_and(|file| file == "tramline")
    })
}

fn read(client: Client, name: &str, entry: &Value) -> Result<FoundServer, String> {
    let fields = entry.as_object().ok_or("it is not an object")?;
    let kind = fields
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if client == Client::Goose && !["stdio", "sse", "streamable_http"].contains(&kind) {
        return Err("it is part of Goose, not an MCP server".to_owned());
    }
    if fields
        .get("env_keys")
        .and_then(Value::as_array)
        .is_some_and(|keys| !keys.is_empty())
    {
        return Err("its secrets are in Goose's own store; set them with `tramline settings set`, then move it by hand".to_owned());
    }
    let mut reader = Reader {
        client,
        server: name,
        secrets: Vec::new(),
    };
    let mut out = Map::new();
    let url = ["url", "httpUrl", "serverUrl", "uri"]
        .iter()
        .find_map(|key| fields.get(*key).and_then(Value::as_str));
    let mut signs_in = false;
    if let Some((command, args)) = command(fields)? {
        out.insert(
            "command".to_owned(),
            reader.text("command", &command)?.into(),
        );
        out.insert("args".to_owned(), reader.arguments(&args)?);
        let env = reader.env(fields)?;
        if !env.is_empty() {
            out.insert("env".to_owned(), Value::Object(env));
        }
        if let Some(cwd) = fields.get("cwd").and_then(Value::as_str) {
            out.insert("cwd".to_owned(), reader.text("cwd", cwd)?.into());
        }
    } else if let Some(url) = url {
        let sse = kind == "sse"
            || (client == Client::Gemini && fields.get("httpUrl").is_none() && kind.is_empty());
        out.insert("type".to_owned(), if sse { "sse" } else { "http" }.into());
        out.insert("url".to_owned(), reader.secret_or_text("url", url)?.into());
        let headers = reader.headers(fields)?;
        signs_in = headers.is_empty();
        if !headers.is_empty() {
            out.insert("headers".to_owned(), Value::Object(headers));
        }
    } else {
        return Err("it has neither a command nor an address".to_owned());
    }
    let disabled = fields.get("disabled").and_then(Value::as_bool) == Some(true)
        || fields.get("enabled").and_then(Value::as_bool) == Some(false);
    if disabled {
        out.insert("disabled".to_owned(), true.into());
    }
    let secrets = reader.secrets;
    if let Some(large) = secrets
        .iter()
        .find(|secret| secret.value.len() > VALUE_BYTES_MAX)
    {
        return Err(format!("`{}` is longer than a setting may be", large.key));
    }
    Ok(FoundServer {
        name: name.to_owned(),
        entry: Value::Object(out),
        secrets,
        signs_in,
    })
}

/// The program and its arguments; opencode has both in one list.
fn command(fields: &Map<String, Value>) -> Result<Option<(String, Vec<String>)>, String> {
    let words = |value: Option<&Value>| -> Result<Vec<String>, String> {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        let texts = items.map(|item| item.as_str().map(str::to_owned));
        texts
            .collect::<Option<_>>()
            .ok_or_else(|| "an argument is not text".to_owned())
    };
    let given = fields.get("command").or_else(|| fields.get("cmd"));
    match given {
        None => Ok(None),
        Some(Value::String(command)) => Ok(Some((command.clone(), words(fields.get("args"))?))),
        Some(list @ Value::Array(_)) => {
            let mut all = words(Some(list))?;
            match all.is_empty() {
                true => Err("its command is empty".to_owned()),
                false => {
                    let command = all.remove(0);
                    Ok(Some((command, all)))
                }
            }
        }
        Some(_) => Err("its command is not text".to_owned()),
    }
}

/// Reads the texts of one server.
struct Reader<'a> {
    client: Client,
    server: &'a str,
    secrets: Vec<Secret>,
}

impl Reader<'_> {
    /// A text in Tramline's syntax for variables.
    fn text(&self, what: &str, text: &str) -> Result<String, String> {
        let mut text = text.to_owned();
        if self.client == Client::Opencode {
            if text.contains("{file:") {
                return Err(format!("`{what}` reads a file that only opencode inserts"));
            }
            while let Some(start) = text.find("{env:").filter(|at| !text[..*at].ends_with('$')) {
                let Some(end) = text[start..].find('}') else {
                    break;
                };
                let name = text[start + 5..start + end].to_owned();
                text.replace_range(start..=start + end, &format!("${{{name}}}"));
            }
        }
        let bare = text.strip_prefix('$').filter(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        if self.client == Client::Gemini
            && let Some(name) = bare
        {
            return Ok(format!("${{{name}}}"));
        }
        for part in text.split("${").skip(1) {
            let name = part.split('}').next().unwrap_or_default();
            let known = name.strip_prefix("env:").unwrap_or(name);
            let known = known.split(":-").next().unwrap_or_default();
            let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            if known.is_empty() || !known.chars().all(plain) || known == "workspaceFolder" {
                return Err(format!(
                    "`{what}` has ${{{name}}}, which only {} can fill in",
                    self.client.title()
                ));
            }
        }
        Ok(text)
    }

    /// The reference to a secret in the settings.
    fn secret(&mut self, name: &str, value: &str) -> String {
        let plain = |letter: char| match letter {
            letter if letter.is_ascii_alphanumeric() || "_-.".contains(letter) => letter,
            _ => '_',
        };
        let key: String = format!("{}.{name}", self.server)
            .chars()
            .map(plain)
            .collect();
        let key =
            match key.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
                true => key,
                false => format!("_{key}"),
            };
        let mut key: String = key.chars().take(100).collect();
        while self.secrets.iter().any(|known| known.key == key) {
            key.push('_');
        }
        self.secrets.push(Secret {
            key: key.clone(),
            value: value.to_owned(),
        });
        format!("${{settings.{key}}}")
    }

    fn secret_or_text(&mut self, name: &str, text: &str) -> Result<String, String> {
        match is_secret(name, text) {
            true => Ok(self.secret(name, text)),
            false => self.text(name, text),
        }
    }

    /// Arguments: the value of a flag such as `--api-key` may be a secret.
    fn arguments(&mut self, args: &[String]) -> Result<Value, String> {
        let mut out = Vec::new();
        let mut before = String::new();
        for arg in args {
            let inline = arg
                .split_once('=')
                .filter(|(flag, _)| flag.starts_with('-'));
            let written = match inline {
                Some((flag, value)) if is_secret(flag.trim_start_matches('-'), value) => {
                    let name = flag.trim_start_matches('-').to_owned();
                    format!("{flag}={}", self.secret(&name, value))
                }
                Some(_) | None => {
                    let flag = before
                        .strip_prefix('-')
                        .map(|flag| flag.trim_start_matches('-'));
                    // `--token=x` has its value already: the next word is not part of it.
                    let flag = flag
                        .filter(|flag| !flag.contains('=') && !arg.starts_with('-'))
                        .unwrap_or_default()
                        .to_owned();
                    match is_secret(&flag, arg) {
                        true => self.secret(if flag.is_empty() { "argument" } else { &flag }, arg),
                        false => self.text("args", arg)?,
                    }
                }
            };
            before.clone_from(arg);
            out.push(Value::from(written));
        }
        Ok(Value::Array(out))
    }

    fn env(&mut self, fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut out = Map::new();
        for key in ["env", "environment", "envs"] {
            for (name, value) in fields
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let text = match value {
                    Value::String(text) => text.clone(),
                    Value::Number(_) | Value::Bool(_) => value.to_string(),
                    Value::Null | Value::Array(_) | Value::Object(_) => {
                        return Err(format!("the variable `{name}` is not text"));
                    }
                };
                out.insert(name.clone(), self.secret_or_text(name, &text)?.into());
            }
        }
        // Codex forwards variables of its own environment by name.
        for name in fields
            .get("env_vars")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = name.as_str().ok_or("a name in `env_vars` is not text")?;
            out.insert(name.to_owned(), variable("env_vars", name)?.into());
        }
        Ok(out)
    }

    fn headers(&mut self, fields: &Map<String, Value>) -> Result<Map<String, Value>, String> {
        let mut out = Map::new();
        for key in ["headers", "http_headers"] {
            for (name, value) in fields
                .get(key)
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                let text = value
                    .as_str()
                    .ok_or_else(|| format!("the header `{name}` is not text"))?;
                let plain = PLAIN_HEADERS.contains(&name.to_lowercase().as_str());
                let secret = !plain && text.len() >= SECRET_BYTES_MIN && !text.contains("${");
                let translated = self.text(name, text)?;
                let written = match (secret && translated == text, text.rsplit_once(' ')) {
                    (false, _) => translated,
                    // `Bearer` and similar words are not part of the secret.
                    (true, Some((scheme, value))) if value.len() >= SECRET_BYTES_MIN => {
                        format!("{scheme} {}", self.secret(name, value))
                    }
                    (true, _) => self.secret(name, text),
                };
                out.insert(name.clone(), written.into());
            }
        }
        for (name, variable) in fields
            .get("env_http_headers")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let variable = variable.as_str().unwrap_or_default();
            out.insert(
                name.clone(),
                self::variable("env_http_headers", variable)?.into(),
            );
        }
        if let Some(variable) = fields.get("bearer_token_env_var").and_then(Value::as_str) {
            let variable = self::variable("bearer_token_env_var", variable)?;
            out.insert(
                "Authorization".to_owned(),
                format!("Bearer {variable}").into(),
            );
        }
        Ok(out)
    }
}

/// The reference to an environment variable. Another name could be that of a setting, which the client's file must not
/// send to its servers.
fn variable(field: &str, name: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    match !name.is_empty() && name.chars().all(is_plain) {
        true => Ok(format!("${{{name}}}")),
        false => Err(format!(
            "`{field}` has `{name}`, which is not the name of a variable"
        )),
    }
}

/// The document of Tramline's own servers.
pub(super) fn empty_document() -> Value {
    json!({ "mcpServers": {} })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(client: Client, entry: Value) -> FoundServer {
        match read(client, "one", &entry) {
            Ok(server) => server,
            Err(why) => panic!("{why}"),
        }
    }

    #[test]
    fn secrets_become_references_in_every_place() {
        let read = server(
            Client::Cursor,
            json!({
                "command": "npx",
                "args": ["-y", "server", "--api-key", "abcd1234efgh", "--token=zzzz9999", "plain"],
                "env": { "GITHUB_TOKEN": "ghp_abcdefghijkl", "MODE": "production", "KEY_FILE": "/etc/k" }
            }),
        );
        let text = read.entry.to_string();
        for hidden in ["abcd1234efgh", "zzzz9999", "ghp_abcdefghijkl"] {
            assert!(!text.contains(hidden), "{text}");
        }
        assert_eq!(
            read.entry["env"]["GITHUB_TOKEN"],
            "${settings.one.GITHUB_TOKEN}"
        );
        assert_eq!(read.entry["env"]["MODE"], "production");
        assert_eq!(read.entry["env"]["KEY_FILE"], "/etc/k");
        assert_eq!(read.entry["args"][4], "--token=${settings.one.token}");
        assert_eq!(read.secrets.len(), 3);
    }

    #[test]
    fn every_shape_of_an_address_is_read() {
        let http = server(
            Client::Windsurf,
            json!({ "serverUrl": "https://a/mcp", "headers": { "Authorization": "Bearer abcdefgh" } }),
        );
        assert_eq!(http.entry["url"], "https://a/mcp");
        assert_eq!(
            http.entry["headers"]["Authorization"],
            "Bearer ${settings.one.Authorization}"
        );
        assert_eq!(http.secrets[0].value, "abcdefgh");
        let codex = server(
            Client::Codex,
            json!({ "url": "https://a", "bearer_token_env_var": "T", "env_http_headers": { "X": "V" } }),
        );
        assert_eq!(
            codex.entry["headers"],
            json!({ "X": "${V}", "Authorization": "Bearer ${T}" })
        );
        let open = server(
            Client::Opencode,
            json!({ "type": "local", "command": ["a", "b"], "environment": { "K": "{env:K}" }, "enabled": false }),
        );
        assert_eq!(
            open.entry,
            json!({ "command": "a", "args": ["b"], "env": { "K": "${K}" }, "disabled": true })
        );
        let gemini = server(
            Client::Gemini,
            json!({ "command": "a", "env": { "K": "$API_KEY" } }),
        );
        assert_eq!(gemini.entry["env"]["K"], "${API_KEY}");
    }

    /// `${settings.X}` would send a secret of the user to a server that a project's file names.
    #[test]
    fn settings_are_not_taken_for_variables() {
        for entry in [
            json!({ "url": "https://a", "bearer_token_env_var": "settings.TOKEN" }),
            json!({ "url": "https://a", "env_http_headers": { "X": "settings.TOKEN" } }),
            json!({ "command": "a", "env_vars": ["settings.TOKEN"] }),
            json!({ "command": "a", "env": { "K": "${settings.TOKEN}" } }),
        ] {
            assert!(read(Client::Codex, "one", &entry).is_err(), "{entry}");
        }
    }

    #[test]
    fn what_only_the_client_can_fill_in_stays_with_it() {
        for (client, entry) in [
            (
                Client::Vscode,
                json!({ "command": "a", "env": { "K": "${input:key}" } }),
            ),
            (Client::Cursor, json!({ "command": "${workspaceFolder}/a" })),
            (
                Client::Goose,
                json!({ "type": "builtin", "name": "developer" }),
            ),
            (
                Client::Goose,
                json!({ "type": "stdio", "cmd": "a", "env_keys": ["K"] }),
            ),
            (
                Client::Opencode,
                json!({ "type": "local", "command": ["a", "{file:~/k}"] }),
            ),
            (Client::Cursor, json!({})),
        ] {
            assert!(read(client, "one", &entry).is_err(), "{entry}");
        }
    }
}
