//! Where a model is, which dialect it speaks, and how patient we are with it.

use crate::redact::Redact;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How a model is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions, as OpenAI and most local servers have them.
    OpenAi,
    /// Messages, as Anthropic has them.
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

    /// Where it is spoken if nobody says otherwise.
    pub fn usual_url(self) -> &'static str {
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
            let text = tramline_core::text::shown(text);
            format!("`{text}` is no dialect of models; there are openai and anthropic")
        })
    }
}

/// A shorter key is no secret, and stands in other words by chance.
const KEY_BYTES_MIN: usize = 5;

/// A key that is never shown.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// A model's place and manners.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its dialect.
    pub dialect: Dialect,
    /// The address up to and with its version, such as `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model's name there.
    pub name: String,
    /// What opens it, if anything must.
    pub key: Option<Key>,
    /// How long one answer may take from the first attempt to its last word.
    pub timeout: Duration,
    /// How long it may be silent in between.
    pub silence: Duration,
    /// How often it is asked at most when it is busy, gone, or breaks off.
    pub attempts: u32,
    /// How freely it speaks, from 0 on. Left to the model where nothing is said.
    pub temperature: Option<f64>,
    /// Takes secrets out of what it says, before any of it is cut.
    pub redact: Redact,
}

impl Endpoint {
    /// An endpoint with the usual patience.
    pub fn new(dialect: Dialect, name: impl Into<String>) -> Self {
        Self {
            dialect,
            url: dialect.usual_url().to_owned(),
            name: name.into(),
            key: None,
            timeout: Duration::from_secs(120),
            silence: Duration::from_secs(45),
            attempts: 4,
            temperature: None,
            redact: Redact::default(),
        }
    }

    /// A text of the endpoint's without its key and without other secrets.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        let text = self.redact.text(text);
        let key = self.key.as_ref().map(Key::reveal);
        match key.filter(|key| key.len() >= KEY_BYTES_MIN) {
            None => text,
            Some(key) => text.replace(key, "[redacted:model-key]"),
        }
    }

    /// The address of one of its resources.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.url.trim_end_matches('/'))
    }

    /// Whether it is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        let host = self.host();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// The host alone, for messages: the rest of an address may hold a key.
    pub(crate) fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str);
        host.map_or_else(|| "the model".to_owned(), str::to_owned)
    }
}
