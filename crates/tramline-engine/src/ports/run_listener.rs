//! `RunListener`: learns that runs start and complete, for usage counts and plan histories.
//!
//! A run never depends on it: a listener has no way to fail, and its background work ends with the engine.

use crate::engine::LoadedRun;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

/// Learns that runs of this process start and complete.
#[async_trait]
pub trait RunListener: Send + Sync + 'static {
    /// A run of this graph has started. Returns work for the background, if there is any; the work must end soon after
    /// `stop` fires.
    fn on_start(
        &self,
        graph: &Arc<Graph>,
        run: &RunId,
        at_ms: i64,
        stop: &CancellationToken,
    ) -> Option<BoxFuture<'static, ()>> {
        let _ = (graph, run, at_ms, stop);
        None
    }

    /// Whether [`RunListener::on_end`] needs this run, which has ended. The journal is loaded only if it does.
    fn needs_end(&self, run: &Run) -> bool {
        let _ = run;
        false
    }

    /// A run that [`RunListener::needs_end`] selected has ended. Its caller waits for this.
    async fn on_end(&self, ended: &LoadedRun) {
        let _ = ended;
    }
}
