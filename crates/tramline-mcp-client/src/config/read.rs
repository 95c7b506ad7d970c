//! Reads server configurations from JSON values and reports all flaws at once.

use super::{ConfigFlaw, Protocol, ServerConfig, ServerEndpoint};
use std::collections::BTreeMap;
use tramline_expr::{Map, Value};

/// The keys under which MCP clients list their servers.
const SERVER_KEYS: [&str; 2] = ["mcpServers", "servers"];

/// The fields read here. Other fields belong to other programs and are ignored.
const KNOWN_FIELDS: [&str; 12] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "protocol",
    "timeout_ms",
    "max_concurrent",
    "idle_timeout_ms",
    "disabled",
];

/// Minimum similarity (Jaro-Winkler) at which a name is treated as a typo.
const SIMILARITY_MIN: f64 = 0.8;

/// Reads `mcpServers` or `servers` of a client's configuration or a graph file. A document with neither has no
/// servers; that is not a flaw.
pub fn read(document: &Value) -> Result<Vec<ServerConfig>, Vec<ConfigFlaw>> {
    let mut reader = ConfigReader::default();
    let Some(root) = document.as_object() else {
        reader.add_flaw("", format!("expected an object, found {}", document.kind()));
        return reader.finish();
    };
    for key in SERVER_KEYS {
        if let Some(servers) = root.get(key).filter(|value| !value.is_null()) {
            reader.read_servers(servers, &format!("/{key}"));
        }
    }
    reader.finish()
}

/// Reads the object that maps names to servers; `pointer` is its location in the document.
pub fn read_servers(servers: &Value, pointer: &str) -> Result<Vec<ServerConfig>, Vec<ConfigFlaw>> {
    let mut reader = ConfigReader::default();
    reader.read_servers(servers, pointer);
    reader.finish()
}

#[derive(Default)]
struct ConfigReader {
    servers: Vec<ServerConfig>,
    flaws: Vec<ConfigFlaw>,
}

impl ConfigReader {
    fn finish(self) -> Result<Vec<ServerConfig>, Vec<ConfigFlaw>> {
        if self.flaws.is_empty() {
            Ok(self.servers)
        } else {
            Err(self.flaws)
        }
    }

    fn add_flaw(&mut self, pointer: &str, says: impl Into<String>) {
        self.add_flaw_with_hint(pointer, says, None);
    }

    fn add_flaw_with_hint(
        &mut self,
        pointer: &str,
        says: impl Into<String>,
        try_this: Option<String>,
    ) {
        self.flaws.push(ConfigFlaw {
            pointer: pointer.to_owned(),
            message: says.into(),
            suggestion: try_this,
        });
    }

    fn read_servers(&mut self, servers: &Value, pointer: &str) {
        let Some(map) = servers.as_object() else {
            let says = format!("expected an object of servers, found {}", servers.kind());
            return self.add_flaw(pointer, says);
        };
        for (name, server) in map.iter() {
            let pointer = format!("{pointer}/{}", escape_pointer(name));
            if name.is_empty() {
                self.add_flaw(&pointer, "a server needs a name");
            }
            if self.servers.iter().any(|known| known.name == *name) {
                self.add_flaw(&pointer, format!("server `{name}` is defined twice"));
            }
            match server.as_object() {
                Some(fields) => self.read_server(name, fields, &pointer),
                None => {
                    let says = format!("expected an object, found {}", server.kind());
                    self.add_flaw(&pointer, says);
                }
            }
        }
    }

    fn read_server(&mut self, name: &str, fields: &Map, pointer: &str) {
        let Some(reach) = self.read_endpoint(fields, pointer) else {
            return;
        };
        let config = ServerConfig {
            name: name.into(),
            reach,
            protocol: self.read_protocol(fields, pointer),
            timeout_ms: self.positive_integer(fields, pointer, "timeout_ms"),
            max_concurrent: self
                .positive_integer(fields, pointer, "max_concurrent")
                .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            idle_timeout_ms: self.positive_integer(fields, pointer, "idle_timeout_ms"),
            disabled: fields.get("disabled").and_then(Value::as_bool) == Some(true),
        };
        self.servers.push(config);
    }

    fn read_endpoint(&mut self, fields: &Map, pointer: &str) -> Option<ServerEndpoint> {
        let kind = match fields.get("type").filter(|value| !value.is_null()) {
            None if fields.contains_key("command") => "stdio",
            None if fields.contains_key("url") => "http",
            None => {
                self.flag_missing_endpoint(fields, pointer);
                return None;
            }
            Some(kind) => kind.as_str().unwrap_or_default(),
        };
        match kind {
            "stdio" => self.read_stdio(fields, pointer),
            "http" | "streamableHttp" | "streamable-http" => self.read_http(fields, pointer, false),
            "sse" => self.read_http(fields, pointer, true),
            other => {
                let known = ["stdio", "http", "streamableHttp", "streamable-http", "sse"];
                let hint = closest(other, known).map(|name| format!("did you mean `{name}`?"));
                let at = format!("{pointer}/type");
                self.add_flaw_with_hint(
                    &at,
                    "type must be `stdio`, `http`, `streamableHttp` or `sse`",
                    hint,
                );
                None
            }
        }
    }

