//! The model that is configured: where it is, what opens it, and what is recorded of it.

use super::Config;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::Settings;
use tramline_engine::seams::Model;
use tramline_mcp::config::{SETTING, Unset, expand};
use tramline_model::{Dialect, Endpoint, HttpModel, Key, Recorder, Redact, Replayer};

/// A model as the configuration file describes it.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// How it is spoken to.
    pub dialect: Dialect,
    /// Where it is; the dialect's usual place if nothing is said.
    pub url: Option<String>,
    /// Its name there.
    pub name: String,
    /// What opens it, in which `${NAME}` stands for a variable and `${settings.KEY}` for a setting.
    pub key: Option<Written>,
    /// How long an answer may take.
    pub timeout: Option<Duration>,
    /// How freely it speaks, from 0 on; left to the model where nothing is said.
    pub temperature: Option<f64>,
    /// Where what it says is written down.
    pub record: Option<PathBuf>,
    /// What answers in its place.
    pub replay: Option<PathBuf>,
}

/// A key as it was written, which is never shown: it may be the key itself.
#[derive(Clone)]
pub struct Written(pub String);

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl ModelConfig {
    /// The fields as they are written.
    pub const FIELDS: [&str; 8] = [
        "dialect",
        "url",
        "name",
        "key",
        "timeout",
        "temperature",
        "record",
        "replay",
    ];

    /// The model. Nothing is asked yet; what `lookup` has is put in now, and not before. Its key is
    /// hidden like a setting: endpoints that refuse a key often say which.
    pub fn open(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<Arc<dyn Model>, String> {
        let hidden = settings.clone();
        let redact = Redact::new(move |text| hidden.redact_text(text).into_owned());
        if let Some(path) = &self.replay {
            return Ok(Arc::new(Replayer::open(path, redact)?));
        }
        let mut endpoint = Endpoint::new(self.dialect, self.name.clone());
        if let Some(url) = &self.url {
            endpoint.url = filled("url", url, lookup)?;
        }
        if let Some(Written(key)) = &self.key {
            let secret = filled("key", key, lookup)?;
            if !key.contains(&format!("${{{SETTING}")) {
                let hidden = settings.also_hide("model-key", &secret);
                hidden.map_err(|fault| fault.to_string())?;
            }
            endpoint.key = Some(Key::new(secret));
        }
        if let Some(timeout) = self.timeout {
            endpoint.timeout = timeout;
            endpoint.silence = endpoint.silence.min(timeout);
        }
        endpoint.temperature = self.temperature;
        endpoint.redact = redact.clone();
        let model: Arc<dyn Model> = Arc::new(HttpModel::new(endpoint));
        match &self.record {
            None => Ok(model),
            Some(path) => Ok(Arc::new(Recorder::new(model, path, redact)?)),
        }
    }
}

impl Config {
    /// The program's own model, or the one that is configured.
    pub(crate) fn open_model(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<Option<Arc<dyn Model>>, String> {
        match (&self.own_model, &self.model) {
            (Some(own), _) => Ok(Some(Arc::clone(own))),
            (None, Some(model)) => model.open(lookup, settings).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// The one place where what is written of a model becomes what it stands for.
fn filled(
    field: &str,
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    expand(text, lookup).map_err(|Unset(name)| {
        format!("`model.{field}` wants {name}, which is not set; set it or write something else")
    })
}
