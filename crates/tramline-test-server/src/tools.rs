//! The tools: a few that behave well, and one for each kind of misbehaviour.

use crate::slow_calls::{self, RunningCalls};
use crate::wire;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// A one-pixel PNG, for results that are not text.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Bytes that `flood` writes at a time.
const FLOOD_CHUNK_BYTES: usize = 64 * 1024;

/// One incoming call.
pub(crate) struct IncomingCall {
    pub(crate) id: Value,
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    pub(crate) key: Value,
    pub(crate) progress: Option<Value>,
    pub(crate) meta: Value,
}

impl IncomingCall {
    /// An integer argument.
    pub(crate) fn number(&self, name: &str, default: u64) -> u64 {
        self.arguments[name].as_u64().unwrap_or(default)
    }

    fn text(&self, name: &str, default: &str) -> String {
        self.arguments[name].as_str().unwrap_or(default).to_owned()
    }
}

/// Every tool with its description and hint.
const TOOLS: [(&str, &str, Option<&str>); 23] = [
    ("echo", "Returns its arguments.", Some("readOnlyHint")),
    ("add", "Adds a and b.", Some("idempotentHint")),
    (
        "meta",
        "Returns the `_meta` of its call.",
        Some("readOnlyHint"),
    ),
    (
        "record",
        "Appends a line to the log; must not be repeated.",
        None,
    ),
    (
        "sleep",
        "Sleeps ms in steps, with progress.",
        Some("readOnlyHint"),
    ),
    ("hang", "Never answers.", None),
    ("freeze", "Stops the whole server without ending it.", None),
    ("crash", "Exits with 3 in the middle of the call.", None),
    ("close", "Closes stdout by exiting with 0.", None),
    ("flood", "Writes garbage to stdout, then answers.", None),
    (
        "garbage",
        "Writes lines that are not messages, then answers.",
        None,
    ),
    (
        "big",
        "Answers with a text of the given size.",
        Some("readOnlyHint"),
    ),
    ("twice", "Answers twice.", None),
    ("drip", "Answers a byte at a time.", None),
    ("fail", "Reports a failure.", Some("readOnlyHint")),
    (
        "refuse",
        "Answers with a protocol error.",
        Some("readOnlyHint"),
    ),
    (
        "structured",
        "Returns structured content.",
        Some("readOnlyHint"),
    ),
    ("text", "Returns one text unchanged.", Some("readOnlyHint")),
    ("image", "Returns an image.", Some("readOnlyHint")),
    (
        "many",
        "Returns several content items.",
        Some("readOnlyHint"),
    ),
    ("nothing", "Returns no content.", Some("readOnlyHint")),
    ("stderr", "Writes lines to stderr.", None),
    (
        "flaky",
        "Fails the first fail_times times, counted in file.",
        None,
    ),
];

/// Whether the tool exists.
pub(crate) fn is_known(tool: &str) -> bool {
    tool == "late" || tool == "says" || TOOLS.iter().any(|(name, _, _)| *name == tool)
}

/// The description and answer of the tool `says`, if the environment sets it.
fn says_text() -> Option<String> {
    std::env::var("UNRULY_SAYS").ok()
}

/// A tool with this text in every field that can hold one.
fn tool_with_text(text: &str) -> Value {
    json!({
        "name": "says",
        "title": text,
        "description": text,
        "inputSchema": {
            "type": "object",
            "description": text,
            "properties": {text: {"type": "string", "default": text, "enum": [text]}},
        },
        "outputSchema": {"type": "object", "properties": {text: {"type": "string"}}},
        "annotations": {"title": text, "readOnlyHint": true},
    })
}

/// The tools for `tools/list`.
pub(crate) fn all() -> Vec<Value> {
    let mut all = standard_tools();
    all.extend(says_text().map(|text| tool_with_text(&text)));
    all
}

fn standard_tools() -> Vec<Value> {
    TOOLS
        .iter()
        .map(|(name, what, hint)| {
            let mut tool = json!({
                "name": name,
                "description": what,
                "inputSchema": {"type": "object"},
            });
            if let Some(hint) = hint {
                tool["annotations"] = json!({*hint: true});
            }
            tool
        })
        .collect()
}

/// The tool that appears only after the list has changed.
pub(crate) fn late_tool() -> Value {
    json!({"name": "late", "description": "Appears only later.", "inputSchema": {"type": "object"}})
}

/// Executes a call, on this thread if it is quick.
pub(crate) fn run(call: IncomingCall, running: &Arc<RunningCalls>) {
    match call.tool.as_str() {
        "sleep" => running.start(call, slow_calls::sleep),
        "hang" => running.start(call, slow_calls::hang),
        "record" => record(call, running),
        "freeze" => loop {
            std::thread::sleep(Duration::from_secs(60));
        },
        "crash" => {
            let _ = writeln!(std::io::stderr(), "unruly: about to crash");
            std::process::exit(3);
        }
        "close" => std::process::exit(0),
        "flood" => running.start(call, |call, _| Some(flood(call))),
        "drip" => slow_calls::drip(&call),
        "big" => big(&call),
        "refuse" => refuse(&call),
        "twice" => {
            for count in ["first", "second"] {
                wire::send(&wire::answer(&call.id, wire::text(count)));
            }
        }
        _ => {
            let result = answer_quick(&call);
            wire::send(&wire::answer(&call.id, result));
        }
    }
}

