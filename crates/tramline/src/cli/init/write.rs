//! Writes a template: all of its files or none, and none over a file that exists.

use super::gallery::Template;
use crate::cli::{CliError, Exit, mcp_clients};
use std::borrow::Cow;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tramline_workflow::text::io_reason;

/// Existing files that a refusal names; more are counted.
const NAMED_MAX: usize = 5;

/// Writes the files of a template into a directory and returns their paths.
pub(super) fn write(
    template: &Template,
    dir: &Path,
    force: bool,
) -> Result<Vec<PathBuf>, CliError> {
    let filler = Filler::new(dir)?;
    let files: Vec<_> = template.files().collect();
    let targets: Vec<PathBuf> = files.iter().map(|file| dir.join(&file.path)).collect();
    check(dir, &targets, force)?;
    let mut made = Made::default();
    for (file, target) in files.iter().zip(&targets) {
        let content = filler.fill(&file.content.data);
        let written = made.file(target, &content, force);
        if let Err(error) = written {
            let message = format!(
                "{}: {}; nothing was written",
                target.display(),
                io_reason(&error)
            );
            made.take_back();
            return Err(CliError {
                exit: Exit::Failed,
                message,
            });
        }
    }
    made.finish().map_err(|(path, error)| CliError {
        exit: Exit::Failed,
        message: format!("{}: {}", path.display(), io_reason(&error)),
    })?;
    Ok(targets)
}

/// Fills in what a template cannot know: where it is, and how to start this program. A server needs
/// both, because clients start it in a directory of their choice.
struct Filler {
    /// Each text in quotes, and the JSON text that replaces it.
    values: [(&'static str, String); 2],
}

impl Filler {
    fn new(dir: &Path) -> Result<Self, CliError> {
        let cannot = |why: String| CliError::bad_input(format!("{}: {why}", dir.display()));
        let dir = std::path::absolute(dir).map_err(|error| cannot(error.to_string()))?;
        let text = dir
            .to_str()
            .ok_or_else(|| cannot("the path is not UTF-8".to_owned()))?;
        let json = |text: &str| serde_json::Value::from(text).to_string();
        let command = mcp_clients::own_command()?;
        Ok(Self {
            values: [
                ("\"{{directory}}\"", json(text)),
                ("\"{{tramline}}\"", json(&command)),
            ],
        })
    }

    fn fill<'c>(&self, content: &'c [u8]) -> Cow<'c, [u8]> {
        match std::str::from_utf8(content) {
            Ok(text) if text.contains("\"{{") => {
                let filled = self
                    .values
                    .iter()
                    .fold(text.to_owned(), |text, (name, value)| {
                        text.replace(name, value)
                    });
                Cow::Owned(filled.into_bytes())
            }
            Ok(_) | Err(_) => Cow::Borrowed(content),
        }
    }
}

/// Refuses before anything is written.
fn check(dir: &Path, targets: &[PathBuf], force: bool) -> Result<(), CliError> {
    if fs::symlink_metadata(dir).is_ok() && !dir.is_dir() {
        let message = format!("{} exists and is not a directory", dir.display());
        return Err(CliError::bad_input(message));
    }
    let exists: Vec<_> = targets
        .iter()
        .filter(|path| fs::symlink_metadata(path).is_ok())
        .collect();
    if let Some(blocked) = exists
        .iter()
        .find(|path| !path.is_file() || path.is_symlink())
    {
        let message = format!("{} exists and is not a regular file", blocked.display());
        return Err(CliError::bad_input(message));
    }
    if exists.is_empty() || force {
        return Ok(());
    }
    let named: Vec<String> = exists
        .iter()
        .take(NAMED_MAX)
        .map(|path| path.display().to_string())
        .collect();
    let more = match exists.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(CliError::bad_input(format!(
        "{}{more} exist; choose another directory, or replace them with `--force`",
        named.join(", ")
    )))
}

/// What was made so far.
#[derive(Default)]
struct Made {
    dirs: Vec<PathBuf>,
    /// New files that wait beside the old ones that they replace.
    waiting: Vec<(PathBuf, PathBuf)>,
    files: Vec<PathBuf>,
}

impl Made {
    fn file(&mut self, target: &Path, content: &[u8], force: bool) -> std::io::Result<()> {
        if let Some(folder) = target.parent() {
            self.directory(folder)?;
        }
        let replaces = force && target.exists();
        let path = match replaces {
            true => {
                let name = target.file_name().unwrap_or_default().to_string_lossy();
                target.with_file_name(format!(".{name}.tramline-{}", std::process::id()))
            }
            false => target.to_owned(),
        };
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        self.files.push(path.clone());
        file.write_all(content)?;
        if replaces {
            self.waiting.push((path, target.to_owned()));
        }
        Ok(())
    }

    /// Makes a directory and those above it.
    fn directory(&mut self, folder: &Path) -> std::io::Result<()> {
        let missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|part| !part.as_os_str().is_empty() && !part.exists())
            .collect();
        for part in missing.into_iter().rev() {
            fs::create_dir(part)?;
            self.dirs.push(part.to_owned());
        }
        Ok(())
    }

    /// Puts replacements in place, after everything else is written.
    fn finish(self) -> Result<(), (PathBuf, std::io::Error)> {
        for (new, target) in self.waiting {
            fs::rename(&new, &target).map_err(|error| (target, error))?;
        }
        Ok(())
    }

    fn take_back(self) {
        for path in self.files {
            let _ = fs::remove_file(path);
        }
        for dir in self.dirs.into_iter().rev() {
            let _ = fs::remove_dir(dir);
        }
    }
}
