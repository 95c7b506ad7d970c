//! A model's endpoint: its URL, its API dialect, and the timeouts.

use crate::key_parts::{MARK, redact_parts};
use crate::redact::Redact;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The API of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions, the API of OpenAI and most local servers.
    OpenAi,
    /// Messages, the API of Anthropic.
    Anthropic,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 2] = [Self::OpenAi, Self::Anthropic];

    /// The dialect as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The default URL.
    pub fn default_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
        }
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.as_str() == text);
        found.ok_or_else(|| {
            let text = tramline_workflow::text::display_name(text);
            format!("unknown model dialect `{text}`; use openai or anthropic")
        })
    }
}

/// Shortest key that is redacted, in bytes. A shorter one is not secret and occurs in other words by chance.
const KEY_BYTES_MIN: usize = 5;

/// A key that is never shown.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A model's endpoint and its options.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its API dialect.
    pub dialect: Dialect,
    /// The base URL including the version, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model's name at the endpoint.
    pub name: String,
    /// The API key, if one is needed.
    pub key: Option<ApiKey>,
    /// How long one answer may take, from the first attempt to its end.
    pub timeout: Duration,
    /// How long the endpoint may send nothing.
    pub idle_timeout: Duration,
    /// Most attempts if the endpoint is busy, unreachable or interrupted.
    pub attempts: u32,
    /// The sampling temperature, from 0. `None` leaves it to the model.
    pub temperature: Option<f64>,
    /// Redacts the endpoint's texts, before any of them is cut.
    pub redact: Redact,
}

impl Endpoint {
    /// An endpoint with default timeouts.
    pub fn new(dialect: Dialect, name: impl Into<String>) -> Self {
        Self {
            dialect,
            url: dialect.default_url().to_owned(),
            name: name.into(),
            key: None,
            timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(45),
            attempts: 4,
            temperature: None,
            redact: Redact::default(),
        }
    }

    /// A text from the endpoint without its key and other secrets.
    pub(crate) fn redact_text(&self, text: &str) -> String {
        let text = self.redact.text(text);
        let key = self.key.as_ref().map(ApiKey::reveal);
        match key.filter(|key| key.len() >= KEY_BYTES_MIN) {
            None => text,
            Some(key) => text.replace(key, MARK),
        }
    }

    /// An error of the endpoint without its key, parts of it and other secrets: an endpoint may quote a key
    /// that it rejects in another case, cut short or masked.
    pub(crate) fn redact_error(&self, text: &str) -> String {
        let text = self.redact_text(text);
        let key = self.key.as_ref().map(ApiKey::reveal);
        match key.filter(|key| key.len() >= KEY_BYTES_MIN) {
            None => text,
            Some(key) => redact_parts(&text, key),
        }
    }

    /// The URL of one of its resources.
    pub(crate) fn url_for(&self, path: &str) -> String {
        format!("{}/{path}", self.url.trim_end_matches('/'))
    }

    /// Whether it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.host();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// The host for messages: the rest of the URL may contain a key.
    pub(crate) fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str);
        host.map_or_else(|| "the model".to_owned(), str::to_owned)
    }
}
