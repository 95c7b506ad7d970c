//! The npm packages: a launcher, and the binary as its optional dependency for the platform.

use super::trial::{self, Installed};
use super::{ReleaseContext, files, process};
use crate::paths;
use anyhow::{Result, bail};
use std::path::PathBuf;

const LAUNCHER: &str = "tramline";
const PLATFORM: &str = "tramline-linux-x64";

fn packed(context: &ReleaseContext, name: &str) -> PathBuf {
    context
        .dist
        .join(format!("npm/{name}-{}.tgz", context.version))
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let stage = files::fresh(&context.work.join("npm"))?;
    let dist = context.dist.join("npm");
    files::fresh(&dist)?;
    for name in [LAUNCHER, PLATFORM] {
        let manifest = files::template(context, &format!("npm/{name}/package.json"), &[])?;
        files::write(&stage.join(name).join("package.json"), manifest, 0o644)?;
        files::licences(&stage.join(name))?;
    }
    let readme = files::template(context, "npm/tramline/README.md", &[])?;
    files::write(&stage.join(LAUNCHER).join("README.md"), readme, 0o644)?;
    let launcher = paths::root().join("packaging/npm/tramline/bin/tramline.js");
    files::copy(
        &launcher,
        &stage.join(LAUNCHER).join("bin/tramline.js"),
        0o755,
    )?;
    files::copy(
        &context.binary,
        &stage.join(PLATFORM).join("bin/tramline"),
        0o755,
    )?;
    for name in [LAUNCHER, PLATFORM] {
        let mut pack = process::command("npm");
        pack.args(["pack", "--silent", "--pack-destination"])
            .arg(&dist)
            .current_dir(stage.join(name));
        process::output(&mut pack)?;
    }
    Ok(vec![packed(context, LAUNCHER), packed(context, PLATFORM)])
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let home = trial::home(&context.work, "npm-home")?;
    files::write(&home.join("package.json"), "{\"private\": true}\n", 0o644)?;
    let mut install = process::command("npm");
    install
        .args([
            "install",
            "--offline",
            "--no-audit",
            "--no-fund",
            "--ignore-scripts",
        ])
        .arg(packed(context, LAUNCHER))
        .arg(packed(context, PLATFORM));
    process::output(process::clean(&mut install, &home))?;
    let npx = ["npx", "--offline", "--no", "--", "tramline"];
    let through_npx = Installed {
        words: npx.map(str::to_owned).to_vec(),
        home: home.clone(),
        env: Vec::new(),
    };
    let shown = through_npx.first_commands(&context.version)?;
    // npx has its own handling of signals: the launcher itself is compared with the binary.
    let launcher = Installed::at(&home.join("node_modules/.bin/tramline"), &home);
    let binary = Installed::at(&context.binary, &home);
    let (ours, expected) = (launcher.code_after_sigterm()?, binary.code_after_sigterm()?);
    if ours != expected && !(expected.is_none() && ours == Some(143)) {
        bail!("SIGTERM: the launcher exited with {ours:?}, the binary with {expected:?}");
    }
    let missing = ["run", "missing.yaml"];
    let (ours, expected) = (launcher.code(&missing)?, binary.code(&missing)?);
    if ours != expected || ours == Some(0) {
        bail!("a failure: the launcher exited with {ours:?}, the binary with {expected:?}");
    }
    Ok(format!("npx: {shown}; signal and exit code passed on"))
}
