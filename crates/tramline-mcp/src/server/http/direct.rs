//! Calls of tools that need nothing but an answer, made where the request stands.
//!
//! The MCP library serves a request of the protocol without sessions as a connection of its own: it
//! starts three tasks, reads and writes the message several times over and answers with a stream of
//! events. A call that asks for no progress and no log can have one answer only, and gets it from
//! the same handler without all that. Whatever is not plainly such a call goes to the library, which
//! also says what is wrong with it.

use super::super::Shared;
use super::super::caller::Caller;
use super::super::connection::Connection;
use super::body;
use super::malformed;
use super::place::Field;
use super::sessions::{self, Holder, Sessions};
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

/// Larger requests go to the library, in bytes.
const BYTES_MAX: usize = 1 << 20;

/// Larger messages are refused, in bytes.
pub(super) const MESSAGE_BYTES_MAX: usize = 4 << 20;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// What headers that repeat arguments begin with.
const PARAMETER: &str = "mcp-param-";
const CALL: &str = "tools/call";
const JSON: &str = "application/json";
/// The field of `_meta` that names the protocol.
const PROTOCOL: &str = "io.modelcontextprotocol/protocolVersion";
/// The field of `_meta` by which a caller asks for log.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Answers requests, with the library behind it.
pub(super) struct Direct {
    shared: Arc<Shared>,
    /// A client that cannot be spoken to: whoever gets here wants to hear an answer alone.
    peer: Peer<RoleServer>,
    library: StreamableHttpService<Connection, Sessions>,
    sessions: Arc<Sessions>,
    stop: CancellationToken,
}

/// A call as it is sent. What has more to it goes to the library.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    #[serde(rename = "jsonrpc")]
    _jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    method: String,
    params: Params,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    #[serde(rename = "_meta")]
    meta: RequestMetaObject,
    name: String,
    #[serde(default)]
    arguments: Option<JsonObject>,
}

impl Direct {
    pub(super) fn new(
        shared: Arc<Shared>,
        library: StreamableHttpService<Connection, Sessions>,
        sessions: Arc<Sessions>,
        stop: CancellationToken,
    ) -> Self {
        // What the library assumes of a client of the protocol without sessions.
        let nobody =
            InitializeRequestParams::new(ClientCapabilities::default(), Implementation::default())
                .with_protocol_version(ProtocolVersion::V_2026_07_28);
        let silence = (tokio::io::empty(), tokio::io::sink());
        let served = serve_directly(Connection::new(Arc::clone(&shared)), silence, Some(nobody));
        Self {
            peer: served.peer().clone(),
            shared,
            library,
            sessions,
            stop,
        }
    }

    /// Whether the head of a request is that of a call whose answer is all that is wanted.
    fn fits(parts: &Parts) -> bool {
        let headers = &parts.headers;
        let says = |name: HeaderName, word: &str| only(headers, &name) == Some(word);
        let accepts = only(headers, &ACCEPT)
            .is_some_and(|it| it.contains(JSON) && it.contains("text/event-stream"));
        let is_json = only(headers, &CONTENT_TYPE).is_some_and(|it| it.starts_with(JSON));
        let bytes = only(headers, &CONTENT_LENGTH).and_then(|it| it.parse().ok());
        parts.method == Method::POST
            && says(VERSION, ProtocolVersion::V_2026_07_28.as_str())
            && says(METHOD, CALL)
            && accepts
            && is_json
            && bytes.is_some_and(|bytes: usize| bytes <= BYTES_MAX)
            && !headers.contains_key(SESSION)
            && !headers
                .keys()
                .any(|name| name.as_str().starts_with(PARAMETER))
    }

    /// The call in a request's body, if it is one whose answer is all that is wanted.
    fn read(&self, headers: &HeaderMap, body: &[u8]) -> Option<Asked> {
        let asked: Asked = serde_json::from_slice(body).ok()?;
        let Params { meta, name, .. } = &asked.params;
        let wanted = asked.method == CALL
            && only(headers, &NAME) == Some(name.as_str())
            && meta
                .get(PROTOCOL)
                .is_some_and(|it| it == ProtocolVersion::V_2026_07_28.as_str())
            && meta.client_capabilities().is_some()
            && meta.get_progress_token().is_none()
            && !meta.contains_key(LOG_LEVEL)
            && self.shared.offer().is_plain(name);
        wanted.then_some(asked)
    }

    /// Has the library answer.
    async fn library(&self, parts: Parts, body: Body) -> Response {
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller = caller.unwrap_or_default();
        if !self.may_use_session(&parts, &caller) {
            return (StatusCode::NOT_FOUND, "there is no such session").into_response();
        }
        let is_json = is_json(&parts.headers);
        // What the library reads only to refuse it does not have to come.
        let body = match parts.method == Method::POST && is_json {
            true => match body::whole(body, MESSAGE_BYTES_MAX).await {
                Ok(body) => body,
                Err(refusal) => return *refusal,
            },
            false => Bytes::new(),
        };
        let request = Request::from_parts(parts, Body::from(body.clone()));
        let answered = sessions::for_caller(caller, self.library.handle(request)).await;
        match answered.status() {
            // The type is right, so the library means the content.
            StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => malformed::answer(&body),
            _ => answered.map(Body::new),
        }
    }

    /// Whether a request names no session, or one that its caller may use.
    fn may_use_session(&self, parts: &Parts, caller: &Caller) -> bool {
        let holder = match Field::of(&parts.headers, &SESSION) {
            Field::Absent => return true,
            Field::Once(id) => self.sessions.used_by(id, caller),
            Field::Unusable => return false,
        };
        match holder {
            Holder::Caller => true,
            Holder::Another => false,
            // The library says what is wrong, and passes over it where there are no sessions.
            Holder::Unknown => parts.method != Method::DELETE,
        }
    }

    /// Answers a request, or has the library do it.
    pub(super) async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        if !Self::fits(&parts) {
            // In a box: every request is given room for what happens to few.
            return Box::pin(self.library(parts, body)).await;
        }
        let body = match body::whole(body, BYTES_MAX).await {
            Ok(body) => body,
            Err(refusal) => return *refusal,
        };
        match self.read(&parts.headers, &body) {
            Some(asked) => self.call(asked, parts).await,
            None => Box::pin(self.library(parts, Body::from(body))).await,
        }
    }

    /// Makes a call, and answers it.
    async fn call(&self, asked: Asked, parts: Parts) -> Response {
        let Params {
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
        let connection = Connection::new(Arc::clone(&self.shared));
        let mut calling = Calling {
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

/// Whether a body is said to be JSON, as the library takes it.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with(JSON))
}

/// The value of a header that is there once, and in plain letters.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

type Answered = Result<CallToolResponse, rmcp::ErrorData>;

/// A call under way. One that nobody waits for any more is cancelled, and still comes to its end.
struct Calling {
    cancel: CancellationToken,
    future: Option<Pin<Box<dyn Future<Output = Answered> + Send>>>,
}

impl Future for Calling {
    type Output = Answered;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answered> {
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

impl Drop for Calling {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            self.cancel.cancel();
            // Without a runtime there is nobody who could end what it began, and no caller either.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(future);
            }
        }
    }
}
