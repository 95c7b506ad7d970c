//! Assembles the parts: a store, the tools, and an engine on both.

use crate::api::AppTools;
use crate::config::{self, Config};
use crate::protected_paths::{self, ProtectedList};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tramline_builtin::{Builtin, BuiltinAccess, ProtectedPath, SERVER};
use tramline_catalog::Catalog;
use tramline_catalog::library::Library;
use tramline_catalog::search::Embedder;
use tramline_engine::Settings;
use tramline_engine::ports::{Callable, Model, Store, Tools};
use tramline_engine::{
    Approvals, Engine, EngineOptions, ReplayStore, Throttle, ToolRouter, WorkflowMap,
};
use tramline_expr::{Str, Value};
use tramline_formats::yaml_graph::GraphDocument;
use tramline_mcp_client::config::{ConfigFlaw, ServerConfig, read, read_servers};
use tramline_mcp_client::{ClientOptions, Servers, VariableLookup};
use tramline_mcp_server::ServerDescription;
use tramline_planner::{LoopRunner, Planner, ServiceOptions, Services};
use tramline_store::{Sqlite, Verification};
use tramline_telemetry::Telemetry;
use tramline_vault::Vault;
use tramline_workflow::text::RedactText;

mod credentials;
mod data_files;
mod disk_quota;
mod run_origin;
mod shared_store;
mod store_opening;
mod telemetry;

pub use data_files::{DataFiles, DiskSpace, backup_name, disk_space, utc, verify_copy};
pub use run_origin::RunOrigin;
pub use store_opening::StoreOpening;

use telemetry::TelemetryHandle;

/// The file in the data directory with the key that encrypts settings.
const KEY_FILE: &str = "settings.key";

/// An engine with everything it uses.
pub struct App {
    /// The engine.
    pub engine: Engine,
    /// Everything that can be called.
    pub catalog: Catalog,
    /// Plans for intents.
    pub planner: Planner,
    /// The downstream servers.
    pub servers: Arc<Servers>,
    /// The documents' workflows, which runs can call by name.
    pub workflow_map: Arc<WorkflowMap>,
    /// The tools that need no server.
    pub builtin: Arc<Builtin>,
    /// The program's own tools.
    pub(crate) own_tools: Arc<AppTools>,
    /// The model that plans and answers prompts, if there is one.
    pub model: Option<Arc<dyn Model>>,
    /// Secrets and settings that servers and documents refer to by name.
    pub settings: Settings,
    /// Telemetry export, if it is on.
    pub telemetry: Option<Telemetry>,
}

/// Everything that can be called, without an engine.
#[derive(Clone)]
pub struct ToolSources {
    /// The downstream servers.
    pub servers: Arc<Servers>,
    /// The tools that need no server.
    pub builtin: Arc<Builtin>,
    /// Secrets and settings that servers refer to by name.
    pub settings: Settings,
}

/// Why the parts could not be assembled.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] tramline_engine::ports::StoreFault),
    /// A root cannot be opened.
    #[error(transparent)]
    Root(#[from] tramline_builtin::RootError),
    /// A configuration file cannot be read.
    #[error("{0}")]
    Config(String),
    /// A server entry is invalid.
    #[error("{}", flaws(.0))]
    Servers(Vec<ConfigFlaw>),
    /// The model cannot be used.
    #[error("{0}")]
    Model(String),
    /// A tool of the program itself is invalid.
    #[error("{0}")]
    Tool(String),
}

fn flaws(all: &[ConfigFlaw]) -> String {
    all.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// The servers that the configuration names, directly or in its MCP client configuration.
pub fn configured_servers(config: &Config) -> Result<Vec<ServerConfig>, AppError> {
    let mut servers = match &config.mcp_config {
        None => Vec::new(),
        Some(path) => {
            let value = config::read_mcp_config(path).map_err(AppError::Config)?;
            read(&value).map_err(AppError::Servers)?
        }
    };
    let own = read_servers(&config.entries.to_value(), "/mcpServers");
    servers.extend(own.map_err(AppError::Servers)?);
    Ok(servers)
}

/// The servers that documents may use without declaring them.
pub fn known_servers(config: &Config) -> Result<Vec<Str>, AppError> {
    let configured = configured_servers(config)?
        .into_iter()
        .map(|server| server.name);
    Ok(configured.chain(config.tools.keys().cloned()).collect())
}

/// The server info for these documents: a single document provides its own, several are served
/// under Tramline's name.
pub fn server_info<'d>(
    documents: impl IntoIterator<Item = &'d GraphDocument>,
) -> ServerDescription {
    let documents: Vec<_> = documents.into_iter().collect();
    let content = documents.iter().map(|each| each.content.clone()).collect();
    let servers: Vec<_> = documents.iter().map(|each| &each.server).collect();
    if let [only] = servers.as_slice() {
        return ServerDescription {
            name: only.name.clone(),
            version: only.version.clone(),
            title: Some(only.title.clone()),
            instructions: only.instructions.clone(),
            content,
        };
    }
    let instructions = servers
        .iter()
        .filter_map(|server| server.instructions.as_deref());
    let instructions: Vec<_> = instructions.collect();
    ServerDescription {
        name: "tramline".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        title: Some("Tramline".into()),
        instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n").into()),
        content,
    }
}

