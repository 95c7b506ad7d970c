//! Two secrets and a text, separated by zero bytes: redaction removes every part of a secret in the
//! text.

use std::sync::{Arc, LazyLock};
use tokio::runtime::Runtime;
use tramline_engine::Settings;
use tramline_engine::settings::not_redacted;
use tramline_engine::testing::{FakeCipher, MemoryStore};
use tramline_expr::Value;

/// Bytes of the shortest secret that is redacted.
const SECRET_BYTES_MIN: usize = 8;

/// The markers of both secrets.
const MARKS: &str = "[redacted:K0][redacted:K1]";

static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.build().ok()
});

pub(crate) fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let mut parts = text.splitn(3, '\0');
    let (Some(one), Some(two), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    if text.contains(['[', ']']) {
        return;
    }
    let Ok(settings) = Settings::new(
        Arc::new(MemoryStore::default()),
        Arc::new(FakeCipher(1)),
        [],
    ) else {
        return;
    };
    let Some(runtime) = &*RUNTIME else {
        return;
    };
    let secrets: Vec<&str> = [one, two]
        .into_iter()
        .filter(|secret| secret.len() >= SECRET_BYTES_MIN && !secret.contains(['[', ']']))
        // Common words are not redacted, and a secret that is part of a marker gets another marker.
        .filter(|secret| not_redacted(secret).is_none() && !MARKS.contains(secret.trim()))
        .collect();
    let mut hidden = Vec::new();
    for (number, secret) in secrets.iter().enumerate() {
        let key = format!("K{number}");
        if runtime.block_on(settings.set(&key, secret, true)).is_ok() {
            hidden.push(*secret);
        }
    }
    // The text with both secrets in it, adjacent and overlapping.
    let held = format!("{rest}{one}{two}{rest}{two}{one}");
    let shown = settings.redact_text(&held);
    let value = settings.redact(Value::from(held.as_str()));
    for secret in &hidden {
        assert!(!shown.contains(secret), "{secret:?} is in {shown:?}");
        // Not its JSON: the digits of an escape and the text after it may look like a secret.
        let text = value.as_str().unwrap_or_default();
        assert!(!text.contains(secret), "{secret:?} is in {value:?}");
    }
    let (left, open) = (unmarked(&shown), uncovered(&held, &hidden));
    assert!(
        left <= open,
        "{left} bytes are left of {held:?}, but only {open} are not secret: {shown:?}"
    );
}

/// The number of bytes of a redacted text outside of markers.
fn unmarked(shown: &str) -> usize {
    let mut parts = shown.split("[redacted:");
    let before = parts.next().map_or(0, str::len);
    let after = parts.map(|part| {
        part.split_once(']')
            .map_or(part.len(), |(_, rest)| rest.len())
    });
    before + after.sum::<usize>()
}

/// The number of bytes of a text that are in no secret.
fn uncovered(held: &str, secrets: &[&str]) -> usize {
    let mut covered = vec![false; held.len()];
    for secret in secrets {
        let starts =
            (0..held.len()).filter(|at| held.as_bytes()[*at..].starts_with(secret.as_bytes()));
        for start in starts {
            covered[start..start + secret.len()].fill(true);
        }
    }
    covered.iter().filter(|covered| !**covered).count()
}
