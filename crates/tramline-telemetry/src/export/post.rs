//! One request to a receiver, tried again while that may help.

use super::Say;
use crate::settings::Receiver;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, Url};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// How long to wait before the second try; each further one waits twice as long.
const WAIT_MIN: Duration = Duration::from_millis(500);
/// How long to wait at most.
const WAIT_MAX: Duration = Duration::from_secs(10);
/// How often it is looked whether the program ends.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Went {
    /// The receiver took it.
    Arrived,
    /// It was given up.
    Lost,
}

/// Sends requests, from a thread of its own.
pub(super) struct Post {
    /// Made at the first request: whoever sends nothing needs no connections.
    means: Option<(Runtime, Client)>,
    say: Say,
    /// Whether it was said that the receiver is away.
    complained: bool,
}

/// How one try ended.
enum Tried {
    Arrived,
    /// Another try may help, after this long if the receiver says so.
    Again(String, Option<Duration>),
    Refused(String),
}

impl Post {
    pub(super) fn new(say: Say) -> Self {
        Self {
            means: None,
            say,
            complained: false,
        }
    }

    /// Sends a body, for as long as there is patience and the program does not end.
    pub(super) fn send(
        &mut self,
        to: &Receiver,
        body: Vec<u8>,
        patience: Duration,
        ends: &dyn Fn() -> bool,
    ) -> Went {
        let until = Instant::now() + patience;
        let mut wait = WAIT_MIN;
        loop {
            let (why, after) = match self.once(to, body.clone()) {
                Tried::Arrived => {
                    self.complained = false;
                    return Went::Arrived;
                }
                Tried::Refused(why) => (why, None),
                Tried::Again(why, after) => (why, Some(after.unwrap_or(wait).min(WAIT_MAX))),
            };
            self.complain(to, &why);
            let Some(after) = after else {
                return Went::Lost;
            };
            let next = Instant::now() + after;
            if next > until || !rested(next, ends) {
                return Went::Lost;
            }
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    fn once(&mut self, to: &Receiver, body: Vec<u8>) -> Tried {
        let (runtime, client) = match &self.means {
            Some(means) => (&means.0, &means.1),
            None => match means() {
                Ok(made) => {
                    let made = self.means.insert(made);
                    (&made.0, &made.1)
                }
                Err(why) => return Tried::Refused(why),
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
                Ok(response) => judged(&response),
                // Its own words name the address, which may hold a password.
                Err(error) => Tried::Again(words(&error.without_url()), None),
            }
        })
    }

    /// Says that the receiver is away, once until it is back.
    fn complain(&mut self, to: &Receiver, why: &str) {
        tracing::debug!(target: "tramline::telemetry", why, "an export failed");
        if !self.complained {
            self.complained = true;
            let at = shown(&to.url);
            (self.say)(&format!(
                "telemetry does not reach {at}: {why}; runs go on, and this is said once"
            ));
        }
    }
}

fn means() -> Result<(Runtime, Client), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| words(&error))?;
    Ok((runtime, client))
}

fn judged(response: &Response) -> Tried {
    let status = response.status();
    if status.is_success() {
        return Tried::Arrived;
    }
    let why = format!("it answers {status}");
    let again = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::BAD_GATEWAY,
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::GATEWAY_TIMEOUT,
    ];
    if !again.contains(&status) {
        return Tried::Refused(why);
    }
    let after = response.headers().get(RETRY_AFTER);
    let after = after.and_then(|it| it.to_str().ok()?.parse().ok());
    Tried::Again(why, after.map(Duration::from_secs))
}

/// An error with what is behind it.
fn words(error: &reqwest::Error) -> String {
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

/// An address without what may be secret in it.
fn shown(url: &str) -> String {
    let Ok(url) = Url::parse(url) else {
        return "the receiver".to_owned();
    };
    let port = url
        .port()
        .map_or_else(String::new, |port| format!(":{port}"));
    let host = url.host_str().unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// Waits until then; false if the program ends first.
fn rested(until: Instant, ends: &dyn Fn() -> bool) -> bool {
    loop {
        if ends() {
            return false;
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(LOOK_EVERY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let url = "https://me:secret@host:9/v1/traces?key=secret";
        assert_eq!(shown(url), "https://host:9/v1/traces");
    }
}
