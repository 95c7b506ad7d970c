//! `copy-file`, `move-file` and `delete-file`: inside the allowed roots, and never half done.
//!
//! What is written is written beside its place and then put there, so that a file is there whole or
//! not at all. Unless it is said otherwise, nothing that is there already is replaced.

use crate::arguments::{Arguments, bad};
use crate::described;
use crate::files::{WRITES, failed, missing, part_of};
use crate::roots::{Roots, Target, not_a_file, open_regular};
use cap_std::fs::{Dir, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use tramline_core::Value;
use tramline_core::failure::{Failure, FailureKind};
use tramline_engine::seams::{Hints, Tool};

/// Larger files are refused, in bytes: a call must come to an end.
const COPY_BYTES_MAX: u64 = 4 << 30;
/// How much is copied at once, in bytes.
const CHUNK_BYTES: usize = 64 << 10;

pub(crate) fn tools() -> [(&'static str, Tool); 3] {
    const INPUT: &str = r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"overwrite":{"type":"boolean","default":false},"create_dirs":{"type":"boolean","default":false}},"required":["from","to"],"additionalProperties":false}"#;
    let moves = Hints {
        idempotent: Some(false),
        ..WRITES
    };
    [
        described(
            "copy-file",
            "Copies a file inside the allowed roots, whole or not at all. A different file at `to` \
             is replaced only if overwrite is true.",
            WRITES,
            INPUT,
            r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"bytes":{"type":"integer"},"copied":{"type":"boolean"}},"required":["from","to","bytes","copied"]}"#,
        ),
        described(
            "move-file",
            "Moves or renames a file inside the allowed roots. A file at `to` is replaced only if \
             overwrite is true.",
            moves,
            INPUT,
            r#"{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"bytes":{"type":"integer"},"moved":{"type":"boolean"}},"required":["from","to","bytes","moved"]}"#,
        ),
        described(
            "delete-file",
            "Deletes a file inside the allowed roots, for good; directories it leaves alone. Says \
             whether there was one. A confirm_delete that is not true refuses it.",
            Hints {
                read_only: Some(false),
                ..WRITES
            },
            r#"{"type":"object","properties":{"path":{"type":"string"},"confirm_delete":{"type":"boolean"}},"required":["path"],"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"path":{"type":"string"},"deleted":{"type":"boolean"}},"required":["path","deleted"]}"#,
        ),
    ]
}

/// From where to where.
struct Way<'a> {
    roots: &'a Roots,
    from: &'a str,
    to: &'a str,
    target: Target,
    overwrite: bool,
}

impl<'a> Way<'a> {
    fn read(tool: &'static str, roots: &'a Roots, values: &'a Value) -> Result<Self, Failure> {
        let known = ["from", "to", "overwrite", "create_dirs"];
        let given = Arguments::new(tool, values, &known)?;
        let (from, to) = (given.text("from")?, given.text("to")?);
        roots.place(from)?;
        let target = roots.target(to, given.flag("create_dirs")?)?;
        Ok(Self {
            roots,
            from,
            to,
            target: target.ok_or_else(|| missing(to))?,
            overwrite: given.flag("overwrite")?,
        })
    }

    /// The file itself: neither a directory nor a link to one elsewhere.
    fn open(&self) -> Result<File, Failure> {
        let (file, about) = self.roots.open_file(self.from)?;
        if about.len() > COPY_BYTES_MAX {
            let message = format!("{} holds more than {COPY_BYTES_MAX} bytes", self.from);
            return Err(refused(message));
        }
        Ok(file)
    }

    fn told(&self, bytes: u64, done: &'static str) -> Value {
        Value::object([
            ("from", self.from.into()),
            ("to", self.to.into()),
            ("bytes", bytes.into()),
            (done, true.into()),
        ])
    }

    fn taken(&self) -> Failure {
        refused(format!(
            "{} is there already; overwrite: true replaces it",
            self.to
        ))
    }

    /// Copies beside the target and puts the copy into its place.
    fn copy(&self) -> Result<u64, Failure> {
        let mut file = self.open()?;
        let (dir, path) = (&self.target.dir, self.target.path());
        let part = part_of(path).map_err(|error| failed(self.to, &error))?;
        let bytes = write_part(&mut file, dir, &part);
        let bytes = bytes.map_err(|error| failed(self.to, &error));
        let placed = bytes.and_then(|bytes| {
            self.put(dir, &part, path)?;
            Ok(bytes)
        });
        // After a rename it is gone; in any other case it is of no use to anybody.
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
                // The same copy once more, after a crash say, changes nothing.
                match same(dir, part, path) {
                    Ok(true) => Ok(()),
                    Ok(false) | Err(_) => Err(self.taken()),
                }
            }
            other => other.map_err(|error| failed(self.to, &error)),
        }
    }
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::Tool, message)
}

fn write_part(from: &mut File, dir: &Dir, part: &Path) -> std::io::Result<u64> {
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

/// Whether two files hold the same.
fn same(dir: &Dir, one: &Path, other: &Path) -> std::io::Result<bool> {
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
    let way = Way::read("copy-file", roots, arguments)?;
    let bytes = way.copy()?;
    Ok(way.told(bytes, "copied"))
}

pub(crate) fn relocate(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let way = Way::read("move-file", roots, arguments)?;
    let source = roots.target(way.from, false)?;
    let source = source.ok_or_else(|| missing(way.from))?;
    let (dir, path) = (&source.dir, source.path());
    // A link would move alone and lead elsewhere from there.
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
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(way.taken()),
        // Between file systems there is no moving, only copying.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            way.copy()?;
        }
        Err(error) => return Err(failed(way.to, &error)),
    }
    match dir.remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(way.from, &error)),
        _ => Ok(way.told(about.len(), "moved")),
    }
}

pub(crate) fn delete(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let given = Arguments::new("delete-file", arguments, &["path", "confirm_delete"])?;
    let path = given.text("path")?;
    if given.any("confirm_delete").is_some() && !given.flag("confirm_delete")? {
        let message = format!("{path} stays: confirm_delete is not true");
        return Err(Failure::new(FailureKind::Forbidden, message));
    }
    let target = roots.target(path, false)?;
    let deleted = target.map_or(Ok(false), |target| remove(&target, path))?;
    Ok(Value::object([
        ("path", path.into()),
        ("deleted", deleted.into()),
    ]))
}

/// Deletes a file, and says whether there was one.
fn remove(target: &Target, path: &str) -> Result<bool, Failure> {
    match target.dir.symlink_metadata(target.path()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path, &error)),
        Ok(about) if about.is_dir() => Err(bad(format!("delete-file: {path} is a directory"))),
        // A link goes, what it leads to stays.
        Ok(_) => {
            let gone = target.dir.remove_file(target.path());
            gone.map_err(|error| failed(path, &error))?;
            Ok(true)
        }
    }
}
