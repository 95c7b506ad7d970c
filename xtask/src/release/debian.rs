//! The Debian package, installed for real if we are root and removed afterwards.

use super::trial::{self, Installed};
use super::{ReleaseContext, archive, files, process};
use crate::paths;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn path(context: &ReleaseContext) -> PathBuf {
    context
        .dist
        .join(format!("tramline_{}-1_amd64.deb", context.version))
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let stage = files::fresh(&context.work.join("debian"))?;
    files::copy(&context.binary, &stage.join("usr/bin/tramline"), 0o755)?;
    let share = stage.join("usr/share");
    archive::man_and_completions(context, &share, "zsh/vendor-completions")?;
    process::output(
        process::command("gzip")
            .args(["-9n"])
            .arg(share.join("man/man1/tramline.1")),
    )?;
    let mit = paths::read(&paths::root().join("LICENSE-MIT"))?;
    let copyright = files::template(
        context,
        "debian/copyright",
        &[("MIT_TEXT", &indented(&mit))],
    )?;
    files::write(&share.join("doc/tramline/copyright"), copyright, 0o644)?;
    let bytes = fs::metadata(&context.binary)?.len();
    let installed = bytes.div_ceil(1_024).to_string();
    let control = files::template(context, "debian/control", &[("INSTALLED_KIB", &installed)])?;
    files::write(&stage.join("DEBIAN/control"), control, 0o644)?;
    let path = path(context);
    let mut pack = process::command("dpkg-deb");
    pack.args(["--root-owner-group", "-Zxz", "-z3", "--build"])
        .arg(&stage)
        .arg(&path);
    process::output(pack.env("SOURCE_DATE_EPOCH", context.epoch.to_string()))?;
    Ok(vec![path])
}

/// Text in the form of a Debian copyright file: each line indented, an empty one as a dot.
fn indented(text: &str) -> String {
    let lines = text.trim_end().lines().map(|line| match line.trim() {
        "" => " .".to_owned(),
        line => format!(" {line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    let home = trial::home(&context.work, "debian-home")?;
    let user = process::output(Command::new("id").arg("-u"))?;
    if user.trim() != "0" {
        let root = home.join("unpacked");
        process::output(
            process::command("dpkg-deb")
                .arg("-x")
                .arg(path(context))
                .arg(&root),
        )?;
        let installed = Installed::at(&root.join("usr/bin/tramline"), &home);
        let shown = installed.first_commands(&context.version)?;
        return Ok(format!("unpacked, since only root can install: {shown}"));
    }
    let program = Path::new("/usr/bin/tramline");
    if program.exists() {
        bail!(
            "{} exists: remove the installed package first",
            program.display()
        );
    }
    process::output(process::command("dpkg").arg("--install").arg(path(context)))?;
    let tried = Installed::at(program, &home).first_commands(&context.version);
    process::output(process::command("dpkg").args(["--purge", "tramline"]))
        .context("the package is still installed")?;
    if program.exists() {
        bail!("{} is left after the removal", program.display());
    }
    Ok(format!("installed with dpkg and removed: {}", tried?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn empty_lines_of_a_licence_are_dots() {
        assert_eq!(super::indented("MIT\n\nText\n"), " MIT\n .\n Text");
    }
}
