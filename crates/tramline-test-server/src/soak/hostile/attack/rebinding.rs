//! Web pages: DNS rebinding with and without a token, and requests from other origins.

use super::super::HostileContext;
use super::super::http::HttpRequest;
use super::super::server_under_test::ServerUnderTest;
use super::super::witness::ViolationKind;
use super::Attack;
use anyhow::{Context, Result};
use serde_json::json;
use std::time::Duration;

const ANSWER_MAX: Duration = Duration::from_secs(4);

/// The `Authorization` headers that a page sends: none, or an invalid one.
const SHOWN: [Option<&str>; 4] = [None, Some("Bearer x"), Some("Basic eDp4"), Some("")];

/// The attacks.
pub(super) const ALL: &[Attack] = &[
    Attack {
        kind: "page: rebinding, reads runs",
        run: |arena, _| rebound(arena, &arena.open, "GET", "/api/runs"),
    },
    Attack {
        kind: "page: rebinding, starts a run",
        run: |arena, _| rebound(arena, &arena.open, "POST", "/api/tools/echo_it/runs"),
    },
    Attack {
        kind: "page: rebinding, evaluates",
        run: |arena, _| rebound(arena, &arena.open, "POST", "/api/eval"),
    },
    Attack {
        kind: "page: rebinding, calls over MCP",
        run: |arena, _| rebound(arena, &arena.open, "POST", "/mcp"),
    },
    Attack {
        kind: "page: rebinding, reads documents",
        run: |arena, _| rebound(arena, &arena.studio, "GET", "/api/documents"),
    },
    Attack {
        kind: "page: rebinding, writes a document",
        run: |arena, _| rebound(arena, &arena.studio, "PUT", "/api/documents/studio.yaml"),
    },
    Attack {
        kind: "page: form from another origin",
        run: |arena, _| foreign_origin(arena),
    },
];

/// A page whose host name was made to resolve to this machine: its host and origin are foreign, and
/// since its requests are same-origin, it may set every header.
fn rebound(
    arena: &HostileContext,
    subject: &ServerUnderTest,
    method: &str,
    path: &str,
) -> Result<&'static str> {
    let port = subject.address().context("down")?.port();
    let host = format!("evil.example:{port}");
    let document = json!({
        "version": "1.0",
        "mcpServers": {"pwn": {"command": "sh", "args": ["-c", format!("touch {}", arena.world.canary().display())]}},
        "tools": [],
    });
    let body = json!({
        "text": document.to_string(), "hash": null, "input": {"text": "x"},
        "language": "jsonata", "expression": "1",
        "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {},
    });
    for shown in SHOWN {
        for origin in [Some(format!("http://{host}")), None] {
            let mut request = HttpRequest::json(method, path, &body)
                .with("host", &host)
                .with("accept", "application/json, text/event-stream");
            if let Some(origin) = &origin {
                request = request.with("origin", origin);
            }
            if let Some(shown) = shown {
                request = request.with("authorization", shown);
            }
            let reply = arena.send(subject, &request, ANSWER_MAX)?;
            if (200..300).contains(&reply.status) {
                let what = format!(
                    "{method} {path} of {} served {} to a foreign host with authorization {shown:?}",
                    subject.name, reply.status
                );
                arena
                    .witness
                    .record_violation(ViolationKind::Intrusion, what);
            }
        }
    }
    Ok("rejected")
}

/// Requests that a page of another origin can send without a preflight: simple requests.
fn foreign_origin(arena: &HostileContext) -> Result<&'static str> {
    let kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
    ];
    for kind in kinds {
        for path in ["/api/tools/effect/runs", "/api/runs/import", "/mcp"] {
            let request = HttpRequest::json("POST", path, &json!({"input": {}}))
                .with("content-type", kind)
                .with("origin", "http://evil.example");
            let reply = arena.send(&arena.open, &request, ANSWER_MAX)?;
            if (200..300).contains(&reply.status) {
                let what = format!("POST {path} as {kind} served a page of another origin");
                arena
                    .witness
                    .record_violation(ViolationKind::Intrusion, what);
            }
        }
    }
    Ok("rejected")
}
