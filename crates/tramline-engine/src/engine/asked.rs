//! What a run asks, as a person needs to see it: the call, its effect on files, and the context.

use super::{Engine, Loaded};
use crate::fault::Fault;
use std::time::Duration;
use tramline_core::ids::{RunId, Seq};
use tramline_core::journal::{Pause, ProposedCall};
use tramline_core::question::{self, Extent};
use tramline_core::{Map, Value};

/// A preview that takes longer is left out: a network drive must not hold up the question.
const PREVIEW_MAX: Duration = Duration::from_secs(5);

impl Engine {
    /// Everything that a run asks, as data: see [`question::detailed`]. Redacted like a journal.
    pub async fn questions(&self, loaded: &Loaded) -> Vec<Value> {
        let mut asked = Vec::new();
        for (seq, pause) in &loaded.run.pauses {
            asked.push(self.question(loaded, *seq, pause, Extent::Bounded).await);
        }
        asked
    }

    /// One of the questions of a run.
    pub async fn question(
        &self,
        loaded: &Loaded,
        seq: Seq,
        pause: &Pause,
        extent: Extent,
    ) -> Value {
        let Loaded { run, entries, .. } = loaded;
        let mut told = question::detailed(run, entries, seq, pause, extent);
        if let (Some(call), Value::Object(map)) = (pause.call(), &mut told) {
            let map = std::sync::Arc::make_mut(map);
            let shown = map.get("call").and_then(Value::as_object).cloned();
            let shown = self.enriched(call, shown.unwrap_or_default()).await;
            map.insert("call", shown.into());
        }
        self.discreet(told).await
    }

    /// Everything that a run asks, loaded by its name.
    pub async fn questions_of(&self, id: &RunId) -> Result<Vec<Value>, Fault> {
        Ok(self.questions(&self.load(id).await?).await)
    }

    /// A call with what only its tools can say.
    async fn enriched(&self, call: &ProposedCall, mut shown: Map) -> Map {
        if shown.get("annotations").is_none()
            && let Some(tool) = self.0.tools.known(&call.tool)
        {
            let annotations = question::annotated(&tool.hints.into());
            shown.insert("annotations", annotations);
        }
        if call.batch.is_none() {
            let preview = self.0.tools.preview(&call.tool, &call.arguments);
            if let Ok(Some(change)) = tokio::time::timeout(PREVIEW_MAX, preview).await {
                shown.insert("file", change.value());
            }
        }
        shown
    }
}
