//! Calls that take their time: each on a thread of its own, each to be cancelled by its id.

use crate::tools::Call;
use crate::wire;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The calls that run now, by the text of their ids.
#[derive(Default)]
pub(crate) struct Running(Mutex<HashMap<String, Ending>>);

/// How a running call is ended, and what the log says of that.
struct Ending {
    sender: Sender<()>,
    note: Option<Value>,
}

impl Running {
    fn calls(&self) -> MutexGuard<'_, HashMap<String, Ending>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a call that nobody waits for it any more. It is logged here, before anything else is
    /// read: the end of stdin, which ends the process, may be next.
    pub(crate) fn cancel(&self, id: &Value) {
        if let Some(call) = self.calls().remove(&id.to_string()) {
            if let Some(note) = &call.note {
                let _ = wire::log(note);
            }
            let _ = call.sender.send(());
        }
    }

    /// Runs `work` on its own thread; what it gives is the answer, nothing is none.
    pub(crate) fn start(
        self: &Arc<Self>,
        call: Call,
        work: impl FnOnce(&Call, &Receiver<()>) -> Option<Value> + Send + 'static,
    ) {
        let (sender, cancelled) = channel();
        let heeds = matches!(call.tool.as_str(), "sleep" | "hang");
        let note = heeds.then(|| json!({"cancelled": call.tool, "key": call.key}));
        self.calls()
            .insert(call.id.to_string(), Ending { sender, note });
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
pub(crate) fn sleep(call: &Call, cancelled: &Receiver<()>) -> Option<Value> {
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

/// Waits for a cancellation, and does not even answer that. With `told`, the log says that it began.
pub(crate) fn hang(call: &Call, cancelled: &Receiver<()>) -> Option<Value> {
    if call.number("told", 0) > 0 {
        let _ = wire::log(&json!({"hangs": call.key}));
    }
    let _ = cancelled.recv();
    None
}

/// Answers a byte at a time, `ms` apart, while everybody else waits for the line to end.
pub(crate) fn drip(call: &Call) {
    let mut line = wire::answer(&call.id, wire::text("drop by drop")).to_string();
    line.push('\n');
    for byte in line.bytes() {
        wire::raw(&[byte]);
        std::thread::sleep(Duration::from_millis(call.number("ms", 20)));
    }
}

fn progress(call: &Call, done: u64, total: u64) {
    if let Some(token) = &call.progress {
        wire::send(&wire::notice(
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
