//! One call to a server: its request and its timeouts.

use super::RedactText;
use super::handler::{NotificationHandler, ProgressListener};
use super::wire_log::WireLog;
use rmcp::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, JsonObject, MetaObject, ProtocolVersion,
    RequestMetaObject,
};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tramline_expr::{Map, Str, Value};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::ids::ToolName;
use tramline_workflow::trace_context::TraceContext;

/// Key in `_meta` for the idempotency key.
const IDEMPOTENCY_KEY: &str = "tramline/idempotency-key";

/// Timeouts of a call: the next deadline without progress, and the final one.
#[derive(Clone, Copy)]
pub(super) struct CallDeadlines {
    pub(super) idle: Duration,
    pub(super) next: Instant,
    pub(super) last: Instant,
}

impl CallDeadlines {
    pub(super) fn new(idle: Duration, total: Duration) -> Self {
        let now = Instant::now();
        let last = now + total;
        Self {
            idle,
            next: last.min(now + idle),
            last,
        }
    }

    pub(super) fn extend(&mut self) {
        self.next = self.last.min(Instant::now() + self.idle);
    }
}

/// A tool call, kept in parts so that it can be retried if it was not sent.
pub(super) struct ToolRequest {
    pub(super) tool: ToolName,
    pub(super) arguments: Value,
    pub(super) key: Str,
    pub(super) cancel: CancellationToken,
    pub(super) progress: Option<ProgressListener>,
    pub(super) wire_log: Arc<WireLog>,
    pub(super) redact: RedactText,
    pub(super) upstream: Option<TraceContext>,
}

impl ToolRequest {
    /// The request as the library's type.
    pub(super) fn to_library_request(&self) -> ClientRequest {
        let mut meta = MetaObject::new();
        meta.insert(IDEMPOTENCY_KEY.to_owned(), self.key.as_str().into());
        for (name, text) in self.upstream.iter().flat_map(TraceContext::pairs) {
            meta.insert(name.to_owned(), text.into());
        }
        let mut params = CallToolRequestParams::new(self.tool.tool.to_string());
        if let Some(arguments) = self.arguments.as_object() {
            let pairs = arguments
                .iter()
                .map(|(key, value)| (key.to_string(), value.into()));
            params = params.with_arguments(pairs.collect::<JsonObject>());
        }
        let mut request = CallToolRequest::new(params);
        request.extensions.insert(RequestMetaObject::from(meta));
        ClientRequest::CallToolRequest(request)
    }

    /// The request as JSON text, without id and protocol version.
    pub(super) fn to_json(&self, token: i64, always: &RequestMeta) -> String {
        let params = RequestParams {
            request: self,
            token,
            always,
        };
        let body = RequestBody {
            method: "tools/call",
            params,
        };
        serde_json::to_string(&body).unwrap_or_default()
    }

    pub(super) fn cancelled_failure(&self) -> Failure {
        let message = format!("the call to {} was cancelled", self.tool);
        Failure::new(FailureKind::Cancelled, message)
    }

    pub(super) fn timeout_failure(&self, patience: CallDeadlines) -> Failure {
        let message = if patience.next == patience.last && patience.idle > Duration::ZERO {
            format!("{} reached the maximum duration of a call", self.tool)
        } else {
            format!("{} did not answer within {:?}", self.tool, patience.idle)
        };
        Failure::new(FailureKind::Timeout, message)
    }
}

/// Fields in the `_meta` of every request on a connection. Newer protocol versions have no `initialize`, so the
/// client info is sent there.
#[derive(Default)]
pub(super) struct RequestMeta(Map);

impl RequestMeta {
    /// The fields for a connection with this protocol version.
    pub(super) fn of(version: &ProtocolVersion) -> Self {
        let us = NotificationHandler::default().get_info();
        let json =
            |value: serde_json::Result<serde_json::Value>| value.map_or(Value::Null, Value::from);
        let pairs = [
            ("protocolVersion", json(serde_json::to_value(version))),
            ("clientInfo", json(serde_json::to_value(&us.client_info))),
            (
                "clientCapabilities",
                json(serde_json::to_value(&us.capabilities)),
            ),
        ];
        let mut always = Map::new();
        for (name, value) in pairs {
            always.insert(format!("io.modelcontextprotocol/{name}"), value);
        }
        Self(always)
    }
}

#[derive(serde::Serialize)]
struct RequestBody<'a> {
    method: &'static str,
    params: RequestParams<'a>,
}

struct RequestParams<'a> {
    request: &'a ToolRequest,
    token: i64,
    always: &'a RequestMeta,
}

impl Serialize for RequestParams<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        params.serialize_entry("name", self.request.tool.tool.as_str())?;
        if self.request.arguments.as_object().is_some() {
            params.serialize_entry("arguments", &self.request.arguments)?;
        }
        params.serialize_entry("_meta", &SerializedMeta(self))?;
        params.end()
    }
}

struct SerializedMeta<'a>(&'a RequestParams<'a>);

impl Serialize for SerializedMeta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RequestParams {
            request,
            token,
            always,
        } = self.0;
        let mut meta = serializer.serialize_map(None)?;
        for (name, value) in always.0.iter() {
            meta.serialize_entry(name.as_str(), value)?;
        }
        meta.serialize_entry(IDEMPOTENCY_KEY, request.key.as_str())?;
        for (name, text) in request.upstream.iter().flat_map(TraceContext::pairs) {
            meta.serialize_entry(name, &text)?;
        }
        meta.serialize_entry("progressToken", token)?;
        meta.end()
    }
}
