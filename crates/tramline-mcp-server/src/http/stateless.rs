//! Stateless fast path: answers simple tool calls directly in the request handler.
//!
//! For a stateless request, the MCP library opens a connection: it starts three tasks, copies the message
//! several times and answers with an event stream. A call that asks for neither progress nor log messages has
//! exactly one answer, and gets it from the same handler without that overhead. Everything else goes to the
//! library, which also reports what is wrong with a request.

use super::super::SharedState;
use super::super::caller::Caller;
use super::super::connection::ClientConnection;
use super::body;
use super::malformed;
use super::origin::SingleHeader;
use super::sessions::{self, HttpSessions, SessionHolder};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ErrorCode, Implementation,
    InitializeRequestParams, JsonObject, JsonRpcVersion2_0, ProtocolVersion, RequestId,
    RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::service::{Peer, RequestContext, RoleServer, serve_directly};
use rmcp::transport::streamable_http_server::StreamableHttpService;
use serde::Deserialize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio_util::sync::CancellationToken;

/// Maximum size of a request handled here, in bytes. Larger ones go to the library.
const STATELESS_BYTES_MAX: usize = 1 << 20;

/// Maximum size of a message, in bytes. Larger ones are rejected.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 20;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// Prefix of headers that repeat arguments.
const PARAMETER_PREFIX: &str = "mcp-param-";
const CALL_METHOD: &str = "tools/call";
const JSON: &str = "application/json";
/// Field of `_meta` with the protocol version.
const PROTOCOL_FIELD: &str = "io.modelcontextprotocol/protocolVersion";
/// Field of `_meta` that requests log messages.
const LOG_LEVEL_FIELD: &str = "io.modelcontextprotocol/logLevel";

/// Answers requests directly or through the library.
pub(super) struct StatelessHandler {
    shared: Arc<SharedState>,
    /// A dummy client: requests handled here only expect an answer.
    peer: Peer<RoleServer>,
    library: StreamableHttpService<ClientConnection, HttpSessions>,
    sessions: Arc<HttpSessions>,
    stop: CancellationToken,
}

/// A tool call. Requests with other fields go to the library.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatelessCall {
    #[serde(rename = "jsonrpc")]
    _jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    method: String,
    params: StatelessParams,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatelessParams {
    #[serde(rename = "_meta")]
    meta: RequestMetaObject,
    name: String,
    #[serde(default)]
    arguments: Option<JsonObject>,
}

impl StatelessHandler {
    pub(super) fn new(
        shared: Arc<SharedState>,
        library: StreamableHttpService<ClientConnection, HttpSessions>,
        sessions: Arc<HttpSessions>,
        stop: CancellationToken,
    ) -> Self {
        // What the library assumes about a stateless client.
        let nobody =
            InitializeRequestParams::new(ClientCapabilities::default(), Implementation::default())
                .with_protocol_version(ProtocolVersion::V_2026_07_28);
        let silence = (tokio::io::empty(), tokio::io::sink());
        let served = serve_directly(
            ClientConnection::new(Arc::clone(&shared)),
            silence,
            Some(nobody),
        );
        Self {
            peer: served.peer().clone(),
            shared,
            library,
            sessions,
            stop,
        }
    }

    /// Whether a request head is that of a call that can be answered here.
    fn is_candidate(parts: &Parts) -> bool {
        let headers = &parts.headers;
        let says = |name: HeaderName, word: &str| single_header(headers, &name) == Some(word);
        let accepts = single_header(headers, &ACCEPT)
            .is_some_and(|it| it.contains(JSON) && it.contains("text/event-stream"));
        let is_json = single_header(headers, &CONTENT_TYPE).is_some_and(|it| it.starts_with(JSON));
        let bytes = single_header(headers, &CONTENT_LENGTH).and_then(|it| it.parse().ok());
        parts.method == Method::POST
            && says(VERSION, ProtocolVersion::V_2026_07_28.as_str())
            && says(METHOD, CALL_METHOD)
            && accepts
            && is_json
            && bytes.is_some_and(|bytes: usize| bytes <= STATELESS_BYTES_MAX)
            && !headers.contains_key(SESSION)
            && !headers
                .keys()
                .any(|name| name.as_str().starts_with(PARAMETER_PREFIX))
    }

    /// The call in a request body, if it can be answered here.
    fn parse_call(&self, headers: &HeaderMap, body: &[u8]) -> Option<StatelessCall> {
        let asked: StatelessCall = serde_json::from_slice(body).ok()?;
        let StatelessParams { meta, name, .. } = &asked.params;
        let wanted = asked.method == CALL_METHOD
            && single_header(headers, &NAME) == Some(name.as_str())
            && meta
                .get(PROTOCOL_FIELD)
                .is_some_and(|it| it == ProtocolVersion::V_2026_07_28.as_str())
            && meta.client_capabilities().is_some()
            && meta.get_progress_token().is_none()
            && !meta.contains_key(LOG_LEVEL_FIELD)
            && self
                .shared
                .catalog()
                .is_body_only(self.shared.prefix().strip(name));
        wanted.then_some(asked)
    }

