//! Overlays for a graph: the path of an SOP session, and what replans added.

use crate::AppState;
use crate::response::{self, ApiError, to_json};
use axum::Json;
use axum::extract::{Extension, Path, State};
use serde_json::{Value as Told, json};
use tramline_engine::{Engine, LoadedRun, RunOwner};
use tramline_views::diagram::DiagramJson;
use tramline_views::pause_view;
use tramline_views::sop_history::SopHistory;
use tramline_workflow::graph::Patch;
use tramline_workflow::ids::{Checkpoint, RunId, Seq};
use tramline_workflow::journal::{Entry, Event, Pause, RunEvent};
use tramline_workflow::workflow::Action;

pub(crate) async fn sop_history(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    Path(run): Path<String>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    if !response::load_started(&desk, &owner, &run)
        .await?
        .is_sop_session
    {
        return Err(ApiError::bad_request(format!(
            "{run} is not an SOP session"
        )));
    }
    let entries = desk.engine.entries(&run).await?;
    let mut told = serde_json::to_value(SopHistory::of(&entries)).unwrap_or_default();
    let (procedure, todos, slots) = desk
        .engine
        .read_sop_session(&run, |walk| {
            let drawing = DiagramJson::of_sop(walk.sop());
            (drawing, walk.todos.clone(), to_json(&walk.slots))
        })
        .await?;
    told["procedure"] = json!(procedure);
    told["todos"] = json!(todos);
    told["slots"] = slots;
    Ok(Json(told))
}

pub(crate) async fn amendments(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    Path(run): Path<String>,
) -> Result<Json<Told>, ApiError> {
    let run: RunId = run.parse()?;
    let loaded = response::load(&desk.engine, &owner, &run).await?;
    let made = loaded.entries.iter();
    let made = made.filter_map(|entry| entry.event.patch().map(|(patch, by)| (entry, patch, by)));
    let made = made.enumerate().map(|(number, (entry, patch, by))| {
        let mut told = patch_json(&desk.engine, number + 1, patch);
        told["seq"] = json!(entry.seq);
        told["at_ms"] = json!(entry.at_ms);
        told["by"] = json!(by);
        told
    });
    let made: Vec<_> = made.collect();
    let mut told = json!({});
    if let (Some(last), Some(seq)) = (made.last(), open_question(&loaded)) {
        let point = Checkpoint {
            run: run.clone(),
            seq,
        };
        let mut proposed = last.clone();
        proposed["checkpoint_id"] = json!(point.to_string());
        told["proposed"] = proposed;
    }
    told["amendments"] = made.into();
    Ok(Json(told))
}

/// What a patch adds. A patch never removes anything.
fn patch_json(engine: &Engine, number: usize, patch: &Patch) -> Told {
    let ids: Vec<_> = patch.nodes.iter().map(|node| &node.id).collect();
    let edges = patch.edges.iter().map(|edge| [&edge.from, &edge.to]);
    let calls = patch.nodes.iter().filter_map(|node| {
        let known = match &node.action {
            Action::Call { tool, .. } => engine.tools().known(tool),
            _ => None,
        };
        pause_view::planned_call_value(node, known.map(|tool| tool.hints.into()))
    });
    json!({
        "patch": number,
        "added": ids,
        "calls": calls.map(|call| to_json(&call)).collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "removed": [],
        "changed": [],
    })
}

/// The question that a patch waits for: the patch came after the last answer, and the run waits
/// after a layer.
fn open_question(loaded: &LoadedRun) -> Option<Seq> {
    let place = |fits: fn(&Event) -> bool| {
        let fits = |entry: &&Entry| fits(&entry.event);
        loaded
            .entries
            .iter()
            .rev()
            .find(fits)
            .map(|entry| entry.seq)
    };
    let amended = place(|event| matches!(event, Event::Run(RunEvent::GraphExtended { .. })))?;
    let answered = place(|event| matches!(event, Event::Run(RunEvent::Answered { .. })));
    let mut asked = loaded.run.pauses.iter();
    let (seq, _) = asked.find(|(_, pause)| matches!(pause, Pause::Layer { .. }))?;
    answered
        .is_none_or(|answered| answered < amended)
        .then_some(*seq)
}
