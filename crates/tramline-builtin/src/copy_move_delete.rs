//! `copy-file`, `move-file` and `delete-file`: inside the allowed roots, and atomic.
//!
//! Files are written under a temporary name and then renamed. An existing file is only replaced on
//! request.

use crate::arguments::{Arguments, bad_arguments};
use crate::describe;
use crate::files::{WRITE_HINTS, failed, missing_directory, temporary_path};
use crate::roots::{Roots, WriteTarget, not_a_file, open_regular};
use cap_std::fs::{Dir, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::Value;
use tramline_workflow::failure::{Failure, FailureKind};

/// The largest file to copy, in bytes: a call must end.
const COPY_BYTES_MAX: u64 = 4 << 30;
/// The size of the copy buffer, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

pub(crate) fn tools() -> [(&'static str, Tool); 3] {
    let moves = ToolHints {
        idempotent: Some(false),
        ..WRITE_HINTS
    };
    [
        describe(
            "copy-file",
            "Copies a file inside the allowed roots, atomically. A different file at `to` \
             is replaced only if overwrite is true.",
            WRITE_HINTS,
        ),
        describe(
            "move-file",
            "Moves or renames a file inside the allowed roots. A file at `to` is replaced only if \
             overwrite is true.",
            moves,
        ),
        describe(
            "delete-file",
            "Deletes a file inside the allowed roots permanently, never a directory. Returns \
             whether it existed. If confirm_delete is given, it must be true.",
            ToolHints {
                read_only: Some(false),
                ..WRITE_HINTS
            },
        ),
    ]
}

/// Source and target of a copy or move.
struct Transfer<'a> {
    roots: &'a Roots,
    from: &'a str,
    to: &'a str,
    target: WriteTarget,
    overwrite: bool,
}

impl<'a> Transfer<'a> {
    fn read(tool: &'static str, roots: &'a Roots, values: &'a Value) -> Result<Self, Failure> {
        let known = ["from", "to", "overwrite", "create_dirs"];
        let given = Arguments::new(tool, values, &known)?;
        let (from, to) = (given.text("from")?, given.text("to")?);
        roots.resolve(from)?;
        let target = roots.target(to, given.flag("create_dirs")?)?;
        let target = target.ok_or_else(|| missing_directory(to))?;
        target.check_kind(to)?;
        Ok(Self {
            roots,
            from,
            to,
            target,
            overwrite: given.flag("overwrite")?,
        })
    }

    /// The source file: not a directory, and not a symlink.
    fn open(&self) -> Result<File, Failure> {
        let (file, about) = self.roots.open_file(self.from)?;
        if about.len() > COPY_BYTES_MAX {
            let message = format!("{} is larger than {COPY_BYTES_MAX} bytes", self.from);
            return Err(refused(message));
        }
        Ok(file)
    }

    fn result(&self, bytes: u64, done: &'static str) -> Value {
        Value::object([
            ("from", self.from.into()),
            ("to", self.to.into()),
            ("bytes", bytes.into()),
            (done, true.into()),
        ])
    }

    fn target_exists(&self) -> Failure {
        refused(format!("{} exists; overwrite: true replaces it", self.to))
    }

    /// Copies to a temporary file and renames it.
    fn copy(&self) -> Result<u64, Failure> {
        let mut file = self.open()?;
        let (dir, path) = (&self.target.dir, self.target.path());
        let part = temporary_path(path).map_err(|error| failed(self.to, &error))?;
        let bytes = write_temporary(&mut file, dir, &part);
        let bytes = bytes.map_err(|error| failed(self.to, &error));
        let placed = bytes.and_then(|bytes| {
            self.put(dir, &part, path)?;
            Ok(bytes)
        });
        // Gone after a rename; useless in any other case.
        let _ = dir.remove_file(&part);
        placed
    }

    fn put(&self, dir: &Dir, part: &Path, path: &Path) -> Result<(), Failure> {
        let placed = match self.overwrite {
            true => dir.rename(part, dir, path),
            false => dir.hard_link(part, dir, path),
        };
        match placed {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                // The same copy again, for example after a crash, changes nothing.
                match has_same_content(dir, part, path) {
                    Ok(true) => Ok(()),
                    Ok(false) | Err(_) => Err(self.target_exists()),
                }
            }
            other => other.map_err(|error| failed(self.to, &error)),
        }
    }
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::Tool, message)
}

