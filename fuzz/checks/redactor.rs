//! Two secrets and a text, parted by zero bytes: nothing of a secret that the text holds comes back.

use std::sync::{Arc, LazyLock};
use tokio::runtime::Runtime;
use tramline_core::Value;
use tramline_engine::Settings;
use tramline_engine::settings::not_hidden;
use tramline_engine::testing::{FakeSealer, MemoryStore};

/// Shorter secrets are not looked for, in bytes.
const SECRET_BYTES_MIN: usize = 8;

/// The marks of both secrets.
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
        Arc::new(FakeSealer(1)),
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
        // What is too common is not looked for, and what a mark holds gets another mark.
        .filter(|secret| not_hidden(secret).is_none() && !MARKS.contains(secret.trim()))
        .collect();
    let mut hidden = Vec::new();
    for (number, secret) in secrets.iter().enumerate() {
        let key = format!("K{number}");
        if runtime.block_on(settings.set(&key, secret, true)).is_ok() {
            hidden.push(*secret);
        }
    }
    // The text with both secrets in it, next to each other and over each other.
    let held = format!("{rest}{one}{two}{rest}{two}{one}");
    let shown = settings.redact_text(&held);
    let value = settings.redact(Value::from(held.as_str()));
    for secret in &hidden {
        assert!(!shown.contains(secret), "{secret:?} is in {shown:?}");
        assert!(
            !value.to_json().contains(secret),
            "{secret:?} is in {value:?}"
        );
    }
    let (left, open) = (unmarked(&shown), uncovered(&held, &hidden));
    assert!(
        left <= open,
        "{left} bytes are left of {held:?}, {open} are no secret: {shown:?}"
    );
}

/// How many bytes of a redacted text are not in marks.
fn unmarked(shown: &str) -> usize {
    let mut parts = shown.split("[redacted:");
    let before = parts.next().map_or(0, str::len);
    let after = parts.map(|part| {
        part.split_once(']')
            .map_or(part.len(), |(_, rest)| rest.len())
    });
    before + after.sum::<usize>()
}

/// How many bytes of a text are in no secret.
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
