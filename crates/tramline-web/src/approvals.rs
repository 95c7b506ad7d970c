//! The inbox: what all runs ask, oldest question first.

use crate::Desk;
use crate::told::{self, Wrong};
use axum::Json;
use axum::extract::{Extension, Path, State};
use serde_json::{Value as Told, json};
use tramline_core::ids::Checkpoint;
use tramline_core::question::Extent;
use tramline_engine::seams::{RunFilter, Status};
use tramline_engine::{Owner, Respondent};

/// So many runs that wait are looked at; the list says when there are more.
const RUNS_MAX: usize = 200;

pub(crate) async fn list(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    person: Option<Extension<Respondent>>,
) -> Result<Json<Told>, Wrong> {
    let waiting = RunFilter {
        status: vec![Status::Paused],
        most: RUNS_MAX,
        ..RunFilter::default()
    };
    let page = desk.engine.runs(waiting).await?;
    let mut asked = Vec::new();
    for row in &page.rows {
        let loaded = match &person {
            // Who answers for everybody sees what everybody's runs ask.
            Some(_) => desk.engine.load(&row.run).await.map_err(Wrong::from),
            None => told::load(&desk.engine, &owner, &row.run).await,
        };
        let Ok(loaded) = loaded else {
            continue;
        };
        for question in desk.engine.questions(&loaded).await {
            let mut question = told::plain(&question);
            question["run_id"] = json!(row.run);
            question["workflow"] = json!(row.head.workflow);
            question["waits_since_ms"] = json!(row.head.updated_ms);
            asked.push(question);
        }
    }
    asked.sort_by_key(|question| question["waits_since_ms"].as_i64());
    Ok(Json(json!({"approvals": asked, "more": page.more})))
}

/// One question with its call whole, however large that is.
pub(crate) async fn one(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    person: Option<Extension<Respondent>>,
    Path(checkpoint): Path<String>,
) -> Result<Json<Told>, Wrong> {
    let asked: Checkpoint = checkpoint.parse()?;
    let loaded = match &person {
        Some(_) => desk.engine.load(&asked.run).await?,
        None => told::load(&desk.engine, &owner, &asked.run).await?,
    };
    let Some(pause) = loaded.run.pauses.get(&asked.seq) else {
        return Err(told::answered_already(&loaded.run, asked.seq));
    };
    let question = desk
        .engine
        .question(&loaded, asked.seq, pause, Extent::Whole)
        .await;
    let mut question = told::plain(&question);
    question["run_id"] = json!(loaded.run.id);
    question["workflow"] = json!(loaded.run.graph.workflow.name);
    question["waits_since_ms"] = json!(loaded.run.updated_ms);
    Ok(Json(question))
}
