//! Configuration of downstream servers: plain data, with secrets not yet expanded.
//!
//! Accepts the shapes that MCP clients share: `{"mcpServers": {…}}`, VS Code's `servers`, and the same two keys
//! in a graph file. `${VAR}` stays as written until a server is started, so that no secret ends up in a
//! configuration, a log or a journal.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use tramline_expr::Str;

mod expand;
mod read;

pub use expand::{SETTING_PREFIX, UnsetVariable, expand, unset_message};
pub use read::{read, read_servers};

/// How to start or reach one downstream server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerConfig {
    /// The name that graphs use in `server:tool`.
    pub name: Str,
    /// The program to start or the address to call.
    pub reach: ServerEndpoint,
    /// Which handshake to use.
    #[serde(default)]
    pub protocol: Protocol,
    /// How long a call waits for an answer or a progress notification, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Limit on concurrent calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// Stop the server after this many milliseconds without a call; the next call starts it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// If true, the server is never started.
    #[serde(default)]
    pub disabled: bool,
}

impl ServerConfig {
    /// The settings that the configuration references.
    pub fn settings(&self) -> Vec<Str> {
        let named = self.references().into_iter();
        let settings = named.filter_map(|name| name.strip_prefix(SETTING_PREFIX).map(Str::from));
        settings.collect()
    }

    /// The environment variables that the configuration references.
    pub fn variables(&self) -> Vec<Str> {
        let named = self.references().into_iter();
        let variables = named.filter(|name| !name.starts_with(SETTING_PREFIX));
        variables.map(Str::from).collect()
    }

    /// Every name used in `${…}`.
    fn references(&self) -> std::collections::BTreeSet<String> {
        let texts: Vec<&str> = match &self.reach {
            ServerEndpoint::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let all = args
                    .iter()
                    .chain(env.values())
                    .chain(cwd)
                    .map(String::as_str);
                all.chain([command.as_str()]).collect()
            }
            ServerEndpoint::Http { url, headers, .. } => {
                let all = headers.values().map(String::as_str);
                all.chain([url.as_str()]).collect()
            }
        };
        let named = std::cell::RefCell::new(std::collections::BTreeSet::new());
        for text in texts {
            let noted = |name: &str| {
                named.borrow_mut().insert(name.to_owned());
                Some(String::new())
            };
            // The lookup returns a value for every name, so this cannot fail.
            let _ = expand(text, &noted);
        }
        named.into_inner()
    }
}

/// A program to start or an address to call.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ServerEndpoint {
    /// A child process that speaks MCP over stdin and stdout.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Environment variables set in addition to the few that every child inherits.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Its working directory.
        #[serde(default)]
        cwd: Option<String>,
    },
    /// A server over streamable HTTP.
    Http {
        /// Its endpoint.
        url: String,
        /// Sent with every request.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The configuration says `sse`: the server may support only the 2024-11-05 HTTP+SSE transport.
        #[serde(default)]
        sse: bool,
    },
}

/// Which handshake a server supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// `initialize`, used up to protocol version 2025-11-25.
    Legacy,
    /// `server/discover`, used since protocol version 2026-07-28.
    Modern,
    /// Detected at the first start and remembered.
    #[default]
    Auto,
}

impl ServerConfig {
    /// Fingerprint of this configuration. Secrets cannot be recovered from it.
    pub fn fingerprint(&self) -> Str {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(self)
            .unwrap_or_default()
            .hash(&mut hasher);
        format!("{:016x}", hasher.finish()).into()
    }
}

/// A flaw in a configuration and its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFlaw {
    /// JSON pointer to the flaw.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// Suggested fix, if there is one.
    pub suggestion: Option<String>,
}

impl fmt::Display for ConfigFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.message)?;
        match &self.suggestion {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Shows the names of variables and headers, but not their values, which may be secrets.
impl fmt::Debug for ServerEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &env.keys())
                .field("cwd", cwd)
                .finish(),
            Self::Http { url, headers, sse } => f
                .debug_struct("Http")
                .field("url", url)
                .field("headers", &headers.keys())
                .field("sse", sse)
                .finish(),
        }
    }
}

#[cfg(test)]
mod tests;
