//! The `tramline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // First of all: this process may be there for one child alone.
    match tramline_process::launch_if_asked() {
        Some(code) => code,
        None => tramline::cli::main(),
    }
}
