//! The latest requests and answers as sent over the wire, for inspecting a call.
//!
//! Kept in memory only, bounded, and redacted before they are stored.

use super::RedactText;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tramline_expr::{Str, Value};

/// Maximum size of a kept message, in bytes. The contents of larger ones are in the journal.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// The latest exchanges.
pub(super) struct WireLog {
    capacity: usize,
    redact: RedactText,
    entries: Mutex<VecDeque<WireLogEntry>>,
}

struct WireLogEntry {
    key: Str,
    request: Option<String>,
    response: Option<String>,
}

impl WireLog {
    /// Keeps at most `most` exchanges; 0 turns recording off.
    pub(super) fn new(capacity: usize, redact: RedactText) -> Self {
        Self {
            capacity,
            redact,
            entries: Mutex::default(),
        }
    }

    /// Records a request that is about to be sent. A request with the same key replaces the earlier attempt.
    pub(super) fn record_request(&self, key: &Str, request: &str) {
        if self.capacity == 0 {
            return;
        }
        let request = self.redacted_message(request);
        let mut kept = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.key != *key);
        if kept.len() >= self.capacity {
            kept.pop_front();
        }
        kept.push_back(WireLogEntry {
            key: key.clone(),
            request,
            response: None,
        });
    }

    /// Records the answer to a request.
    pub(super) fn record_answer(&self, key: &Str, response: &str) {
        if self.capacity == 0 {
            return;
        }
        let response = self.redacted_message(response);
        let mut kept = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = kept.iter_mut().rev().find(|own| own.key == *key) {
            own.response = response;
        }
    }

    /// The request and the answer of a call.
    pub(super) fn find(&self, key: &str) -> Option<(Option<Value>, Option<Value>)> {
        let kept = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.iter().rev().find(|own| own.key == key)?;
        let read = |text: &Option<String>| Value::from_json(text.as_deref()?).ok();
        Some((read(&own.request), read(&own.response)))
    }

    /// The redacted message, if it is small enough.
    fn redacted_message(&self, message: &str) -> Option<String> {
        (message.len() <= MESSAGE_BYTES_MAX).then(|| self.redact.redact(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_latest_are_kept_without_secrets_and_without_what_is_large() {
        let redact = RedactText::new(|text| text.replace("hush", "[redacted:k]"));
        let kept = WireLog::new(2, redact);
        for key in ["a", "b", "c"] {
            kept.record_request(
                &key.into(),
                &json!({"secret": "hush", "of": key}).to_string(),
            );
        }
        assert!(kept.find("a").is_none());
        let (request, response) = kept.find("b").unwrap();
        let wanted = json!({"secret": "[redacted:k]", "of": "b"});
        assert_eq!((request, response), (Some(wanted.into()), None));
        kept.record_answer(&"c".into(), &json!({"said": "hush"}).to_string());
        let (_, response) = kept.find("c").unwrap();
        assert_eq!(response, Some(json!({"said": "[redacted:k]"}).into()));
        kept.record_answer(&"c".into(), &"x".repeat(MESSAGE_BYTES_MAX + 1));
        assert_eq!(kept.find("c").unwrap().1, None);
        let none = WireLog::new(0, RedactText::default());
        none.record_request(&"a".into(), "{}");
        assert!(none.find("a").is_none());
    }
}
