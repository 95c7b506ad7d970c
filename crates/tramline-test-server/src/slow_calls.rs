//! Slow calls: each runs on its own thread and is cancelled by its id.

use crate::tools::IncomingCall;
use crate::wire;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The running calls, by the text of their ids.
#[derive(Default)]
pub(crate) struct RunningCalls(Mutex<HashMap<String, CallCancellation>>);

/// How a running call is cancelled, and the log entry for that.
struct CallCancellation {
    sender: Sender<()>,
    note: Option<Value>,
}

impl RunningCalls {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, CallCancellation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels a call. The log entry is written here, before the next message is read: that may be
    /// the end of stdin, which ends the process.
    pub(crate) fn cancel(&self, id: &Value) {
        if let Some(call) = self.calls().remove(&id.to_string()) {
            if let Some(note) = &call.note {
                let _ = wire::log(note);
            }
            let _ = call.sender.send(());
        }
    }

    /// Runs `work` on its own thread; its result is the answer, `None` sends none.
    pub(crate) fn start(
        self: &Arc<Self>,
        call: IncomingCall,
        work: impl FnOnce(&IncomingCall, &Receiver<()>) -> Option<Value> + Send + 'static,
    ) {
        let (sender, cancelled) = channel();
        let heeds = matches!(call.tool.as_str(), "sleep" | "hang");
        let note = heeds.then(|| json!({"cancelled": call.tool, "key": call.key}));
        self.calls()
            .insert(call.id.to_string(), CallCancellation { sender, note });
        let running = Arc::clone(self);
        std::thread::spawn(move || {
            if let Some(result) = work(&call, &cancelled) {
                wire::send(&wire::answer(&call.id, result));
            }
            running.calls().remove(&call.id.to_string());
        });
    }
}

/// Sleeps `ms` in `steps` parts, with progress after each; a cancellation ends it.
pub(crate) fn sleep(call: &IncomingCall, cancelled: &Receiver<()>) -> Option<Value> {
    let ms = call.number("ms", 100);
    let steps = call.number("steps", 1).max(1);
    let start = Instant::now();
    for step in 1..=steps {
        let until = Duration::from_millis(ms * step / steps);
        match cancelled.recv_timeout(until.saturating_sub(start.elapsed())) {
            Err(RecvTimeoutError::Timeout) => progress(call, step, steps),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    Some(wire::text(format!("slept {ms} ms")))
}

/// Waits for a cancellation, and never answers. With `told`, the log says that it started.
pub(crate) fn hang(call: &IncomingCall, cancelled: &Receiver<()>) -> Option<Value> {
    if call.number("told", 0) > 0 {
        let _ = wire::log(&json!({"hangs": call.key}));
    }
    let _ = cancelled.recv();
    None
}

/// Answers one byte at a time, `ms` apart, and blocks all other output until the line ends.
pub(crate) fn drip(call: &IncomingCall) {
    let mut line = wire::answer(&call.id, wire::text("drop by drop")).to_string();
    line.push('\n');
    for byte in line.bytes() {
        wire::write_raw(&[byte]);
        std::thread::sleep(Duration::from_millis(call.number("ms", 20)));
    }
}

fn progress(call: &IncomingCall, done: u64, total: u64) {
    if let Some(token) = &call.progress {
        wire::send(&wire::notification(
            "notifications/progress",
            json!({
                "progressToken": token,
                "progress": done,
                "total": total,
                "message": format!("step {done} of {total}"),
            }),
        ));
    }
}
