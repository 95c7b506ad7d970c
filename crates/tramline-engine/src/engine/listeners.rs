//! Calls the listeners when runs start and end.

use super::{Engine, EngineInner};
use crate::ports::RunListener;
use std::sync::{Arc, PoisonError};
use tramline_workflow::graph::Graph;
use tramline_workflow::ids::RunId;
use tramline_workflow::run::Run;

impl Engine {
    /// Calls this listener from now on when runs start and end.
    pub fn listen(&self, listener: Arc<dyn RunListener>) {
        let all = self.0.listeners.write();
        Arc::make_mut(&mut all.unwrap_or_else(PoisonError::into_inner)).push(listener);
    }

    pub(super) fn notify_start(&self, graph: &Arc<Graph>, run: &RunId, at_ms: i64) {
        for listener in self.0.listeners().iter() {
            if let Some(work) = listener.on_start(graph, run, at_ms, &self.0.stop) {
                self.0.tasks.spawn(work);
            }
        }
    }
}

impl EngineInner {
    fn listeners(&self) -> Arc<Vec<Arc<dyn RunListener>>> {
        let all = self.listeners.read();
        Arc::clone(&all.unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the listeners that need it that a run has ended.
    pub(super) async fn notify_end(&self, run: &Run) {
        let listeners = self.listeners();
        let needs = |listener: &&Arc<dyn RunListener>| listener.needs_end(run);
        if !listeners.iter().any(|listener| needs(&listener)) {
            return;
        }
        let Ok(loaded) = self.load(&run.id).await else {
            return;
        };
        for listener in listeners.iter().filter(needs) {
            listener.on_end(&loaded).await;
        }
    }
}
