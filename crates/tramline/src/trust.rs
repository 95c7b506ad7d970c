//! Which servers may be started: those that the user named, and those that were trusted before.
//!
//! A document says what is started: a command, its arguments and environment, or an address with
//! headers. Looking at a document starts nothing of it unless the user has trusted exactly that.

use crate::config::{Config, read_bounded};
use crate::wire::{self, Trouble};
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tramline_core::formats::yaml_graph::Document;
use tramline_core::journal::ContentDigest;
use tramline_mcp::config::{Reach, ServerConfig};

/// Where trust is kept, in the data directory: a line for each server, which begins with a digest.
const TRUST_FILE: &str = "trusted";
/// A larger file is not read, in bytes: it holds some 20,000 lines.
const TRUST_BYTES_MAX: u64 = 4 << 20;

/// So much of a variable's value is shown, in characters.
const VALUE_CHARS_SHOWN: usize = 200;

/// What would be started or reached: equal digests start the same.
pub type StartDigest = ContentDigest;

/// The digest of what a configuration starts. Commands depend on the directory they are started in,
/// addresses do not.
pub fn digest(server: &ServerConfig) -> StartDigest {
    let directory = match server.reach {
        Reach::Stdio { .. } => std::env::current_dir().unwrap_or_default(),
        Reach::Http { .. } => PathBuf::new(),
    };
    let reach = serde_json::to_string(&server.reach).unwrap_or_default();
    ContentDigest::of(format!("{}\0{reach}", directory.display()).as_bytes())
}

/// The servers that were trusted, kept in the data directory.
#[derive(Clone, Debug)]
pub struct TrustStore(PathBuf);

impl TrustStore {
    /// Trust as this configuration keeps it; nothing where runs are in memory only.
    pub fn of(config: &Config) -> Option<Self> {
        let dir = config.data_dir.as_ref()?;
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
        Some(Self(dir.join(TRUST_FILE)))
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Everything that was trusted. A file that others could have written counts as none.
    pub fn read(&self) -> BTreeSet<StartDigest> {
        if !is_private(&self.0) {
            return BTreeSet::new();
        }
        let bytes = read_bounded(&self.0, TRUST_BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let digests = text.lines().filter_map(|line| line.split(' ').next());
        digests.filter_map(|digest| digest.parse().ok()).collect()
    }

    /// Trusts these servers from now on. Says why that cannot be kept, if so.
    pub fn add<'s>(
        &self,
        servers: impl IntoIterator<Item = &'s ServerConfig>,
        whose: &str,
    ) -> Result<(), String> {
        let known = self.read();
        let lines: String = servers
            .into_iter()
            .map(|server| (digest(server), &server.name))
            .filter(|(digest, _)| !known.contains(digest))
            .map(|(digest, name)| {
                format!(
                    "{digest} {} {}\n",
                    name.escape_debug(),
                    whose.escape_debug()
                )
            })
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        let cannot = |error: std::io::Error| format!("{}: {error}", self.0.display());
        if let Some(dir) = self.0.parent() {
            make_private_dir(dir).map_err(cannot)?;
        }
        if self.0.exists() && !is_private(&self.0) {
            // Whatever it says is not believed, so nothing of it is kept.
            std::fs::remove_file(&self.0).map_err(cannot)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.0).map_err(cannot)?;
        // One write at the end of the file: another process that adds at once is not in between.
        file.write_all(lines.as_bytes()).map_err(cannot)?;
        file.sync_all().map_err(cannot)
    }
}

fn make_private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Whether a file is a plain one that only its owner can write and read: what comes with somebody's
/// repository is readable for all.
fn is_private(path: &Path) -> bool {
    let Ok(about) = std::fs::symlink_metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        about.is_file() && about.permissions().mode() & 0o077 == 0
    }
    #[cfg(not(unix))]
    about.is_file()
}

/// Decides whether a server may be started. Clones share everything.
#[derive(Clone, Default)]
pub struct StartGate(Option<Arc<Rule>>);

struct Rule {
    /// What may be started, whoever says so.
    permitted: RwLock<BTreeSet<StartDigest>>,
    /// What was trusted counts too, also if that happens later.
    store: Option<TrustStore>,
    /// What to say of a server that may not be started.
    refusal: String,
}

impl StartGate {
    /// Permits everything: the user has said to start what the documents name.
    pub fn open() -> Self {
        Self(None)
    }

