//! Puts the parts together: a store, the tools, an engine over both.

use crate::config::{self, Config};
use std::collections::BTreeMap;
use std::sync::Arc;
use tramline_builtin::{Allowed, Builtin, SERVER};
use tramline_core::formats::yaml_graph::Document;
use tramline_core::Str;
use tramline_engine::seams::Store;
use tramline_engine::{Engine, Options, Toolbox};
use tramline_mcp::client::{self, Servers};
use tramline_mcp::config::{ConfigFlaw, ServerConfig, read, read_servers};
use tramline_store::Sqlite;

/// An engine with what stands behind it.
pub struct House {
    /// The engine.
    pub engine: Engine,
    /// The downstream servers.
    pub servers: Arc<Servers>,
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
}

fn flaws(all: &[ConfigFlaw]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The servers that the configuration file names.
pub fn configured(config: &Config) -> Result<Vec<ServerConfig>, Trouble> {
    match &config.mcp_config {
        None => Ok(Vec::new()),
        Some(path) => {
            let value = config::read_mcp_config(path).map_err(Trouble::Config)?;
            read(&value).map_err(Trouble::Servers)
        }
    }
}

/// Opens the store and puts an engine over it, with the documents' servers and the configured ones.
pub fn open(config: &Config, documents: &[Document]) -> Result<House, Trouble> {
    let mut servers: BTreeMap<Str, ServerConfig> =
        configured(config)?.into_iter().map(|server| (server.name.clone(), server)).collect();
    for document in documents {
        // Whoever writes the graph knows best what its names mean.
        let own = read_servers(&document.servers, "/mcpServers").map_err(Trouble::Servers)?;
        servers.extend(own.into_iter().map(|server| (server.name.clone(), server)));
    }
    let servers = Arc::new(Servers::new(servers.into_values(), client::Options::default()));
    let allowed = Allowed { roots: config.roots.clone(), hosts: config.hosts.clone() };
    let builtin = Arc::new(Builtin::new(allowed)?);
    let tools = Toolbox::new(Arc::clone(&servers) as _).with(SERVER, builtin);
    let store: Arc<dyn Store> = match &config.data_dir {
        Some(dir) => Arc::new(Sqlite::open(dir)?),
        None => Arc::new(Sqlite::in_memory()?),
    };
    let engine = Engine::new(store, Arc::new(tools), Options::default());
    Ok(House { engine, servers })
}

impl House {
    /// Stops driving and ends the downstream servers.
    pub async fn close(self) {
        self.engine.stop();
        self.servers.shutdown().await;
    }
}
