//! The pauses of a run as a person needs to see them: the call, its effect on files, and the
//! context.

use super::{Engine, LoadedRun};
use crate::fault::Fault;
use crate::ports::RunStatus;
use std::time::Duration;
use tramline_expr::{Map, Value};
use tramline_views::pause_view::{self, Extent};
use tramline_workflow::ids::{RunId, Seq};
use tramline_workflow::journal::{Pause, ProposedCall};
use tramline_workflow::run::Run;

/// Time for a preview. A slower one is omitted: a network drive must not delay the question.
const PREVIEW_MAX: Duration = Duration::from_secs(5);

impl Engine {
    /// All pauses of a run as data: see [`detailed_value`](tramline_views::pause_view::detailed_value). Redacted like a journal.
    pub async fn pause_details(&self, loaded: &LoadedRun) -> Vec<Value> {
        let mut asked = Vec::new();
        for (seq, pause) in &loaded.run.pauses {
            asked.push(
                self.pause_detail(loaded, *seq, pause, Extent::Bounded)
                    .await,
            );
        }
        asked
    }

    /// One pause of a run.
    pub async fn pause_detail(
        &self,
        loaded: &LoadedRun,
        seq: Seq,
        pause: &Pause,
        extent: Extent,
    ) -> Value {
        let LoadedRun { run, entries, .. } = loaded;
        let mut told = pause_view::detailed_value(run, entries, seq, pause, extent);
        if let (Some(call), Value::Object(map)) = (pause.call(), &mut told) {
            let map = std::sync::Arc::make_mut(map);
            let shown = map.get("call").and_then(Value::as_object).cloned();
            let mut shown = shown.unwrap_or_default();
            // The tools here may be others than those that the run will call.
            if let Ok(false) = self.is_foreign(&run.id, Some(loaded)).await {
                shown = self.add_tool_details(call, shown).await;
            }
            map.insert("call", shown.into());
        }
        if let Value::Object(map) = &mut told {
            self.add_session(run, std::sync::Arc::make_mut(map)).await;
        }
        if let (Pause::Child { run: child, .. }, Value::Object(map)) = (pause, &mut told)
            && let Some(questions) = self.child_questions(child).await
        {
            std::sync::Arc::make_mut(map).insert("child", questions);
        }
        self.redact_value(told).await
    }

    /// Adds the calls of the SOP session whose call a run asks about, if it is such a run: its own
    /// journal begins with the question.
    async fn add_session(&self, run: &Run, told: &mut Map) {
        let Some(parent) = &run.started.parent else {
            return;
        };
        let row = self.0.store.row(&parent.run).await;
        if !matches!(row, Ok(Some(row)) if row.index_row.status == RunStatus::SopSession) {
            return;
        }
        if let Ok(entries) = self.entries(&parent.run).await {
            let done = pause_view::session_calls_value(&entries, &run.id);
            told.insert("done", done);
        }
    }

    /// All pauses of a run, loaded by its id.
    pub async fn load_pause_details(&self, id: &RunId) -> Result<Vec<Value>, Fault> {
        Ok(self.pause_details(&self.load(id).await?).await)
    }

    /// A call with the details that only its tools know.
    async fn add_tool_details(&self, call: &ProposedCall, mut shown: Map) -> Map {
        if shown.get("annotations").is_none()
            && let Some(tool) = self.0.tools.known(&call.tool)
        {
            let annotations = pause_view::annotations_value(&tool.hints.into());
            shown.insert("annotations", annotations);
        }
        if call.batch.is_none() {
            let preview = self.0.tools.preview(&call.tool, &call.arguments);
            if let Ok(Some(change)) = tokio::time::timeout(PREVIEW_MAX, preview).await {
                shown.insert("file", change.to_value());
            }
        }
        shown
    }
}
