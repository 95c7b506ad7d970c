//! How often saved workflows ran: counted behind whoever starts them, and forgotten with them.

use super::Engine;
use crate::library::Refusal;
use std::sync::Arc;
use std::time::Duration;
use tramline_core::graph::Graph;
use tramline_core::ids::{RunId, ToolName};
use tramline_core::workflow::WORKFLOW_SERVER;

/// Uses of saved workflows are written after so long.
const COUNT_AFTER: Duration = Duration::from_millis(200);

impl Engine {
    /// Counts a run of a saved workflow, behind whoever started it.
    pub(super) fn count(&self, graph: &Arc<Graph>, run: &RunId, at_ms: i64) {
        if !self.0.library.holds(graph) {
            return;
        }
        let name = ToolName::new(WORKFLOW_SERVER, graph.workflow.name.clone());
        let uses = Arc::clone(self.0.registry.uses());
        if uses.ran(name.to_string().into(), at_ms, run.as_str()) {
            self.beside(|stop| async move {
                // A little later: runs come in bursts, and one writing does for many.
                let _ = tokio::time::timeout(COUNT_AFTER, stop.cancelled()).await;
                let _ = uses.write().await;
            });
        }
    }

    /// Removes a saved workflow with all its versions, and how it was used.
    pub async fn remove_workflow(&self, name: &str) -> Result<(), Refusal> {
        self.0.library.remove(name).await?;
        let name = ToolName::new(WORKFLOW_SERVER, name).to_string();
        Ok(self.0.registry.uses().forget(&name).await?)
    }
}
