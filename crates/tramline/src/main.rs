//! The `tramline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    tramline::cli::main()
}
