//! The catalog: everything that can be called, searched for and saved.

use crate::library::{Library, LibraryError};
use crate::registry::Registry;
use crate::search::Embedder;
use crate::usage_stats::{RunCounter, UsageStats};
use std::sync::Arc;
use tramline_engine::ports::{RunListener, Store, Tools, Workflows};
use tramline_engine::settings::{Settings, redacting};
use tramline_workflow::ids::ToolName;
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// Everything that can be called. Clones share everything.
#[derive(Clone)]
pub struct Catalog {
    library: Arc<Library>,
    registry: Arc<Registry>,
}

impl Catalog {
    /// A catalog of these tools, of the loaded documents' workflows and of the saved ones.
    pub fn new(
        store: Arc<dyn Store>,
        tools: Arc<dyn Tools>,
        workflows: Arc<dyn Workflows>,
        settings: Option<Settings>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let tools = redacting(tools, settings.as_ref());
        let library = Arc::new(Library::new(Arc::clone(&store), workflows));
        let usage = Arc::new(UsageStats::new(Arc::clone(&store)));
        let registry = Registry::new(
            store,
            tools,
            Arc::clone(&library),
            usage,
            embedder,
            settings,
        );
        Self {
            library,
            registry: Arc::new(registry),
        }
    }

    /// The saved workflows.
    pub fn library(&self) -> &Arc<Library> {
        &self.library
    }

    /// The list of everything that can be called.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The workflows that runs can call: those of the loaded documents and the saved ones.
    pub fn workflows(&self) -> Arc<dyn Workflows> {
        Arc::clone(&self.library) as _
    }

    /// Counts the runs of saved workflows.
    pub fn run_listener(&self) -> Arc<dyn RunListener> {
        let library = Arc::clone(&self.library);
        Arc::new(RunCounter::new(library, Arc::clone(self.registry.usage())))
    }

    /// Removes a saved workflow with all its versions and its usage counts.
    pub async fn remove_workflow(&self, name: &str) -> Result<(), LibraryError> {
        self.library.remove(name).await?;
        let name = ToolName::new(WORKFLOW_SERVER, name).to_string();
        Ok(self.registry.usage().forget(&name).await?)
    }
}

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Catalog").finish_non_exhaustive()
    }
}
