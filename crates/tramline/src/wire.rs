//! Puts the parts together: a store, the tools, an engine over both.

use crate::config::{self, Config};
use crate::library::OwnTools;
use crate::protect;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_builtin::{Allowed, Builtin, SERVER};
use tramline_core::formats::yaml_graph::Document;
use tramline_core::run::Run;
use tramline_core::{Str, Value};
use tramline_engine::Settings;
use tramline_engine::library::Library;
use tramline_engine::seams::{Callable, Embedder, Model, Store, Tools};
use tramline_engine::{Approvals, Engine, LoopRunner, Options, Scratch, Shelf, Throttle, Toolbox};
use tramline_mcp::client::{self, Servers};
use tramline_mcp::config::{ConfigFlaw, ServerConfig, read, read_servers};
use tramline_mcp::server::About;
use tramline_store::{Sqlite, Verification};
use tramline_telemetry::Telemetry;
use tramline_vault::Vault;

mod credentials;
mod opening;
mod room;
mod telemetry;

pub use opening::Opening;

use telemetry::Telling;

/// The file with the key that settings are sealed with, in the data directory.
const KEY_FILE: &str = "settings.key";

/// An engine with what stands behind it.
pub struct House {
    /// The engine.
    pub engine: Engine,
    /// The downstream servers.
    pub servers: Arc<Servers>,
    /// The documents' workflows, which runs can call by name.
    pub shelf: Arc<Shelf>,
    /// The tools that need no server.
    pub builtin: Arc<Builtin>,
    /// What plans and answers prompts, if anything does.
    pub model: Option<Arc<dyn Model>>,
    /// What servers and documents name and never hold.
    pub settings: Settings,
    /// What is told of runs, if anything is.
    pub telemetry: Option<Telemetry>,
}

/// What can be called, without anything to run it.
#[derive(Clone)]
pub struct Equipment {
    /// The downstream servers.
    pub servers: Arc<Servers>,
    /// The tools that need no server.
    pub builtin: Arc<Builtin>,
    /// What servers name and never hold.
    pub settings: Settings,
}

/// Why the parts could not be put together.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] tramline_engine::seams::StoreFault),
    /// A root cannot be opened.
    #[error(transparent)]
    Root(#[from] tramline_builtin::BadRoot),
    /// A configuration file cannot be read.
    #[error("{0}")]
    Config(String),
    /// A server entry cannot be used.
    #[error("{}", flaws(.0))]
    Servers(Vec<ConfigFlaw>),
    /// The model cannot be used.
    #[error("{0}")]
    Model(String),
    /// A tool of the program's own cannot be used.
    #[error("{0}")]
    Tool(String),
}

fn flaws(all: &[ConfigFlaw]) -> String {
    all.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The servers that the configuration names, in its file or itself.
pub fn configured(config: &Config) -> Result<Vec<ServerConfig>, Trouble> {
    let mut servers = match &config.mcp_config {
        None => Vec::new(),
        Some(path) => {
            let value = config::read_mcp_config(path).map_err(Trouble::Config)?;
            read(&value).map_err(Trouble::Servers)?
        }
    };
    let own = read_servers(&config.entries.to_value(), "/mcpServers");
    servers.extend(own.map_err(Trouble::Servers)?);
    Ok(servers)
}

/// The servers that documents may use without naming them.
pub fn elsewhere(config: &Config) -> Result<Vec<Str>, Trouble> {
    let configured = configured(config)?.into_iter().map(|server| server.name);
    Ok(configured.chain(config.tools.keys().cloned()).collect())
}

/// What a server of these documents says of itself: one document speaks for itself, several are
/// served under our name.
pub fn about<'d>(documents: impl IntoIterator<Item = &'d Document>) -> About {
    let servers: Vec<_> = documents.into_iter().map(|each| &each.server).collect();
    if let [only] = servers.as_slice() {
        return About {
            name: only.name.clone(),
            version: only.version.clone(),
            title: Some(only.title.clone()),
            instructions: only.instructions.clone(),
        };
    }
    let instructions = servers
        .iter()
        .filter_map(|server| server.instructions.as_deref());
    let instructions: Vec<_> = instructions.collect();
    About {
        name: "tramline".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        title: Some("Tramline".into()),
        instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n").into()),
    }
}

