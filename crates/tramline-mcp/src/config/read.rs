//! Reads server configurations from JSON values, reporting everything that is wrong at once.

use super::{ConfigFlaw, Protocol, Reach, ServerConfig};
use std::collections::BTreeMap;
use tramline_core::{Map, Value};

/// The keys under which clients keep their servers.
const KEYS: [&str; 2] = ["mcpServers", "servers"];

/// The fields read here; all others are other programs' business and left alone.
const FIELDS: [&str; 12] = [
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

/// Two names so alike are taken for a slip of the pen.
const ALIKE: f64 = 0.8;

/// Reads `mcpServers` or `servers` of a client's configuration or a graph file. Neither being
/// there is no flaw: it means no servers.
pub fn read(document: &Value) -> Result<Vec<ServerConfig>, Vec<ConfigFlaw>> {
    let mut reader = Reader::default();
    let Some(root) = document.as_object() else {
        reader.flaw("", format!("expected an object, found {}", document.kind()));
        return reader.end();
    };
    for key in KEYS {
        if let Some(servers) = root.get(key).filter(|value| !value.is_null()) {
            reader.servers(servers, &format!("/{key}"));
        }
    }
    reader.end()
}

/// Reads the object that maps names to servers; `pointer` is where it stands in its document.
pub fn read_servers(servers: &Value, pointer: &str) -> Result<Vec<ServerConfig>, Vec<ConfigFlaw>> {
    let mut reader = Reader::default();
    reader.servers(servers, pointer);
    reader.end()
}

#[derive(Default)]
struct Reader {
    servers: Vec<ServerConfig>,
    flaws: Vec<ConfigFlaw>,
}

impl Reader {
    fn end(self) -> Result<Vec<ServerConfig>, Vec<ConfigFlaw>> {
        if self.flaws.is_empty() {
            Ok(self.servers)
        } else {
            Err(self.flaws)
        }
    }

    fn flaw(&mut self, pointer: &str, says: impl Into<String>) {
        self.hint(pointer, says, None);
    }

    fn hint(&mut self, pointer: &str, says: impl Into<String>, try_this: Option<String>) {
        self.flaws.push(ConfigFlaw {
            pointer: pointer.to_owned(),
            says: says.into(),
            try_this,
        });
    }

    fn servers(&mut self, servers: &Value, pointer: &str) {
        let Some(map) = servers.as_object() else {
            let says = format!("expected an object of servers, found {}", servers.kind());
            return self.flaw(pointer, says);
        };
        for (name, server) in map.iter() {
            let pointer = format!("{pointer}/{}", escape(name));
            if name.is_empty() {
                self.flaw(&pointer, "a server needs a name");
            }
            if self.servers.iter().any(|known| known.name == *name) {
                self.flaw(&pointer, format!("server `{name}` is described twice"));
            }
            match server.as_object() {
                Some(fields) => self.server(name, fields, &pointer),
                None => {
                    let says = format!("expected an object, found {}", server.kind());
                    self.flaw(&pointer, says);
                }
            }
        }
    }

    fn server(&mut self, name: &str, fields: &Map, pointer: &str) {
        let Some(reach) = self.reach(fields, pointer) else {
            return;
        };
        let config = ServerConfig {
            name: name.into(),
            reach,
            protocol: self.protocol(fields, pointer),
            timeout_ms: self.count(fields, pointer, "timeout_ms"),
            max_concurrent: self
                .count(fields, pointer, "max_concurrent")
                .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            idle_timeout_ms: self.count(fields, pointer, "idle_timeout_ms"),
            disabled: fields.get("disabled").and_then(Value::as_bool) == Some(true),
        };
        self.servers.push(config);
    }

    fn reach(&mut self, fields: &Map, pointer: &str) -> Option<Reach> {
        let kind = match fields.get("type").filter(|value| !value.is_null()) {
            None if fields.contains_key("command") => "stdio",
            None if fields.contains_key("url") => "http",
            None => {
                self.neither(fields, pointer);
                return None;
            }
            Some(kind) => kind.as_str().unwrap_or_default(),
        };
        match kind {
            "stdio" => self.stdio(fields, pointer),
            "http" | "streamableHttp" | "streamable-http" => self.http(fields, pointer, false),
            "sse" => self.http(fields, pointer, true),
            other => {
                let known = ["stdio", "http", "streamableHttp", "streamable-http", "sse"];
                let hint = closest(other, known).map(|name| format!("did you mean `{name}`?"));
                let at = format!("{pointer}/type");
                self.hint(
                    &at,
                    "type is `stdio`, `http`, `streamableHttp` or `sse`",
                    hint,
                );
                None
            }
        }
    }

    fn neither(&mut self, fields: &Map, pointer: &str) {
        let slip = fields
            .keys()
            .filter(|key| !FIELDS.contains(&key.as_str()))
            .find_map(|key| Some((key, closest(key, ["command", "url"])?)));
        let hint = slip.map_or_else(
            || "add `command` for a program or `url` for an address".to_owned(),
            |(key, name)| format!("did you mean `{name}` where it says `{key}`?"),
        );
        self.hint(pointer, "neither `command` nor `url` is given", Some(hint));
    }

    fn stdio(&mut self, fields: &Map, pointer: &str) -> Option<Reach> {
        let args = self.texts(fields, pointer, "args");
        let env = self.pairs(fields, pointer, "env");
        let cwd = self.text(fields, pointer, "cwd");
        Some(Reach::Stdio {
            command: self.needed(fields, pointer, "command", "stdio")?,
            args,
            env,
            cwd,
        })
    }

    fn http(&mut self, fields: &Map, pointer: &str, sse: bool) -> Option<Reach> {
        let headers = self.pairs(fields, pointer, "headers");
        let url = self.needed(fields, pointer, "url", "http")?;
        let plain = url.starts_with("http://") || url.starts_with("https://");
        if !plain && !url.contains("${") {
            let at = format!("{pointer}/url");
            self.flaw(&at, "a url starts with http:// or https://");
        }
        Some(Reach::Http { url, headers, sse })
    }

    fn protocol(&mut self, fields: &Map, pointer: &str) -> Protocol {
        match fields.get("protocol").map(Value::as_str) {
            None | Some(Some("auto")) => Protocol::Auto,
            Some(Some("legacy")) => Protocol::Legacy,
            Some(Some("modern")) => Protocol::Modern,
            Some(_) => {
                let at = format!("{pointer}/protocol");
                self.flaw(&at, "protocol is `legacy`, `modern` or `auto`");
                Protocol::Auto
            }
        }
    }

    fn needed(&mut self, fields: &Map, pointer: &str, key: &str, kind: &str) -> Option<String> {
        let before = self.flaws.len();
        let text = self
            .text(fields, pointer, key)
            .filter(|text| !text.is_empty());
        if text.is_none() && self.flaws.len() == before {
            self.flaw(pointer, format!("a server of type {kind} needs `{key}`"));
        }
        text
    }

    fn text(&mut self, fields: &Map, pointer: &str, key: &str) -> Option<String> {
        let value = fields.get(key).filter(|value| !value.is_null())?;
        if value.as_str().is_none() {
            let says = format!("expected a string, found {}", value.kind());
            self.flaw(&format!("{pointer}/{key}"), says);
        }
        value.as_str().map(str::to_owned)
    }

    /// A scalar as text: YAML turns a port or a flag into a number or a boolean.
    fn scalar(&mut self, value: &Value, pointer: &str) -> String {
        match value {
            Value::String(text) => text.to_string(),
            Value::Bool(_) | Value::Number(_) => value.to_json(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                self.flaw(
                    pointer,
                    format!("expected a string, found {}", value.kind()),
                );
                String::new()
            }
        }
    }

    fn texts(&mut self, fields: &Map, pointer: &str, key: &str) -> Vec<String> {
        let at = format!("{pointer}/{key}");
        match fields.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items
                .iter()
                .enumerate()
                .map(|(index, item)| self.scalar(item, &format!("{at}/{index}")))
                .collect(),
            Some(other) => {
                self.flaw(&at, format!("expected a list, found {}", other.kind()));
                Vec::new()
            }
        }
    }

    fn pairs(&mut self, fields: &Map, pointer: &str, key: &str) -> BTreeMap<String, String> {
        let at = format!("{pointer}/{key}");
        match fields.get(key) {
            None | Some(Value::Null) => BTreeMap::new(),
            Some(Value::Object(map)) => map
                .iter()
                .map(|(name, value)| {
                    let text = self.scalar(value, &format!("{at}/{}", escape(name)));
                    (name.to_string(), text)
                })
                .collect(),
            Some(other) => {
                self.flaw(&at, format!("expected an object, found {}", other.kind()));
                BTreeMap::new()
            }
        }
    }

    fn count(&mut self, fields: &Map, pointer: &str, key: &str) -> Option<u64> {
        let value = fields.get(key).filter(|value| !value.is_null())?;
        let count = value.as_u64().filter(|count| *count > 0);
        if count.is_none() {
            let says = format!("`{key}` is a whole number above 0");
            self.flaw(&format!("{pointer}/{key}"), says);
        }
        count
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn closest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
