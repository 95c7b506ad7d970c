//! Configuration: where things are and what may be touched, from flags, environment and defaults.

use crate::api::Tool;
use crate::trust::StartGate;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tramline_builtin::{HostPattern, ProtectedPath, regular_file};
use tramline_engine::ports::{Model, Observer};
use tramline_engine::{
    DESCENDANTS_MAX, Quota, RUNS_DRIVEN_MAX, RateLimit, Retention, ToolPattern, ToolPolicy,
};
use tramline_expr::{Map, Str, Value};
use tramline_mcp_server::{PinOptions, ServerOptions};
use tramline_workflow::authority::AgentAnswers;
use tramline_workflow::journal::Budget;
use tramline_workflow::next::Ceilings;
use tramline_workflow::text::io_reason;

mod file;
mod model;
mod shared_store;
mod tokens;

pub use file::{ConfigFile, ConfigFileFlaws};
pub use model::{ModelConfig, SecretTemplate};
pub use shared_store::{SharedStore, SharedStoreParts, parse_lease};
pub use tokens::read as read_tokens;

/// The largest configuration file, in bytes. A larger one is the wrong file.
const CONFIG_BYTES_MAX: u64 = 4 << 20;
/// The largest document, in bytes. The parser has its own limit; this one keeps a wrong file from
/// being read at all.
const DOCUMENT_BYTES_MAX: u64 = 16 << 20;

/// The server name of the program's own tools, unless another is given.
pub const APP: &str = "app";

/// What a process may use.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where runs are stored; `None` means in memory only.
    pub data_dir: Option<PathBuf>,
    /// A database that several processes share; runs are then stored there and not in `data_dir`.
    pub store: Option<SharedStore>,
    /// The directories in which files may be read and written.
    pub roots: Vec<PathBuf>,
    /// Where documents that agents name by path are read, if there is no root.
    pub documents_dir: Option<PathBuf>,
    /// Paths that file tools must not touch, besides the data directory, the key and the
    /// configuration.
    pub protected: Vec<ProtectedPath>,
    /// Which servers may be started.
    pub gate: StartGate,
    /// The hosts that `http` may call.
    pub hosts: Vec<HostPattern>,
    /// Whether `shell` may run commands.
    pub shell: bool,
    /// An MCP client configuration (JSON) with additional servers.
    pub mcp_config: Option<PathBuf>,
    /// Additional servers, as entries of that JSON.
    pub entries: ServerEntries,
    /// The name of this process in journals; `None` means its process id.
    pub name: Option<Str>,
    /// The program's own tools, by the server name that graphs use.
    pub tools: BTreeMap<Str, Vec<Tool>>,
    /// The configuration file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// Which calls are denied, and which need approval.
    pub policy: ToolPolicy,
    /// Who may answer a run's questions.
    pub approvals: ApprovalConfig,
    /// The budget of every run, after which a person is asked.
    pub budget: Option<Budget>,
    /// Options for runs that agents submit.
    pub control: ControlConfig,
    /// Options for pinned procedures.
    pub sop: SopConfig,
    /// Limits on all runs together.
    pub quota: Quota,
    /// Limits that runs and documents cannot exceed, whatever they declare.
    pub limits: RunLimits,
    /// Which finished runs are kept.
    pub retention: Retention,
    /// How often tools may be called.
    pub throttle: Vec<RateLimit>,
    /// The model that plans and answers prompts.
    pub model: Option<ModelConfig>,
    /// The program's own model, used instead of a configured one.
    pub custom_model: Option<Arc<dyn Model>>,
    /// The directory of the embedding model for search.
    pub embedder: Option<PathBuf>,
    /// Turns off learning from successful plans and using what was learned.
    pub learning_off: bool,
    /// The file with the key that encrypts settings; `None` means one in the data directory.
    pub key_file: Option<PathBuf>,
    /// How many recent calls are kept as sent over the wire, for the studio.
    pub exchanges: usize,
    /// Telemetry export; off by default.
    pub telemetry: tramline_telemetry::TelemetrySettings,
    /// Whether log lines are emitted through `tracing`.
    pub logging: bool,
    /// The program's own observer, used instead of the telemetry one.
    pub observer: Option<Arc<dyn Observer>>,
    /// Receives warnings for the operator.
    pub warn: Option<fn(&str)>,
    /// The channel recorded in the audit for commands that no front end records itself; `None`
    /// means the program's own code.
    pub door: Option<&'static str>,
}

/// Who may answer a run's questions, in addition to the table in docs/security.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApprovalConfig {
    /// Which questions agents may answer.
    pub agents: AgentAnswers,
    /// Whether answers on the command line need a terminal. Stored with the runs; `None` leaves the
    /// stored value unchanged.
    pub terminal: Option<bool>,
}

/// Limits that runs and documents cannot exceed, whatever they declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// The maximum that documents may set their own limits to.
    pub ceilings: Ceilings,
    /// The maximum number of runs that one run may start, directly and indirectly.
    pub descendants: u64,
    /// The maximum number of runs that a process drives concurrently.
    pub runs_at_once: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            ceilings: Ceilings::default(),
            descendants: DESCENDANTS_MAX,
            runs_at_once: RUNS_DRIVEN_MAX,
        }
    }
}

