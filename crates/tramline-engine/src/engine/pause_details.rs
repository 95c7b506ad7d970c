//! The pauses of a run as a person needs to see them: the call, its effect on files, and the
//! context.

use super::{Engine, LoadedRun};
use crate::fault::Fault;
use crate::ports::RunStatus;
use std::time::Duration;
use tramline_expr::{Map, Value};
use tramline_views::pause_view::{self, Extent};
use tramline_workflow::ids::{RunId, Seq, ToolName};
use tramline_workflow::journal::{Pause, ProposedCall};
use tramline_workflow::run::Run;

/// Who reads a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionReader {
    /// The operator, or a person who answers for them.
    Person,
    /// An agent or its client. A difference shows what is in a file, so that it gets none if the policy keeps it
    /// from reading files.
    Agent,
}

/// Time for a preview. A slower one is omitted: a network drive must not delay the question.
const PREVIEW_MAX: Duration = Duration::from_secs(5);

/// Shown instead of a difference that is kept from agents.
const HIDDEN_NOTE: &str = "the operator does not let agents read files at will; a person sees the difference in the \
                           studio and with `tramline runs show`";

impl Engine {
    /// All pauses of a run as data: see [`detailed_value`](tramline_views::pause_view::detailed_value). Redacted like a journal.
    pub async fn pause_details(&self, loaded: &LoadedRun, reader: QuestionReader) -> Vec<Value> {
        let mut asked = Vec::new();
        for (seq, pause) in &loaded.run.pauses {
            let shown = self.pause_detail(loaded, *seq, pause, Extent::Bounded, reader);
            asked.push(shown.await);
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
        reader: QuestionReader,
    ) -> Value {
        let LoadedRun { run, entries, .. } = loaded;
        let mut told = pause_view::detailed_value(run, entries, seq, pause, extent);
        if let (Some(call), Value::Object(map)) = (pause.call(), &mut told) {
            let map = std::sync::Arc::make_mut(map);
            let shown = map.get("call").and_then(Value::as_object).cloned();
            let mut shown = shown.unwrap_or_default();
            // The tools here may be others than those that the run will call.
            if let Ok(false) = self.is_foreign(&run.id, Some(loaded)).await {
                shown = self.add_tool_details(call, shown, reader).await;
            }
            map.insert("call", shown.into());
        }
        if let Value::Object(map) = &mut told {
            self.add_session(run, std::sync::Arc::make_mut(map)).await;
        }
        if let (Pause::Child { run: child, .. }, Value::Object(map)) = (pause, &mut told)
            && let Some(questions) = self.child_questions(child, reader).await
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

    /// All pauses of a run for a person, loaded by its id.
    pub async fn load_pause_details(&self, id: &RunId) -> Result<Vec<Value>, Fault> {
        let loaded = self.load(id).await?;
        Ok(self.pause_details(&loaded, QuestionReader::Person).await)
    }

    /// A call with the details that only its tools know.
    async fn add_tool_details(
        &self,
        call: &ProposedCall,
        mut shown: Map,
        reader: QuestionReader,
    ) -> Map {
        if shown.get("annotations").is_none()
            && let Some(tool) = self.0.tools.known(&call.tool)
        {
            let annotations = pause_view::annotations_value(&tool.hints.into());
            shown.insert("annotations", annotations);
        }
        if call.batch.is_none() {
            let preview = self.0.tools.preview(&call.tool, &call.arguments);
            if let Ok(Some(mut change)) = tokio::time::timeout(PREVIEW_MAX, preview).await {
                if reader == QuestionReader::Agent && self.hides_files_from_agents() {
                    change.diff = None;
                    change.cut = false;
                    change.note = Some(HIDDEN_NOTE.into());
                }
                shown.insert("file", change.to_value());
            }
        }
        shown
    }

    /// Whether agents may not read files at will.
    fn hides_files_from_agents(&self) -> bool {
        let reads = ToolName::new("builtin", "read-file");
        self.own_use_denial(&reads).is_some()
    }
}
