//! What goes out: whole lines, one writer at a time.

use serde_json::{Value, json};
use std::io::Write;

/// Writes bytes as they are, all or nothing between other threads' writes.
pub(crate) fn raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // A client that is gone shows as end of stdin; there is nobody left to tell.
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Writes one message as a line.
pub(crate) fn send(message: &Value) {
    let mut line = message.to_string();
    line.push('\n');
    raw(line.as_bytes());
}

/// The line that answers a request.
pub(crate) fn answer(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The line that refuses a request.
pub(crate) fn refusal(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A notification.
pub(crate) fn notice(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A tool's result that is one text.
pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

/// A tool's result that says it failed.
pub(crate) fn failed(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}], "isError": true})
}

/// Appends one line to the log named by `UNRULY_LOG`, on the disk before this returns: the side
/// effect that crash tests count.
pub(crate) fn log(entry: &Value) -> std::io::Result<()> {
    let Some(path) = std::env::var_os("UNRULY_LOG") else {
        return Ok(());
    };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    file.write_all(format!("{entry}\n").as_bytes())?;
    file.sync_all()
}
