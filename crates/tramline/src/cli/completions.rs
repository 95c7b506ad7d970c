//! `tramline completions`: a script that teaches a shell our words.

use super::{Cli, Done, Exit};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

pub(super) fn main(verb: &Completions) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut Cli::command(), "tramline", &mut script);
    super::output::result(String::from_utf8_lossy(&script).trim_end());
    Ok(Exit::Done)
}
