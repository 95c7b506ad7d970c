//! The latest requests and answers as they went over the wire, for whoever looks into a call.
//!
//! In memory alone, bounded, and redacted before anything is kept.

use super::Redact;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tramline_core::{Str, Value};

/// Larger messages are not kept, in bytes: their contents are in the journal.
const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// The latest exchanges.
pub(super) struct Exchanges {
    most: usize,
    redact: Redact,
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    key: Str,
    request: Option<String>,
    response: Option<String>,
}

impl Exchanges {
    /// Room for so many; for none, nothing is kept and nothing is done.
    pub(super) fn new(most: usize, redact: Redact) -> Self {
        Self {
            most,
            redact,
            kept: Mutex::default(),
        }
    }

    /// A request is about to leave. One with the same key is the same call again.
    pub(super) fn sent(&self, key: &Str, request: &str) {
        if self.most == 0 {
            return;
        }
        let request = self.message(request);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|other| other.key != *key);
        if kept.len() >= self.most {
            kept.pop_front();
        }
        kept.push_back(Kept {
            key: key.clone(),
            request,
            response: None,
        });
    }

    /// An answer came.
    pub(super) fn answered(&self, key: &Str, response: &str) {
        if self.most == 0 {
            return;
        }
        let response = self.message(response);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = kept.iter_mut().rev().find(|own| own.key == *key) {
            own.response = response;
        }
    }

    /// The request and the answer of a call.
    pub(super) fn find(&self, key: &str) -> Option<(Option<Value>, Option<Value>)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let own = kept.iter().rev().find(|own| own.key == key)?;
        let read = |text: &Option<String>| Value::from_json(text.as_deref()?).ok();
        Some((read(&own.request), read(&own.response)))
    }

    /// A message without secrets, if it is small enough.
    fn message(&self, message: &str) -> Option<String> {
        (message.len() <= MESSAGE_BYTES_MAX).then(|| (self.redact)(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn the_latest_are_kept_without_secrets_and_without_what_is_large() {
        let redact: Redact = Arc::new(|text| text.replace("hush", "[redacted:k]"));
        let kept = Exchanges::new(2, redact);
        for key in ["a", "b", "c"] {
            kept.sent(
                &key.into(),
                &json!({"secret": "hush", "of": key}).to_string(),
            );
        }
        assert!(kept.find("a").is_none());
        let (request, response) = kept.find("b").unwrap();
        let wanted = json!({"secret": "[redacted:k]", "of": "b"});
        assert_eq!((request, response), (Some(wanted.into()), None));
        kept.answered(&"c".into(), &json!({"said": "hush"}).to_string());
        let (_, response) = kept.find("c").unwrap();
        assert_eq!(response, Some(json!({"said": "[redacted:k]"}).into()));
        kept.answered(&"c".into(), &"x".repeat(MESSAGE_BYTES_MAX + 1));
        assert_eq!(kept.find("c").unwrap().1, None);
        let none = Exchanges::new(0, Arc::new(str::to_owned));
        none.sent(&"a".into(), "{}");
        assert!(none.find("a").is_none());
    }
}
