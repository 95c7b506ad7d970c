//! The HTTP client under a connection: the library's, with what some servers get wrong put right.

use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::redirect::{Attempt, Policy};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Hops followed for one request: `/mcp` to `/mcp/` is one, more than a few is a loop.
const REDIRECTS_MAX: usize = 5;

type Headers = HashMap<HeaderName, HeaderValue>;
type Result<T> = std::result::Result<T, StreamableHttpError<reqwest::Error>>;
type Events =
    futures_util::stream::BoxStream<'static, std::result::Result<sse_stream::Sse, SseError>>;

/// Sends requests.
#[derive(Clone)]
pub(super) struct Client(reqwest::Client);

impl Client {
    /// A client that keeps no idle connections, which the library found to stall, and follows
    /// redirects only where they lead the same request to the same host: the headers are meant
    /// for nobody else.
    pub(super) fn new() -> std::result::Result<Self, reqwest::Error> {
        // Fails only if a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .pool_max_idle_per_host(0)
            .redirect(Policy::custom(follow));
        client.build().map(Self)
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
        let max = super::ANSWER_BYTES_MAX;
        self.post_message_with_max_sse_event_size(uri, message, session, auth, headers, max)
            .await
    }

    /// An error without an id answers the request it came back for. The library would drop it,
    /// and the call would wait until its time is up.
    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: Headers,
        max: usize,
    ) -> Result<StreamableHttpPostResponse> {
        let asked = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let posted = self
            .0
            .post_message_with_max_sse_event_size(uri, message, session, auth, headers, max);
        let mut response = posted.await.map_err(unaddressed)?;
        if let StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), _) = &mut response
            && error.id.is_none()
        {
            error.id = asked;
        }
        Ok(response)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Result<()> {
        let deleted = self.0.delete_session(uri, session, auth, headers).await;
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
        let max = super::ANSWER_BYTES_MAX;
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
        self.0
            .get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, max)
            .await
            .map_err(unaddressed)
    }
}