/// Options for pinned procedures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SopConfig {
    /// Tools that agents may call without the gate.
    pub free_tools: Vec<ToolPattern>,
    /// The maximum number of concurrent sessions per caller and procedure.
    pub conversations: usize,
}

impl Default for SopConfig {
    fn default() -> Self {
        let usual = PinOptions::default();
        Self {
            free_tools: usual.ungated,
            conversations: usual.sessions_max,
        }
    }
}

/// Options for runs that agents submit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// How long such a run waits for an answer before it expires.
    pub ttl: Option<Duration>,
    /// The maximum number of commands per minute for one run.
    pub commands_per_minute: u32,
}

impl Default for ControlConfig {
    fn default() -> Self {
        let usual = ServerOptions::default();
        Self {
            ttl: usual.ttl,
            commands_per_minute: usual.commands_per_minute,
        }
    }
}

impl Config {
    /// Keeps runs in memory; they are lost when the process ends.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Stores runs in this directory, which several processes may share.
    pub fn at(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: Some(data_dir.into()),
            ..Self::default()
        }
    }

    /// Also allows reading and writing files in this directory.
    #[must_use]
    pub fn root(mut self, directory: impl Into<PathBuf>) -> Self {
        self.roots.push(directory.into());
        self
    }

    /// Also allows `http` to call this host: `"*.example.com".parse()?`.
    #[must_use]
    pub fn host(mut self, host: HostPattern) -> Self {
        self.hosts.push(host);
        self
    }

    /// Allows `shell` to run commands in the allowed directories.
    #[must_use]
    pub fn allow_shell(mut self) -> Self {
        self.shell = true;
        self
    }

    /// Adds MCP servers from a client configuration file (JSON).
    #[must_use]
    pub fn servers(mut self, file: impl Into<PathBuf>) -> Self {
        self.mcp_config = Some(file.into());
        self
    }

    /// Adds one MCP server, as an entry of an MCP client configuration: `json!({ "command": "npx",
    /// "args": […] })` or `json!({ "type": "http", "url": … })`.
    #[must_use]
    pub fn server(mut self, name: impl Into<Str>, entry: impl Into<serde_json::Value>) -> Self {
        self.entries.0.insert(name.into(), entry.into().into());
        self
    }

    /// Uses this model for planning and prompts.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.custom_model = Some(model);
        self
    }

    /// Exports telemetry: `Settings::read(|name| std::env::var(name).ok())?` reads the usual
    /// variables.
    #[must_use]
    pub fn telemetry(mut self, settings: tramline_telemetry::TelemetrySettings) -> Self {
        self.telemetry = settings;
        self
    }

    /// Sets the name of this process in journals.
    #[must_use]
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a tool that graphs can call under the server [`APP`].
    #[must_use]
    pub fn tool(self, tool: Tool) -> Self {
        self.tool_of(APP, tool)
    }

    /// Adds a tool that graphs can call under this server name.
    #[must_use]
    pub fn tool_of(mut self, server: impl Into<Str>, tool: Tool) -> Self {
        self.tools.entry(server.into()).or_default().push(tool);
        self
    }
}

/// Servers by name, as entries of an MCP client configuration. They may contain secrets.
#[derive(Clone, Default)]
pub struct ServerEntries(Map);

impl ServerEntries {
    /// All entries, as an object.
    pub fn to_value(&self) -> Value {
        self.0.clone().into()
    }
}

impl std::fmt::Debug for ServerEntries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// The default data directory.
pub fn default_data_dir() -> PathBuf {
    let under = |name: &str, rest: &str| {
        std::env::var_os(name)
            .filter(|value| Path::new(value).is_absolute())
            .map(|value| PathBuf::from(value).join(rest))
    };
    under("XDG_DATA_HOME", "tramline")
        .or_else(|| under("HOME", ".local/share/tramline"))
        .unwrap_or_else(|| PathBuf::from(".tramline"))
}

/// Reads a file that the user names, up to a maximum size.
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let opened = std::fs::File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (about, file) = opened.map_err(|error| cannot_read(path, &error))?;
    read_opened(path, file, &about, bytes_max)
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {}", path.display(), io_reason(error))
}

fn read_opened(
    path: &Path,
    file: std::fs::File,
    about: &std::fs::Metadata,
    bytes_max: u64,
) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    if about.is_dir() {
        return Err(format!("{} is a directory; name a file", path.display()));
    }
    // Reserve the whole file plus one byte for its end: one read instead of many.
    let expected = about.len().min(bytes_max) as usize;
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| cannot_read(path, &error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!(
            "{} is larger than {bytes_max} bytes",
            path.display()
        ));
    }
    Ok(bytes)
}

/// Reads a document's bytes. Documents name others by path, so only regular files are accepted: a
/// pipe would block.
pub fn read_document(path: &Path) -> Result<Vec<u8>, String> {
    let opened = regular_file::open(path);
    let (file, about) = opened.map_err(|error| cannot_read(path, &error))?;
    read_opened(path, file, &about, DOCUMENT_BYTES_MAX)
}

/// Reads an MCP client configuration (JSON).
pub fn read_mcp_config(path: &Path) -> Result<Value, String> {
    let bytes = read_bounded(path, CONFIG_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not text", path.display()))?;
    Value::from_json(&text).map_err(|error| {
        format!(
            "{}:{}:{}: {error}",
            path.display(),
            error.line(),
            error.column()
        )
    })
}
