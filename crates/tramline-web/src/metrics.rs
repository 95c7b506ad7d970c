//! `/metrics`: what is counted, as text that Prometheus reads.

use crate::guard;
use axum::Router;
use axum::http::header;
use axum::middleware::from_fn;
use axum::response::IntoResponse;
use axum::routing::get;
use std::sync::Arc;
use tramline_engine::Engine;
use tramline_engine::seams::{RunFilter, Status};

/// The format that Prometheus knows by this name.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// So many paused runs are counted at most; beyond it there are that many.
const PAUSED_MAX: u64 = 10_000;

/// Writes what is counted, given how many runs wait for an answer.
pub type Written = Arc<dyn Fn(u64) -> String + Send + Sync>;

/// The route. Whoever serves it lets only those through who may see it.
pub fn metrics(engine: &Engine, written: Written) -> Router {
    let engine = engine.clone();
    let told = move || {
        let (engine, written) = (engine.clone(), Arc::clone(&written));
        async move {
            let text = written(paused(&engine).await);
            ([(header::CONTENT_TYPE, FORMAT)], text).into_response()
        }
    };
    Router::new()
        .route("/metrics", get(told))
        .layer(from_fn(guard::harden))
}

/// How many runs wait for an answer; what cannot be counted is not.
async fn paused(engine: &Engine) -> u64 {
    let mut filter = RunFilter {
        status: vec![Status::Paused],
        ..RunFilter::default()
    };
    let mut count = 0;
    while let Ok(page) = engine.runs(filter.clone()).await {
        count += page.rows.len() as u64;
        filter.after = page.rows.last().map(|row| row.run.clone());
        if !page.more || count >= PAUSED_MAX {
            break;
        }
    }
    count.min(PAUSED_MAX)
}
