//! Redaction of secrets in answers of an endpoint and in cassettes.

use std::fmt;
use std::sync::Arc;

/// Removes secrets from a text.
#[derive(Clone)]
pub struct Redact(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Redact {
    /// Redacts with this function.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    /// A text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        (self.0)(text)
    }
}

/// Redacts nothing.
impl Default for Redact {
    fn default() -> Self {
        Self::new(str::to_owned)
    }
}

impl fmt::Debug for Redact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redact")
    }
}
