//! Saved workflows next to the served documents: as tools if requested, and always callable from
//! graphs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tramline_catalog::Catalog;
use tramline_engine::Fault;
use tramline_expr::{Str, Value};
use tramline_mcp_server::Server;
use tramline_workflow::graph::Graph;

/// How often to check for workflows that other processes saved: short enough that a person who just
/// saved one does not notice.
const LIBRARY_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The saved workflows of a server.
pub(super) struct SavedWorkflows {
    catalog: Catalog,
    /// The origin of their runs; `None` if they are not offered as tools.
    origin: Option<Value>,
    /// The version of the library that is offered now.
    generation: AtomicU64,
}

impl SavedWorkflows {
    pub(super) fn new(catalog: &Catalog, origin: Option<Value>) -> Self {
        Self {
            catalog: catalog.clone(),
            origin,
            generation: AtomicU64::new(0),
        }
    }

    /// These graphs, followed by the saved workflows. A document's graph wins over a saved one with
    /// the same name.
    pub(super) async fn append_to(
        &self,
        mut graphs: Vec<(Arc<Graph>, Value)>,
    ) -> Result<Vec<(Arc<Graph>, Value)>, Fault> {
        let Some(origin) = &self.origin else {
            return Ok(graphs);
        };
        let library = self.catalog.library();
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
        let all = self.catalog.library().list(None).await.unwrap_or_default();
        all.iter().map(|saved| saved.name.clone()).collect()
    }

    /// Waits until the saved workflows differ from what is offered.
    pub(super) async fn wait_for_change(&self, server: &Server) {
        if self.origin.is_none() {
            return std::future::pending().await;
        }
        let mut saves = server.saves();
        let library = self.catalog.library();
        loop {
            // A read error is reported by the next use.
            let _ = library.refresh().await;
            if library.generation() != self.generation.load(Ordering::Relaxed) {
                return;
            }
            let _ = tokio::time::timeout(LIBRARY_CHECK_INTERVAL, saves.changed()).await;
        }
    }
}
