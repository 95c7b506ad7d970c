//! A configuration file that belongs to another program: read with limits, written as a whole or not
//! at all, with a copy of what was there before.

use super::client::ConfigPlace;
use super::config_text::{Malformed, Syntax};
use crate::cli::{CliError, Exit};
use crate::config::read_bounded;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use tramline_workflow::text::io_reason;

/// The largest file that is read and written, in bytes. Claude Code keeps its history in its file.
pub(super) const BYTES_MAX: u64 = 64 << 20;
/// Copies kept of one file: more are a sign that something runs this in a loop.
const BACKUPS_MAX: usize = 99;

/// A file as it was read.
pub(super) struct ConfigFile {
    /// The file itself: links are resolved.
    pub(super) path: PathBuf,
    /// `None` if it does not exist.
    pub(super) text: Option<String>,
    syntax: Syntax,
}

impl ConfigFile {
    /// Reads a file. A link that leads out of the directory is refused unless `follow_links`; in a
    /// project, so is every other link.
    pub(super) fn read(
        place: &ConfigPlace,
        syntax: Syntax,
        follow_links: bool,
    ) -> Result<Self, CliError> {
        let path = resolve(place, follow_links)?;
        let about = match fs::metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self {
                    path,
                    text: None,
                    syntax,
                });
            }
            Err(error) => return Err(failed(&path, &error)),
        };
        if !about.is_file() {
            let message = format!("{} is not a regular file", path.display());
            return Err(CliError::bad_input(message));
        }
        let bytes = read_bounded(&path, BYTES_MAX).map_err(CliError::bad_input)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            CliError::bad_input(format!("{} is not UTF-8; save it as UTF-8", path.display()))
        })?;
        Ok(Self {
            path,
            text: Some(text),
            syntax,
        })
    }

    /// Its text; empty if it does not exist. A byte order mark is not part of it.
    pub(super) fn text(&self) -> &str {
        let text = self.text.as_deref().unwrap_or_default();
        text.strip_prefix('\u{feff}').unwrap_or(text)
    }

    /// Its value.
    pub(super) fn value(&self) -> Result<Value, CliError> {
        self.syntax
            .parse(self.text())
            .map_err(|wrong| self.malformed(&wrong))
    }

    /// Its text with an entry.
    pub(super) fn with(
        &self,
        text: &str,
        path: &[&str],
        value: &Value,
    ) -> Result<String, CliError> {
        let edited = self.syntax.set(text, path, value);
        edited.map_err(|wrong| self.malformed(&wrong))
    }

    /// Its text without an entry.
    pub(super) fn without(&self, text: &str, path: &[&str]) -> Result<String, CliError> {
        let edited = self.syntax.remove(text, path);
        edited.map_err(|wrong| self.malformed(&wrong))
    }

    fn malformed(&self, wrong: &Malformed) -> CliError {
        CliError::bad_input(format!(
            "{}:{wrong}; nothing was changed",
            self.path.display()
        ))
    }

    /// Writes a new text and returns the path of the copy of the old one.
    pub(super) fn write(&self, text: &str) -> Result<Option<PathBuf>, CliError> {
        let backup = match &self.text {
            Some(_) => Some(self.back_up()?),
            None => None,
        };
        self.overwrite(text)?;
        Ok(backup)
    }

    /// Copies the file beside itself and returns the path of the copy.
    pub(super) fn back_up(&self) -> Result<PathBuf, CliError> {
        back_up(&self.path, self.text.as_deref().unwrap_or_default())
    }

    /// Writes a new text without a copy of the old one.
    pub(super) fn overwrite(&self, text: &str) -> Result<(), CliError> {
        let mark = match self.text.as_deref() {
            Some(old) if old.starts_with('\u{feff}') && !text.starts_with('\u{feff}') => "\u{feff}",
            Some(_) | None => "",
        };
        replace(&self.path, self.text.as_deref(), &format!("{mark}{text}"))
    }

    /// Takes a write back: the file has its old text again, or is gone if there was none.
    pub(super) fn put_back(&self) -> Result<(), CliError> {
        match &self.text {
            Some(old) => {
                let now =
                    fs::read_to_string(&self.path).map_err(|error| failed(&self.path, &error))?;
                replace(&self.path, Some(&now), old)
            }
            None => self.delete(),
        }
    }

    /// The copies of earlier texts, oldest first; those that cannot be read are left out.
    pub(super) fn backups(&self) -> Vec<String> {
        let copies = (1..=BACKUPS_MAX).map(|number| backup_path(&self.path, number));
        copies
            .filter(|copy| copy.is_file())
            .filter_map(|copy| String::from_utf8(read_bounded(&copy, BYTES_MAX).ok()?).ok())
            .collect()
    }

    /// Removes the file.
    pub(super) fn delete(&self) -> Result<(), CliError> {
        fs::remove_file(&self.path).map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> CliError {
    CliError {
        exit: Exit::Failed,
        message: format!("{}: {}", path.display(), io_reason(error)),
    }
}

/// The file that a path leads to, if that is inside its directory, and in a project at its own place.
fn resolve(place: &ConfigPlace, follow_links: bool) -> Result<PathBuf, CliError> {
    let base = fs::canonicalize(&place.base).unwrap_or_else(|_| place.base.clone());
    let mut existing = place.path.clone();
    let mut missing = Vec::new();
    // The nearest part that exists decides where a new file would be.
    let found = loop {
        match fs::canonicalize(&existing) {
            Ok(found) => break found,
            Err(_) if fs::symlink_metadata(&existing).is_ok_and(|about| about.is_symlink()) => {
                let message = format!("{} is a link to nothing", existing.display());
                return Err(CliError::bad_input(message));
            }
            Err(_) => {
                let name = existing.file_name().map(ToOwned::to_owned);
                let (Some(name), true) = (name, existing.pop()) else {
                    return Ok(place.path.clone());
                };
                missing.push(name);
            }
        }
    };
    let path = missing
        .iter()
        .rev()
        .fold(found, |path, name| path.join(name));
    let is_at_its_place = || {
        let inside = place.path.strip_prefix(&place.base);
        inside.is_ok_and(|inside| path == base.join(inside))
    };
    if follow_links || (path.starts_with(&base) && (!place.in_project || is_at_its_place())) {
        return Ok(path);
    }
    if path.starts_with(&base) {
        return Err(CliError::bad_input(format!(
            "{} leads to {}, another file of the project; `--follow-links` changes it there",
            place.path.display(),
            path.display()
        )));
    }
    Err(CliError::bad_input(format!(
        "{} leads to {}, outside of {}; `--follow-links` changes it there",
        place.path.display(),
        path.display(),
        place.base.display()
    )))
}

fn backup_path(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{name}.tramline-backup-{number}"))
}

/// Copies a text beside its file, readable only by its owner: it may contain secrets.
fn back_up(path: &Path, text: &str) -> Result<PathBuf, CliError> {
    for number in 1..=BACKUPS_MAX {
        let copy = backup_path(path, number);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&copy) {
            Ok(mut file) => {
                let written = file
                    .write_all(text.as_bytes())
                    .and_then(|()| file.sync_all());
                written.map_err(|error| failed(&copy, &error))?;
                return Ok(copy);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&copy, &error)),
        }
    }
    Err(CliError::bad_input(format!(
        "{} has {BACKUPS_MAX} backups; delete those you no longer need",
        path.display()
    )))
}

/// Replaces a file atomically, unless it has changed since it was read.
fn replace(path: &Path, before: Option<&str>, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(folder)
        .map_err(|error| failed(folder, &error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.tramline-{}", std::process::id()));
    let written = write_new(&new, path, text);
    let moved = written.and_then(|()| {
        if current(path)?.as_deref() != before.map(str::as_bytes) {
            let says = "the file was changed by another program; run the command again";
            return Err(std::io::Error::other(says));
        }
        fs::rename(&new, path)
    });
    moved.map_err(|error| {
        // What is left of an attempt that failed.
        let _ = fs::remove_file(&new);
        failed(path, &error)
    })
}

fn write_new(new: &Path, old: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(new)?;
    file.write_all(text.as_bytes())?;
    if let Ok(about) = fs::metadata(old) {
        file.set_permissions(about.permissions())?;
    }
    file.sync_all()
}

fn current(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
