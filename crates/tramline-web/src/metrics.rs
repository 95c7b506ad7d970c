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
/// At most this many runs without a driver are counted.
const WAITING_MAX: usize = 1_000;

/// Renders the metrics, given the number of paused runs.
pub type MetricsRenderer = Arc<dyn Fn(u64) -> String + Send + Sync>;

/// The route. The server must only let callers through who may see metrics.
pub fn metrics(engine: &Engine, written: MetricsRenderer) -> Router {
    let engine = engine.clone();
    let told = move || {
        let (engine, written) = (engine.clone(), Arc::clone(&written));
        async move {
            let mut text = written(count_paused(&engine).await);
            text.push_str(&lease_metrics(&engine).await);
            ([(header::CONTENT_TYPE, FORMAT)], text).into_response()
        }
    };
    Router::new()
        .route("/metrics", get(told))
        .layer(from_fn(csrf::check_and_harden))
}

/// The metrics of a replica; empty for a store that belongs to one machine.
async fn lease_metrics(engine: &Engine) -> String {
    let Some(counts) = engine.store().lease_counts() else {
        return String::new();
    };
    let waiting = engine.store().takeable(WAITING_MAX).await;
    let waiting = waiting.map_or(0, |rows| rows.len());
    let age = counts.age_ms as f64 / 1_000.0;
    let mut text = String::new();
    for (name, kind, help, value) in [
        (
            "tramline_runs_waiting_for_a_driver",
            "gauge",
            "Runs that could continue and that no replica drives.",
            waiting.to_string(),
        ),
        (
            "tramline_takeovers_total",
            "counter",
            "Runs that this replica took from one whose lease had run out.",
            counts.take_overs.to_string(),
        ),
        (
            "tramline_fenced_total",
            "counter",
            "Appends and calls of this replica that were refused because it had lost the run.",
            counts.fenced.to_string(),
        ),
        (
            "tramline_lease_age_seconds",
            "gauge",
            "Time since this replica last renewed its lease.",
            age.to_string(),
        ),
    ] {
        text.push_str(&format!(
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"
        ));
    }
    text
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
