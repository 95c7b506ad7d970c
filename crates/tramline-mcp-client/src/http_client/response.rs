//! Reads the answer to a POSTed message, up to a size limit.

use super::Result;
use crate::RedactText;
use crate::bounded_reader::LIBRARY_BYTES_MAX;
use futures_util::stream::{BoxStream, StreamExt as _};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use reqwest::Response;
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

/// How many characters of an unexpected body an error message shows.
const BODY_CHARS_SHOWN_MAX: usize = 256;
/// Maximum size of a body with an error status, in bytes: an error message needs no more.
const ERROR_BYTES_MAX: usize = 64 * 1024;

type Events = BoxStream<'static, std::result::Result<Sse, sse_stream::Error>>;

/// Reads the answer to a message.
pub(super) async fn read_response(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
    max: usize,
    redact: &RedactText,
) -> Result<StreamableHttpPostResponse> {
    check_credentials(&response)?;
    let status = response.status();
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if !status.is_success() {
        return read_error_response(response, message, has_session, max, redact).await;
    }
    let waits = matches!(message, JsonRpcMessage::Request(_));
    if response.content_length() == Some(0) && !waits {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let max = match is_call(message) {
        true => max,
        false => max.min(LIBRARY_BYTES_MAX),
    };
    let session = header_text(response.headers(), HEADER_SESSION_ID);
    match header_text(response.headers(), CONTENT_TYPE.as_str()) {
        Some(kind) if kind.starts_with(EVENT_STREAM_MIME_TYPE) => Ok(
            StreamableHttpPostResponse::Sse(bounded_events(response, max), session),
        ),
        Some(kind) if kind.starts_with(JSON_MIME_TYPE) => {
            let body = read_body(response, max).await?;
            match serde_json::from_slice(&body) {
                Ok(answer) => Ok(StreamableHttpPostResponse::Json(
                    with_request_id(answer, message),
                    session,
                )),
                // These messages expect no answer, so its content does not matter.
                Err(_) if !waits => Ok(StreamableHttpPostResponse::Accepted),
                Err(error) => Err(unexpected_response(format!(
                    "not a JSON-RPC message: {error}: {}",
                    body_excerpt(&body, redact)
                ))),
            }
        }
        kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
    }
}

/// Returns an error for an answer that asks for credentials.
fn check_credentials(response: &Response) -> Result<()> {
    let Some(challenge) = header_text(response.headers(), WWW_AUTHENTICATE.as_str()) else {
        return Ok(());
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(
            challenge,
        ))),
        StatusCode::FORBIDDEN => Err(StreamableHttpError::InsufficientScope(
            InsufficientScopeError::new(challenge, None),
        )),
        _ => Ok(()),
    }
}

/// Reads an answer with an error status: the JSON-RPC error in it, if there is one.
async fn read_error_response(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
    max: usize,
    redact: &RedactText,
) -> Result<StreamableHttpPostResponse> {
    let status = response.status();
    let kind = header_text(response.headers(), CONTENT_TYPE.as_str());
    let is_json = kind.is_some_and(|kind| kind.starts_with(JSON_MIME_TYPE));
    let busy = status == StatusCode::TOO_MANY_REQUESTS;
    let is_broken = busy || status.is_server_error();
    let after = header_text(response.headers(), RETRY_AFTER.as_str());
    let broken = || HttpStatusError::new(status.as_u16(), after);
    if is_broken && (busy || !is_json) {
        return Err(broken().into());
    }
    let session = header_text(response.headers(), HEADER_SESSION_ID);
    let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    // An empty or oversized body still has its status.
    let body = read_body(response, max.min(ERROR_BYTES_MAX)).await;
    let body = body.unwrap_or_default();
    let error = match serde_json::from_slice(&body) {
        Ok(error @ JsonRpcMessage::Error(_)) if !is_refused => Some(error),
        _ => None,
    };
    if let Some(request) = discover_request_id(message).filter(|_| !has_session && !is_refused)
        && status.is_client_error()
    {
        // A server with an older protocol version does not know `server/discover`; its error answers the
        // question.
        let error = match error {
            Some(JsonRpcMessage::Error(error)) => error.error,
            _ => ErrorData::invalid_request(
                format!(
                    "server/discover was answered with {status}: {}",
                    body_excerpt(&body, redact)
                ),
                None,
            ),
        };
        let answer = ServerJsonRpcMessage::error(error, Some(request));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match error.filter(|_| is_json) {
        Some(error) => Ok(StreamableHttpPostResponse::Json(
            with_request_id(error, message),
            session,
        )),
        None if is_broken => Err(broken().into()),
        None if let Some(id) = call_id(message).filter(|_| rejects_call(status)) => {
            let says = format!("HTTP {status}: {}", body_excerpt(&body, redact));
            let error = ErrorData::invalid_request(says, None);
            let answer = ServerJsonRpcMessage::error(error, Some(id));
            Ok(StreamableHttpPostResponse::Json(answer, session))
        }
        None => Err(unexpected_response(format!(
            "HTTP {status}: {}",
            body_excerpt(&body, redact)
        ))),
    }
}

/// Whether a status is the server's answer to a call. Without the session (404), too early or too slow, the call can
/// be made again.
fn rejects_call(status: StatusCode) -> bool {
    let is_temporary = matches!(
        status,
        StatusCode::NOT_FOUND
            | StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_EARLY
            | StatusCode::TOO_MANY_REQUESTS
    );
    status.is_client_error() && !is_temporary
}

/// The id, if the message is a tool call.
fn call_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) if is_call(message) => Some(request.id.clone()),
        _ => None,
    }
}