    /// Permits these servers and what was trusted, and nothing else.
    pub fn of_trusted<'s>(
        servers: impl IntoIterator<Item = &'s ServerConfig>,
        store: Option<TrustStore>,
        refusal: String,
    ) -> Self {
        let permitted = servers.into_iter().filter(|server| !server.disabled);
        Self(Some(Arc::new(Rule {
            permitted: RwLock::new(permitted.map(digest).collect()),
            store,
            refusal,
        })))
    }

    /// Says why a server may not be started, if so.
    pub fn check(&self, server: &ServerConfig) -> Result<(), String> {
        let Some(rule) = &self.0 else {
            return Ok(());
        };
        let digest = digest(server);
        let permitted = rule
            .permitted
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if permitted.contains(&digest) {
            return Ok(());
        }
        drop(permitted);
        let trusted = rule
            .store
            .as_ref()
            .map(TrustStore::read)
            .unwrap_or_default();
        if !trusted.contains(&digest) {
            return Err(rule.refusal.clone());
        }
        let mut permitted = rule
            .permitted
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        permitted.insert(digest);
        Ok(())
    }

    /// Keeps those servers that may be started or were there before; of the others, those before
    /// them stay. The second says what was held back.
    pub fn reloaded(
        &self,
        before: Vec<ServerConfig>,
        now: Vec<ServerConfig>,
    ) -> (Vec<ServerConfig>, Vec<HeldBack>) {
        let mut held = Vec::new();
        let taken = now.into_iter().map(|server| {
            if server.disabled || self.check(&server).is_ok() {
                return server;
            }
            let old = before.iter().find(|old| old.name == server.name);
            held.push(HeldBack {
                server: server.name.to_string(),
                differs: old.map(|old| differences(old, &server)).unwrap_or_default(),
                added: old.is_none(),
            });
            // One that was added stays in the list: a call of it says why it is not started.
            old.cloned().unwrap_or(server)
        });
        (taken.collect(), held)
    }
}

impl fmt::Debug for StartGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartGate")
            .field("open", &self.0.is_none())
            .finish()
    }
}

/// A server of an edited file that is not taken.
#[derive(Debug, PartialEq, Eq)]
pub struct HeldBack {
    server: String,
    differs: Vec<&'static str>,
    added: bool,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.server.escape_debug();
        match (self.added, self.differs.as_slice()) {
            (true, _) => write!(f, "server `{name}` is new"),
            (false, []) => write!(f, "server `{name}` is no longer disabled"),
            (false, differs) => write!(f, "server `{name}` differs in its {}", differs.join(", ")),
        }
    }
}

/// What differs in what two configurations start.
fn differences(old: &ServerConfig, new: &ServerConfig) -> Vec<&'static str> {
    let pick = |pairs: &[(bool, &'static str)]| {
        let differ = pairs.iter().filter(|(same, _)| !same);
        differ.map(|(_, what)| *what).collect::<Vec<_>>()
    };
    match (&old.reach, &new.reach) {
        (
            Reach::Stdio {
                command,
                args,
                env,
                cwd,
            },
            Reach::Stdio {
                command: command2,
                args: args2,
                env: env2,
                cwd: cwd2,
            },
        ) => pick(&[
            (command == command2, "command"),
            (args == args2, "arguments"),
            (env == env2, "environment"),
            (cwd == cwd2, "directory"),
        ]),
        (
            Reach::Http { url, headers, sse },
            Reach::Http {
                url: url2,
                headers: headers2,
                sse: sse2,
            },
        ) => pick(&[
            (url == url2, "url"),
            (headers == headers2, "headers"),
            (sse == sse2, "transport"),
        ]),
        (Reach::Stdio { .. }, Reach::Http { .. }) | (Reach::Http { .. }, Reach::Stdio { .. }) => {
            vec!["transport"]
        }
    }
}

/// The servers that these documents bring themselves: the user's own configuration names none of them.
pub fn brought<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
) -> Result<Vec<ServerConfig>, Trouble> {
    let own: BTreeSet<_> = wire::configured(config)?.iter().map(digest).collect();
    let all = wire::servers(config, documents)?.into_iter();
    let brought = all.filter(|server| !server.disabled && !own.contains(&digest(server)));
    Ok(brought.collect())
}

/// What starting a server means, for a person who decides about it.
pub fn described(server: &ServerConfig) -> Vec<String> {
    let mut lines = Vec::new();
    let name = server.name.escape_debug();
    let list = |names: Vec<String>| names.join(", ");
    let plain = |text: &String| text.escape_debug().to_string();
    match &server.reach {
        Reach::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let words = std::iter::once(command)
                .chain(args)
                .map(|word| quoted(word));
            lines.push(format!(
                "{name}: starts {}",
                words.collect::<Vec<_>>().join(" ")
            ));
            if let Some(cwd) = cwd {
                lines.push(format!("  in the directory {}", cwd.escape_debug()));
            }
            for (name, value) in env {
                // Some variables make a program load another, so names alone say too little.
                let shown: String = value.chars().take(VALUE_CHARS_SHOWN).collect();
                lines.push(format!("  sets {}={}", name.escape_debug(), quoted(&shown)));
            }
        }
        Reach::Http { url, headers, .. } => {
            lines.push(format!("{name}: connects to {}", url.escape_debug()));
            if !headers.is_empty() {
                let names = list(headers.keys().map(plain).collect());
                lines.push(format!("  sends the headers {names}"));
            }
        }
    }
    let named = |names: Vec<tramline_core::Str>| {
        let names: Vec<_> = names
            .iter()
            .map(|it| it.escape_debug().to_string())
            .collect();
        (!names.is_empty()).then(|| list(names))
    };
    if let Some(names) = named(server.variables()) {
        lines.push(format!("  is given the variables {names}"));
    }
    if let Some(names) = named(server.settings()) {
        lines.push(format!("  is given the settings {names}"));
    }
    lines
}

/// A word as a shell would need it, with nothing in it that a terminal obeys.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.escape_debug()),
    }
}

#[cfg(test)]
mod tests;
