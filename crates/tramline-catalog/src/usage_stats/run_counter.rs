//! Counts the runs of saved workflows, written in the background.

use super::UsageStats;
use crate::library::Library;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tramline_engine::ports::RunListener;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::{RunId, ToolName};
use tramline_workflow::workflow::WORKFLOW_SERVER;

/// Delay before usage counts of saved workflows are written, so that a burst of runs shares one
/// write.
const USAGE_WRITE_DELAY: Duration = Duration::from_millis(200);

/// Counts the runs of saved workflows.
pub(crate) struct RunCounter {
    library: Arc<Library>,
    usage: Arc<UsageStats>,
}

impl RunCounter {
    pub(crate) fn new(library: Arc<Library>, usage: Arc<UsageStats>) -> Self {
        Self { library, usage }
    }
}

impl RunListener for RunCounter {
    fn on_start(
        &self,
        graph: &Arc<Graph>,
        run: &RunId,
        at_ms: i64,
        stop: &CancellationToken,
    ) -> Option<BoxFuture<'static, ()>> {
        if !self.library.contains(graph) {
            return None;
        }
        let name = ToolName::new(WORKFLOW_SERVER, graph.workflow.name.clone());
        let name = name.to_string().into();
        if !self.usage.record_run(name, at_ms, run.as_str()) {
            return None;
        }
        let (usage, stop) = (Arc::clone(&self.usage), stop.clone());
        Some(Box::pin(async move {
            // Runs come in bursts, and one write can cover many.
            let _ = tokio::time::timeout(USAGE_WRITE_DELAY, stop.cancelled()).await;
            let _ = usage.write().await;
        }))
    }
}
