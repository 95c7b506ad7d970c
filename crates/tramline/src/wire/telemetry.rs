//! Telemetry in its place: what it may know of servers, secrets and whoever runs the program.

use crate::config::Config;
use std::sync::{Arc, OnceLock, Weak};
use tramline_core::Str;
use tramline_engine::Settings;
use tramline_engine::seams::{Model, Observer};
use tramline_mcp::client::Servers;
use tramline_telemetry::{Redact, Surroundings, Telemetry, hide_with};

/// What an own model of the program is called, which has no name.
const OWN_MODEL: &str = "own";

/// Telemetry, if there is any, and the servers that it is told of later.
#[derive(Clone, Default)]
pub(super) struct Telling {
    pub(super) telemetry: Option<Telemetry>,
    servers: Arc<OnceLock<Weak<Servers>>>,
}

impl Telling {
    /// Begins to tell what the configuration says is to be told.
    pub(super) fn open(config: &Config, settings: &Settings) -> Self {
        let servers: Arc<OnceLock<Weak<Servers>>> = Arc::default();
        let known = Arc::clone(&servers);
        for (number, secret) in config.telemetry.secrets().enumerate() {
            // One that is too short to be searched for is no secret.
            let _ = settings.also_hide(&format!("otlp-header:{number}"), secret);
        }
        let hidden = settings.clone();
        let redact: Redact = Arc::new(move |text| hidden.redact_text(text).into_owned());
        if config.logged {
            hide_with(Arc::clone(&redact));
        }
        let warn = config.warn;
        let around = Surroundings {
            transport: Arc::new(move |server| known.get()?.upgrade()?.transport(server)),
            redact,
            say: Arc::new(move |text| match warn {
                Some(warn) => warn(text),
                None => tramline_telemetry::warn(text),
            }),
            logged: config.logged,
        };
        Self {
            telemetry: Telemetry::open(&config.telemetry, around),
            servers,
        }
    }

    /// Says which servers there are.
    pub(super) fn of(&self, servers: &Arc<Servers>) {
        // Whoever came first has said it.
        let _ = self.servers.set(Arc::downgrade(servers));
    }

    /// Who is told what happens in runs.
    pub(super) fn observer(&self, config: &Config) -> Option<Arc<dyn Observer>> {
        let own = config.observer.clone();
        own.or_else(|| Some(self.telemetry.as_ref()?.observer()))
    }

    /// A model that tells of each time it is asked, where anything is told.
    pub(super) fn model(&self, config: &Config, model: Arc<dyn Model>) -> Arc<dyn Model> {
        let Some(telemetry) = &self.telemetry else {
            return model;
        };
        let said = config.model.as_ref();
        let name = said.map_or_else(|| OWN_MODEL.into(), |said| Str::from(said.name.as_str()));
        let provider = said.map(|said| said.dialect.as_str());
        telemetry.model(model, name, provider)
    }
}
