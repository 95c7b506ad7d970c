//! Exports a run as one file, and imports one for inspection.

use crate::AppState;
use crate::extract::TextBody;
use crate::response::{self, ApiError};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde_json::{Value as Told, json};
use tramline_engine::RunOwner;
use tramline_workflow::ids::RunId;

pub(crate) async fn export(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    Path(run): Path<String>,
) -> Result<impl IntoResponse, ApiError> {
    let run: RunId = run.parse()?;
    response::load_started(&desk, &owner, &run).await?;
    let file = desk.engine.export(&run).await?;
    let name = format!("attachment; filename=\"{run}.json\"");
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_DISPOSITION, name),
    ];
    Ok((headers, file))
}

pub(crate) async fn import(
    State(desk): State<AppState>,
    Extension(owner): Extension<RunOwner>,
    TextBody(file): TextBody,
) -> Result<(StatusCode, Json<Told>), ApiError> {
    let (run, status) = desk.engine.import(&file, owner).await?;
    let told = json!({"run_id": run, "status": status.as_str()});
    Ok((StatusCode::CREATED, Json(told)))
}
