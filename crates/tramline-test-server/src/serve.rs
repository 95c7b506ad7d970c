//! Handles messages: handshakes of both protocol versions, listings, calls, cancellations.

use crate::malicious_tools;
use crate::modes::ServerModes;
use crate::slow_calls::RunningCalls;
use crate::tools::{self, IncomingCall};
use crate::wire;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
const INVALID_PARAMS: i64 = -32602;
const METHOD_NOT_FOUND: i64 = -32601;
const UNSUPPORTED_VERSION: i64 = -32022;

/// The server's state: its modes, whether its list has grown, and the running calls.
pub(crate) struct TestServer {
    modes: ServerModes,
    grown: AtomicBool,
    running: Arc<RunningCalls>,
}

impl TestServer {
    /// A server with these modes.
    pub(crate) fn new(modes: ServerModes) -> Self {
        Self {
            modes,
            grown: AtomicBool::new(false),
            running: Arc::default(),
        }
    }

    /// Handles one message from the client.
    pub(crate) fn handle(&self, message: Value) {
        let method = message["method"].as_str().unwrap_or_default();
        let params = &message["params"];
        let Some(id) = message.get("id") else {
            if method == "notifications/cancelled" {
                self.running.cancel(&params["requestId"]);
            }
            return;
        };
        match method {
            "initialize" | "server/discover" if self.modes.never_initialize => {}
            "initialize" => self.initialize(id, params),
            "server/discover" if !self.modes.ignore_unknown => wire::send(&wire::answer(
                id,
                json!({
                    "resultType": "complete",
                    "supportedVersions": [MODERN],
                    "capabilities": {"tools": {"listChanged": self.modes.list_changed}},
                    "ttlMs": 0,
                    "cacheScope": "private",
                    "_meta": {"io.modelcontextprotocol/serverInfo": info()},
                }),
            )),
            "subscriptions/listen" if self.modes.list_changed => self.listen(id, params),
            "ping" => wire::send(&wire::answer(id, json!({}))),
            "tools/list" => self.list(id, params),
            "tools/call" => self.call(id, params),
            _ if self.modes.ignore_unknown => {}
            _ => wire::send(&wire::error(id, METHOD_NOT_FOUND, "no such method")),
        }
    }

    fn initialize(&self, id: &Value, params: &Value) {
        if self.modes.modern_only {
            let refusal = wire::error(
                id,
                UNSUPPORTED_VERSION,
                "only protocol version 2026-07-28 is supported",
            );
            return wire::send(&refusal);
        }
        let version = params["protocolVersion"].as_str().unwrap_or(LEGACY);
        wire::send(&wire::answer(
            id,
            json!({
                "protocolVersion": if version == MODERN { LEGACY } else { version },
                "capabilities": {"tools": {"listChanged": self.modes.list_changed}},
                "serverInfo": info(),
            }),
        ));
    }

    fn list(&self, id: &Value, params: &Value) {
        let mut all = tools::all();
        if self.modes.hostile {
            all.extend(malicious_tools::malicious_tools(self.modes.reveal_secret));
        }
        all.extend(malicious_tools::many_tools(self.modes.tools));
        if self.grown.load(Ordering::SeqCst) {
            all.push(tools::late_tool());
        }
        let from = params["cursor"]
            .as_str()
            .and_then(|cursor| cursor.parse::<usize>().ok())
            .unwrap_or(0);
        let page = match self.modes.page_tools {
            0 => all.len(),
            tools => tools,
        };
        let to = (from + page).min(all.len());
        let mut result = json!({"tools": all.get(from..to).unwrap_or_default()});
        if self.modes.endless_pages {
            result["nextCursor"] = json!("0");
        } else if to < all.len() {
            result["nextCursor"] = json!(to.to_string());
        }
        wire::send(&wire::answer(id, result));
        if self.modes.list_changed && !self.modes.modern_only {
            self.grow(json!({}));
        }
    }

    /// In the newer protocol, subscribers are notified with the id of their subscription.
    fn listen(&self, id: &Value, params: &Value) {
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        let accepted = json!({"_meta": meta, "notifications": params["notifications"]});
        wire::send(&wire::notification(
            "notifications/subscriptions/acknowledged",
            accepted,
        ));
        self.grow(json!({"_meta": meta}));
    }

    fn grow(&self, params: Value) {
        if !self.grown.swap(true, Ordering::SeqCst) {
            wire::send(&wire::notification(
                "notifications/tools/list_changed",
                params,
            ));
        }
    }

    fn call(&self, id: &Value, params: &Value) {
        let call = IncomingCall {
            id: id.clone(),
            tool: params["name"].as_str().unwrap_or_default().to_owned(),
            arguments: params["arguments"].clone(),
            key: params["_meta"]["tramline/idempotency-key"].clone(),
            progress: params["_meta"].get("progressToken").cloned(),
            meta: params["_meta"].clone(),
        };
        if self.modes.hostile && malicious_tools::is_known(&call.tool) {
            malicious_tools::run(call, &self.running);
        } else if tools::is_known(&call.tool) {
            tools::run(call, &self.running);
        } else {
            let message = format!("Unknown tool: {}", call.tool);
            wire::send(&wire::error(id, INVALID_PARAMS, &message));
        }
    }
}

fn info() -> Value {
    json!({"name": "unruly", "version": env!("CARGO_PKG_VERSION")})
}
