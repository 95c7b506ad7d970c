//! The crates as cargo would publish them. They are packed, not compiled: `cargo install` compiles
//! the same sources as `cargo build`, which takes minutes.

use super::{ReleaseContext, files, process};
use crate::{paths, shell};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files that the `tramline` package needs beyond its sources.
const NEEDED: [&str; 4] = [
    "README.md",
    "Cargo.lock",
    "errors/T0001.md",
    "templates/hello/hello.yaml",
];

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let dry = [
        "publish",
        "--workspace",
        "--dry-run",
        "--no-verify",
        "--allow-dirty",
        "--locked",
        "--quiet",
    ];
    files::fresh(&paths::target().join("package"))?;
    process::output(&mut shell::cargo(&dry))?;
    packed(context)
}

/// The packed crates of this version, each once: cargo keeps a second copy for its dry run.
fn packed(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let end = format!("-{}.crate", context.version);
    let all = paths::files(&paths::target().join("package"), "crate")?;
    let ours = all
        .into_iter()
        .filter(|path| path.to_string_lossy().ends_with(&end));
    let by_name: BTreeMap<_, _> = ours
        .map(|path| (path.file_name().map(ToOwned::to_owned), path))
        .collect();
    Ok(by_name.into_values().collect())
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let name = format!("tramline-{}", context.version);
    let file_name = format!("{name}.crate");
    let all = packed(context)?;
    let archive = all.iter().find(|path| path.ends_with(&file_name));
    let archive = archive.with_context(|| format!("cargo packed no {file_name}"))?;
    let listed = process::output(process::command("tar").arg("-tzf").arg(archive))?;
    let listed: Vec<_> = listed.lines().collect();
    for needed in NEEDED {
        if !listed.contains(&format!("{name}/{needed}").as_str()) {
            bail!("the package has no {needed}");
        }
    }
    Ok(format!(
        "{} crates: cargo publish --workspace --dry-run --no-verify; not compiled",
        all.len()
    ))
}
