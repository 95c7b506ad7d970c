//! One request to a receiver, with retries.

use super::Notify;
use crate::settings::OtlpReceiver;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Backoff before the second attempt; each further one is twice as long.
const BACKOFF_MIN: Duration = Duration::from_millis(500);
/// Longest backoff.
const BACKOFF_MAX: Duration = Duration::from_secs(10);
/// How often a backoff checks whether the program is exiting.
const EXIT_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendResult {
    /// The receiver accepted it.
    Delivered,
    /// It was given up.
    Dropped,
}

/// Sends requests from its own thread.
pub(super) struct HttpSender {
    /// Created with the first request: without requests no connections are needed.
    http: Option<(Runtime, Client)>,
    notify: Notify,
    /// Whether the operator was warned that the receiver is unreachable.
    warned: bool,
}

/// The result of one attempt.
enum AttemptResult {
    Delivered,
    /// A retry may help, after this delay if the receiver gave one.
    Retry(String, Option<Duration>),
    Rejected(String),
}

impl HttpSender {
    pub(super) fn new(notify: Notify) -> Self {
        Self {
            http: None,
            notify,
            warned: false,
        }
    }

    /// Sends a body until `patience` is over or the program exits.
    pub(super) fn send(
        &mut self,
        to: &OtlpReceiver,
        body: Vec<u8>,
        patience: Duration,
        ends: &dyn Fn() -> bool,
    ) -> SendResult {
        let until = Instant::now() + patience;
        let mut wait = BACKOFF_MIN;
        loop {
            let (why, after) = match self.attempt(to, body.clone()) {
                AttemptResult::Delivered => {
                    self.warned = false;
                    return SendResult::Delivered;
                }
                AttemptResult::Rejected(why) => (why, None),
                AttemptResult::Retry(why, after) => {
                    (why, Some(after.unwrap_or(wait).min(BACKOFF_MAX)))
                }
            };
            self.warn_once(to, &why);
            let Some(after) = after else {
                return SendResult::Dropped;
            };
            let next = Instant::now() + after;
            if next > until || !sleep_until(next, ends) {
                return SendResult::Dropped;
            }
            wait = (wait * 2).min(BACKOFF_MAX);
        }
    }

    fn attempt(&mut self, to: &OtlpReceiver, body: Vec<u8>) -> AttemptResult {
        let (runtime, client) = match &self.http {
            Some(means) => (&means.0, &means.1),
            None => match http_client() {
                Ok(made) => {
                    let made = self.http.insert(made);
                    (&made.0, &made.1)
                }
                Err(why) => return AttemptResult::Rejected(why),
            },
        };
        let mut request = client
            .post(&to.url)
            .header(CONTENT_TYPE, "application/x-protobuf")
            .timeout(to.timeout)
            .body(body);
        for (name, value) in &to.headers {
            request = request.header(name, value);
        }
        runtime.block_on(async move {
            match request.send().await {
                Ok(response) => classify(&response),
                // The error's own text contains the URL, which may contain a password.
                Err(error) => AttemptResult::Retry(error_text(&error.without_url()), None),
            }
        })
    }

    /// Warns once that the receiver is unreachable, until it is reachable again.
    fn warn_once(&mut self, to: &OtlpReceiver, why: &str) {
        tracing::debug!(target: "tramline::telemetry", why, "export failed");
        if !self.warned {
            self.warned = true;
            let at = url_without_secrets(&to.url);
            (self.notify)(&format!(
                "telemetry cannot reach {at}: {why}; runs are not affected, and this is shown once"
            ));
        }
    }
}

fn http_client() -> Result<(Runtime, Client), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    // Fails only if a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| error_text(&error))?;
    Ok((runtime, client))
}

fn classify(response: &Response) -> AttemptResult {
    let status = response.status();
    if status.is_success() {
        return AttemptResult::Delivered;
    }
    let why = format!("it answered {status}");
    let again = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    if !again.contains(&status) {
        return AttemptResult::Rejected(why);
    }
    let after = response.headers().get(RETRY_AFTER);
    let after = after.and_then(|it| it.to_str().ok()?.parse().ok());
    AttemptResult::Retry(why, after.map(Duration::from_secs))
}

/// An error with its root cause.
fn error_text(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    let inner = innermost.to_string();
    let outer = error.to_string();
    match outer.contains(&inner) {
        true => outer,
        false => format!("{outer}: {inner}"),
    }
}

/// A URL without credentials and query.
fn url_without_secrets(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return "the receiver".to_owned();
    };
    let port = url
        .port()
        .map_or_else(String::new, |port| format!(":{port}"));
    let host = url.host_str().unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Waits until then; false if the program exits first.
fn sleep_until(until: Instant, ends: &dyn Fn() -> bool) -> bool {
    loop {
        if ends() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(EXIT_POLL_INTERVAL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let url = "https://me:secret@host:9/v1/traces?key=secret";
        assert_eq!(url_without_secrets(url), "https://host:9/v1/traces");
    }
}
