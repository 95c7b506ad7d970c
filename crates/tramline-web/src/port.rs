//! A run as one file: taken out, and brought in to be looked at.

use crate::Desk;
use crate::asked::Text;
use crate::told::{self, Wrong};
use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde_json::{Value as Told, json};
use tramline_core::ids::RunId;
use tramline_engine::Owner;

pub(crate) async fn export(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Path(run): Path<String>,
) -> Result<impl IntoResponse, Wrong> {
    let run: RunId = run.parse()?;
    told::begun(&desk, &owner, &run).await?;
    let file = desk.engine.export(&run).await?;
    let name = format!("attachment; filename=\"{run}.json\"");
    let headers = [
        (CONTENT_TYPE, "application/json".to_owned()),
        (CONTENT_DISPOSITION, name),
    ];
    Ok((headers, file))
}

pub(crate) async fn import(
    State(desk): State<Desk>,
    Extension(owner): Extension<Owner>,
    Text(file): Text,
) -> Result<(StatusCode, Json<Told>), Wrong> {
    let (run, status) = desk.engine.import(&file, owner).await?;
    let told = json!({"run_id": run, "status": status.as_str()});
    Ok((StatusCode::CREATED, Json(told)))
}
