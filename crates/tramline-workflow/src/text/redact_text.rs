//! Removes secrets from a text before it is shortened.
//!
//! Redaction finds whole secrets only: finding parts of one would let a caller guess a secret character by character.
//! So a text from a tool, a server or an argument is redacted before any part of it is cut off.

use std::fmt;
use std::sync::Arc;

/// Removes secrets from a text.
#[derive(Clone)]
pub struct RedactText(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl RedactText {
    /// Redacts with this function.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    /// The text without secrets.
    pub fn redact(&self, text: &str) -> String {
        (self.0)(text)
    }

    /// The first `chars_max` characters of the text without secrets; `…` marks what is missing.
    pub fn excerpt(&self, text: &str, chars_max: usize) -> String {
        let mut clean = self.redact(text);
        if let Some((end, _)) = clean.char_indices().nth(chars_max) {
            clean.truncate(end);
            clean.push('…');
        }
        clean
    }
}

/// Redacts nothing.
impl Default for RedactText {
    fn default() -> Self {
        Self::new(str::to_owned)
    }
}

impl fmt::Debug for RedactText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedactText")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_redacted_before_it_is_cut() {
        let redact = RedactText::new(|text| text.replace("SECRET", "[redacted:K]"));
        assert_eq!(redact.excerpt("xxxx SECRET", 9), "xxxx [red…");
        assert_eq!(redact.excerpt("ä SECRET", 14), "ä [redacted:K]");
        assert_eq!(RedactText::default().excerpt("äöü", 2), "äö…");
    }
}
