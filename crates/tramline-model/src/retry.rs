//! Retries: an endpoint that is busy, unreachable or interrupted is asked again, with exponential backoff.
//!
//! A completion has no side effects, so it may always be repeated.

use crate::endpoint::{Dialect, Endpoint};
use crate::sse::{ANSWER_BYTES_MAX, ResponseBuffer, SseParser};
use crate::{anthropic, openai};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tramline_engine::clock;
use tramline_engine::ports::{ModelAnswer, Prompt};
use tramline_workflow::failure::{Failure, FailureKind};

/// The first backoff; each further one is twice as long.
const BACKOFF_FIRST: Duration = Duration::from_millis(250);
/// The longest backoff, even if the endpoint asks for more.
const BACKOFF_MAX: Duration = Duration::from_secs(20);
/// How much of an error's body is read, in bytes.
const ERROR_BYTES_MAX: usize = 16 << 10;
/// How much of an error's body is shown, in characters.
const ERROR_CHARS_MAX: usize = 300;
/// Assumed size of a token in bytes, if the endpoint reports no usage.
const TOKEN_BYTES: usize = 4;

/// Why an attempt failed.
struct AttemptError {
    failure: Failure,
    /// Whether a retry may help, and after which delay if the endpoint gave one.
    retry_after: Option<Option<Duration>>,
}

impl AttemptError {
    fn permanent(kind: FailureKind, message: String) -> Self {
        let failure = Failure::new(kind, message);
        Self {
            failure,
            retry_after: None,
        }
    }

    fn retryable(kind: FailureKind, message: String, wait: Option<Duration>) -> Self {
        Self {
            retry_after: Some(wait),
            ..Self::permanent(kind, message)
        }
    }
}

/// Asks for an answer until it arrives, the attempts are used up or the time is over.
pub(crate) async fn complete_with_retries(
    client: &Client,
    endpoint: &Endpoint,
    prompt: &Prompt,
) -> Result<ModelAnswer, Failure> {
    let until = Instant::now() + endpoint.timeout;
    let mut wait = BACKOFF_FIRST;
    for number in 1.. {
        let missed = match timeout_at(until, attempt(client, endpoint, prompt)).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(missed)) => missed,
            Err(_) => return Err(timed_out(endpoint)),
        };
        let Some(asked) = missed.retry_after.filter(|_| number < endpoint.attempts) else {
            let failure = missed.failure;
            let message = match number {
                1 => failure.message,
                more => format!("{} (after {more} attempts)", failure.message),
            };
            return Err(Failure { message, ..failure });
        };
        let pause = asked.unwrap_or_else(|| jitter(wait)).min(BACKOFF_MAX);
        wait = (wait * 2).min(BACKOFF_MAX);
        if Instant::now() + pause >= until {
            return Err(missed.failure);
        }
        sleep(pause).await;
    }
    Err(timed_out(endpoint))
}

/// A random delay between half of a backoff and all of it, so that clients do not retry at the same time.
fn jitter(wait: Duration) -> Duration {
    let part = (clock::random() % 512) as f64 / 1_024.0;
    wait.mul_f64(0.5 + part)
}

fn timed_out(endpoint: &Endpoint) -> Failure {
    let message = format!(
        "{} did not answer within {} s",
        endpoint.host(),
        endpoint.timeout.as_secs()
    );
    Failure::new(FailureKind::Timeout, message)
}

