//! Decides which servers may be started: the ones the user configured, and the ones trusted before.
//!
//! A document can start processes: it names a command with arguments and environment, or a URL with
//! headers. Reading a document starts nothing unless the user has trusted exactly that.

use crate::app::{self, AppError};
use crate::config::{Config, read_bounded};
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_mcp_client::config::{ServerConfig, ServerEndpoint};
use tramline_workflow::journal::ContentDigest;
use tramline_workflow::text::io_reason;

/// The trust file in the data directory: one line per server, starting with a digest.
const TRUST_FILE: &str = "trusted";
/// The largest trust file, in bytes: about 20,000 lines. A larger one is ignored.
const TRUST_BYTES_MAX: u64 = 4 << 20;

/// Identifies what a server configuration starts or connects to: equal digests start the same.
pub type StartDigest = ContentDigest;

/// The digest of what a configuration starts. A command depends on its working directory, a URL
/// does not.
pub fn digest(server: &ServerConfig) -> StartDigest {
    let directory = match server.reach {
        ServerEndpoint::Stdio { .. } => std::env::current_dir().unwrap_or_default(),
        ServerEndpoint::Http { .. } => PathBuf::new(),
    };
    let reach = serde_json::to_string(&server.reach).unwrap_or_default();
    ContentDigest::of(format!("{}\0{reach}", directory.display()).as_bytes())
}

/// A server's name, with the digest of what it starts. The name matters too: policies, limits and graphs refer to it, so
/// another name for the same command is another decision.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedStart {
    /// Escaped, as in the trust file.
    name: String,
    digest: StartDigest,
}

impl NamedStart {
    /// What this configuration starts, under its name.
    pub fn of(server: &ServerConfig) -> Self {
        // A space ends the name in the trust file.
        let name = server.name.escape_debug().to_string();
        Self {
            name: name.replace(' ', "\\u{20}"),
            digest: digest(server),
        }
    }

    /// Reads a line of the trust file.
    fn from_line(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let digest = words.next()?.parse().ok()?;
        let name = words.next()?.to_owned();
        Some(Self { name, digest })
    }
}

/// The trusted servers, stored in the data directory.
#[derive(Clone, Debug)]
pub struct TrustStore(PathBuf);

impl TrustStore {
    /// The trust store of this configuration; `None` if runs are in memory only.
    pub fn of(config: &Config) -> Option<Self> {
        let dir = config.data_dir.as_ref()?;
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
        Some(Self(dir.join(TRUST_FILE)))
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Everything that is trusted. A file that other users could have written counts as empty.
    pub fn read(&self) -> BTreeSet<NamedStart> {
        if !is_private(&self.0) {
            return BTreeSet::new();
        }
        let bytes = read_bounded(&self.0, TRUST_BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter_map(NamedStart::from_line).collect()
    }

    /// Trusts these servers from now on. Fails if that cannot be stored.
    pub fn add<'s>(
        &self,
        servers: impl IntoIterator<Item = &'s ServerConfig>,
        whose: &str,
    ) -> Result<(), String> {
        let known = self.read();
        let lines: String = servers
            .into_iter()
            .map(NamedStart::of)
            .filter(|start| !known.contains(start))
            .map(|NamedStart { name, digest }| {
                format!("{digest} {name} {}\n", whose.escape_debug())
            })
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        let cannot = |error: std::io::Error| format!("{}: {}", self.0.display(), io_reason(&error));
        if let Some(dir) = self.0.parent() {
            make_private_dir(dir).map_err(cannot)?;
            if !is_protected_dir(dir) {
                return Err(format!(
                    "other users can change {}; `chmod go-w` that directory, or use your own",
                    dir.display()
                ));
            }
        }
        if self.0.exists() && !is_private(&self.0) {
            // A file that is not private is not trusted, so none of it is kept.
            std::fs::remove_file(&self.0).map_err(cannot)?;
        }
        let mut options = std::fs::OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.0).map_err(cannot)?;
        // One write in append mode: another process that adds at the same time cannot interleave.
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

/// Whether a file is a regular file of this user that no other user can read or write, in a directory in which no other
/// user can replace it. A file from a cloned repository is readable for everyone.
fn is_private(path: &Path) -> bool {
    let Ok(about) = std::fs::symlink_metadata(path) else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let ours = about.uid() == rustix::process::geteuid().as_raw();
        about.is_file()
            && ours
            && about.mode() & 0o077 == 0
            && path.parent().is_some_and(is_protected_dir)
    }
    #[cfg(not(unix))]
    about.is_file()
}

/// Whether a directory belongs to this user or to root, and nobody else can write to it.
fn is_protected_dir(dir: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let ours = rustix::process::geteuid().as_raw();
        // A link to the directory is fine: its target is what others must not change.
        std::fs::metadata(dir).is_ok_and(|about| {
            matches!(about.uid(), id if id == ours || id == 0) && about.mode() & 0o022 == 0
        })
    }
    #[cfg(not(unix))]
    dir.is_dir()
}

