//! The HTTP client of a connection: the library's client with workarounds for common server bugs.

use super::RedactText;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::RequestBuilder;
use reqwest::redirect::{Attempt, Policy};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::common::http_header::{
    HEADER_LAST_EVENT_ID, HEADER_SESSION_ID, JSON_MIME_TYPE,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use std::collections::HashMap;
use std::sync::Arc;

mod response;

/// Accepted content types of an answer.
const ACCEPTED: &str = "text/event-stream, application/json";
/// Maximum number of redirects for one request: `/mcp` to `/mcp/` is one, more than a few is a loop.
const REDIRECTS_MAX: usize = 5;

type Headers = HashMap<HeaderName, HeaderValue>;
type Result<T> = std::result::Result<T, StreamableHttpError<reqwest::Error>>;
type Events =
    futures_util::stream::BoxStream<'static, std::result::Result<sse_stream::Sse, SseError>>;

/// HTTP client with a size limit on answers.
#[derive(Clone)]
pub(super) struct LimitedHttpClient {
    http: reqwest::Client,
    bytes_max: usize,
    redact: RedactText,
}

impl LimitedHttpClient {
    /// Creates the client. It keeps no idle connections, because the library found that they stall. It follows
    /// redirects only for the same request to the same host, because the headers may contain credentials. It
    /// does not accept compressed answers, so the limit on received bytes also limits the decoded size.
    pub(super) fn new(
        bytes_max: usize,
        redact: RedactText,
    ) -> std::result::Result<Self, reqwest::Error> {
        // Fails only if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .pool_max_idle_per_host(0)
            .redirect(Policy::custom(redirect_policy));
        let http = client.build()?;
        Ok(Self {
            http,
            bytes_max,
            redact,
        })
    }
}

fn redirect_policy(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let same_request = matches!(
        attempt.status(),
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
    );
    let from = attempt.previous().last();
    let same_host = from.is_some_and(|from| from.origin() == attempt.url().origin());
    if same_request && same_host && attempt.previous().len() <= REDIRECTS_MAX {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// Adds the configured headers; headers reserved by the protocol are rejected.
fn with_headers(mut request: RequestBuilder, headers: Headers) -> Result<RequestBuilder> {
    let own = ["accept", HEADER_SESSION_ID, HEADER_LAST_EVENT_ID];
    for (name, value) in headers {
        if own
            .iter()
            .any(|own| name.as_str().eq_ignore_ascii_case(own))
        {
            return Err(StreamableHttpError::ReservedHeaderConflict(
                name.to_string(),
            ));
        }
        request = request.header(name, value);
    }
    Ok(request)
}

/// Removes the url from an error, because its query may contain a key.
fn strip_url(error: StreamableHttpError<reqwest::Error>) -> StreamableHttpError<reqwest::Error> {
    match error {
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        other => other,
    }
}

impl StreamableHttpClient for LimitedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse> {
        let max = self.bytes_max;
        self.post_message_with_max_sse_event_size(uri, message, session, auth, headers, max)
            .await
    }

    /// Sends a message and reads at most `max` bytes of the answer, whatever its content type. The library
    /// would read JSON bodies and error texts without a limit.
    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<StreamableHttpPostResponse> {
        let has_session = session.is_some();
        let mut request = self.http.post(uri.as_ref()).header(ACCEPT, ACCEPTED);
        if let Some(auth) = auth {
            request = request.bearer_auth(auth);
        }
        request = with_headers(request, headers)?;
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        let body = serde_json::to_vec(&message)?;
        let sent = request.header(CONTENT_TYPE, JSON_MIME_TYPE).body(body);
        let response = sent.send().await;
        let response = response.map_err(StreamableHttpError::Client);
        let response = response.map_err(strip_url)?;
        let answer =
            response::read_response(response, &message, has_session, max, &self.redact).await;
        answer.map_err(strip_url)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<()> {
        let deleted = self.http.delete_session(uri, session, auth, headers).await;
        deleted.map_err(strip_url)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<Events> {
        let max = self.bytes_max;
        self.get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, max)
            .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        auth: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<Events> {
        self.http
            .get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, max)
            .await
            .map_err(strip_url)
    }
}
