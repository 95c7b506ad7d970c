//! What may not be seen of keys and secrets, in what an endpoint says and in what is recorded.

use std::fmt;
use std::sync::Arc;

/// Takes secrets out of a text.
#[derive(Clone)]
pub struct Redact(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl Redact {
    /// Takes out what this takes out.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    /// A text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        (self.0)(text)
    }
}

/// Knows no secrets.
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
