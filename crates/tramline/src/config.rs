//! Where things are and what may be touched: flags, environment, defaults.

use crate::library::Tool;
use crate::trust::StartGate;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tramline_builtin::{HostPattern, ProtectedPath, regular_file};
use tramline_core::authority::AgentAnswers;
use tramline_core::journal::Budget;
use tramline_core::next::Ceilings;
use tramline_core::{Map, Str, Value};
use tramline_engine::seams::{Model, Observer};
use tramline_engine::{DESCENDANTS_MAX, Pattern, Policy, Quota, RUNS_DRIVEN_MAX, Rate, Retention};
use tramline_mcp::server::{Conduct, PinTerms};

mod file;
mod model;
mod tokens;

pub use file::{File, Flawed};
pub use model::{ModelConfig, Written};
pub use tokens::read as read_tokens;

/// Larger configuration files are refused.
const CONFIG_BYTES_MAX: u64 = 4 << 20;
/// The reader has its own bound; this one keeps a wrong file from being read at all.
const DOCUMENT_BYTES_MAX: u64 = 16 << 20;

/// The server whose tools are those of the program itself, where it names no other.
pub const APP: &str = "app";

/// What a process may use.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where runs are kept; nothing means in memory only.
    pub data_dir: Option<PathBuf>,
    /// The directories in which files may be touched.
    pub roots: Vec<PathBuf>,
    /// Where documents that agents name by path are read, if there is no root.
    pub documents_dir: Option<PathBuf>,
    /// What file tools leave alone beside the data directory, the key and the configuration.
    pub protected: Vec<ProtectedPath>,
    /// Which servers may be started.
    pub gate: StartGate,
    /// The hosts that `http` may call.
    pub hosts: Vec<HostPattern>,
    /// Whether `shell` may run commands.
    pub shell: bool,
    /// The clients' usual JSON with more servers.
    pub mcp_config: Option<PathBuf>,
    /// More servers, as entries of that JSON.
    pub entries: Entries,
    /// Who we are in journals; nothing means the process by its number.
    pub name: Option<Str>,
    /// The program's own tools, by the server that graphs call them under.
    pub tools: BTreeMap<Str, Vec<Tool>>,
    /// The configuration file that was read, if there is one.
    pub file: Option<PathBuf>,
    /// What may not be called, and what only after a person agreed.
    pub policy: Policy,
    /// Who may answer what a run asks.
    pub approvals: Approvals,
    /// What every run may use before a person is asked.
    pub budget: Option<Budget>,
    /// How runs that agents bring are treated.
    pub control: Control,
    /// How pinned procedures are held.
    pub sop: SopConfig,
    /// How much room all runs have.
    pub quota: Quota,
    /// What runs and documents may not exceed, whatever they say.
    pub limits: RunLimits,
    /// Which runs that are over are kept.
    pub retention: Retention,
    /// How often tools may be called.
    pub throttle: Vec<Rate>,
    /// The model that plans and answers prompts.
    pub model: Option<ModelConfig>,
    /// A model of the program's own, in the place of a configured one.
    pub own_model: Option<Arc<dyn Model>>,
    /// The directory with the model that tells search what texts mean.
    pub embedder: Option<PathBuf>,
    /// Whether nothing is learnt from plans that ended well, and nothing that was learnt is used.
    pub learn_off: bool,
    /// The file with the key that settings are sealed with; nothing means one beside the runs.
    pub key_file: Option<PathBuf>,
    /// How many of the latest calls are kept as they went over the wire, for the studio.
    pub exchanges: usize,
    /// What is told of runs to tools that operators have; nothing unless it is said.
    pub telemetry: tramline_telemetry::Settings,
    /// Whether lines are logged, by whatever takes what `tracing` gives.
    pub logged: bool,
    /// A program's own observer, in the place of telemetry's.
    pub observer: Option<Arc<dyn Observer>>,
    /// Hears what whoever runs the program should know.
    pub warn: Option<fn(&str)>,
    /// By which door commands come that no front end notes in the audit; nothing means that a program
    /// gives them.
    pub door: Option<&'static str>,
}

/// Who may answer what a run asks, beside what the table in docs/security.md says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Approvals {
    /// What agents may answer.
    pub agents: AgentAnswers,
    /// Whether answers on the command line need a terminal. It is kept with the runs; where nothing
    /// is said, what was kept stays.
    pub terminal: Option<bool>,
}

/// What runs and documents may not exceed, whatever they say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// What documents may not raise their own limits above.
    pub ceilings: Ceilings,
    /// How many runs one run may lead to, through the workflows that it calls.
    pub descendants: u64,
    /// How many runs a process drives at once.
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

