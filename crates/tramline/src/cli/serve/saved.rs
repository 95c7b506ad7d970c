//! Saved workflows beside the served documents: as tools where that is asked for, and always as
//! something that graphs can call.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tramline_core::graph::Graph;
use tramline_core::{Str, Value};
use tramline_engine::{Engine, Fault};
use tramline_mcp::server::Server;

/// How often it is looked for what other processes have saved: whoever saves something and then
/// looks for it waits no longer than people do.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The saved workflows that a server shows.
pub(super) struct Shown {
    engine: Engine,
    /// Where runs of them are to be found again; nothing where they are no tools.
    origin: Option<Value>,
    /// What of the library is offered now.
    generation: AtomicU64,
}

impl Shown {
    pub(super) fn new(engine: &Engine, origin: Option<Value>) -> Self {
        Self {
            engine: engine.clone(),
            origin,
            generation: AtomicU64::new(0),
        }
    }

    /// These graphs, and the saved workflows after them. A document's graph goes before a saved one
    /// of its name.
    pub(super) async fn with(
        &self,
        mut graphs: Vec<(Arc<Graph>, Value)>,
    ) -> Result<Vec<(Arc<Graph>, Value)>, Fault> {
        let Some(origin) = &self.origin else {
            return Ok(graphs);
        };
        let library = self.engine.library();
        library.refresh().await?;
        self.generation
            .store(library.generation(), Ordering::Relaxed);
        let names: BTreeSet<Str> = graphs
            .iter()
            .map(|(graph, _)| graph.workflow.name.clone())
            .collect();
        let saved = library.tools().into_iter().map(|(_, graph)| graph);
        let saved = saved.filter(|graph| !names.contains(&graph.workflow.name));
        graphs.extend(saved.map(|graph| (graph, origin.clone())));
        Ok(graphs)
    }

    /// The names of the saved workflows.
    pub(super) async fn names(&self) -> Vec<Str> {
        let all = self.engine.library().list(None).await.unwrap_or_default();
        all.iter().map(|saved| saved.name.clone()).collect()
    }

    /// Waits until other saved workflows are to be offered than now.
    pub(super) async fn changed(&self, server: &Server) {
        if self.origin.is_none() {
            return std::future::pending().await;
        }
        let mut saves = server.saves();
        let library = self.engine.library();
        loop {
            // What cannot be read now is told by whoever uses it.
            let _ = library.refresh().await;
            if library.generation() != self.generation.load(Ordering::Relaxed) {
                return;
            }
            let _ = tokio::time::timeout(LOOK_EVERY, saves.changed()).await;
        }
    }
}
