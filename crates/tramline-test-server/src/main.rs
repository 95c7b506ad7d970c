//! An MCP server over stdio that misbehaves on request, for testing the client.
//!
//! Written directly on `serde_json`, so that it can break rules that a library enforces, and so
//! small that it starts in a millisecond. It is never shipped.

mod malicious_tools;
mod modes;
mod serve;
mod slow_calls;
mod tools;
mod wire;

use modes::ServerModes;
use serve::TestServer;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let modes = match ServerModes::read(std::env::args().skip(1)) {
        Ok(modes) => modes,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "unruly: {message}");
            return ExitCode::from(2);
        }
    };
    if modes.exit_at_start {
        let _ = writeln!(std::io::stderr(), "unruly: exiting at start, as requested");
        return ExitCode::from(7);
    }
    if modes.grandchild {
        // Its parent never reaps it: only a signal to the whole process group ends it.
        let _ = std::process::Command::new("sleep").arg("1000").spawn();
    }
    if modes.setsid_child {
        // In its own session: a signal to our process group does not reach it.
        let _ = std::process::Command::new("setsid")
            .args(["sleep", "1000"])
            .spawn();
    }
    std::thread::sleep(Duration::from_millis(modes.slow_start_ms));
    serve(&modes);
    if modes.ignore_eof {
        loop {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    ExitCode::SUCCESS
}

/// Reads requests until stdin ends.
fn serve(modes: &ServerModes) {
    let server = TestServer::new(modes.clone());
    let mut line = String::new();
    let mut stdin = std::io::stdin().lock();
    loop {
        line.clear();
        match stdin.read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                if let Ok(message) = serde_json::from_str(&line) {
                    server.handle(message);
                }
            }
        }
    }
}