/// How pinned procedures are held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SopConfig {
    /// Tools that agents may call without the gate.
    pub free_tools: Vec<Pattern>,
    /// How many conversations a caller may have along one procedure at a time.
    pub conversations: usize,
}

impl Default for SopConfig {
    fn default() -> Self {
        let usual = PinTerms::default();
        Self {
            free_tools: usual.free,
            conversations: usual.conversations_max,
        }
    }
}

/// How runs that agents bring are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// How long such a run waits for an answer before it is over.
    pub ttl: Option<Duration>,
    /// How many commands a minute are taken for one run.
    pub commands_per_minute: u32,
}

impl Default for Control {
    fn default() -> Self {
        let usual = Conduct::default();
        Self {
            ttl: usual.ttl,
            commands_per_minute: usual.commands_per_minute,
        }
    }
}

impl Config {
    /// Runs are kept in memory and are gone with the process.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Runs are kept in this directory, which several processes may share.
    pub fn at(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: Some(data_dir.into()),
            ..Self::default()
        }
    }

    /// Files in this directory may be read and written, too.
    #[must_use]
    pub fn root(mut self, directory: impl Into<PathBuf>) -> Self {
        self.roots.push(directory.into());
        self
    }

    /// `http` may call this host, too: `"*.example.com".parse()?`.
    #[must_use]
    pub fn host(mut self, host: HostPattern) -> Self {
        self.hosts.push(host);
        self
    }

    /// `shell` may run commands in the allowed directories.
    #[must_use]
    pub fn allow_shell(mut self) -> Self {
        self.shell = true;
        self
    }

    /// More MCP servers, from a file with the clients' usual JSON.
    #[must_use]
    pub fn servers(mut self, file: impl Into<PathBuf>) -> Self {
        self.mcp_config = Some(file.into());
        self
    }

    /// One more MCP server, as the entry that it has in the clients' usual JSON:
    /// `json!({ "command": "npx", "args": […] })` or `json!({ "type": "http", "url": … })`.
    #[must_use]
    pub fn server(mut self, name: impl Into<Str>, entry: impl Into<serde_json::Value>) -> Self {
        self.entries.0.insert(name.into(), entry.into().into());
        self
    }

    /// This model plans and answers prompts.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn Model>) -> Self {
        self.own_model = Some(model);
        self
    }

    /// This is told of runs: `Settings::read(|name| std::env::var(name).ok())?` takes the usual
    /// variables.
    #[must_use]
    pub fn telemetry(mut self, settings: tramline_telemetry::Settings) -> Self {
        self.telemetry = settings;
        self
    }

    /// Who we are in journals.
    #[must_use]
    pub fn name(mut self, name: impl Into<Str>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Graphs can call this tool of ours under the server [`APP`].
    #[must_use]
    pub fn tool(self, tool: Tool) -> Self {
        self.tool_of(APP, tool)
    }

    /// Graphs can call this tool of ours under a server's name of our choice.
    #[must_use]
    pub fn tool_of(mut self, server: impl Into<Str>, tool: Tool) -> Self {
        self.tools.entry(server.into()).or_default().push(tool);
        self
    }
}

/// Servers by name, as they are written in the clients' usual JSON. What they hold may be secret.
#[derive(Clone, Default)]
pub struct Entries(Map);

impl Entries {
    /// All of them, as an object.
    pub fn to_value(&self) -> Value {
        self.0.clone().into()
    }
}

impl std::fmt::Debug for Entries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// The data directory when nobody names one.
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

/// Reads a file that the user names, which must not be larger than such a file can sensibly be.
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let opened = std::fs::File::open(path).and_then(|file| Ok((file.metadata()?, file)));
    let (about, file) = opened.map_err(|error| cannot_read(path, &error))?;
    read_opened(path, file, &about, bytes_max)
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be read: {error}", path.display())
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
    // Room for all of it and its end: one read, where growing from nothing takes many.
    let expected = about.len().min(bytes_max) as usize;
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| cannot_read(path, &error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!(
            "{} holds more than {bytes_max} bytes",
            path.display()
        ));
    }
    Ok(bytes)
}

/// Reads a document's bytes. Documents name others by path, so only a regular file is one: nobody
/// waits for a pipe.
pub fn read_document(path: &Path) -> Result<Vec<u8>, String> {
    let opened = regular_file::open(path);
    let (file, about) = opened.map_err(|error| cannot_read(path, &error))?;
    read_opened(path, file, &about, DOCUMENT_BYTES_MAX)
}

/// Reads the clients' usual JSON.
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