/// The servers of these documents and the configured ones.
pub fn servers<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
) -> Result<Vec<ServerConfig>, AppError> {
    let mut servers: BTreeMap<Str, ServerConfig> = configured_servers(config)?
        .into_iter()
        .map(|server| (server.name.clone(), server))
        .collect();
    for document in documents {
        // The document's entry wins: its author knows what its names mean.
        let own = read_servers(&document.servers, "/mcpServers").map_err(AppError::Servers)?;
        servers.extend(own.into_iter().map(|server| (server.name.clone(), server)));
    }
    Ok(servers.into_values().collect())
}

/// The embedder for search, if a model is configured.
fn embedder(config: &Config) -> Result<Option<Arc<dyn Embedder>>, AppError> {
    let opened = config.embedder.as_deref().map(tramline_embed::open);
    opened
        .transpose()
        .map_err(|unreadable| AppError::Config(unreadable.to_string()))
}

/// Protects the paths that file tools must not touch with these documents and servers, also from
/// other processes on the same data directory, and theirs from us.
pub(crate) fn protect<'d>(
    builtin: &Builtin,
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
    servers: &[ServerConfig],
    settings: &Settings,
) {
    let lookup = variable_lookup(settings);
    let (servers, roots) = (servers.to_vec(), config.roots.clone());
    let fixed = protected_paths::paths(config, documents);
    let own = move || -> Vec<ProtectedPath> {
        let started = servers
            .iter()
            .flat_map(|server| protected_paths::server_files(server, &roots, &*lookup));
        fixed.iter().cloned().chain(started).collect()
    };
    let Some(data_dir) = config.data_dir.clone() else {
        return builtin.protect(own);
    };
    // A data directory that cannot be written has no other processes that serve agents.
    let list = ProtectedList::publish(&data_dir, &own()).unwrap_or_default();
    builtin.protect(move || {
        let others = protected_paths::others(&data_dir, list.as_ref());
        own().into_iter().chain(others).collect()
    });
}

/// The variables and settings that servers and their commands may refer to.
fn variable_lookup(settings: &Settings) -> VariableLookup {
    let settings = settings.clone();
    Arc::new(move |name| match name.strip_prefix("settings.") {
        Some(key) => settings.value(key)?.ok().map(Into::into),
        None => std::env::var(name).ok(),
    })
}

/// Records which servers use which settings, for listings, and redacts the servers' credentials.
pub fn register_setting_users(
    settings: &Settings,
    servers: &[ServerConfig],
) -> Result<(), AppError> {
    let named = servers.iter().flat_map(|server| {
        let keys = server.settings().into_iter();
        keys.map(|key| (key, format!("server {}", server.name)))
    });
    settings.set_users(named.collect());
    credentials::hide(settings, servers)
}

fn store(config: &Config) -> Result<Arc<dyn Store>, AppError> {
    if let Some(shared) = &config.store {
        return shared_store::open(shared, config);
    }
    Ok(match &config.data_dir {
        Some(dir) => Arc::new(with_warnings(Sqlite::open(dir)?, config)),
        None => Arc::new(Sqlite::in_memory()?),
    })
}

/// Reports problems of a store that is usable anyway.
fn with_warnings(store: Sqlite, config: &Config) -> Sqlite {
    for warning in store.warnings() {
        config
            .warn
            .inspect(|warn| warn(&format!("warning: {warning}")));
    }
    store
}

