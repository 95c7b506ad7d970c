//! `cargo xtask bench engine` and `bench expr`: build what is measured as it is shipped, and
//! measure it.

use crate::{paths, shell};
use anyhow::{Result, bail, ensure};
use std::process::Command;

/// What can be measured.
const SUBJECTS: &[&str] = &["engine", "expr"];

/// Measures; the arguments after the subject go to the measuring program.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((subject, rest)) if subject == "engine" => engine(rest),
        Some((subject, rest)) if subject == "expr" => expr(rest),
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

fn expr(arguments: &[String]) -> Result<()> {
    let modules = paths::tools().join("node_modules");
    for package in ["jsonata", "json-logic-js"] {
        ensure!(
            modules.join(package).is_dir(),
            "the npm package {package} is not in {}; `cargo xtask setup` brings it",
            modules.display()
        );
    }
    let what = "build --quiet --release --package tramline-bench --no-default-features \
                --features expr --bin tramline-bench-expr";
    shell::run(&mut shell::cargo(
        &what.split_whitespace().collect::<Vec<_>>(),
    ))?;
    let program = paths::target().join("release/tramline-bench-expr");
    shell::run(
        Command::new(program)
            .args(arguments)
            .env("NODE_PATH", modules),
    )
}
