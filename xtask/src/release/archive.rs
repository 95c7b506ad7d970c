//! The archive with the binary, its manual page and completions, and the script that installs it.

use super::trial::{self, Installed};
use super::{ReleaseContext, TARGET, files, man_page, process, tools};
use crate::paths;
use anyhow::{Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the archive's folder.
fn name(context: &ReleaseContext) -> String {
    format!("tramline-{}-{TARGET}", context.version)
}

/// The path of the archive.
pub(super) fn path(context: &ReleaseContext) -> PathBuf {
    context.dist.join(format!("{}.tar.gz", name(context)))
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let parent = files::fresh(&context.work.join("archive"))?;
    let root = parent.join(name(context));
    files::copy(&context.binary, &root.join("bin/tramline"), 0o755)?;
    man_and_completions(context, &root.join("share"), "zsh/site-functions")?;
    files::licences(&root)?;
    for document in ["README.md", "CHANGELOG.md"] {
        files::copy(&paths::root().join(document), &root.join(document), 0o644)?;
    }
    let path = path(context);
    files::tar_gz(&parent, &name(context), &path, context.epoch)?;
    let script = context.dist.join("install.sh");
    files::write(&script, files::template(context, "install.sh", &[])?, 0o755)?;
    Ok(vec![path, script])
}

/// Writes the manual page and the completions of three shells below a `share` directory.
pub(super) fn man_and_completions(context: &ReleaseContext, share: &Path, zsh: &str) -> Result<()> {
    let help = process::output(Command::new(&context.binary).arg("--help"))?;
    let mut date = Command::new("date");
    date.args(["--utc", "+%Y-%m-%d", &format!("--date=@{}", context.epoch)]);
    let date = process::output(&mut date)?;
    let page = man_page::page(&help, &context.version, date.trim());
    files::write(&share.join("man/man1/tramline.1"), page, 0o644)?;
    let zsh = format!("{zsh}/_tramline");
    for (shell, file) in [
        ("bash", "bash-completion/completions/tramline"),
        ("zsh", &zsh),
        ("fish", "fish/vendor_completions.d/tramline.fish"),
    ] {
        let script = process::output(Command::new(&context.binary).args(["completions", shell]))?;
        files::write(&share.join(file), script, 0o644)?;
    }
    Ok(())
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let script = context.dist.join("install.sh");
    tools::debian("shellcheck")?;
    process::output(
        process::command("shellcheck")
            .arg("--shell=sh")
            .arg(&script),
    )?;
    let home = trial::home(&context.work, "archive-home")?;
    let install = |from: &Path, more: &[&str]| {
        let mut command = process::command("sh");
        command.arg(&script).arg("--from").arg(from).args(more);
        process::clean(&mut command, &home);
        command
    };
    process::output(&mut install(&context.dist, &["--dry-run"]))?;
    if fs::read_dir(&home)?.next().is_some() {
        bail!("the dry run wrote files");
    }
    let damaged = files::fresh(&context.work.join("archive-damaged"))?;
    fs::copy(context.dist.join("SHA256SUMS"), damaged.join("SHA256SUMS"))?;
    files::write(
        &damaged.join(format!("{}.tar.gz", name(context))),
        b"damaged",
        0o644,
    )?;
    let refused = process::finish(&mut install(&damaged, &[]))?;
    let says = String::from_utf8_lossy(&refused.stderr);
    if refused.status.success() || !says.contains("nothing was installed") {
        bail!("a damaged archive was not rejected: {says}");
    }
    process::output(&mut install(&context.dist, &["--prefix", "below here"]))?;
    process::output(&mut install(&context.dist, &[]))?;
    let shown = Installed::at(&home.join(".local/bin/tramline"), &home);
    let shown = shown.first_commands(&context.version)?;
    Ok(format!(
        "glibc {}; bad checksum rejected; {shown}",
        context.glibc
    ))
}
