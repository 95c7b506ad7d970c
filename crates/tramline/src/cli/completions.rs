//! `tramline completions`: a shell completion script.

use super::{Cli, CliResult, Exit};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

pub(super) fn main(verb: &Completions) -> CliResult {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut Cli::command(), "tramline", &mut script);
    super::output::result(String::from_utf8_lossy(&script).trim_end());
    Ok(Exit::Done)
}
