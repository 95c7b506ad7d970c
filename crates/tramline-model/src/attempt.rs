//! Asking again: who is busy, gone or breaks off is asked a few times, with longer and longer waits.
//!
//! A completion changes nothing in the world, so it may always be asked for again.

use crate::endpoint::{Dialect, Endpoint};
use crate::events::{ANSWER_BYTES_MAX, Events, Heard};
use crate::{anthropic, openai};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tramline_core::failure::{Failure, FailureKind};
use tramline_engine::clock;
use tramline_engine::seams::{Answer, Prompt};

/// The first wait; each further one is twice as long.
const WAIT_FIRST: Duration = Duration::from_millis(250);
/// The longest wait, also if the endpoint asks for more.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// So much of an error's body is looked at.
const ERROR_BYTES_MAX: usize = 16 << 10;
/// So much of it is told.
const ERROR_CHARS_TOLD: usize = 300;
/// A token is about so many bytes, where nobody counts them.
const TOKEN_BYTES: usize = 4;

/// Why an attempt came to nothing.
struct Missed {
    failure: Failure,
    /// Whether it is worth another attempt, and after what wait if the endpoint says so.
    again: Option<Option<Duration>>,
}

impl Missed {
    fn for_good(kind: FailureKind, message: String) -> Self {
        let failure = Failure::new(kind, message);
        Self {
            failure,
            again: None,
        }
    }

    fn for_now(kind: FailureKind, message: String, wait: Option<Duration>) -> Self {
        Self {
            again: Some(wait),
            ..Self::for_good(kind, message)
        }
    }
}

/// Asks for an answer until it comes, the attempts are used up or the time is over.
pub(crate) async fn complete(
    client: &Client,
    endpoint: &Endpoint,
    prompt: &Prompt,
) -> Result<Answer, Failure> {
    let until = Instant::now() + endpoint.timeout;
    let mut wait = WAIT_FIRST;
    for attempt in 1.. {
        let missed = match timeout_at(until, once(client, endpoint, prompt)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(missed)) => missed,
            Err(_) => return Err(late(endpoint)),
        };
        let Some(asked) = missed.again.filter(|_| attempt < endpoint.attempts) else {
            let failure = missed.failure;
            let message = match attempt {
                1 => failure.message,
                more => format!("{} (after {more} attempts)", failure.message),
            };
            return Err(Failure { message, ..failure });
        };
        let pause = asked.unwrap_or_else(|| spread(wait)).min(WAIT_MAX);
        wait = (wait * 2).min(WAIT_MAX);
        if Instant::now() + pause >= until {
            return Err(missed.failure);
        }
        sleep(pause).await;
    }
    Err(late(endpoint))
}

/// Somewhere between half of a wait and the whole of it, so that many do not come back at once.
fn spread(wait: Duration) -> Duration {
    let part = (clock::random() % 512) as f64 / 1_024.0;
    wait.mul_f64(0.5 + part)
}

fn late(endpoint: &Endpoint) -> Failure {
    let message = format!(
        "{} gave no answer within {} s",
        endpoint.host(),
        endpoint.timeout.as_secs()
    );
    Failure::new(FailureKind::Timeout, message)
}

async fn once(client: &Client, endpoint: &Endpoint, prompt: &Prompt) -> Result<Answer, Missed> {
    let request = match endpoint.dialect {
        Dialect::OpenAi => openai::request(client, endpoint, prompt),
        Dialect::Anthropic => anthropic::request(client, endpoint, prompt),
    };
    let sent = request.header(CONTENT_TYPE, "application/json").send();
    let silent = || {
        let message = format!("{} is silent", endpoint.host());
        Missed::for_now(FailureKind::Timeout, message, None)
    };
    let sent = timeout(endpoint.silence, sent).await;
    let response = sent.map_err(|_| silent())?.map_err(|error| {
        let cause = std::error::Error::source(&error);
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        let cause = endpoint.without_secrets(&cause);
        let message = format!("{} cannot be reached{cause}", endpoint.host());
        Missed::for_now(FailureKind::Unavailable, message, None)
    })?;
    if !response.status().is_success() {
        let refused = timeout(endpoint.silence, refused(endpoint, response)).await;
        return Err(refused.unwrap_or_else(|_| silent()));
    }
    let heard = listen(endpoint, response).await?;
    answered(endpoint, prompt, heard)
}

