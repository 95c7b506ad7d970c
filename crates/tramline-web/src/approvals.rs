//! The inbox: the questions of all runs, oldest first.

use crate::AppState;
use crate::response::{self, ApiError};
use axum::Json;
use axum::extract::{Extension, Path, State};
use serde_json::{Value as Told, json};
use tramline_engine::ports::{RunFilter, RunStatus};
use tramline_engine::{QuestionReader, Respondent, RunOwner};
use tramline_views::pause_view::Extent;
use tramline_workflow::ids::Checkpoint;

/// The maximum number of waiting runs in the inbox; the reply says when there are more.
const RUNS_MAX: usize = 200;

pub(crate) async fn list(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    person: Option<Extension<Respondent>>,
) -> Result<Json<Told>, ApiError> {
    let waiting = RunFilter {
        status: vec![RunStatus::Paused],
        limit: RUNS_MAX,
        ..RunFilter::default()
    };
    let page = desk.engine.runs(waiting).await?;
    let reader = question_reader(person.is_some());
    let mut asked = Vec::new();
    for row in &page.rows {
        let loaded = match &person {
            // An approver for everyone sees the questions of everyone's runs.
            Some(_) => desk.engine.load(&row.run).await.map_err(ApiError::from),
            None => response::load(&desk.engine, &owner, &row.run).await,
        };
        let Ok(loaded) = loaded else {
            continue;
        };
        for question in desk.engine.pause_details(&loaded, reader).await {
            let mut question = response::to_json(&question);
            question["run_id"] = json!(row.run);
            question["workflow"] = json!(row.index_row.workflow);
            question["waits_since_ms"] = json!(row.index_row.updated_ms);
            asked.push(question);
        }
    }
    asked.sort_by_key(|question| question["waits_since_ms"].as_i64());
    Ok(Json(json!({"approvals": asked, "more": page.more})))
}

/// Requests of people have their respondent; all others may be those of an agent.
pub(crate) fn question_reader(is_person: bool) -> QuestionReader {
    match is_person {
        true => QuestionReader::Person,
        false => QuestionReader::Agent,
    }
}

/// One question with its complete call, however large.
pub(crate) async fn one(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    person: Option<Extension<Respondent>>,
    Path(checkpoint): Path<String>,
) -> Result<Json<Told>, ApiError> {
    let asked: Checkpoint = checkpoint.parse()?;
    let loaded = match &person {
        Some(_) => desk.engine.load(&asked.run).await?,
        None => response::load(&desk.engine, &owner, &asked.run).await?,
    };
    let Some(pause) = loaded.run.pauses.get(&asked.seq) else {
        return Err(response::answered_already(&loaded.run, asked.seq));
    };
    let question = desk
        .engine
        .pause_detail(
            &loaded,
            asked.seq,
            pause,
            Extent::Whole,
            question_reader(person.is_some()),
        )
        .await;
    let mut question = response::to_json(&question);
    question["run_id"] = json!(loaded.run.id);
    question["workflow"] = json!(loaded.run.graph.workflow.name);
    question["waits_since_ms"] = json!(loaded.run.updated_ms);
    Ok(Json(question))
}