/// The servers of these documents and the configured ones.
pub fn servers<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
) -> Result<Vec<ServerConfig>, Trouble> {
    let mut servers: BTreeMap<Str, ServerConfig> = configured(config)?
        .into_iter()
        .map(|server| (server.name.clone(), server))
        .collect();
    for document in documents {
        // Whoever writes the graph knows best what its names mean.
        let own = read_servers(&document.servers, "/mcpServers").map_err(Trouble::Servers)?;
        servers.extend(own.into_iter().map(|server| (server.name.clone(), server)));
    }
    Ok(servers.into_values().collect())
}

/// Who tells search what texts mean, where a model is configured.
fn embedder(config: &Config) -> Result<Option<Arc<dyn Embedder>>, Trouble> {
    let opened = config.embedder.as_deref().map(tramline_embed::open);
    opened
        .transpose()
        .map_err(|unreadable| Trouble::Config(unreadable.to_string()))
}

/// What file tools leave alone with these documents and servers.
pub(crate) fn protect<'d>(
    builtin: &Builtin,
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
    servers: &[ServerConfig],
) {
    builtin.protect(&protect::paths(config, documents, servers));
}

/// Says which servers name which settings, for whoever looks at a setting, and hides what opens them.
pub fn tell_users(settings: &Settings, servers: &[ServerConfig]) -> Result<(), Trouble> {
    let named = servers.iter().flat_map(|server| {
        let keys = server.settings().into_iter();
        keys.map(|key| (key, format!("server {}", server.name)))
    });
    settings.told_users(named.collect());
    credentials::hide(settings, servers)
}

fn store(config: &Config) -> Result<Arc<dyn Store>, Trouble> {
    Ok(match &config.data_dir {
        Some(dir) => Arc::new(with_warnings(Sqlite::open(dir)?, config)),
        None => Arc::new(Sqlite::in_memory()?),
    })
}

/// Says what is wrong with a store that can be used all the same.
fn with_warnings(store: Sqlite, config: &Config) -> Sqlite {
    for warning in store.warnings() {
        config
            .warn
            .inspect(|warn| warn(&format!("warning: {warning}")));
    }
    store
}

/// Reads everything in the data directory and holds it against its sums; nothing where there is none.
pub async fn verify(config: &Config) -> Result<Option<Verification>, Trouble> {
    let Some(dir) = config.data_dir.as_deref().filter(|dir| Sqlite::is_at(dir)) else {
        return Ok(None);
    };
    Ok(Some(Sqlite::open(dir)?.verify().await?))
}

/// The settings that a store keeps and the environment gives.
fn settings(config: &Config, store: Arc<dyn Store>) -> Result<Settings, Trouble> {
    let at = config.key_file.clone();
    let at = at.or_else(|| Some(config.data_dir.as_ref()?.join(KEY_FILE)));
    let vault = match at {
        Some(file) => Vault::at(file),
        None => Vault::in_memory().map_err(|fault| Trouble::Config(fault.to_string()))?,
    };
    let text = |text: std::ffi::OsString| text.into_string().ok();
    let variables = std::env::vars_os();
    let variables = variables.filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let key = vault.hex();
    let wrong = |fault: &dyn std::fmt::Display| Trouble::Config(fault.to_string());
    let settings = Settings::new(store, Arc::new(vault), variables).map_err(|it| wrong(&it))?;
    if let Some(key) = key {
        settings
            .also_hide(KEY_FILE, &key)
            .map_err(|it| wrong(&it))?;
    }
    Ok(settings)
}

/// The settings for whoever only looks: where nothing was ever kept, nothing is made.
pub fn settings_to_look(config: &Config) -> Result<Settings, Trouble> {
    let there = config.data_dir.as_deref().is_some_and(Sqlite::is_at);
    let store = match there {
        true => store(config)?,
        false => Arc::new(Sqlite::in_memory()?),
    };
    settings(config, store)
}

/// What these documents can call. Nothing is started yet.
pub fn equip<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
    settings: Settings,
) -> Result<Equipment, Trouble> {
    equip_telling(config, documents, settings, &Telling::default())
}

