//! How commands end when they are asked to from outside: by the interrupt key, `SIGTERM` or `SIGHUP`,
//! in bounded time, and with everything they started.

use super::{Exit, output};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;
use tokio::sync::watch;
use tramline_process::{EndRequest, kill_all, on_end_requests};

/// A command that was asked to end has ended after so long, whatever it waits for. Service managers
/// commonly wait for ten seconds before they kill; this leaves nothing for them to do.
const END_MAX: Duration = Duration::from_millis(4_500);

/// How a command takes a request to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It ends where it is.
    AtOnce,
    /// It brings what it does to an end first, within [`END_MAX`]. A second request ends it at once.
    Orderly,
    /// As orderly, but the interrupt key is a command like others that are typed.
    Prompt,
}

/// What was heard so far.
#[derive(Clone, Copy, Default)]
struct SignalState {
    interrupts: u32,
    ends: bool,
}

static HEARD: OnceLock<watch::Sender<SignalState>> = OnceLock::new();

fn heard() -> &'static watch::Sender<SignalState> {
    HEARD.get_or_init(|| watch::Sender::new(SignalState::default()))
}

/// Takes requests to end from now on.
pub(super) fn listen(manner: Manner) {
    let listening = on_end_requests(move |request| take(manner, request));
    if let Err(error) = listening {
        output::say(&format!(
            "requests to end are not heard ({error}); SIGKILL ends this process"
        ));
    }
}

fn take(manner: Manner, request: EndRequest) {
    let interrupt = request == EndRequest::Interrupt;
    if manner == Manner::Prompt && interrupt {
        heard().send_modify(|heard| heard.interrupts += 1);
        return;
    }
    if manner == Manner::AtOnce || heard().borrow().ends {
        leave();
    }
    heard().send_modify(|heard| heard.ends = true);
    let thread = thread::Builder::new().name("end".into());
    let waiting = thread.spawn(|| {
        thread::sleep(END_MAX);
        leave();
    });
    if waiting.is_err() {
        leave();
    }
}

/// Ends the process and its children, whatever they are doing.
fn leave() -> ! {
    kill_all();
    std::process::exit(Exit::Interrupted.code().into());
}

/// Waits until this process is asked to end; at once if it was already.
pub(super) async fn requested() {
    let mut listening = heard().subscribe();
    // The sender is never dropped.
    let _ = listening.wait_for(|heard| heard.ends).await;
}

/// Waits for the next time the interrupt key is pressed at a prompt, or for a request to end.
pub(super) async fn interrupted() -> EndRequest {
    let mut listening = heard().subscribe();
    let before = listening.borrow_and_update().interrupts;
    let next = listening.wait_for(|heard| heard.ends || heard.interrupts > before);
    match next.await.is_ok_and(|heard| heard.ends) {
        true => EndRequest::Terminate,
        false => EndRequest::Interrupt,
    }
}