    fn flag_missing_endpoint(&mut self, fields: &Map, pointer: &str) {
        let slip = fields
            .keys()
            .filter(|key| !KNOWN_FIELDS.contains(&key.as_str()))
            .find_map(|key| Some((key, closest(key, ["command", "url"])?)));
        let hint = slip.map_or_else(
            || "add `command` for a program or `url` for an address".to_owned(),
            |(key, name)| format!("did you mean `{name}` instead of `{key}`?"),
        );
        self.add_flaw_with_hint(pointer, "`command` or `url` is required", Some(hint));
    }

    fn read_stdio(&mut self, fields: &Map, pointer: &str) -> Option<ServerEndpoint> {
        let args = self.string_list(fields, pointer, "args");
        let env = self.string_map(fields, pointer, "env");
        let cwd = self.optional_string(fields, pointer, "cwd");
        Some(ServerEndpoint::Stdio {
            command: self.required_string(fields, pointer, "command", "stdio")?,
            args,
            env,
            cwd,
        })
    }

    fn read_http(&mut self, fields: &Map, pointer: &str, sse: bool) -> Option<ServerEndpoint> {
        let headers = self.string_map(fields, pointer, "headers");
        let url = self.required_string(fields, pointer, "url", "http")?;
        let plain = url.starts_with("http://") || url.starts_with("https://");
        if !plain && !url.contains("${") {
            let at = format!("{pointer}/url");
            self.add_flaw(&at, "a url must start with http:// or https://");
        }
        Some(ServerEndpoint::Http { url, headers, sse })
    }

    fn read_protocol(&mut self, fields: &Map, pointer: &str) -> Protocol {
        match fields.get("protocol").map(Value::as_str) {
            None | Some(Some("auto")) => Protocol::Auto,
            Some(Some("legacy")) => Protocol::Legacy,
            Some(Some("modern")) => Protocol::Modern,
            Some(_) => {
                let at = format!("{pointer}/protocol");
                self.add_flaw(&at, "protocol must be `legacy`, `modern` or `auto`");
                Protocol::Auto
            }
        }
    }

    fn required_string(
        &mut self,
        fields: &Map,
        pointer: &str,
        key: &str,
        kind: &str,
    ) -> Option<String> {
        let before = self.flaws.len();
        let text = self
            .optional_string(fields, pointer, key)
            .filter(|text| !text.is_empty());
        if text.is_none() && self.flaws.len() == before {
            self.add_flaw(pointer, format!("a server of type {kind} needs `{key}`"));
        }
        text
    }

    fn optional_string(&mut self, fields: &Map, pointer: &str, key: &str) -> Option<String> {
        let value = fields.get(key).filter(|value| !value.is_null())?;
        if value.as_str().is_none() {
            let says = format!("expected a string, found {}", value.kind());
            self.add_flaw(&format!("{pointer}/{key}"), says);
        }
        value.as_str().map(str::to_owned)
    }

    /// A scalar as text: YAML turns a port or a flag into a number or a boolean.
    fn scalar_text(&mut self, value: &Value, pointer: &str) -> String {
        match value {
            Value::String(text) => text.to_string(),
            Value::Bool(_) | Value::Number(_) => value.to_json(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                self.add_flaw(
                    pointer,
                    format!("expected a string, found {}", value.kind()),
                );
                String::new()
            }
        }
    }

    fn string_list(&mut self, fields: &Map, pointer: &str, key: &str) -> Vec<String> {
        let at = format!("{pointer}/{key}");
        match fields.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.scalar_text(item, &format!("{at}/{index}")))
                .collect(),
            Some(other) => {
                self.add_flaw(&at, format!("expected a list, found {}", other.kind()));
                Vec::new()
            }
        }
    }

    fn string_map(&mut self, fields: &Map, pointer: &str, key: &str) -> BTreeMap<String, String> {
        let at = format!("{pointer}/{key}");
        match fields.get(key) {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(map)) => map
                .iter()
                .map(|(name, value)| {
                    let text = self.scalar_text(value, &format!("{at}/{}", escape_pointer(name)));
                    (name.to_string(), text)
                })
                .collect(),
            Some(other) => {
                self.add_flaw(&at, format!("expected an object, found {}", other.kind()));
                BTreeMap::new()
            }
        }
    }

    fn positive_integer(&mut self, fields: &Map, pointer: &str, key: &str) -> Option<u64> {
        let value = fields.get(key).filter(|value| !value.is_null())?;
        let count = value.as_u64().filter(|count| *count > 0);
        if count.is_none() {
            let says = format!("`{key}` must be a positive integer");
            self.add_flaw(&format!("{pointer}/{key}"), says);
        }
        count
    }
}

fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn closest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .filter(|(likeness, _)| *likeness >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
