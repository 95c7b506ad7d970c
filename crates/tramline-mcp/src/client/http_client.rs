//! The HTTP client under a connection: the library's, with what some servers get wrong put right.

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

mod answer;

/// What an answer may be.
const ACCEPTED: &str = "text/event-stream, application/json";
/// Hops followed for one request: `/mcp` to `/mcp/` is one, more than a few is a loop.
const REDIRECTS_MAX: usize = 5;

type Headers = HashMap<HeaderName, HeaderValue>;
type Result<T> = std::result::Result<T, StreamableHttpError<reqwest::Error>>;
type Events =
    futures_util::stream::BoxStream<'static, std::result::Result<sse_stream::Sse, SseError>>;

/// Sends requests.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    bytes_max: usize,
}

impl Client {
    /// A client that keeps no idle connections, which the library found to stall, and follows
    /// redirects only where they lead the same request to the same host: the headers are meant
    /// for nobody else. It asks for no compressed answers, and takes none apart: a limit on what
    /// arrives is a limit on what is read.
    pub(super) fn new(bytes_max: usize) -> std::result::Result<Self, reqwest::Error> {
        // Fails only if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .pool_max_idle_per_host(0)
            .redirect(Policy::custom(follow));
        let http = client.build()?;
        Ok(Self { http, bytes_max })
    }
}

fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
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

/// Adds the configured headers; those that the protocol needs for itself are refused.
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

/// An address may hold a key in its query; no error says it.
fn unaddressed(error: StreamableHttpError<reqwest::Error>) -> StreamableHttpError<reqwest::Error> {
    match error {
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        other => other,
    }
}

impl StreamableHttpClient for Client {
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

    /// Sends a message and reads no more of the answer than `max` bytes, whatever its type. The
    /// library would read bodies and the texts of errors whole.
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
        let answer = answer::read(response.map_err(unaddressed)?, &message, has_session, max);
        answer.await.map_err(unaddressed)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<()> {
        let deleted = self.http.delete_session(uri, session, auth, headers).await;
        deleted.map_err(unaddressed)
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
            .map_err(unaddressed)
    }
}
