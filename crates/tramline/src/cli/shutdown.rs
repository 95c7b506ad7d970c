//! How commands end on Ctrl-C, `SIGTERM` or `SIGHUP`: in bounded time, with everything they
//! started.

use super::{Exit, output};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;
use tokio::sync::watch;
use tramline_process::{EndRequest, kill_all, on_end_requests};

/// The longest time between a request to end and the end of the process, which is promised within
/// five seconds: on a busy machine the kernel needs a part of the last one to wake this process and
/// to take its memory back.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(4_000);

/// How a command handles a request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShutdownMode {
    /// It ends immediately.
    AtOnce,
    /// It shuts down first, within [`SHUTDOWN_TIMEOUT`]. A second request ends it immediately.
    Orderly,
    /// Like `Orderly`, but Ctrl-C is a command at the prompt.
    Prompt,
}

/// The requests received so far.
#[derive(Clone, Copy, Default)]
struct SignalState {
    interrupts: u32,
    end_requested: bool,
}

static SIGNAL_STATE: OnceLock<watch::Sender<SignalState>> = OnceLock::new();

fn signal_state() -> &'static watch::Sender<SignalState> {
    SIGNAL_STATE.get_or_init(|| watch::Sender::new(SignalState::default()))
}

/// Handles requests to end from now on.
pub(super) fn listen(manner: ShutdownMode) {
    let listening = on_end_requests(move |request| on_signal(manner, request));
    if let Err(error) = listening {
        output::status_line(&format!(
            "cannot listen for signals ({error}); end this process with SIGKILL"
        ));
    }
}

fn on_signal(manner: ShutdownMode, request: EndRequest) {
    let interrupt = request == EndRequest::Interrupt;
    if manner == ShutdownMode::Prompt && interrupt {
        signal_state().send_modify(|heard| heard.interrupts += 1);
        return;
    }
    if manner == ShutdownMode::AtOnce || signal_state().borrow().end_requested {
        exit_now();
    }
    signal_state().send_modify(|heard| heard.end_requested = true);
    let thread = thread::Builder::new().name("end".into());
    let waiting = thread.spawn(|| {
        thread::sleep(SHUTDOWN_TIMEOUT);
        exit_now();
    });
    if waiting.is_err() {
        exit_now();
    }
}

/// Ends the process and its children immediately.
fn exit_now() -> ! {
    kill_all();
    std::process::exit(Exit::Interrupted.code().into());
}

/// Waits until this process is asked to end; returns at once if it already was.
pub(super) async fn wait_for_request() {
    let mut listening = signal_state().subscribe();
    // The sender is never dropped.
    let _ = listening.wait_for(|heard| heard.end_requested).await;
}

/// Waits for the next Ctrl-C at a prompt, or for a request to end.
pub(super) async fn wait_for_interrupt() -> EndRequest {
    let mut listening = signal_state().subscribe();
    let before = listening.borrow_and_update().interrupts;
    let next = listening.wait_for(|heard| heard.end_requested || heard.interrupts > before);
    match next.await.is_ok_and(|heard| heard.end_requested) {
        true => EndRequest::Terminate,
        false => EndRequest::Interrupt,
    }
}
