//! Files of packages: filled templates, checksums, and archives that are the same for the same input.

use super::ReleaseContext;
use super::process;
use crate::paths;
use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// The SHA-256 of some bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The SHA-256 of a file, in hexadecimal.
pub(super) fn sha256_of(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    Ok(sha256(&bytes))
}

/// A wheel's `RECORD`: each file with its hash and size, and the record itself without.
pub(super) fn record(files: &[(String, Vec<u8>)], own_path: &str) -> String {
    let mut text = String::new();
    for (path, bytes) in files {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(bytes));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{path},sha256={hash},{}", bytes.len());
    }
    let _ = writeln!(text, "{own_path},,");
    text
}

/// Replaces `@NAME@` by its value; a placeholder that is left over is an error.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> Result<String> {
    let mut text = template.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("@{name}@"), value);
    }
    match placeholder(&text) {
        Some(name) => bail!("the placeholder {name} has no value"),
        None => Ok(text),
    }
}

/// The first `@NAME@` in capitals.
fn placeholder(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let after = rest.get(at + 1..)?;
        let is_name =
            |letter: char| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit();
        let length = after.find(|letter| !is_name(letter)).unwrap_or(after.len());
        if length > 0 && after.get(length..)?.starts_with('@') {
            return rest.get(at..at + length + 2);
        }
        rest = after;
    }
    None
}

/// The filled template at this path below `packaging/`.
pub(super) fn template(
    context: &ReleaseContext,
    path: &str,
    more: &[(&str, &str)],
) -> Result<String> {
    let text = paths::read(&paths::root().join("packaging").join(path))?;
    let glibc = context.glibc.to_string();
    let mut values = vec![
        ("VERSION", context.version.as_str()),
        ("TARGET", super::TARGET),
        ("GLIBC", &glibc),
        ("REPOSITORY", &context.repository),
        ("RELEASES", &context.releases),
        ("MCP_NAME", &context.mcp_name),
    ];
    values.extend(more);
    fill(&text, &values).with_context(|| format!("filling packaging/{path}"))
}

/// Writes a file with its permissions, creating its directories.
pub(super) fn write(path: &Path, content: impl AsRef<[u8]>, mode: u32) -> Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    }
    fs::write(path, content).with_context(|| format!("writing {}", path.display()))?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Copies a file with its permissions, creating its directories.
pub(super) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("reading {}", from.display()))?;
    write(to, bytes, mode)
}

/// Copies both licences into a directory.
pub(super) fn licences(dir: &Path) -> Result<()> {
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&paths::root().join(name), &dir.join(name), 0o644)?;
    }
    Ok(())
}

/// An empty directory of this name.
pub(super) fn fresh(path: &Path) -> Result<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("removing {}", path.display()))?;
    }
    fs::create_dir_all(path).with_context(|| format!("creating {}", path.display()))?;
    Ok(path.to_path_buf())
}

/// Sets the modification time of every file and directory, since archives contain it.
pub(super) fn set_times(path: &Path, epoch: u64) -> Result<()> {
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path)? {
            set_times(&entry?.path(), epoch)?;
        }
    }
    if !path.is_symlink() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch);
        fs::File::open(path)?.set_modified(time)?;
    }
    Ok(())
}

/// Packs the directory `name` of `parent` as a tar archive, the same for the same files.
pub(super) fn tar_gz(parent: &Path, name: &str, to: &Path, epoch: u64) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--format=gnu",
    ])
    .arg(format!("--mtime=@{epoch}"))
    .args(["--use-compress-program=gzip -9n", "-cf"])
    .arg(to)
    .arg("-C")
    .arg(parent)
    .arg(name);
    process::output(&mut tar).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_lists_hashes_and_sizes_and_itself_without() {
        let files = [(
            "tramline_mcp-1.0.0.dist-info/WHEEL".to_owned(),
            b"abc".to_vec(),
        )];
        let text = record(&files, "tramline_mcp-1.0.0.dist-info/RECORD");
        assert_eq!(
            text,
            "tramline_mcp-1.0.0.dist-info/WHEEL,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\n\
             tramline_mcp-1.0.0.dist-info/RECORD,,\n"
        );
    }

    #[test]
    fn checksums_are_hexadecimal() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }

    #[test]
    fn placeholders_without_a_value_are_found() {
        let filled = fill("v@VERSION@ npm i a@1 @scope/x", &[("VERSION", "1.0.0")]);
        assert_eq!(filled.unwrap(), "v1.0.0 npm i a@1 @scope/x");
        let error = fill("a@b.c @GLIBC_MIN@", &[("VERSION", "1.0.0")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the placeholder @GLIBC_MIN@ has no value"
        );
    }
}
