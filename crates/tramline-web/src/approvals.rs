//! The inbox: what all runs ask, oldest question first.

use crate::Desk;
use crate::told::{self, Wrong};
use axum::Json;
use axum::extract::{Extension, State};
use serde_json::{Value as Told, json};
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
        for mut question in told::questions(&loaded.run) {
            question["run_id"] = json!(row.run);
            question["workflow"] = json!(row.head.workflow);
            question["waits_since_ms"] = json!(row.head.updated_ms);
            asked.push(question);
        }
    }
    asked.sort_by_key(|question| question["waits_since_ms"].as_i64());
    Ok(Json(json!({"approvals": asked, "more": page.more})))
}