/// The tools that answer at once with a plain result.
fn answer_quick(call: &IncomingCall) -> Value {
    let items = |items: Value| json!({"content": items});
    match call.tool.as_str() {
        "add" => {
            let number = |name: &str| call.arguments[name].as_f64().unwrap_or(0.0);
            wire::text((number("a") + number("b")).to_string())
        }
        "garbage" => {
            wire::write_raw(
                b"Listening on stdio...\n\xff\xfe\x00binary\n{\"jsonrpc\":\"2.0\",\"id\":\n",
            );
            wire::write_raw(
                b"[]\n{}\n{\"hello\":1}\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n",
            );
            wire::text("after the garbage")
        }
        "fail" => wire::failed(call.text("message", "it failed")),
        "structured" => json!({
            "content": [{"type": "text", "text": "for people"}],
            "structuredContent": {"z": 1, "a": [1, 2.5, null], "key": call.key},
        }),
        "text" => wire::text(call.text("text", "plain")),
        "image" => items(json!([{"type": "image", "data": PIXEL, "mimeType": "image/png"}])),
        "many" => items(json!([
            {"type": "text", "text": "one"},
            {"type": "text", "text": "{\"two\": 2}"},
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///x", "text": "four"}},
        ])),
        "meta" => wire::text(call.meta.to_string()),
        "nothing" => items(json!([])),
        "stderr" => {
            let mut err = std::io::stderr().lock();
            for line in 0..call.number("lines", 10) {
                let _ = writeln!(err, "unruly: complaint {line}");
            }
            wire::text("complained")
        }
        "flaky" => flaky(call),
        "late" => wire::text("better late"),
        "says" => wire::failed(says_text().unwrap_or_default()),
        _ => json!({
            "content": [{"type": "text", "text": call.arguments.to_string()}],
        }),
    }
}

/// The only real side effect: the line is on disk before any delay, and before the answer.
fn record(call: IncomingCall, running: &Arc<RunningCalls>) {
    let entry = json!({"key": call.key, "arguments": call.arguments});
    let result = match wire::log(&entry) {
        Ok(()) => wire::text("recorded"),
        Err(fault) => wire::failed(format!("could not write the log: {fault}")),
    };
    match call.number("delay_ms", 0) {
        0 => wire::send(&wire::answer(&call.id, result)),
        ms => running.start(call, move |_, _| {
            std::thread::sleep(Duration::from_millis(ms));
            Some(result)
        }),
    }
}

fn flood(call: &IncomingCall) -> Value {
    let mut chunk = match call.text("kind", "lines").as_str() {
        "line" => vec![b'x'; FLOOD_CHUNK_BYTES],
        "messages" => {
            let notice = wire::notification(
                "notifications/message",
                json!({"level": "info", "data": "x".repeat(200)}),
            );
            format!("{notice}\n").into_bytes()
        }
        _ => format!("{}\n", "rubbish ".repeat(20)).into_bytes(),
    };
    let line = chunk.clone();
    while chunk.len() < FLOOD_CHUNK_BYTES {
        chunk.extend_from_slice(&line);
    }
    let bytes = call.number("bytes", 64 * 1024 * 1024) as usize;
    for _ in 0..bytes.div_ceil(chunk.len()) {
        wire::write_raw(&chunk);
    }
    if chunk.last() != Some(&b'\n') {
        wire::write_raw(b"\n");
    }
    wire::text("flooded")
}

/// A text of `bytes` bytes; `id_last` puts the id after it, as some libraries do. Built by hand,
/// since a debug build takes long to escape fifty million letters.
fn big(call: &IncomingCall) {
    let id = format!(r#""jsonrpc":"2.0","id":{}"#, call.id);
    let letters = "b".repeat(call.number("bytes", 50_000_000) as usize);
    let result = format!(r#""result":{{"content":[{{"type":"text","text":"{letters}"}}]}}"#);
    let line = if call.arguments["id_last"] == json!(true) {
        format!("{{{result},{id}}}\n")
    } else {
        format!("{{{id},{result}}}\n")
    };
    wire::write_raw(line.as_bytes());
}

fn refuse(call: &IncomingCall) {
    let code = call.arguments["code"].as_i64().unwrap_or(-32602);
    wire::send(&wire::error(&call.id, code, "refused on request"));
}

fn flaky(call: &IncomingCall) -> Value {
    let path = call.text("file", "flaky.count");
    let count: u64 = std::fs::read_to_string(&path)
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0);
    if std::fs::write(&path, (count + 1).to_string()).is_err() {
        return wire::failed(format!("could not write {path}"));
    }
    if count < call.number("fail_times", 1) {
        wire::failed(format!("failure number {}", count + 1))
    } else {
        wire::text(format!("worked after {count} failures"))
    }
}
