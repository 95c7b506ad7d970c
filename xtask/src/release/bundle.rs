//! The MCP bundle (`.mcpb`), which desktop clients install with one click.

use super::trial::{self, Installed};
use super::{ReleaseContext, files, process, tools};
use crate::paths;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::PathBuf;

/// The path of the bundle.
pub(super) fn path(context: &ReleaseContext) -> PathBuf {
    context
        .dist
        .join(format!("tramline-{}-linux-x64.mcpb", context.version))
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let mcpb = tools::mcpb()?;
    let stage = files::fresh(&context.work.join("bundle"))?;
    let manifest = stage.join("manifest.json");
    files::write(
        &manifest,
        files::template(context, "mcpb/manifest.json", &[])?,
        0o644,
    )?;
    files::copy(&context.binary, &stage.join("server/tramline"), 0o755)?;
    files::licences(&stage)?;
    process::output(process::command(&mcpb).arg("validate").arg(&manifest))?;
    process::output(
        process::command(&mcpb)
            .arg("pack")
            .arg(&stage)
            .arg(path(context)),
    )?;
    Ok(vec![path(context)])
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let home = trial::home(&context.work, "bundle-home")?;
    let unpacked = home.join("unpacked");
    let mut unpack = process::command(tools::mcpb()?);
    unpack.arg("unpack").arg(path(context)).arg(&unpacked);
    process::output(process::clean(&mut unpack, &home))?;
    let manifest: Value = serde_json::from_str(&paths::read(&unpacked.join("manifest.json"))?)?;
    let config = &manifest["server"]["mcp_config"];
    // A client replaces these two before it starts the command.
    let fill = |word: &Value| {
        let word = word.as_str().unwrap_or_default();
        let word = word.replace("${__dirname}", &unpacked.display().to_string());
        word.replace("${user_config.directory}", &home.display().to_string())
    };
    let words = config["args"]
        .as_array()
        .context("the manifest has no arguments")?;
    let words: Vec<_> = words.iter().map(fill).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let installed = Installed::at(&PathBuf::from(fill(&config["command"])), &home);
    let tools = installed.served_tools(&words)?;
    if !tools.iter().any(|tool| tool == "workflow_execute") {
        bail!("the manifest's command lists {tools:?}");
    }
    let shown = installed.first_commands(&context.version)?;
    Ok(format!(
        "validated, unpacked; the manifest's command lists {} tools; {shown}",
        tools.len()
    ))
}
