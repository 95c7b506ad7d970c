//! `cargo xtask bench engine`: builds what is measured as it is shipped, and measures it.

use crate::{paths, shell};
use anyhow::{Result, bail};
use std::process::Command;

/// What can be measured.
const SUBJECTS: &[&str] = &["engine"];

/// Measures; the arguments after the subject go to the measuring program.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((subject, rest)) if subject == "engine" => engine(rest),
        Some((other, _)) => bail!("there is nothing called `{other}` to measure; {}", known()),
        None => bail!("name what to measure; {}", known()),
    }
}

fn known() -> String {
    format!("there is {}", SUBJECTS.join(", "))
}

fn engine(arguments: &[String]) -> Result<()> {
    // One by one: built together they would share features, and the binary be another one.
    for package in ["tramline", "tramline-unruly", "tramline-bench"] {
        let what = ["build", "--quiet", "--release", "--package", package];
        shell::run(&mut shell::cargo(&what))?;
    }
    let program = paths::target().join("release/tramline-bench");
    shell::run(Command::new(program).args(arguments))
}
