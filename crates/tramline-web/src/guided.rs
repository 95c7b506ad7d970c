//! What is shown over a graph: the walk along a procedure, and what replans added.

use crate::Desk;
use crate::told::{self, Wrong, plain};
use axum::Json;
use axum::extract::{Extension, Path, State};
use serde_json::{Value as Told, json};
use tramline_core::graph::Patch;
use tramline_core::ids::{Checkpoint, RunId, Seq};
use tramline_core::journal::{Entry, Event, Pause};
use tramline_core::picture::Drawing;
use tramline_core::question;
use tramline_core::walked::Walked;
use tramline_core::workflow::Action;
use tramline_engine::{Engine, Loaded, Owner};

pub(crate) async fn walk(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    if !told::begun(&desk, &owner, &run).await?.guided {
        return Err(Wrong::request(format!("{run} follows no procedure")));
    }
    let entries = desk.engine.entries(&run).await?;
    let mut told = serde_json::to_value(Walked::of(&entries)).unwrap_or_default();
    let (procedure, todos, slots) = desk
        .engine
        .walk(&run, |walk| {
            let drawing = Drawing::of_sop(walk.sop());
            (drawing, walk.todos.clone(), plain(&walk.slots))
        })
        .await?;
    told["procedure"] = json!(procedure);
    told["todos"] = json!(todos);
    told["slots"] = slots;
    Ok(Json(told))
}

pub(crate) async fn amendments(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
) -> Result<Json<Told>, Wrong> {
    let run: RunId = run.parse()?;
    let loaded = told::load(&desk.engine, &owner, &run).await?;
    let made = loaded
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Amended { patch, by } => Some((entry, patch, by)),
            Event::Started(_)
            | Event::Resumed { .. }
            | Event::StepStarted { .. }
            | Event::Spread { .. }
            | Event::Gathered { .. }
            | Event::Waiting { .. }
            | Event::AttemptFailed { .. }
            | Event::StepFinished { .. }
            | Event::StepFailed { .. }
            | Event::Paused { .. }
            | Event::Answered { .. }
            | Event::Watched { .. }
            | Event::Guided(_)
            | Event::Moved(_)
            | Event::Noted(_)
            | Event::ToolCalled(_)
            | Event::ToolAnswered(_)
            | Event::Refused(_)
            | Event::Finished { .. } => None,
        });
    let made = made.enumerate().map(|(number, (entry, patch, by))| {
        let mut told = added(&desk.engine, number + 1, patch);
        told["seq"] = json!(entry.seq);
        told["at_ms"] = json!(entry.at_ms);
        told["by"] = json!(by);
        told
    });
    let made: Vec<_> = made.collect();
    let mut told = json!({});
    if let (Some(last), Some(seq)) = (made.last(), waiting(&loaded)) {
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

/// What a patch adds. It never takes anything away.
fn added(engine: &Engine, number: usize, patch: &Patch) -> Told {
    let ids: Vec<_> = patch.nodes.iter().map(|node| &node.id).collect();
    let edges = patch.edges.iter().map(|edge| [&edge.from, &edge.to]);
    let calls = patch.nodes.iter().filter_map(|node| {
        let known = match &node.action {
            Action::Call { tool, .. } => engine.tools().known(tool),
            _ => None,
        };
        question::planned(node, known.map(|tool| tool.hints.into()))
    });
    json!({
        "patch": number,
        "added": ids,
        "calls": calls.map(|call| plain(&call)).collect::<Vec<_>>(),
        "edges": edges.collect::<Vec<_>>(),
        "removed": [],
        "changed": [],
    })
}

/// The question that a patch waits for: it was made after the last answer, and the run stands
/// after a layer.
fn waiting(loaded: &Loaded) -> Option<Seq> {
    let place = |fits: fn(&Event) -> bool| {
        let fits = |entry: &&Entry| fits(&entry.event);
        loaded
            .entries
            .iter()
            .rev()
            .find(fits)
            .map(|entry| entry.seq)
    };
    let amended = place(|event| matches!(event, Event::Amended { .. }))?;
    let answered = place(|event| matches!(event, Event::Answered { .. }));
    let mut asked = loaded.run.pauses.iter();
    let (seq, _) = asked.find(|(_, pause)| matches!(pause, Pause::Layer { .. }))?;
    answered
        .is_none_or(|answered| answered < amended)
        .then_some(*seq)
}
