//! Output: whole lines, one writer at a time.

use serde_json::{Value, json};
use std::io::Write;

/// Writes raw bytes without interleaving with other threads.
pub(crate) fn write_raw(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // A disconnected client shows as the end of stdin, so errors are ignored.
    let _ = out.write_all(bytes);
    let _ = out.flush();
}

/// Writes one message as a line.
pub(crate) fn send(message: &Value) {
    let mut line = message.to_string();
    line.push('\n');
    write_raw(line.as_bytes());
}

/// A JSON-RPC result.
pub(crate) fn answer(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// A JSON-RPC error.
pub(crate) fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A notification.
pub(crate) fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A tool result with one text.
pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}]})
}

/// A tool result that is an error.
pub(crate) fn failed(text: impl Into<String>) -> Value {
    json!({"content": [{"type": "text", "text": text.into()}], "isError": true})
}

/// Appends one line to the log named by `UNRULY_LOG` and syncs it: the side effect that crash tests
/// count.
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
