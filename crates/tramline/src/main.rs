//! The `tramline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Must come first: this process may have been started only to launch a child process.
    match tramline_process::launch_if_requested() {
        Some(code) => code,
        None => {
            tramline_process::return_freed_memory();
            tramline::cli::main()
        }
    }
}
