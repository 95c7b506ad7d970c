//! The Python wheel: the binary as a script, without any Python code.

use super::trial::{self, Installed};
use super::{ReleaseContext, files, process, tools};
use crate::paths;
use anyhow::{Result, bail};
use std::fs;
use std::path::PathBuf;

/// The name of the distribution in file names; `tramline` is taken on PyPI.
const NAME: &str = "tramline_mcp";

fn tag(context: &ReleaseContext) -> String {
    let glibc = context.glibc;
    format!("py3-none-manylinux_{}_{}_x86_64", glibc.major, glibc.minor)
}

fn path(context: &ReleaseContext) -> PathBuf {
    context
        .dist
        .join(format!("{NAME}-{}-{}.whl", context.version, tag(context)))
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let stage = files::fresh(&context.work.join("wheel"))?;
    let base = format!("{NAME}-{}", context.version);
    let tag = tag(context);
    let root = paths::root();
    let scripts = format!("{base}.data/scripts");
    let info = format!("{base}.dist-info");
    let contents: Vec<(String, Vec<u8>, u32)> = vec![
        (
            format!("{scripts}/tramline"),
            fs::read(&context.binary)?,
            0o755,
        ),
        (
            format!("{scripts}/tramline-mcp"),
            fs::read(root.join("packaging/wheel/tramline-mcp"))?,
            0o755,
        ),
        (
            format!("{info}/METADATA"),
            files::template(context, "wheel/METADATA", &[])?.into_bytes(),
            0o644,
        ),
        (
            format!("{info}/WHEEL"),
            files::template(context, "wheel/WHEEL", &[("TAG", &tag)])?.into_bytes(),
            0o644,
        ),
        (
            format!("{info}/licenses/LICENSE-APACHE"),
            fs::read(root.join("LICENSE-APACHE"))?,
            0o644,
        ),
        (
            format!("{info}/licenses/LICENSE-MIT"),
            fs::read(root.join("LICENSE-MIT"))?,
            0o644,
        ),
    ];
    for (path, bytes, mode) in &contents {
        files::write(&stage.join(path), bytes, *mode)?;
    }
    let listed: Vec<_> = contents
        .into_iter()
        .map(|(path, bytes, _)| (path, bytes))
        .collect();
    let own_path = format!("{info}/RECORD");
    files::write(
        &stage.join(&own_path),
        files::record(&listed, &own_path),
        0o644,
    )?;
    files::set_times(&stage, context.epoch)?;
    let path = path(context);
    let mut zip = process::command("python3");
    zip.args(["-m", "zipfile", "-c"]).arg(&path);
    zip.args([format!("{base}.data"), info])
        .current_dir(&stage)
        .env("TZ", "UTC");
    process::output(&mut zip)?;
    Ok(vec![path])
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let home = trial::home(&context.work, "wheel-home")?;
    let venv = home.join("venv");
    let mut create = process::command("python3");
    create.args(["-m", "venv"]).arg(&venv);
    process::output(process::clean(&mut create, &home))?;
    let mut install = process::command(venv.join("bin/pip"));
    install
        .args([
            "install",
            "--no-index",
            "--no-deps",
            "--disable-pip-version-check",
        ])
        .arg(path(context));
    process::output(process::clean(&mut install, &home))?;
    let shown =
        Installed::at(&venv.join("bin/tramline"), &home).first_commands(&context.version)?;
    let second = Installed::at(&venv.join("bin/tramline-mcp"), &home);
    let uvx = Installed {
        words: [
            tools::python("uvx")?.display().to_string(),
            "--offline".to_owned(),
            "--python".to_owned(),
            venv.join("bin/python").display().to_string(),
            "--from".to_owned(),
            path(context).display().to_string(),
            "tramline".to_owned(),
        ]
        .to_vec(),
        home: trial::home(&context.work, "uvx-home")?,
        env: Vec::new(),
    };
    for (name, installed) in [("tramline-mcp", &second), ("uvx", &uvx)] {
        if installed.code(&["--version"])? != Some(0) {
            bail!("{name} does not start");
        }
    }
    let through_uvx = uvx.first_commands(&context.version)?;
    Ok(format!("pip: {shown}; uvx: {through_uvx}"))
}