    /// Lets the library answer.
    async fn answer_by_library(&self, parts: Parts, body: Body) -> Response {
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller = caller.unwrap_or_default();
        if !self.may_use_session(&parts, &caller) {
            return match self.end_elsewhere(&parts, &caller).await {
                true => StatusCode::ACCEPTED.into_response(),
                false => (StatusCode::NOT_FOUND, "unknown session").into_response(),
            };
        }
        let is_json = is_json(&parts.headers);
        // The library rejects other bodies without needing their content.
        let body = match parts.method == Method::POST && is_json {
            true => match body::read_body(body, MESSAGE_BYTES_MAX).await {
                Ok(body) => body,
                Err(refusal) => return *refusal,
            },
            false => Bytes::new(),
        };
        let request = Request::from_parts(parts, Body::from(body.clone()));
        let answered = sessions::with_caller(caller, self.library.handle(request)).await;
        match answered.status() {
            // The content type is correct, so the library rejected the content.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => malformed::error_response(&body),
            _ => answered.map(Body::new),
        }
    }

    /// Ends a session that another process over the store holds, if the request asks for it.
    async fn end_elsewhere(&self, parts: &Parts, caller: &Caller) -> bool {
        match SingleHeader::of(&parts.headers, &SESSION) {
            SingleHeader::Once(id) if parts.method == Method::DELETE => {
                self.sessions.end_stored(id, caller).await
            }
            SingleHeader::Once(_) | SingleHeader::Absent | SingleHeader::Invalid => false,
        }
    }

    /// Whether a request has no session, or one that its caller may use.
    fn may_use_session(&self, parts: &Parts, caller: &Caller) -> bool {
        let holder = match SingleHeader::of(&parts.headers, &SESSION) {
            SingleHeader::Absent => return true,
            SingleHeader::Once(id) => self.sessions.holder_of(id, caller),
            SingleHeader::Invalid => return false,
        };
        match holder {
            SessionHolder::Caller => true,
            SessionHolder::Another => false,
            // The library reports unknown sessions, and ignores the header for stateless requests.
            SessionHolder::Unknown => parts.method != Method::DELETE,
        }
    }

    /// Answers a request, directly or through the library.
    pub(super) async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        if !Self::is_candidate(&parts) {
            // Boxed, so that the common path does not reserve stack space for it.
            return Box::pin(self.answer_by_library(parts, body)).await;
        }
        let body = match body::read_body(body, STATELESS_BYTES_MAX).await {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        match self.parse_call(&parts.headers, &body) {
            Some(asked) => self.run_call(asked, parts).await,
            None => Box::pin(self.answer_by_library(parts, Body::from(body))).await,
        }
    }

    /// Runs a call and returns its response.
    async fn run_call(&self, asked: StatelessCall, parts: Parts) -> Response {
        let StatelessParams {
            meta,
            name,
            arguments,
        } = asked.params;
        let mut params = CallToolRequestParams::new(name);
        params.arguments = arguments;
        let mut context = RequestContext::new(asked.id.clone(), self.peer.clone());
        context.meta = meta;
        context.extensions.insert(parts);
        let cancel = context.ct.clone();
        let connection = ClientConnection::new(Arc::clone(&self.shared));
        let mut calling = CancelOnDrop {
            cancel,
            future: Some(Box::pin(async move {
                connection.call_tool(params, context).await
            })),
        };
        let answer = tokio::select! {
            biased;
            answer = &mut calling => answer,
            () = self.stop.cancelled() => {
                return (StatusCode::SERVICE_UNAVAILABLE, "the server is stopping").into_response();
            }
        };
        let (status, message) = match answer {
            Ok(response) => (
                StatusCode::OK,
                ServerJsonRpcMessage::response(response.into(), asked.id),
            ),
            Err(error) => {
                let status = match error.code {
                    ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => StatusCode::BAD_REQUEST,
                    _ => StatusCode::OK,
                };
                let id = Some(asked.id);
                (status, ServerJsonRpcMessage::error(error, id))
            }
        };
        match serde_json::to_vec(&message) {
            Ok(body) => {
                let mut response = Response::new(Body::from(body));
                *response.status_mut() = status;
                let json = HeaderValue::from_static(JSON);
                response.headers_mut().insert(CONTENT_TYPE, json);
                response
            }
            Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
        }
    }
}

/// Whether the content type is JSON, as the library checks it.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(JSON))
}

/// The value of a header that occurs once and is ASCII text.
fn single_header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

type StatelessResult = Result<CallToolResponse, rmcp::ErrorData>;

/// A running call. If it is dropped, it is cancelled and runs to its end in the background.
struct CancelOnDrop {
    cancel: CancellationToken,
    future: Option<Pin<Box<dyn Future<Output = StatelessResult> + Send>>>,
}

impl Future for CancelOnDrop {
    type Output = StatelessResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<StatelessResult> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        let polled = future.as_mut().poll(cx);
        if polled.is_ready() {
            self.future = None;
        }
        polled
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            self.cancel.cancel();
            // Without a runtime, the call cannot be finished, and no caller is left.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(future);
            }
        }
    }
}
