//! Telemetry: journals as OTLP spans, metrics and log lines.
//!
//! The only crate that knows OpenTelemetry. It reads events through the engine's `Observer` trait; it must neither
//! change what happens in a run nor make one wait. `docs/telemetry.md` describes what is exported and how to enable it.

mod export;
mod ids;
mod logs;
mod metrics;
mod observer;
mod otlp;
mod settings;
mod traced_model;

pub use export::Notify;
pub use logs::{LogFormat, log_to_stderr, redact_logs_with, warn};
pub use observer::Transport;
pub use settings::{
    InvalidVariable, MetricExport, OtlpReceiver, Propagation, Sampler, TelemetrySettings,
    TraceExport,
};

use export::Exporter;
use metrics::Metrics;
use observer::TelemetryObserver;
use std::sync::Arc;
use tramline_engine::ports::{Model, Observer};
use tramline_expr::Str;

/// Replaces secrets in a text by their names.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// What telemetry needs from the program around it.
pub struct TelemetryContext {
    /// The transport of a server.
    pub transport: Transport,
    /// Replaces secrets in a text by their names.
    pub redact: Redact,
    /// Shows a message to the operator.
    pub notify: Notify,
    /// Whether log lines are written, which also requires an observer.
    pub logged: bool,
}

/// The telemetry of a program. Clones share everything.
#[derive(Clone)]
pub struct Telemetry {
    observer: Arc<TelemetryObserver>,
    prometheus: bool,
}

impl Telemetry {
    /// Starts telemetry, if anything is exported or logged.
    pub fn open(settings: &TelemetrySettings, around: TelemetryContext) -> Option<Self> {
        if !settings.is_on() && !around.logged {
            return None;
        }
        let metrics = Arc::new(Metrics::new());
        let exporter = Exporter::open(settings, &metrics, Arc::clone(&around.notify));
        Some(Self {
            observer: Arc::new(TelemetryObserver::new(settings, exporter, metrics, around)),
            prometheus: settings.prometheus,
        })
    }

    /// The observer for the engine.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.observer) as _
    }

    /// Wraps a model so that each request is recorded, under the model's name and its provider's, if known.
    pub fn model(
        &self,
        model: Arc<dyn Model>,
        name: Str,
        provider: Option<&'static str>,
    ) -> Arc<dyn Model> {
        Arc::new(traced_model::TracedModel {
            model,
            name,
            provider,
            observer: Arc::clone(&self.observer),
        })
    }

    /// Whether metrics can be scraped.
    pub fn has_prometheus(&self) -> bool {
        self.prometheus
    }

    /// The metrics in Prometheus format, with the number of paused runs.
    pub fn prometheus_text(&self, paused: u64) -> String {
        self.observer.metrics.paused.set(paused);
        metrics::text(&self.observer.metrics)
    }

    /// Sends the remaining spans, for at most a few seconds.
    pub async fn close(&self) {
        self.observer.close().await;
    }
}
