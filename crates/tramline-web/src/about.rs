//! What is served here.

use crate::Desk;
use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::{Value as Told, json};

pub(crate) async fn about(State(desk): State<Desk>) -> Json<Told> {
    let documents = !desk.studio.documents.is_empty();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "documents": documents,
        "writable": documents,
        "toolsets": desk.studio.toolsets,
    }))
}

/// All of the API, for programs: kept by hand, and held against every reply in the tests.
pub(crate) async fn openapi() -> impl IntoResponse {
    let kind = [(CONTENT_TYPE, "application/json")];
    (kind, include_str!("openapi.json"))
}