/// Why an endpoint answered with an error.
async fn refused(endpoint: &Endpoint, mut response: Response) -> Missed {
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER);
    let after = after.and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok());
    let after = after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let mut body = Vec::new();
    while body.len() < ERROR_BYTES_MAX
        && let Ok(Some(part)) = response.chunk().await
    {
        body.extend_from_slice(&part);
    }
    let says = words(endpoint, &body);
    let message = format!("{} answered {status}{says}", endpoint.host());
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT => {
            Missed::for_now(FailureKind::Unavailable, message, after)
        }
        _ if status.is_server_error() => Missed::for_now(FailureKind::Unavailable, message, after),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let message = format!("{message}; is the key of the model set and right?");
            Missed::for_good(FailureKind::Forbidden, message)
        }
        _ => Missed::for_good(FailureKind::BadAnswer, message),
    }
}

/// What an error's body says, in a few words.
fn words(endpoint: &Endpoint, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let told = value.as_ref().and_then(|value| {
        let message = value
            .pointer("/error/message")
            .or_else(|| value.get("message"));
        message.and_then(serde_json::Value::as_str)
    });
    // Before it is cut: half of a key is not known again.
    let told = endpoint.without_secrets(told.unwrap_or(&text).trim());
    let short: String = told.chars().take(ERROR_CHARS_TOLD).collect();
    match short.is_empty() {
        true => short,
        false => format!(": {short}"),
    }
}

async fn listen(endpoint: &Endpoint, mut response: Response) -> Result<Heard, Missed> {
    let hear = match endpoint.dialect {
        Dialect::OpenAi => openai::hear,
        Dialect::Anthropic => anthropic::hear,
    };
    let (mut events, mut heard) = (Events::default(), Heard::default());
    let broke_off = || {
        let message = format!("{} broke off in the middle of its answer", endpoint.host());
        Missed::for_now(FailureKind::Unavailable, message, None)
    };
    loop {
        let part = timeout(endpoint.silence, response.chunk()).await;
        let part = part.map_err(|_| broke_off())?.map_err(|_| broke_off())?;
        let Some(part) = part else { break };
        if !events.push(&part) {
            let message = format!(
                "{} gave more than {ANSWER_BYTES_MAX} bytes",
                endpoint.host()
            );
            return Err(Missed::for_good(FailureKind::BadAnswer, message));
        }
        while let Some(piece) = events.next() {
            hear(&piece, &mut heard);
        }
    }
    if let Some(piece) = events.last() {
        hear(&piece, &mut heard);
    }
    if heard.done || heard.error.is_some() {
        return Ok(heard);
    }
    Err(broke_off())
}

fn answered(endpoint: &Endpoint, prompt: &Prompt, heard: Heard) -> Result<Answer, Missed> {
    if let Some(says) = heard.error {
        let message = format!("{}: {}", endpoint.host(), endpoint.without_secrets(&says));
        return Err(Missed::for_now(FailureKind::Unavailable, message, None));
    }
    if heard.cut && prompt.schema.is_some() {
        let message = format!(
            "the answer did not end within {} tokens; allow it more",
            prompt.tokens_max
        );
        return Err(Missed::for_good(FailureKind::BadAnswer, message));
    }
    let said: usize = prompt.messages.iter().map(|one| one.text.len()).sum();
    let guess = (said + heard.text.len()).div_ceil(TOKEN_BYTES) as u64;
    Ok(Answer {
        tokens: heard.tokens.unwrap_or(guess),
        text: endpoint.without_secrets(&heard.text),
    })
}
