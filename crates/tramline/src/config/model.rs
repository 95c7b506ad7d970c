//! The configured model: its endpoint, its key, its recordings.

use super::Config;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tramline_engine::Settings;
use tramline_engine::ports::Model;
use tramline_mcp_client::config::{SETTING_PREFIX, UnsetVariable, expand};
use tramline_model::{ApiKey, Dialect, Endpoint, HttpModel, Recorder, Redact, Replayer};

/// A model as the configuration file describes it.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// The API it speaks.
    pub dialect: Dialect,
    /// Its URL; the default of the dialect if missing.
    pub url: Option<String>,
    /// The model name to request.
    pub name: String,
    /// Its API key, in which `${NAME}` is replaced by a variable and `${settings.KEY}` by a
    /// setting.
    pub key: Option<SecretTemplate>,
    /// The timeout of a request.
    pub timeout: Option<Duration>,
    /// The sampling temperature, from 0 on; the model's default if missing.
    pub temperature: Option<f64>,
    /// The file to record its responses to.
    pub record: Option<PathBuf>,
    /// The recording that answers instead of the model.
    pub replay: Option<PathBuf>,
}

/// A key as written. Never printed: it may be the key itself.
#[derive(Clone)]
pub struct SecretTemplate(pub String);

impl std::fmt::Debug for SecretTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl ModelConfig {
    /// The field names in the file.
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

    /// Builds the model without sending a request. Variables are resolved now, through `lookup`.
    /// Its key is redacted like a setting: endpoints that reject a key often repeat it.
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
            endpoint.url = resolve("url", url, lookup)?;
        }
        if let Some(SecretTemplate(key)) = &self.key {
            let secret = resolve("key", key, lookup)?;
            if !key.contains(&format!("${{{SETTING_PREFIX}")) {
                let hidden = settings.redact_also("model-key", &secret);
                hidden.map_err(|fault| fault.to_string())?;
            }
            endpoint.key = Some(ApiKey::new(secret));
        }
        if let Some(timeout) = self.timeout {
            endpoint.timeout = timeout;
            endpoint.idle_timeout = endpoint.idle_timeout.min(timeout);
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
    /// The program's own model, or the configured one.
    pub(crate) fn open_model(
        &self,
        lookup: &dyn Fn(&str) -> Option<String>,
        settings: &Settings,
    ) -> Result<Option<Arc<dyn Model>>, String> {
        match (&self.custom_model, &self.model) {
            (Some(own), _) => Ok(Some(Arc::clone(own))),
            (None, Some(model)) => model.open(lookup, settings).map(Some),
            (None, None) => Ok(None),
        }
    }
}

/// The only place where variables in a model's fields are resolved.
fn resolve(
    field: &str,
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    expand(text, lookup).map_err(|UnsetVariable(name)| {
        format!("`model.{field}` uses {name}, which is not set; set it or change the field")
    })
}