/// Decides whether a server may be started. Clones share everything.
#[derive(Clone, Default)]
pub struct StartGate(Option<Arc<StartRule>>);

struct StartRule {
    /// What may be started in any case.
    permitted: RwLock<BTreeSet<NamedStart>>,
    /// What is trusted counts too, even if added later.
    store: Option<TrustStore>,
    /// The message for a server that may not be started.
    refusal: String,
}

impl StartGate {
    /// Permits everything: the user asked to start what the documents name.
    pub fn open() -> Self {
        Self(None)
    }

    /// Permits these servers and the trusted ones, nothing else.
    pub fn of_trusted<'s>(
        servers: impl IntoIterator<Item = &'s ServerConfig>,
        store: Option<TrustStore>,
        refusal: String,
    ) -> Self {
        let permitted = servers.into_iter().filter(|server| !server.disabled);
        Self(Some(Arc::new(StartRule {
            permitted: RwLock::new(permitted.map(NamedStart::of).collect()),
            store,
            refusal,
        })))
    }

    /// Returns the reason if a server may not be started.
    pub fn check(&self, server: &ServerConfig) -> Result<(), String> {
        let Some(rule) = &self.0 else {
            return Ok(());
        };
        let start = NamedStart::of(server);
        let permitted = rule
            .permitted
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if permitted.contains(&start) {
            return Ok(());
        }
        drop(permitted);
        let trusted = rule
            .store
            .as_ref()
            .map(TrustStore::read)
            .unwrap_or_default();
        if !trusted.contains(&start) {
            return Err(rule.refusal.clone());
        }
        let mut permitted = rule
            .permitted
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        permitted.insert(start);
        Ok(())
    }

    /// Keeps the servers that may be started or are unchanged; a changed one that may not be
    /// started keeps its previous configuration. The second value lists what was held back.
    pub fn filter_reload(
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
            // An untrusted server that did not change is no news; calling it still reports why it is not started.
            if old.is_some_and(|old| !old.disabled && old.reach == server.reach) {
                return server;
            }
            held.push(HeldBack {
                server: server.name.to_string(),
                differences: old.map(|old| differences(old, &server)).unwrap_or_default(),
                added: old.is_none(),
            });
            // A new server stays in the list: calling it reports why it is not started.
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

/// A changed or new server in an edited file that was not applied.
#[derive(Debug, PartialEq, Eq)]
pub struct HeldBack {
    server: String,
    differences: Vec<&'static str>,
    added: bool,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.server.escape_debug();
        match (self.added, self.differences.as_slice()) {
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
            ServerEndpoint::Stdio {
                command,
                args,
                env,
                cwd,
            },
            ServerEndpoint::Stdio {
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
            ServerEndpoint::Http { url, headers, sse },
            ServerEndpoint::Http {
                url: url2,
                headers: headers2,
                sse: sse2,
            },
        ) => pick(&[
            (url == url2, "url"),
            (headers == headers2, "headers"),
            (sse == sse2, "transport"),
        ]),
        (ServerEndpoint::Stdio { .. }, ServerEndpoint::Http { .. })
        | (ServerEndpoint::Http { .. }, ServerEndpoint::Stdio { .. }) => {
            vec!["transport"]
        }
    }
}

/// The servers that these documents declare and the user's configuration does not.
pub fn document_servers<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
) -> Result<Vec<ServerConfig>, AppError> {
    let own: BTreeSet<_> = app::configured_servers(config)?
        .iter()
        .map(NamedStart::of)
        .collect();
    let all = app::servers(config, documents)?.into_iter();
    let brought = all.filter(|server| !server.disabled && !own.contains(&NamedStart::of(server)));
    Ok(brought.collect())
}

/// What starting a server does, described for the person who decides.
pub fn describe(server: &ServerConfig) -> Vec<String> {
    let mut lines = Vec::new();
    let name = server.name.escape_debug();
    let list = |names: Vec<String>| names.join(", ");
    match &server.reach {
        ServerEndpoint::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let words = std::iter::once(command)
                .chain(args)
                .map(|word| shell_quote(word));
            lines.push(format!(
                "{name}: starts {}",
                words.collect::<Vec<_>>().join(" ")
            ));
            if let Some(cwd) = cwd {
                lines.push(format!("  in the directory {}", cwd.escape_debug()));
            }
            for (name, value) in env {
                // Some variables make a program load code, so the name alone is not enough, nor is a part of the value.
                lines.push(format!(
                    "  sets {}={}",
                    name.escape_debug(),
                    shell_quote(value)
                ));
            }
        }
        ServerEndpoint::Http { url, headers, .. } => {
            lines.push(format!("{name}: connects to {}", url.escape_debug()));
            for (name, value) in headers {
                lines.push(format!(
                    "  sends the header {}: {}",
                    name.escape_debug(),
                    shell_quote(value)
                ));
            }
        }
    }
    let named = |names: Vec<tramline_expr::Str>| {
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

/// A shell-quoted word without terminal control characters.
fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.escape_debug()),
    }
}

#[cfg(test)]
mod tests;
