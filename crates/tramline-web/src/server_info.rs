//! Server info and the API description.

use crate::AppState;
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::{Value as Told, json};
use tramline_engine::ports::RunStatus;

pub(crate) async fn about(State(desk): State<AppState>) -> Json<Told> {
    let documents = !desk.studio.documents.is_empty();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "documents": documents,
        "writable": documents,
        "toolsets": desk.studio.toolsets,
        "statuses": RunStatus::ALL.map(RunStatus::as_str),
    }))
}

/// The OpenAPI document. Maintained by hand; the tests check every reply against it.
pub(crate) async fn openapi() -> impl IntoResponse {
    let kind = [(CONTENT_TYPE, "application/json")];
    (kind, include_str!("openapi.json"))
}
