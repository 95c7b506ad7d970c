//! The answer to a posted message, read up to a limit.

use super::Result;
use crate::client::lines::LIBRARY_BYTES_MAX;
use futures_util::stream::{BoxStream, StreamExt as _};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use reqwest::Response;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{
    EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};

/// Characters of an unexpected body that an error shows.
const BODY_CHARS_SHOWN_MAX: usize = 256;
/// Bytes of a body that came with an error status: an error needs no more.
const ERROR_BYTES_MAX: usize = 64 * 1024;

type Events = BoxStream<'static, std::result::Result<Sse, sse_stream::Error>>;

/// Reads the answer to a message.
pub(super) async fn read(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
    max: usize,
) -> Result<StreamableHttpPostResponse> {
    turned_away(&response)?;
    let status = response.status();
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    if !status.is_success() {
        return failed(response, message, has_session, max).await;
    }
    let waits = matches!(message, JsonRpcMessage::Request(_));
    if response.content_length() == Some(0) && !waits {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let max = match is_call(message) {
        true => max,
        false => max.min(LIBRARY_BYTES_MAX),
    };
    let session = text(response.headers(), HEADER_SESSION_ID);
    match text(response.headers(), CONTENT_TYPE.as_str()) {
        Some(kind) if kind.starts_with(EVENT_STREAM_MIME_TYPE) => Ok(
            StreamableHttpPostResponse::Sse(events(response, max), session),
        ),
        Some(kind) if kind.starts_with(JSON_MIME_TYPE) => {
            let body = whole(response, max).await?;
            match serde_json::from_slice(&body) {
                Ok(answer) => Ok(StreamableHttpPostResponse::Json(
                    addressed(answer, message),
                    session,
                )),
                // Nobody waits for an answer to these, so that it does not matter what it says.
                Err(_) if !waits => Ok(StreamableHttpPostResponse::Accepted),
                Err(error) => Err(unexpected(format!(
                    "no JSON-RPC message: {error}: {}",
                    shown(&body)
                ))),
            }
        }
        kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
    }
}

/// An answer that asks for credentials, as an error.
fn turned_away(response: &Response) -> Result<()> {
    let Some(challenge) = text(response.headers(), WWW_AUTHENTICATE.as_str()) else {
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

/// An answer with an error status: the JSON-RPC error in it, if there is one.
async fn failed(
    response: Response,
    message: &ClientJsonRpcMessage,
    has_session: bool,
    max: usize,
) -> Result<StreamableHttpPostResponse> {
    let status = response.status();
    let kind = text(response.headers(), CONTENT_TYPE.as_str());
    let is_json = kind.is_some_and(|kind| kind.starts_with(JSON_MIME_TYPE));
    let busy = status == StatusCode::TOO_MANY_REQUESTS;
    let is_broken = busy || status.is_server_error();
    let after = text(response.headers(), RETRY_AFTER.as_str());
    let broken = || HttpStatusError::new(status.as_u16(), after);
    if is_broken && (busy || !is_json) {
        return Err(broken().into());
    }
    let session = text(response.headers(), HEADER_SESSION_ID);
    let is_refused = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    // What says nothing, or too much, still has its status.
    let body = whole(response, max.min(ERROR_BYTES_MAX)).await;
    let body = body.unwrap_or_default();
    let error = match serde_json::from_slice(&body) {
        Ok(error @ JsonRpcMessage::Error(_)) if !is_refused => Some(error),
        _ => None,
    };
    if let Some(request) = discovers(message).filter(|_| !has_session && !is_refused)
        && status.is_client_error()
    {
        // A server of an earlier revision does not know the question: that is an answer to it.
        let error = match error {
            Some(JsonRpcMessage::Error(error)) => error.error,
            _ => ErrorData::invalid_request(
                format!(
                    "server/discover was answered with {status}: {}",
                    shown(&body)
                ),
                None,
            ),
        };
        let answer = ServerJsonRpcMessage::error(error, Some(request));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match error.filter(|_| is_json) {
        Some(error) => Ok(StreamableHttpPostResponse::Json(
            addressed(error, message),
            session,
        )),
        None if is_broken => Err(broken().into()),
        None => Err(unexpected(format!("HTTP {status}: {}", shown(&body)))),
    }
}

/// Whether a message calls a tool, whose answer may be longer than others.
fn is_call(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::CallToolRequest(_)))
}

/// The id of a request that asks what a server is.
fn discovers(message: &ClientJsonRpcMessage) -> Option<rmcp::model::RequestId> {
    match message {
        JsonRpcMessage::Request(request) => match request.request {
            ClientRequest::DiscoverRequest(_) => Some(request.id.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// An error without an id answers the request it came back for. The library would drop it, and the
/// call would wait until its time is up.
fn addressed(
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

/// A body, as long as it is not too long.
async fn whole(mut response: Response, max: usize) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    let chunk = |chunk| StreamableHttpError::Client(chunk);
    while let Some(part) = response.chunk().await.map_err(chunk)? {
        if body.len() + part.len() > max {
            return Err(unexpected(format!(
                "the answer holds more than {max} bytes"
            )));
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// The events of a stream, as long as none is too long.
fn events(response: Response, max: usize) -> Events {
    let mut open = OpenEvent::default();
    let mut is_over = false;
    let parts = response.bytes_stream();
    let bounded = parts.map(move |part| {
        let part = part.map_err(|error| std::io::Error::other(error.without_url()))?;
        if is_over || open.take(&part) > max {
            is_over = true;
            let message = format!("an event of the answer holds more than {max} bytes");
            return Err(std::io::Error::other(message));
        }
        Ok(part)
    });
    SseStream::from_bytes_stream(bounded).boxed()
}

/// How much of an event has arrived that is not complete yet.
#[derive(Default)]
struct OpenEvent {
    bytes: usize,
    /// Bytes of its last line.
    line: usize,
    is_comment: bool,
    after_return: bool,
}

impl OpenEvent {
    /// Counts another part of the stream; gives the most that was open at any time in it.
    fn take(&mut self, part: &[u8]) -> usize {
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

    /// An empty line ends an event; a comment belongs to none.
    fn end_line(&mut self) {
        match (self.line, self.is_comment) {
            (0, _) => self.bytes = 0,
            (line, true) => self.bytes -= line,
            (_, false) => self.bytes += 1,
        }
        self.line = 0;
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.as_bytes();
    Some(String::from_utf8_lossy(value).into_owned())
}

fn unexpected(message: String) -> StreamableHttpError<reqwest::Error> {
    StreamableHttpError::UnexpectedServerResponse(message.into())
}

fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(BODY_CHARS_SHOWN_MAX * 4)]);
    text.chars().take(BODY_CHARS_SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let taken = parts.iter().map(|part| event.take(part.as_bytes()));
            assert_eq!(taken.last(), Some(most), "{parts:?}");
            assert_eq!(event.bytes, open, "{parts:?}");
        }
    }
}
