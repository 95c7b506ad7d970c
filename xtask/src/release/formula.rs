//! The Homebrew formula, which installs the archive.

use super::{ReleaseContext, archive, files, process, tools, trial};
use crate::paths;
use anyhow::Result;
use std::path::PathBuf;

fn path(context: &ReleaseContext) -> PathBuf {
    context.dist.join("tramline.rb")
}

pub(super) fn build(context: &ReleaseContext) -> Result<Vec<PathBuf>> {
    let archive = archive::path(context);
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let sum = files::sha256_of(&archive)?;
    let values = [("ARCHIVE", &*name), ("ARCHIVE_SHA256", sum.as_str())];
    let formula = files::template(context, "homebrew/tramline.rb", &values)?;
    files::write(&path(context), formula, 0o644)?;
    Ok(vec![path(context)])
}

/// Homebrew itself is in no package registry: the formula is evaluated with a small replacement.
pub(super) fn try_out(context: &ReleaseContext) -> Result<String> {
    tools::debian("ruby")?;
    process::output(process::command("ruby").args(["-wc"]).arg(path(context)))?;
    let home = trial::home(&context.work, "formula-home")?;
    let mut install = process::command("ruby");
    install
        .arg(paths::root().join("packaging/homebrew/try.rb"))
        .arg(path(context))
        .arg(archive::path(context))
        .arg(home.join("prefix"));
    process::output(process::clean(&mut install, &home))?;
    Ok("without Homebrew: syntax, checksum, install and test of the formula".to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::files::fill;
    use crate::paths;

    #[test]
    fn the_formula_has_the_archive_and_its_checksum() {
        let template = paths::read(&paths::root().join("packaging/homebrew/tramline.rb")).unwrap();
        let values = [
            ("VERSION", "1.2.3"),
            ("REPOSITORY", "https://host.example/tramline"),
            ("RELEASES", "https://host.example/v1.2.3"),
            ("ARCHIVE", "a.tar.gz"),
            ("ARCHIVE_SHA256", "00ff"),
        ];
        let formula = fill(&template, &values).unwrap();
        for line in [
            "url \"https://host.example/v1.2.3/a.tar.gz\"",
            "sha256 \"00ff\"",
            "version \"1.2.3\"",
        ] {
            assert!(formula.contains(line), "{line}");
        }
    }
}
