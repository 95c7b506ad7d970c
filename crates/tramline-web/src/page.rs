//! The page itself, which is in the binary.

use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse};

pub(crate) async fn index() -> Html<&'static str> {
    Html(include_str!("page/index.html"))
}

pub(crate) async fn script() -> impl IntoResponse {
    let kind = [(CONTENT_TYPE, "text/javascript; charset=utf-8")];
    (kind, include_str!("page/studio.js"))
}

pub(crate) async fn style() -> impl IntoResponse {
    let kind = [(CONTENT_TYPE, "text/css; charset=utf-8")];
    (kind, include_str!("page/studio.css"))
}
