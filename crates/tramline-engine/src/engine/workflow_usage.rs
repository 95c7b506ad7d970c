//! Usage counts of saved workflows, written in the background and deleted with the workflow.

use super::Engine;
use crate::library::LibraryError;
use std::sync::Arc;
use std::time::Duration;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// Delay before usage counts of saved workflows are written, so that a burst of runs shares one
/// write.
const USAGE_WRITE_DELAY: Duration = Duration::from_millis(200);

impl Engine {
    /// Counts a run of a saved workflow in the background.
    pub(super) fn count_workflow_use(&self, graph: &Arc<Graph>, run: &RunId, at_ms: i64) {
        if !self.0.library.contains(graph) {
            return;
        }
        let name = ToolName::new(WORKFLOW_SERVER, graph.workflow.name.clone());
        let uses = Arc::clone(self.0.registry.usage());
        if uses.record_run(name.to_string().into(), at_ms, run.as_str()) {
            self.spawn_background(|stop| async move {
                // Runs come in bursts, and one write can cover many.
                let _ = tokio::time::timeout(USAGE_WRITE_DELAY, stop.cancelled()).await;
                let _ = uses.write().await;
            });
        }
    }

    /// Removes a saved workflow with all its versions and its usage counts.
    pub async fn remove_workflow(&self, name: &str) -> Result<(), LibraryError> {
        self.0.library.remove(name).await?;
        let name = ToolName::new(WORKFLOW_SERVER, name).to_string();
        Ok(self.0.registry.usage().forget(&name).await?)
    }
}
