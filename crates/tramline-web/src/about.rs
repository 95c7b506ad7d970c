//! What is served here.

use crate::Desk;
use axum::Json;
use axum::extract::State;
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
