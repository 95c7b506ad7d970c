//! Finds the program of the test server, in a debug or release build.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The test server: `$TRAMLINE_UNRULY`, or the binary beside the calling test's program, which is
/// built if missing.
pub fn test_server() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("TRAMLINE_UNRULY") {
        return Ok(path.into());
    }
    let own = std::env::current_exe()?;
    let target = own
        .parent()
        .and_then(Path::parent)
        .context("a test program must be in target/PROFILE/deps")?;
    let program = target.join("unruly");
    if !program.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--package", "tramline-test-server"]);
        if target.ends_with("release") {
            build.arg("--release");
        }
        ensure!(build.status()?.success(), "unruly could not be built");
    }
    Ok(program)
}
