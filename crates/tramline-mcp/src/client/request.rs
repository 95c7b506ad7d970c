//! One call on its way to a server: what it says, and how long it is waited for.

use super::exchanges::Exchanges;
use super::handler::{Handler, Listener};
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
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::ids::ToolName;
use tramline_core::upstream::Upstream;
use tramline_core::{Map, Str, Value};

/// Where the idempotency key stands in a request's `_meta`.
const KEY: &str = "tramline/idempotency-key";

/// A call's patience: until when without a sign of life, and until when at all.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    pub(super) idle: Duration,
    pub(super) until: Instant,
    pub(super) last: Instant,
}

impl Patience {
    pub(super) fn new(idle: Duration, total: Duration) -> Self {
        let now = Instant::now();
        let last = now + total;
        Self {
            idle,
            until: last.min(now + idle),
            last,
        }
    }

    pub(super) fn renew(&mut self) {
        self.until = self.last.min(Instant::now() + self.idle);
    }
}

/// What goes over the wire, taken apart so that it can be sent again if it never left.
pub(super) struct Request {
    pub(super) tool: ToolName,
    pub(super) arguments: Value,
    pub(super) key: Str,
    pub(super) cancel: CancellationToken,
    pub(super) progress: Option<Listener>,
    pub(super) exchanges: Arc<Exchanges>,
    pub(super) upstream: Option<Upstream>,
}

impl Request {
    /// The request as the library has it.
    pub(super) fn build(&self) -> ClientRequest {
        let mut meta = MetaObject::new();
        meta.insert(KEY.to_owned(), self.key.as_str().into());
        for (name, text) in self.upstream.iter().flat_map(Upstream::pairs) {
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

    /// The request as text, but for its id and the protocol's version.
    pub(super) fn body(&self, token: i64, always: &Always) -> String {
        let params = Params {
            request: self,
            token,
            always,
        };
        let body = Body {
            method: "tools/call",
            params,
        };
        serde_json::to_string(&body).unwrap_or_default()
    }

    pub(super) fn cancelled(&self) -> Failure {
        let message = format!("the call of {} was cancelled", self.tool);
        Failure::new(FailureKind::Cancelled, message)
    }

    pub(super) fn silent(&self, patience: Patience) -> Failure {
        let message = if patience.until == patience.last && patience.idle > Duration::ZERO {
            format!("{} was still running at the end of its time", self.tool)
        } else {
            format!("{} gave no answer in {:?}", self.tool, patience.idle)
        };
        Failure::new(FailureKind::Timeout, message)
    }
}

/// What every request's `_meta` says on a connection: in the newer era who we are, there being no
/// handshake that would have said it.
#[derive(Default)]
pub(super) struct Always(Map);

impl Always {
    /// For a connection that speaks this version.
    pub(super) fn of(version: &ProtocolVersion) -> Self {
        let us = Handler::default().get_info();
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
struct Body<'a> {
    method: &'static str,
    params: Params<'a>,
}

struct Params<'a> {
    request: &'a Request,
    token: i64,
    always: &'a Always,
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut params = serializer.serialize_map(None)?;
        params.serialize_entry("name", self.request.tool.tool.as_str())?;
        if self.request.arguments.as_object().is_some() {
            params.serialize_entry("arguments", &self.request.arguments)?;
        }
        params.serialize_entry("_meta", &Meta(self))?;
        params.end()
    }
}

struct Meta<'a>(&'a Params<'a>);

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Params {
            request,
            token,
            always,
        } = self.0;
        let mut meta = serializer.serialize_map(None)?;
        for (name, value) in always.0.iter() {
            meta.serialize_entry(name.as_str(), value)?;
        }
        meta.serialize_entry(KEY, request.key.as_str())?;
        for (name, text) in request.upstream.iter().flat_map(Upstream::pairs) {
            meta.serialize_entry(name, &text)?;
        }
        meta.serialize_entry("progressToken", token)?;
        meta.end()
    }
}