fn equip_telling<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
    settings: Settings,
    telling: &Telling,
) -> Result<Equipment, Trouble> {
    let documents: Vec<_> = documents.into_iter().collect();
    let servers = servers(config, documents.iter().copied())?;
    tell_users(&settings, &servers)?;
    let gate = config.gate.clone();
    let lookup = settings.clone();
    let options = client::Options {
        lookup: Arc::new(move |name| match name.strip_prefix("settings.") {
            Some(key) => lookup.value(key)?.ok().map(Into::into),
            None => std::env::var(name).ok(),
        }),
        redact: {
            let settings = settings.clone();
            Arc::new(move |text| settings.redact_text(text).into_owned())
        },
        redact_tool: {
            let settings = settings.clone();
            Arc::new(move |tool| settings.redact_tool(tool))
        },
        permit: Arc::new(move |server| gate.check(server)),
        exchanges: config.exchanges,
        ..client::Options::default()
    };
    let allowed = Allowed {
        roots: config.roots.clone(),
        documents: config.documents_dir.clone(),
        protected: protect::paths(config, documents, &servers),
        hosts: config.hosts.clone(),
        shell: config.shell,
    };
    let mut builtin = Builtin::new(allowed)?;
    let model = config.open_model(&*options.lookup, &settings);
    if let Some(model) = model.map_err(Trouble::Model)? {
        builtin = builtin.with_model(telling.model(config, model));
    }
    let servers = Arc::new(Servers::new(servers, options));
    telling.of(&servers);
    Ok(Equipment {
        servers,
        builtin: Arc::new(builtin),
        settings,
    })
}

/// Who may answer, and how the command line finds the same runs.
fn approvals(config: &Config) -> Approvals {
    let elsewhere = config.data_dir.as_ref();
    let elsewhere = elsewhere.filter(|dir| **dir != config::default_data_dir());
    let command_options = match elsewhere {
        None => String::new(),
        Some(dir) => {
            let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
            format!("--data-dir '{}'", dir.display())
        }
    };
    Approvals {
        agents: config.approvals.agents,
        command_options,
    }
}

/// Opens the store and puts an engine over it, with the documents' servers and the configured ones.
pub fn open<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
) -> Result<House, Trouble> {
    open_over(config, documents, Opening::default())
}

/// The same over a store that is being opened already.
pub fn open_over<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d Document>,
    opening: Opening,
) -> Result<House, Trouble> {
    let documents: Vec<_> = documents.into_iter().collect();
    let shelf = Shelf::new(documents.iter().copied().flat_map(callables));
    let shelf = Arc::new(shelf);
    let store = opening.store(config)?;
    let settings = settings(config, Arc::clone(&store))?;
    let telling = Telling::open(config, &settings);
    let Equipment {
        servers,
        builtin,
        settings,
    } = equip_telling(config, documents, settings, &telling)?;
    let mut tools = Toolbox::new(Arc::clone(&servers) as _).with(SERVER, Arc::clone(&builtin) as _);
    for (server, own) in &config.tools {
        let own = OwnTools::new(server, own).map_err(Trouble::Tool)?;
        tools = tools.with(server.clone(), Arc::new(own));
    }
    let workflows = Arc::clone(&shelf) as _;
    let mut options = Options {
        policy: config.policy.clone(),
        approvals: approvals(config),
        budget: config.budget,
        quota: room::quota(config),
        ceilings: config.limits.ceilings,
        descendants_max: config.limits.descendants,
        driven_max: config.limits.runs_at_once,
        scratch: Some(Scratch::new(|| Ok(Arc::new(Sqlite::in_memory()?)))),
        settings: Some(settings.clone()),
        embedder: embedder(config)?,
        observer: telling.observer(config),
        learn: !config.learn_off,
        ..Options::default()
    };
    if let Some(name) = &config.name {
        options.name = name.clone();
    }
    if let Some(door) = config.door {
        options.door = door;
    }
    let mut tools: Arc<dyn Tools> = Arc::new(tools);
    if !config.throttle.is_empty() {
        tools = Arc::new(Throttle::new(tools, config.throttle.clone()));
    }
    let engine = Engine::with_workflows(store, tools, workflows, options);
    Ok(House {
        engine,
        servers,
        shelf,
        model: builtin.model(),
        builtin,
        settings,
        telemetry: telling.telemetry,
    })
}

