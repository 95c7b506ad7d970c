//! Malicious downstream servers over stdio and HTTP, each called by a served graph.

use super::super::super::seeded_rng::SeededRng;
use super::super::HostileContext;
use super::Attack;
use anyhow::Result;
use serde_json::{Value, json};
use std::time::Duration;

/// A graph with one call ends shortly after the timeout of its call.
const CALL_MAX: Duration = Duration::from_secs(6);

/// A malicious tool, and the graph that calls it.
pub(in super::super) struct HostileTool {
    pub(in super::super) graph: &'static str,
    pub(in super::super) server: &'static str,
    pub(in super::super) tool: &'static str,
    /// Its arguments, for a small and a large soak.
    pub(in super::super) arguments: fn(bool) -> Value,
}

macro_rules! hostile_tool {
    ($graph:literal, $server:literal, $tool:literal, $arguments:expr) => {
        HostileTool {
            graph: $graph,
            server: $server,
            tool: $tool,
            arguments: $arguments,
        }
    };
}

fn nothing(_: bool) -> Value {
    json!({})
}

fn sized(name: &str, small: u64, large: u64, is_small: bool) -> Value {
    json!({name: if is_small { small } else { large }})
}

/// The attacks over stdio.
pub(in super::super) const HOSTILE_TOOLS: &[HostileTool] = &[
    hostile_tool!("s_line", "u", "flood", |small| {
        let mut arguments = sized("bytes", 64_000_000, 1_000_000_000, small);
        arguments["kind"] = json!("line");
        arguments
    }),
    hostile_tool!("s_messages", "u", "flood", |small| {
        let mut arguments = sized("bytes", 20_000_000, 200_000_000, small);
        arguments["kind"] = json!("messages");
        arguments
    }),
    hostile_tool!("s_big", "u", "big", |small| sized(
        "bytes",
        40_000_000,
        200_000_000,
        small
    )),
    hostile_tool!("s_progress", "u", "progress_flood", |small| sized(
        "count", 20_000, 1_000_000, small
    )),
    hostile_tool!("s_drip", "u", "drip", nothing),
    hostile_tool!("s_ids", "u", "wrong_ids", nothing),
    hostile_tool!("s_twice", "u", "twice", nothing),
    hostile_tool!("s_noise", "u", "noise", |small| sized(
        "bytes", 2_000_000, 50_000_000, small
    )),
    hostile_tool!("s_garbage", "u", "garbage", nothing),
    hostile_tool!("s_changed", "u", "changed_storm", |small| sized(
        "count", 5_000, 100_000, small
    )),
    hostile_tool!("s_asks", "u", "ask_client", nothing),
    hostile_tool!("s_deaf", "u", "close_input", nothing),
    hostile_tool!("s_stderr", "u", "stderr", |small| sized(
        "lines", 50_000, 1_000_000, small
    )),
    hostile_tool!("s_error", "u", "big_error", nothing),
    hostile_tool!("s_escape", "u", "escape", nothing),
    hostile_tool!("s_crash", "u", "crash", nothing),
    hostile_tool!("s_freeze", "u", "freeze", nothing),
    hostile_tool!("s_secret", "secret", "secret", nothing),
    hostile_tool!(
        "s_secret_fails",
        "secret",
        "secret",
        |_| json!({"fails": 1})
    ),
    hostile_tool!("s_many", "many", "echo", nothing),
    hostile_tool!("s_pages", "pages", "echo", nothing),
    hostile_tool!("s_setsid", "setsid", "echo", nothing),
    hostile_tool!("s_stubborn", "stubborn", "hang", nothing),
];

/// The attacks over HTTP: the server's name is the path of its URL.
pub(in super::super) const OVER_HTTP: [&str; 10] = [
    "endless-json",
    "endless-event",
    "endless-events",
    "gzip-bomb",
    "endless-error",
    "endless-headers",
    "drip",
    "redirect",
    "wrong-id",
    "no-http",
];

/// The name of the graph that calls a server over HTTP.
pub(in super::super) fn graph_over_http(kind: &str) -> String {
    format!("h_{}", kind.replace('-', "_"))
}

fn graph(arena: &HostileContext, name: &str) -> Result<&'static str> {
    let reply = arena.call(&arena.open, None, name, &json!({}), CALL_MAX)?;
    Ok(reply.outcome())
}

macro_rules! calling {
    ($kind:literal, $graph:literal) => {
        Attack {
            kind: $kind,
            run: |arena, _| graph(arena, $graph),
        }
    };
}

/// The attacks.
pub(super) const ALL: &[Attack] = &[
    calling!("server: endless line", "s_line"),
    calling!("server: flood of messages", "s_messages"),
    calling!("server: answer beyond the limit", "s_big"),
    calling!("server: flood of progress", "s_progress"),
    calling!("server: answer byte by byte", "s_drip"),
    calling!("server: wrong ids", "s_ids"),
    calling!("server: answers twice", "s_twice"),
    calling!("server: random bytes", "s_noise"),
    calling!("server: lines that are not messages", "s_garbage"),
    calling!("server: flood of list_changed", "s_changed"),
    calling!("server: sampling and elicitation", "s_asks"),
    calling!("server: closes its input", "s_deaf"),
    calling!("server: flood on stderr", "s_stderr"),
    calling!("server: huge error text", "s_error"),
    calling!("server: terminal escapes", "s_escape"),
    calling!("server: crashes in a call", "s_crash"),
    calling!("server: freezes", "s_freeze"),
    calling!("server: reveals its secret", "s_secret"),
    calling!("server: reveals its secret in a failure", "s_secret_fails"),
    calling!("server: 100,000 tools", "s_many"),
    calling!("server: endless pages", "s_pages"),
    calling!("server: child in its own session", "s_setsid"),
    calling!("server: ignores SIGTERM", "s_stubborn"),
    calling!("server over HTTP: endless JSON", "h_endless_json"),
    calling!("server over HTTP: endless event", "h_endless_event"),
    calling!("server over HTTP: endless events", "h_endless_events"),
    calling!("server over HTTP: gzip bomb", "h_gzip_bomb"),
    calling!("server over HTTP: endless error", "h_endless_error"),
    calling!("server over HTTP: endless headers", "h_endless_headers"),
    calling!("server over HTTP: byte by byte", "h_drip"),
    calling!("server over HTTP: redirect loop", "h_redirect"),
    calling!("server over HTTP: wrong id", "h_wrong_id"),
    calling!("server over HTTP: not HTTP", "h_no_http"),
    Attack {
        kind: "server: secret in its list of tools",
        run: listed,
    },
];

/// Server-provided texts are shown in several places.
fn listed(arena: &HostileContext, _: &mut SeededRng) -> Result<&'static str> {
    let asked = json!({"pattern": "secret:*"});
    let reply = arena.call(&arena.open, None, "registry_search", &asked, CALL_MAX)?;
    let asked = json!({"nodes": ["secret:secret", "u:escape"]});
    arena.call(&arena.open, None, "registry_describe", &asked, CALL_MAX)?;
    let path = "/api/registry/secret:secret";
    arena.get(&arena.open, None, path, CALL_MAX)?;
    Ok(reply.outcome())
}
