//! Telemetry: journals told as OTLP spans, as metrics and as lines in a log.
//!
//! The one crate that knows OpenTelemetry. It reads what happens through the engine's seam for
//! observers; it may not change what happens in a run, nor make one wait. `docs/telemetry.md` says
//! what is told and how it is switched on.

mod chat;
mod export;
mod ids;
mod logs;
mod metrics;
mod otlp;
mod settings;
mod watch;

pub use export::Say;
pub use logs::{LogFormat, hide_with, log_to_stderr, warn};
pub use settings::{BadSetting, HandedOn, Pushed, Receiver, Sampler, Settings, Traces};
pub use watch::Transport;

use export::Exporter;
use metrics::Metrics;
use std::sync::Arc;
use tramline_core::Str;
use tramline_engine::seams::{Model, Observer};
use watch::Watch;

/// Replaces secrets in a text by their names.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// What telemetry needs to know of the program around it.
pub struct Surroundings {
    /// How servers are reached.
    pub transport: Transport,
    /// Replaces secrets in a text by their names.
    pub redact: Redact,
    /// Says something to whoever runs the program.
    pub say: Say,
    /// Whether lines are logged, which needs somebody who reads journals too.
    pub logged: bool,
}

/// What is told of runs, and to whom. Clones share everything.
#[derive(Clone)]
pub struct Telemetry {
    watch: Arc<Watch>,
    prometheus: bool,
}

impl Telemetry {
    /// Begins to tell, if anything is to be told.
    pub fn open(settings: &Settings, around: Surroundings) -> Option<Self> {
        if !settings.is_on() && !around.logged {
            return None;
        }
        let metrics = Arc::new(Metrics::new());
        let exporter = Exporter::open(settings, &metrics, Arc::clone(&around.say));
        Some(Self {
            watch: Arc::new(Watch::new(settings, exporter, metrics, around)),
            prometheus: settings.prometheus,
        })
    }

    /// What the engine tells.
    pub fn observer(&self) -> Arc<dyn Observer> {
        Arc::clone(&self.watch) as _
    }

    /// A model that tells of each time it is asked, under its name and that of whoever provides it,
    /// where that is known.
    pub fn model(
        &self,
        model: Arc<dyn Model>,
        name: Str,
        provider: Option<&'static str>,
    ) -> Arc<dyn Model> {
        Arc::new(chat::Told {
            model,
            name,
            provider,
            watch: Arc::clone(&self.watch),
        })
    }

    /// Whether metrics are there to be fetched.
    pub fn has_text(&self) -> bool {
        self.prometheus
    }

    /// The metrics as Prometheus reads them, with the number of runs that wait for an answer.
    pub fn text(&self, paused: u64) -> String {
        self.watch.metrics.paused.set(paused);
        metrics::text(&self.watch.metrics)
    }

    /// Sends what is left, for a while.
    pub async fn close(&self) {
        self.watch.close().await;
    }
}