/// The names of the saved workflows; none where there is no data directory that can be read.
pub async fn saved(config: &Config) -> Vec<Str> {
    let existing = config.data_dir.as_deref().filter(|dir| dir.is_dir());
    let Some(store) = existing.and_then(|dir| Sqlite::open(dir).ok()) else {
        return Vec::new();
    };
    let library = Library::new(Arc::new(store), Arc::new(Shelf::default()));
    let all = library.list(None).await.unwrap_or_default();
    all.iter().map(|saved| saved.name.clone()).collect()
}

/// A document's workflows as others can call them. They run where their caller runs.
pub fn callables(document: &Document) -> impl Iterator<Item = Callable> + '_ {
    let all = document.workflows.iter().chain(&document.companions);
    all.map(|graph| Callable {
        graph: Arc::clone(graph),
        origin: Value::Null,
    })
}

/// Where a run's document and servers are to be found again, as its journal keeps it.
///
/// Only places, never what is in them: a server's entry may hold a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The document; nothing for what an agent brought to a server.
    pub document: PathBuf,
    /// The documents of the server that it was brought to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<PathBuf>,
    /// The configuration file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<PathBuf>,
    /// The clients' usual JSON, if it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_config: Option<PathBuf>,
    /// The working directory, against which servers read relative paths.
    pub directory: PathBuf,
    /// The directories in which files may be touched.
    #[serde(default)]
    pub roots: Vec<PathBuf>,
    /// The hosts that may be called.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Whether commands may be run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shell: bool,
}

impl Origin {
    /// The origin of runs of this document under this configuration.
    pub fn of(document: &Path, config: &Config) -> Self {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self {
            document: absolute(document),
            documents: Vec::new(),
            config: config.file.as_deref().map(absolute),
            mcp_config: config.mcp_config.as_deref().map(absolute),
            directory: std::env::current_dir().unwrap_or_default(),
            roots: config.roots.iter().map(|root| absolute(root)).collect(),
            hosts: config.hosts.iter().map(ToString::to_string).collect(),
            shell: config.shell,
        }
    }

    /// The origin of what agents bring to a server of these documents.
    pub fn brought(documents: &[PathBuf], config: &Config) -> Self {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        Self {
            document: PathBuf::new(),
            documents: documents.iter().map(absolute).collect(),
            ..Self::of(Path::new("."), config)
        }
    }

    /// The documents whose servers a run calls.
    pub fn files(&self) -> Vec<PathBuf> {
        match self.document.as_os_str().is_empty() {
            true => self.documents.clone(),
            false => vec![self.document.clone()],
        }
    }

    /// The origin as a journal keeps it.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default().into()
    }

    /// Whether a run is one of this document.
    pub fn covers(&self, run: &Run) -> bool {
        Self::from_value(&run.started.origin).is_some_and(|theirs| {
            let same = theirs.files() == self.files() && theirs.document == self.document;
            let servers = theirs.mcp_config == self.mcp_config;
            same && (servers || !self.document.as_os_str().is_empty())
        })
    }

    /// Reads what [`Origin::to_value`] wrote.
    pub fn from_value(value: &Value) -> Option<Self> {
        serde_json::from_value(value.into()).ok()
    }
}

impl House {
    /// What can be called here.
    pub fn equipment(&self) -> Equipment {
        Equipment {
            servers: Arc::clone(&self.servers),
            builtin: Arc::clone(&self.builtin),
            settings: self.settings.clone(),
        }
    }

    /// The planner loop over all of it.
    pub fn runner(&self) -> LoopRunner {
        let runner = LoopRunner::new(self.engine.clone());
        match &self.model {
            Some(model) => runner.with_model(Arc::clone(model)),
            None => runner,
        }
    }

    /// Stops driving, ends the downstream servers, and sends what telemetry has left.
    pub async fn close(&self) {
        self.engine.close().await;
        self.servers.shutdown().await;
        if let Some(telemetry) = &self.telemetry {
            telemetry.close().await;
        }
    }
}
