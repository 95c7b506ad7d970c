//! `cargo xtask bench peers`: runs Tramline and its peers at the same work, and writes the page of
//! results.
//!
//! The peers come from their registries, at the versions named here. Measurements are stored as
//! data, and `docs/benchmarks.md` is generated from that: no figure on it is typed by hand.

use crate::{paths, shell};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

mod chart;
mod install;
mod machine;
mod page;

/// The parsed options.
#[derive(Debug, Default, PartialEq, Eq)]
struct PeersOptions {
    quick: bool,
    render: bool,
    n8n: bool,
    only: Option<String>,
}

/// Installs, builds, measures and writes the page.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wish = parse_options(arguments)?;
    let bench = paths::target().join("bench");
    let kept = bench.join("peers.json");
    if !wish.render {
        std::fs::create_dir_all(&bench)?;
        let versions = install::all(&bench, wish.n8n)?;
        build()?;
        let found = measure(&bench, &wish, versions)?;
        std::fs::write(&kept, serde_json::to_string_pretty(&found)?)?;
    }
    let found =
        paths::read(&kept).context("nothing has been measured yet; run it without --render")?;
    let found: Value = serde_json::from_str(&found)?;
    println!("{}", page::verdict(&found));
    if wish.only.is_some() {
        println!("only a part was measured, so the page is unchanged");
        return Ok(());
    }
    write(&found)
}

fn parse_options(arguments: &[String]) -> Result<PeersOptions> {
    let mut wish = PeersOptions::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => wish.quick = true,
            "--render" => wish.render = true,
            "--n8n" => wish.n8n = true,
            "--only" => {
                let numbers = arguments.next();
                wish.only = Some(
                    numbers
                        .context("--only names workloads: --only 1,3")?
                        .clone(),
                );
            }
            _ => {
                bail!("unknown argument `{argument}`; use --quick, --only 1,3, --n8n or --render")
            }
        }
    }
    Ok(wish)
}

/// Built one by one: built together they would share features, and the binary would not be the
/// shipped one.
fn build() -> Result<()> {
    for what in [
        "--package tramline",
        "--package tramline-bench --no-default-features --features graphs --bin tramline-bench-peers",
        "--package tramline-bench --no-default-features --features control --bin tramline-bench-ours",
    ] {
        let mut build = shell::cargo(&["build", "--quiet", "--release"]);
        shell::run(build.args(what.split_whitespace()))?;
    }
    Ok(())
}

fn measure(bench: &Path, wish: &PeersOptions, versions: Value) -> Result<Value> {
    let machine = machine::describe(bench);
    let mut command = Command::new(paths::target().join("release/tramline-bench-peers"));
    command.arg("--peers").arg(bench);
    if wish.quick {
        command.arg("--quick");
    }
    if wish.n8n {
        command.arg("--n8n");
    }
    if let Some(only) = &wish.only {
        command.args(["--only", only]);
    }
    let done = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !done.status.success() {
        bail!("the benchmark ended with {}", done.status);
    }
    let mut found: Value = serde_json::from_slice(&done.stdout)?;
    found["machine"] = machine;
    found["versions"] = versions;
    found["date"] = json!(machine::today()?);
    Ok(found)
}

/// Writes the page and its chart.
fn write(found: &Value) -> Result<()> {
    let docs = paths::root().join("docs");
    let picture: PathBuf = docs.join("images/benchmarks.svg");
    std::fs::create_dir_all(docs.join("images"))?;
    std::fs::write(&picture, chart::draw(found))?;
    let path = docs.join("benchmarks.md");
    std::fs::write(&path, page::page(found))?;
    println!("written: {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let given = parse_options(&words("--quick --only 1,3")).unwrap();
        assert_eq!(given.only.as_deref(), Some("1,3"));
        assert!(given.quick && !given.render);
        for bad in ["--only", "--slow"] {
            assert!(parse_options(&words(bad)).is_err(), "{bad}");
        }
    }
}
