//! What a configuration says about downstream servers: plain data, secrets still unexpanded.
//!
//! The shapes are those that MCP clients share: `{"mcpServers": {…}}`, VS Code's `servers`, and the
//! same two keys in a graph file. `${VAR}` stays as written until a server is started, so that
//! no secret stands in a configuration, a log or a journal.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use tramline_core::Str;

mod expand;
mod read;

pub use expand::{SETTING, Unset, expand, unset};
pub use read::{read, read_servers};

/// How one downstream server is started or reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerConfig {
    /// The name that graphs call it by.
    pub name: Str,
    /// Where it is.
    pub reach: Reach,
    /// Which era of the protocol to speak.
    #[serde(default)]
    pub protocol: Protocol,
    /// No call of this server waits longer for an answer or a sign of progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How many calls may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// Stop it when nothing has called it for so long; it starts again at the next call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// Kept in the configuration but not to be started.
    #[serde(default)]
    pub disabled: bool,
}

impl ServerConfig {
    /// The settings that it names.
    pub fn settings(&self) -> Vec<Str> {
        let named = self.references().into_iter();
        let settings = named.filter_map(|name| name.strip_prefix(SETTING).map(Str::from));
        settings.collect()
    }

    /// The variables of our environment that it names.
    pub fn variables(&self) -> Vec<Str> {
        let named = self.references().into_iter();
        let variables = named.filter(|name| !name.starts_with(SETTING));
        variables.map(Str::from).collect()
    }

    /// Everything that stands in `${…}`.
    fn references(&self) -> std::collections::BTreeSet<String> {
        let texts: Vec<&str> = match &self.reach {
            Reach::Stdio {
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
            Reach::Http { url, headers, .. } => {
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
            // Every name has a value here, so nothing is unset.
            let _ = expand(text, &noted);
        }
        named.into_inner()
    }
}

/// A program to start or an address to call.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Reach {
    /// A child process that speaks over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default)]
        args: Vec<String>,
        /// Set in its environment, beside the few variables that every child gets.
        #[serde(default)]
        env: BTreeMap<String, String>,
        /// Where it runs.
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
        /// The configuration says `sse`: the server may speak only the transport of 2024.
        #[serde(default)]
        sse: bool,
    },
}

/// Which handshake a server understands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// `initialize`, as up to 2025-11-25.
    Legacy,
    /// `server/discover`, from 2026-07-28 on.
    Modern,
    /// Found out at the first start and remembered.
    #[default]
    Auto,
}

impl ServerConfig {
    /// What tells this configuration from another of the same name; nothing of it can be read back.
    pub fn print(&self) -> Str {
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(self)
            .unwrap_or_default()
            .hash(&mut hasher);
        format!("{:016x}", hasher.finish()).into()
    }
}

/// Something wrong in a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFlaw {
    /// The JSON pointer of the place.
    pub pointer: String,
    /// What is wrong.
    pub says: String,
    /// What to write instead, where that can be guessed.
    pub try_this: Option<String>,
}

impl fmt::Display for ConfigFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.says)?;
        match &self.try_this {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Shows which variables and headers are set, never to what: people do write secrets there.
impl fmt::Debug for Reach {
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
