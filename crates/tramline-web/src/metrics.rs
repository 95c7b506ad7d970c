//! `/metrics`: the metrics in the Prometheus text format.

use crate::csrf;
use axum::Router;
use axum::http::header;
use axum::middleware::from_fn;
use axum::response::IntoResponse;
use axum::routing::get;
use std::sync::Arc;
use tramline_engine::Engine;
use tramline_engine::ports::{RunFilter, RunStatus};

/// The content type of the Prometheus text format.
const FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// At most this many paused runs are counted; a larger number is reported as this.
const PAUSED_MAX: u64 = 10_000;

/// Renders the metrics, given the number of paused runs.
pub type MetricsRenderer = Arc<dyn Fn(u64) -> String + Send + Sync>;

/// The route. The server must only let callers through who may see metrics.
pub fn metrics(engine: &Engine, written: MetricsRenderer) -> Router {
    let engine = engine.clone();
    let told = move || {
        let (engine, written) = (engine.clone(), Arc::clone(&written));
        async move {
            let text = written(count_paused(&engine).await);
            ([(header::CONTENT_TYPE, FORMAT)], text).into_response()
        }
    };
    Router::new()
        .route("/metrics", get(told))
        .layer(from_fn(csrf::check_and_harden))
}

/// The number of paused runs; 0 if it cannot be determined.
async fn count_paused(engine: &Engine) -> u64 {
    let mut filter = RunFilter {
        status: vec![RunStatus::Paused],
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
