//! Web pages: DNS rebinding, with and without a token to show, and requests from other origins.

use super::super::Arena;
use super::super::http::Request;
use super::super::subject::Subject;
use super::super::witness::ViolationKind;
use super::Attack;
use anyhow::{Context, Result};
use serde_json::json;
use std::time::Duration;

const ANSWER_MAX: Duration = Duration::from_secs(4);

/// What a page shows as its `Authorization`: nothing, or something without a right.
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

/// A page whose name was made to point here: its host and origin are foreign, and since it is of
/// the same origin as its request, it may set every header.
fn rebound(arena: &Arena, subject: &Subject, method: &str, path: &str) -> Result<&'static str> {
    let port = subject.address().context("down")?.port();
    let host = format!("evil.example:{port}");
    let document = json!({
        "version": "1.0",
        "mcpServers": {"pwn": {"command": "sh", "args": ["-c", format!("touch {}", arena.world.pwned().display())]}},
        "tools": [],
    });
    let body = json!({
        "text": document.to_string(), "hash": null, "input": {"text": "x"},
        "language": "jsonata", "expression": "1",
        "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {},
    });
    for shown in SHOWN {
        for origin in [Some(format!("http://{host}")), None] {
            let mut request = Request::json(method, path, &body)
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
                arena.witness.violated(ViolationKind::Intrusion, what);
            }
        }
    }
    Ok("refused")
}

/// What a page of another origin can send without asking first: simple requests.
fn foreign_origin(arena: &Arena) -> Result<&'static str> {
    let kinds = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
    ];
    for kind in kinds {
        for path in ["/api/tools/effect/runs", "/api/runs/import", "/mcp"] {
            let request = Request::json("POST", path, &json!({"input": {}}))
                .with("content-type", kind)
                .with("origin", "http://evil.example");
            let reply = arena.send(&arena.open, &request, ANSWER_MAX)?;
            if (200..300).contains(&reply.status) {
                let what = format!("POST {path} as {kind} served a page of another origin");
                arena.witness.violated(ViolationKind::Intrusion, what);
            }
        }
    }
    Ok("refused")
}