/// Reads the whole data directory and verifies its checksums; `None` if there is no data directory.
pub async fn verify(config: &Config) -> Result<Option<Verification>, AppError> {
    let own = config
        .data_dir
        .as_deref()
        .filter(|_| config.store.is_none());
    let Some(dir) = own.filter(|dir| Sqlite::is_at(dir)) else {
        return Ok(None);
    };
    Ok(Some(Sqlite::open(dir)?.verify().await?))
}

/// The settings from the store and the environment.
fn settings(config: &Config, store: Arc<dyn Store>) -> Result<Settings, AppError> {
    let at = config.key_file.clone();
    let at = match config.store {
        Some(_) => Some(shared_store::key_file(config)?),
        None => at.or_else(|| Some(config.data_dir.as_ref()?.join(KEY_FILE))),
    };
    let vault = match at {
        Some(file) => Vault::at(file),
        None => Vault::in_memory().map_err(|fault| AppError::Config(fault.to_string()))?,
    };
    let text = |text: std::ffi::OsString| text.into_string().ok();
    let variables = std::env::vars_os();
    let variables = variables.filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    if config.store.is_some() {
        shared_store::check_key(&store, &vault)?;
    }
    let key = vault.hex();
    let wrong = |fault: &dyn std::fmt::Display| AppError::Config(fault.to_string());
    let settings = Settings::new(store, Arc::new(vault), variables).map_err(|it| wrong(&it))?;
    if let Some(password) = config.store.as_ref().and_then(|store| store.url.password()) {
        settings
            .redact_also("store.password", &password)
            .map_err(|it| wrong(&it))?;
    }
    if let Some(key) = key {
        settings
            .redact_also(KEY_FILE, &key)
            .map_err(|it| wrong(&it))?;
    }
    Ok(settings)
}

/// The settings for read-only commands: creates no store.
pub fn settings_read_only(config: &Config) -> Result<Settings, AppError> {
    let there = config.data_dir.as_deref().is_some_and(Sqlite::is_at);
    let store = match there || config.store.is_some() {
        true => store(config)?,
        false => Arc::new(Sqlite::in_memory()?),
    };
    settings(config, store)
}

/// Everything these documents can call. Starts nothing yet.
pub fn tool_sources<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
    settings: Settings,
) -> Result<ToolSources, AppError> {
    tool_sources_with_telemetry(config, documents, settings, &TelemetryHandle::default())
}

fn tool_sources_with_telemetry<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
    settings: Settings,
    telling: &TelemetryHandle,
) -> Result<ToolSources, AppError> {
    let documents: Vec<_> = documents.into_iter().collect();
    let servers = servers(config, documents.iter().copied())?;
    register_setting_users(&settings, &servers)?;
    let gate = config.gate.clone();
    let secrets = settings.clone();
    let redact = RedactText::new(move |text| secrets.redact_text(text).into_owned());
    let options = ClientOptions {
        lookup: variable_lookup(&settings),
        redact: redact.clone(),
        redact_tool: {
            let settings = settings.clone();
            Arc::new(move |tool| settings.redact_tool(tool))
        },
        permit: Arc::new(move |server| gate.check(server)),
        wire_log_size: config.exchanges,
        ..ClientOptions::default()
    };
    let allowed = BuiltinAccess {
        roots: config.roots.clone(),
        documents: config.documents_dir.clone(),
        protected: Vec::new(),
        hosts: config.hosts.clone(),
        shell: config.shell,
        redact,
    };
    let mut builtin = Builtin::new(allowed)?;
    protect(&builtin, config, documents, &servers, &settings);
    let model = config.open_model(&*options.lookup, &settings);
    if let Some(model) = model.map_err(AppError::Model)? {
        builtin = builtin.with_model(telling.traced_model(config, model));
    }
    let servers = Arc::new(Servers::new(servers, options));
    telling.set_servers(&servers);
    Ok(ToolSources {
        servers,
        builtin: Arc::new(builtin),
        settings,
    })
}

/// Who may answer, and how the command line refers to this data directory.
fn approvals(config: &Config) -> Approvals {
    let elsewhere = config.data_dir.as_ref();
    let is_elsewhere =
        |dir: &&PathBuf| config.store.is_none() && **dir != config::default_data_dir();
    let elsewhere = elsewhere.filter(is_elsewhere);
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

/// Opens the store and starts an engine on it, with the documents' servers and the configured ones.
pub fn open<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
) -> Result<App, AppError> {
    open_with_store(config, documents, StoreOpening::default())
}