async fn attempt(
    client: &Client,
    endpoint: &Endpoint,
    prompt: &Prompt,
) -> Result<ModelAnswer, AttemptError> {
    let request = match endpoint.dialect {
        Dialect::OpenAi => openai::request(client, endpoint, prompt),
        Dialect::Anthropic => anthropic::request(client, endpoint, prompt),
    };
    let sent = request.header(CONTENT_TYPE, "application/json").send();
    let silent = || {
        let message = format!("{} does not respond", endpoint.host());
        AttemptError::retryable(FailureKind::Timeout, message, None)
    };
    let sent = timeout(endpoint.idle_timeout, sent).await;
    let response = sent.map_err(|_| silent())?.map_err(|error| {
        let cause = std::error::Error::source(&error);
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        let cause = endpoint.redact_error(&cause);
        let message = format!("{} cannot be reached{cause}", endpoint.host());
        AttemptError::retryable(FailureKind::Unavailable, message, None)
    })?;
    if !response.status().is_success() {
        let refused = timeout(endpoint.idle_timeout, error_response(endpoint, response)).await;
        return Err(refused.unwrap_or_else(|_| silent()));
    }
    let heard = read_stream(endpoint, response).await?;
    into_answer(endpoint, prompt, heard)
}

/// The failure for an error response.
async fn error_response(endpoint: &Endpoint, mut response: Response) -> AttemptError {
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
    let says = error_message(endpoint, &body);
    let message = format!("{} answered {status}{says}", endpoint.host());
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::CONFLICT => {
            AttemptError::retryable(FailureKind::Unavailable, message, after)
        }
        _ if status.is_server_error() => {
            AttemptError::retryable(FailureKind::Unavailable, message, after)
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let message = format!("{message}; check the API key of the model");
            AttemptError::permanent(FailureKind::Forbidden, message)
        }
        _ => AttemptError::permanent(FailureKind::BadAnswer, message),
    }
}

/// The message in an error's body, shortened.
fn error_message(endpoint: &Endpoint, body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let value: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let told = value.as_ref().and_then(|value| {
        let message = value
            .pointer("/error/message")
            .or_else(|| value.get("message"));
        message.and_then(serde_json::Value::as_str)
    });
    // Redacted before it is cut: half a key would not be recognized.
    let told = endpoint.redact_error(told.unwrap_or(&text).trim());
    let short: String = told.chars().take(ERROR_CHARS_MAX).collect();
    match short.is_empty() {
        true => short,
        false => format!(": {short}"),
    }
}

async fn read_stream(
    endpoint: &Endpoint,
    mut response: Response,
) -> Result<ResponseBuffer, AttemptError> {
    let hear = match endpoint.dialect {
        Dialect::OpenAi => openai::push_event,
        Dialect::Anthropic => anthropic::push_event,
    };
    let (mut events, mut heard) = (SseParser::default(), ResponseBuffer::default());
    let broke_off = || {
        let message = format!("{} stopped in the middle of its answer", endpoint.host());
        AttemptError::retryable(FailureKind::Unavailable, message, None)
    };
    loop {
        let part = timeout(endpoint.idle_timeout, response.chunk()).await;
        let part = part.map_err(|_| broke_off())?.map_err(|_| broke_off())?;
        let Some(part) = part else { break };
        if !events.push(&part) {
            let message = format!(
                "{} sent more than {ANSWER_BYTES_MAX} bytes",
                endpoint.host()
            );
            return Err(AttemptError::permanent(FailureKind::BadAnswer, message));
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

fn into_answer(
    endpoint: &Endpoint,
    prompt: &Prompt,
    heard: ResponseBuffer,
) -> Result<ModelAnswer, AttemptError> {
    if let Some(says) = heard.error {
        let message = format!("{}: {}", endpoint.host(), endpoint.redact_error(&says));
        return Err(AttemptError::retryable(
            FailureKind::Unavailable,
            message,
            None,
        ));
    }
    if heard.truncated && prompt.schema.is_some() {
        let message = format!(
            "the answer is longer than {} tokens; raise the limit",
            prompt.tokens_max
        );
        return Err(AttemptError::permanent(FailureKind::BadAnswer, message));
    }
    let said: usize = prompt.messages.iter().map(|one| one.text.len()).sum();
    let guess = (said + heard.text.len()).div_ceil(TOKEN_BYTES) as u64;
    Ok(ModelAnswer {
        tokens: heard.tokens.unwrap_or(guess),
        text: endpoint.redact_text(&heard.text),
    })
}
