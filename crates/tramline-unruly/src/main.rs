//! An MCP server over stdio that misbehaves on request: what the client is tested against.
//!
//! Written by hand over `serde_json` so that it can break every rule a library would keep, and
//! so small that it starts in a millisecond. It is never shipped.

mod hostile;
mod modes;
mod serve;
mod slow;
mod tools;
mod wire;

use modes::Modes;
use serve::Server;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let modes = match Modes::read(std::env::args().skip(1)) {
        Ok(modes) => modes,
        Err(message) => {
            let _ = writeln!(std::io::stderr(), "unruly: {message}");
            return ExitCode::from(2);
        }
    };
    if modes.exit_at_start {
        let _ = writeln!(std::io::stderr(), "unruly: told to exit at start");
        return ExitCode::from(7);
    }
    if modes.grandchild {
        // Its parent never reaps it: only a signal to the whole group ends it.
        let _ = std::process::Command::new("sleep").arg("1000").spawn();
    }
    if modes.setsid_child {
        // In a session of its own: a signal to our group does not reach it.
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

/// Reads requests until stdin ends, or for ever past its end where told to ignore that.
fn serve(modes: &Modes) {
    let server = Server::new(modes.clone());
    let mut line = String::new();
    let mut stdin = std::io::stdin().lock();
    loop {
        line.clear();
        match stdin.read_line(&mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                if let Ok(message) = serde_json::from_str(&line) {
                    server.take(message);
                }
            }
        }
    }
}