/// Like [`open`], with a store that is already being opened.
pub fn open_with_store<'d>(
    config: &Config,
    documents: impl IntoIterator<Item = &'d GraphDocument>,
    opening: StoreOpening,
) -> Result<App, AppError> {
    let documents: Vec<_> = documents.into_iter().collect();
    let shelf = WorkflowMap::new(documents.iter().copied().flat_map(callables));
    let shelf = Arc::new(shelf);
    let store = opening.store(config)?;
    let settings = settings(config, Arc::clone(&store))?;
    let telling = TelemetryHandle::open(config, &settings);
    let ToolSources {
        servers,
        builtin,
        settings,
    } = tool_sources_with_telemetry(config, documents, settings, &telling)?;
    let tools = ToolRouter::new(Arc::clone(&servers) as _).with(SERVER, Arc::clone(&builtin) as _);
    let own_tools = AppTools::new(Arc::new(tools), &config.tools).map_err(AppError::Tool)?;
    let own_tools = Arc::new(own_tools);
    let workflows = Arc::clone(&shelf) as _;
    let mut options = EngineOptions {
        policy: config.policy.clone(),
        approvals: approvals(config),
        budget: config.budget,
        quota: disk_quota::quota(config),
        ceilings: config.limits.ceilings,
        descendants_max: config.limits.descendants,
        driven_max: config.limits.runs_at_once,
        replay_store: Some(ReplayStore::new(|| Ok(Arc::new(Sqlite::in_memory()?)))),
        settings: Some(settings.clone()),
        observer: telling.observer(config),
        ..EngineOptions::default()
    };
    if let Some(name) = &config.name {
        options.process_name = name.clone();
    }
    if let Some(door) = config.door {
        options.audit_channel = door;
    }
    let mut tools: Arc<dyn Tools> = Arc::clone(&own_tools) as _;
    if !config.throttle.is_empty() {
        tools = Arc::new(Throttle::new(tools, config.throttle.clone()));
    }
    let options = ServiceOptions {
        engine: options,
        embedder: embedder(config)?,
        learn: !config.learning_off,
    };
    let Services {
        engine,
        catalog,
        planner,
    } = Services::with_workflows(store, tools, workflows, options);
    Ok(App {
        engine,
        catalog,
        planner,
        servers,
        workflow_map: shelf,
        own_tools,
        model: builtin.model(),
        builtin,
        settings,
        telemetry: telling.telemetry,
    })
}

/// The names of the saved workflows; empty if the data directory cannot be read.
pub async fn saved_names(config: &Config) -> Vec<Str> {
    let existing = config.data_dir.as_deref().filter(|dir| dir.is_dir());
    if existing.is_none() && config.store.is_none() {
        return Vec::new();
    }
    let Ok(store) = store(config) else {
        return Vec::new();
    };
    let library = Library::new(store, Arc::new(WorkflowMap::default()));
    let all = library.list(None).await.unwrap_or_default();
    all.iter().map(|saved| saved.name.clone()).collect()
}

/// A document's workflows as callables. They run where their caller runs.
pub fn callables(document: &GraphDocument) -> impl Iterator<Item = Callable> + '_ {
    let all = document.workflows.iter().chain(&document.linked_workflows);
    all.map(|graph| Callable {
        graph: Arc::clone(graph),
        origin: Value::Null,
    })
}

impl App {
    /// Everything that can be called here.
    pub fn tool_sources(&self) -> ToolSources {
        ToolSources {
            servers: Arc::clone(&self.servers),
            builtin: Arc::clone(&self.builtin),
            settings: self.settings.clone(),
        }
    }

    /// The parts that front ends serve.
    pub fn services(&self) -> Services {
        Services {
            engine: self.engine.clone(),
            catalog: self.catalog.clone(),
            planner: self.planner.clone(),
        }
    }

    /// The planner loop over all tools.
    pub fn loop_runner(&self) -> LoopRunner {
        let runner = LoopRunner::new(self.planner.clone());
        match &self.model {
            Some(model) => runner.with_model(Arc::clone(model)),
            None => runner,
        }
    }

    /// Stops driving, shuts the downstream servers down, and flushes telemetry.
    pub async fn close(&self) {
        self.engine.close().await;
        self.servers.shutdown().await;
        if let Some(telemetry) = &self.telemetry {
            telemetry.close().await;
        }
    }
}
