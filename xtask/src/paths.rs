//! Paths of the workspace, of the tools that tests use, and of source files.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // The manifest directory is `<root>/xtask`.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Where the tools that tests use are installed: `$TRAMLINE_TOOLS`, or `target/tools`.
pub(crate) fn tools() -> PathBuf {
    from_env("TRAMLINE_TOOLS").unwrap_or_else(|| root().join("target/tools"))
}

/// Cargo's target directory: `$CARGO_TARGET_DIR`, or `target`.
pub(crate) fn target() -> PathBuf {
    from_env("CARGO_TARGET_DIR").unwrap_or_else(|| root().join("target"))
}

/// The directory of large test data outside the repository: `$TRAMLINE_SHARED`, or `shared` beside
/// the workspace.
pub(crate) fn shared() -> PathBuf {
    from_env("TRAMLINE_SHARED").unwrap_or_else(|| root().join("../shared"))
}

fn from_env(name: &str) -> Option<PathBuf> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Some(root().join(value))
}

/// Every file under `dir` with this extension, sorted, without build output.
pub(crate) fn files(dir: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(dir, extension, &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(dir: &Path, extension: &str, found: &mut Vec<PathBuf>) -> Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            let skipped = name == "target" || name == "node_modules" || name.starts_with(".git");
            if !skipped {
                collect(&path, extension, found)?;
            }
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    Ok(())
}

/// The path relative to the repository, with forward slashes.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.to_string_lossy().replace('\\', "/")
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}