/// Whether a message is a tool call, whose answer may be larger than others.
fn is_call(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::CallToolRequest(_)))
}

/// The id, if the message is a `server/discover` request.
fn discover_request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        JsonRpcMessage::Request(request) => match request.request {
            ClientRequest::DiscoverRequest(_) => Some(request.id.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Gives an error without an id the id of the request it answers. The library would drop it, and the call would
/// wait until its timeout.
fn with_request_id(
    mut answer: ServerJsonRpcMessage,
    message: &ClientJsonRpcMessage,
) -> ServerJsonRpcMessage {
    if let (JsonRpcMessage::Error(error), JsonRpcMessage::Request(request)) = (&mut answer, message)
        && error.id.is_none()
    {
        error.id = Some(request.id.clone());
    }
    answer
}

/// Reads a body of at most `max` bytes.
async fn read_body(mut response: Response, max: usize) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    let chunk = |chunk| StreamableHttpError::Client(chunk);
    while let Some(part) = response.chunk().await.map_err(chunk)? {
        if body.len() + part.len() > max {
            return Err(unexpected_response(format!(
                "the answer exceeds {max} bytes"
            )));
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// The events of a stream, each at most `max` bytes.
fn bounded_events(response: Response, max: usize) -> Events {
    let mut open = OpenEvent::default();
    let mut is_over = false;
    let parts = response.bytes_stream();
    let bounded = parts.map(move |part| {
        let part = part.map_err(|error| std::io::Error::other(error.without_url()))?;
        if is_over || open.count_part(&part) > max {
            is_over = true;
            let message = format!("an event of the answer exceeds {max} bytes");
            return Err(std::io::Error::other(message));
        }
        Ok(part)
    });
    SseStream::from_bytes_stream(bounded).boxed()
}

/// Size of the event that is not complete yet.
#[derive(Default)]
struct OpenEvent {
    bytes: usize,
    /// Bytes of the current line.
    line: usize,
    is_comment: bool,
    after_return: bool,
}

impl OpenEvent {
    /// Counts the next part of the stream; returns the largest open size seen in it.
    fn count_part(&mut self, part: &[u8]) -> usize {
        let mut most = 0;
        for byte in part {
            let is_second = self.after_return && *byte == b'\n';
            self.after_return = *byte == b'\r';
            if is_second {
                continue;
            }
            if matches!(byte, b'\n' | b'\r') {
                self.end_line();
                continue;
            }
            if self.line == 0 {
                self.is_comment = *byte == b':';
            }
            self.line += 1;
            self.bytes += 1;
            most = most.max(self.bytes);
        }
        most
    }

    /// Ends a line. An empty line ends the event; a comment is not part of an event.
    fn end_line(&mut self) {
        match (self.line, self.is_comment) {
            (0, _) => self.bytes = 0,
            (line, true) => self.bytes -= line,
            (_, false) => self.bytes += 1,
        }
        self.line = 0;
    }
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.as_bytes();
    Some(String::from_utf8_lossy(value).into_owned())
}

fn unexpected_response(message: String) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::UnexpectedServerResponse(message.into())
}

/// What matters of an unexpected body: the message of a JSON error, the title of a page, or the start of the text.
fn body_excerpt(body: &[u8], redact: &RedactText) -> String {
    let text = String::from_utf8_lossy(body);
    let says = json_message(body).or_else(|| page_title(&text));
    redact.excerpt(says.as_deref().unwrap_or(&text), BODY_CHARS_SHOWN_MAX)
}

/// The message in a JSON body, in the places where APIs put it.
fn json_message(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let places = [
        "/error/message",
        "/error_description",
        "/message",
        "/detail",
        "/title",
        "/error",
    ];
    let found = places
        .iter()
        .filter_map(|place| value.pointer(place)?.as_str());
    found
        .map(str::trim)
        .find(|says| !says.is_empty())
        .map(str::to_owned)
}

/// The title or first heading of an HTML page; `None` if the text is not HTML.
fn page_title(text: &str) -> Option<String> {
    // Lower case of the same length, so that places in it are places in the text.
    let lower = text.to_ascii_lowercase();
    let start = lower.trim_start();
    if !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return None;
    }
    let inside = |tag: &str| {
        let opened = lower.find(&format!("<{tag}"))?;
        let from = opened + lower[opened..].find('>')? + 1;
        let to = from + lower[from..].find(&format!("</{tag}"))?;
        let words: Vec<_> = text[from..to].split_whitespace().collect();
        let title = words.join(" ");
        (!title.is_empty() && !title.contains('<')).then_some(title)
    };
    Some(
        inside("title")
            .or_else(|| inside("h1"))
            .unwrap_or_else(|| "an HTML page".to_owned()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unexpected_body_is_redacted_before_it_is_cut() {
        let secret = "ghp0Zk31vQx8TfWmC4uYd7LsBn2R";
        let redact = RedactText::new(move |text| text.replace(secret, "[redacted:K]"));
        for padding in 0..=BODY_CHARS_SHOWN_MAX * 4 + 3 {
            let body = format!("{}{secret} end", "p".repeat(padding));
            let shown = body_excerpt(body.as_bytes(), &redact);
            assert!(!shown.contains("ghp0"), "{shown}");
            assert!(shown.chars().count() <= BODY_CHARS_SHOWN_MAX + 1);
        }
    }

    #[test]
    fn pages_and_json_errors_are_cut_to_what_matters() {
        let shown = |body: &str| body_excerpt(body.as_bytes(), &RedactText::default());
        for (body, says) in [
            (
                "<!DOCTYPE html>\n<html><head><title>502 Bad\n Gateway</title></head><body>x</body>",
                "502 Bad Gateway",
            ),
            (
                "<HTML lang=en><BODY><H1 class=a>Not Found</H1><p>nginx",
                "Not Found",
            ),
            ("<html><body><p>É", "an HTML page"),
            (
                r#"{"error": {"message": "quota exceeded", "code": 7}}"#,
                "quota exceeded",
            ),
            (r#"{"detail": "no such tenant"}"#, "no such tenant"),
            (r#"{"error": "invalid_token"}"#, "invalid_token"),
            ("plain words", "plain words"),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
        ] {
            assert_eq!(shown(body), says);
        }
    }

    #[test]
    fn what_is_open_of_an_event_is_counted_over_parts_and_line_ends() {
        let cases: [(&[&str], usize, usize); 6] = [
            (&["data: ab\n\n"], 8, 0),
            (&["data: a", "b\r", "\n\r\nda"], 2, 2),
            (&[": ping\n: ping\n"], 6, 0),
            (&["data: a\n: ping\ndata: b\n"], 15, 16),
            (&["data: a\r\rdata"], 7, 4),
            (&["data", "data", "data"], 12, 12),
        ];
        for (parts, most, open) in cases {
            let mut event = OpenEvent::default();
            let taken = parts.iter().map(|part| event.count_part(part.as_bytes()));
            assert_eq!(taken.last(), Some(most), "{parts:?}");
            assert_eq!(event.bytes, open, "{parts:?}");
        }
    }
}
