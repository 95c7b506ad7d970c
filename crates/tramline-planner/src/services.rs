//! The engine, the catalog and the planner over one store.

use crate::planning::Planner;
use std::sync::Arc;
use tramline_catalog::Catalog;
use tramline_catalog::search::Embedder;
use tramline_engine::WorkflowMap;
use tramline_engine::ports::{Store, Tools, Workflows};
use tramline_engine::{Engine, EngineOptions};

/// What front ends serve. Clones share everything.
#[derive(Clone)]
pub struct Services {
    /// Drives runs.
    pub engine: Engine,
    /// Knows what can be called.
    pub catalog: Catalog,
    /// Plans for intents.
    pub planner: Planner,
}

/// The options of the services.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// The options of the engine.
    pub engine: EngineOptions,
    /// The embedding model for search; without one, search uses words and usage only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether plans that succeeded are recorded and used for new plans.
    pub learn: bool,
}

impl Default for ServiceOptions {
    fn default() -> Self {
        EngineOptions::default().into()
    }
}

impl From<EngineOptions> for ServiceOptions {
    fn from(engine: EngineOptions) -> Self {
        Self {
            engine,
            embedder: None,
            learn: true,
        }
    }
}

impl Services {
    /// The services over a store and tools, without documents.
    pub fn new(
        store: Arc<dyn Store>,
        tools: Arc<dyn Tools>,
        options: impl Into<ServiceOptions>,
    ) -> Self {
        Self::with_workflows(store, tools, Arc::new(WorkflowMap::default()), options)
    }

    /// The services whose runs can call these workflows and the saved ones.
    pub fn with_workflows(
        store: Arc<dyn Store>,
        tools: Arc<dyn Tools>,
        workflows: Arc<dyn Workflows>,
        options: impl Into<ServiceOptions>,
    ) -> Self {
        let ServiceOptions {
            engine,
            embedder,
            learn,
        } = options.into();
        let catalog = Catalog::new(
            Arc::clone(&store),
            Arc::clone(&tools),
            workflows,
            engine.settings.clone(),
            embedder.clone(),
        );
        let engine = Engine::with_workflows(store, tools, catalog.workflows(), engine);
        engine.listen(catalog.run_listener());
        let planner = Planner::new(engine.clone(), catalog.clone(), embedder, learn);
        Self {
            engine,
            catalog,
            planner,
        }
    }
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").finish_non_exhaustive()
    }
}
