//! Connects telemetry with the servers, the settings and the operator's warnings.

use crate::config::Config;
use std::sync::{Arc, OnceLock, Weak};
use tramline_engine::Settings;
use tramline_engine::ports::{Model, Observer};
use tramline_expr::Str;
use tramline_mcp_client::Servers;
use tramline_telemetry::{Redact, Telemetry, TelemetryContext, redact_logs_with};

/// The name reported for a model of the program itself, which has none.
const CUSTOM_MODEL_NAME: &str = "own";

/// Telemetry, if it is on, and the servers it learns about later.
#[derive(Clone, Default)]
pub(super) struct TelemetryHandle {
    pub(super) telemetry: Option<Telemetry>,
    servers: Arc<OnceLock<Weak<Servers>>>,
}

impl TelemetryHandle {
    /// Starts the telemetry that the configuration asks for.
    pub(super) fn open(config: &Config, settings: &Settings) -> Self {
        let servers: Arc<OnceLock<Weak<Servers>>> = Arc::default();
        let known = Arc::clone(&servers);
        for (number, secret) in config.telemetry.secrets().enumerate() {
            // A value too short to search for is not treated as a secret.
            let _ = settings.redact_also(&format!("otlp-header:{number}"), secret);
        }
        let hidden = settings.clone();
        let redact: Redact = Arc::new(move |text| hidden.redact_text(text).into_owned());
        if config.logging {
            redact_logs_with(Arc::clone(&redact));
        }
        let warn = config.warn;
        let around = TelemetryContext {
            transport: Arc::new(move |server| known.get()?.upgrade()?.transport(server)),
            redact,
            notify: Arc::new(move |text| match warn {
                Some(warn) => warn(text),
                None => tramline_telemetry::warn(text),
            }),
            logged: config.logging,
        };
        Self {
            telemetry: Telemetry::open(&config.telemetry, around),
            servers,
        }
    }

    /// Sets the servers.
    pub(super) fn set_servers(&self, servers: &Arc<Servers>) {
        // Only the first call counts.
        let _ = self.servers.set(Arc::downgrade(servers));
    }

    /// The observer of runs.
    pub(super) fn observer(&self, config: &Config) -> Option<Arc<dyn Observer>> {
        let own = config.observer.clone();
        own.or_else(|| Some(self.telemetry.as_ref()?.observer()))
    }

    /// Wraps a model so that each request is reported, if telemetry is on.
    pub(super) fn traced_model(&self, config: &Config, model: Arc<dyn Model>) -> Arc<dyn Model> {
        let Some(telemetry) = &self.telemetry else {
            return model;
        };
        let said = config.model.as_ref();
        let name = said.map_or_else(
            || CUSTOM_MODEL_NAME.into(),
            |said| Str::from(said.name.as_str()),
        );
        let provider = said.map(|said| said.dialect.as_str());
        telemetry.model(model, name, provider)
    }
}