fn write_temporary(from: &mut File, dir: &Dir, part: &Path) -> std::io::Result<u64> {
    let mut options = OpenOptions::new();
    let mut file = dir.open_with(part, options.write(true).create_new(true))?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut written = 0;
    loop {
        let length = from.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        written += length as u64;
        if written > COPY_BYTES_MAX {
            return Err(ErrorKind::FileTooLarge.into());
        }
        file.write_all(&chunk[..length])?;
    }
    file.sync_all()?;
    Ok(written)
}

/// Whether two files have the same content.
fn has_same_content(dir: &Dir, one: &Path, other: &Path) -> std::io::Result<bool> {
    let (mut one, about) = open_regular(dir, one)?;
    let (mut other, beside) = open_regular(dir, other)?;
    if about.len() != beside.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
    loop {
        let length = one.read(&mut left)?;
        if length == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..length])?;
        if left[..length] != right[..length] {
            return Ok(false);
        }
    }
}

pub(crate) fn copy(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let way = Transfer::read("copy-file", roots, arguments)?;
    let bytes = way.copy()?;
    Ok(way.result(bytes, "copied"))
}

pub(crate) fn move_file(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let way = Transfer::read("move-file", roots, arguments)?;
    let source = roots.target(way.from, false)?;
    let source = source.ok_or_else(|| missing_directory(way.from))?;
    let (dir, path) = (&source.dir, source.path());
    // A symlink would be moved without its target and point elsewhere from there.
    let about = dir.symlink_metadata(path);
    let about = about.map_err(|error| failed(way.from, &error))?;
    if !about.is_file() {
        return Err(not_a_file(way.from));
    }
    let (to, target) = (&way.target.dir, way.target.path());
    let moved = match way.overwrite {
        true => dir.rename(path, to, target),
        false => dir.hard_link(path, to, target),
    };
    match moved {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(way.target_exists()),
        // Moving between file systems requires a copy.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            way.copy()?;
        }
        Err(error) => return Err(failed(way.to, &error)),
    }
    match dir.remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(way.from, &error)),
        _ => Ok(way.result(about.len(), "moved")),
    }
}

pub(crate) fn delete(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let given = Arguments::new("delete-file", arguments, &["path", "confirm_delete"])?;
    let path = given.text("path")?;
    if given.any("confirm_delete").is_some() && !given.flag("confirm_delete")? {
        let message = format!("{path} was not deleted: confirm_delete is not true");
        return Err(Failure::new(FailureKind::Forbidden, message));
    }
    let target = roots.target(path, false)?;
    let deleted = target.map_or(Ok(false), |target| remove(&target, path))?;
    Ok(Value::object([
        ("path", path.into()),
        ("deleted", deleted.into()),
    ]))
}

/// Deletes a file; returns whether it existed.
fn remove(target: &WriteTarget, path: &str) -> Result<bool, Failure> {
    match target.dir.symlink_metadata(target.path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path, &error)),
        Ok(about) if about.is_dir() => {
            Err(bad_arguments(format!("delete-file: {path} is a directory")))
        }
        Ok(about) if !about.is_file() && !about.is_symlink() => Err(not_a_file(path)),
        // Removes a symlink, not its target.
        Ok(_) => {
            let gone = target.dir.remove_file(target.path());
            gone.map_err(|error| failed(path, &error))?;
            Ok(true)
        }
    }
}
