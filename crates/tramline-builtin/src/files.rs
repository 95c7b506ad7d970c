//! `list-directory`, `read-file` and `write-file`: inside the allowed roots, bounded, and a
//! written file is there whole or not at all.

use crate::arguments::{Arguments, bad};
use crate::described;
use crate::relocate;
use crate::roots::Roots;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::{Dir, FileType, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tramline_core::failure::{Failure, FailureKind};
use tramline_core::{Map, Value};
use tramline_engine::clock;
use tramline_engine::seams::{Hints, Tool};

/// Larger files are refused: what is read goes into the journal.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// Longer listings are refused.
const ENTRIES_MAX: usize = 50_000;

const READS: Hints = Hints {
    read_only: Some(true),
    destructive: None,
    idempotent: Some(true),
    open_world: Some(false),
};
pub(crate) const WRITES: Hints = Hints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(true),
    open_world: Some(false),
};
const APPEND_NOTE: &str = "Writes a text file inside the allowed roots, whole or not at all. \
    Replaces what was there. Parent directories are made when create_dirs is true.";

pub(crate) fn tools() -> [(&'static str, Tool); 3] {
    [
        described(
            "list-directory",
            "Lists a directory inside the allowed roots: name, kind and size of each entry, by name.",
            READS,
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"path":{"type":"string"},"entries":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"kind":{"enum":["file","directory","other"]},"size":{"type":"integer"}},"required":["name","kind","size"]}}},"required":["path","entries"]}"#,
        ),
        described(
            "read-file",
            "Reads a file inside the allowed roots. Text comes as it is, other bytes as base64.",
            READS,
            r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"encoding":{"enum":["utf-8","base64"]},"bytes":{"type":"integer"}},"required":["path","content","encoding","bytes"]}"#,
        ),
        described(
            "write-file",
            APPEND_NOTE,
            WRITES,
            r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"encoding":{"enum":["utf-8","base64"]},"create_dirs":{"type":"boolean"}},"required":["path","content"],"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"path":{"type":"string"},"bytes":{"type":"integer"}},"required":["path","bytes"]}"#,
        ),
    ]
}

pub(crate) async fn call(
    roots: &Arc<Roots>,
    tool: &str,
    arguments: Value,
) -> Result<Value, Failure> {
    let (roots, tool) = (Arc::clone(roots), tool.to_owned());
    let work = move || match tool.as_str() {
        "list-directory" => list(&roots, &arguments),
        "read-file" => read(&roots, &arguments),
        "write-file" => write(&roots, &arguments),
        "copy-file" => relocate::copy(&roots, &arguments),
        "move-file" => relocate::relocate(&roots, &arguments),
        "delete-file" => relocate::delete(&roots, &arguments),
        other => Err(Failure::new(
            FailureKind::UnknownTool,
            format!("no built-in `{other}`"),
        )),
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(died) => Err(Failure::new(
            FailureKind::Tool,
            format!("the tool died: {died}"),
        )),
    }
}

pub(crate) fn failed(path: &str, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Forbidden,
        _ => FailureKind::Tool,
    };
    Failure::new(kind, format!("{path}: {error}"))
}

fn list(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let path = Arguments::new("list-directory", arguments, &["path"])?.text("path")?;
    let (dir, inside) = roots.place(path)?;
    let mut found = Vec::new();
    for entry in dir
        .read_dir(&inside)
        .map_err(|error| failed(path, &error))?
    {
        let entry = entry.map_err(|error| failed(path, &error))?;
        if found.len() == ENTRIES_MAX {
            let message = format!("{path} has more than {ENTRIES_MAX} entries");
            return Err(Failure::new(FailureKind::Tool, message));
        }
        let (kind, size) = entry
            .metadata()
            .map_or((None, 0), |meta| (Some(meta.file_type()), meta.len()));
        found.push((entry.file_name().to_string_lossy().into_owned(), kind, size));
    }
    found.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    let entries = found.into_iter().map(|(name, kind, size)| {
        let mut entry = Map::with_capacity(3);
        entry.insert("name", name.into());
        entry.insert("kind", kind_name(kind).into());
        entry.insert("size", size.into());
        Value::from(entry)
    });
    Ok(Value::object([
        ("path", path.into()),
        ("entries", Value::array(entries)),
    ]))
}

fn kind_name(kind: Option<FileType>) -> &'static str {
    match kind {
        Some(kind) if kind.is_file() => "file",
        Some(kind) if kind.is_dir() => "directory",
        Some(_) | None => "other",
    }
}

fn read(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let path = Arguments::new("read-file", arguments, &["path"])?.text("path")?;
    let (dir, inside) = roots.place(path)?;
    let file = dir.open(&inside).map_err(|error| failed(path, &error))?;
    let meta = file.metadata().map_err(|error| failed(path, &error))?;
    if !meta.is_file() {
        return Err(Failure::new(
            FailureKind::Tool,
            format!("{path} is not a file"),
        ));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(path, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let message = format!("{path} holds more than {FILE_BYTES_MAX} bytes");
        return Err(Failure::new(FailureKind::Tool, message));
    }
    let length = bytes.len();
    let (content, encoding) = match String::from_utf8(bytes) {
        Ok(text) => (text, "utf-8"),
        Err(binary) => (STANDARD.encode(binary.as_bytes()), "base64"),
    };
    Ok(Value::object([
        ("path", path.into()),
        ("content", content.into()),
        ("encoding", encoding.into()),
        ("bytes", length.into()),
    ]))
}

fn write(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let known = ["path", "content", "encoding", "create_dirs"];
    let given = Arguments::new("write-file", arguments, &known)?;
    let (path, content) = (given.text("path")?, given.text("content")?);
    let bytes = match given.text_or("encoding", "utf-8")? {
        "utf-8" => content.as_bytes().to_vec(),
        "base64" => STANDARD
            .decode(content)
            .map_err(|error| bad(format!("write-file: {error}")))?,
        other => {
            return Err(bad(format!(
                "write-file: no encoding `{other}`; utf-8 or base64"
            )));
        }
    };
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(bad(format!(
            "write-file writes at most {FILE_BYTES_MAX} bytes"
        )));
    }
    let (dir, inside) = roots.place(path)?;
    if given.flag("create_dirs")?
        && let Some(parent) = inside.parent()
    {
        dir.create_dir_all(parent)
            .map_err(|error| failed(path, &error))?;
    }
    replace(dir, &inside, &bytes).map_err(|error| failed(path, &error))?;
    Ok(Value::object([
        ("path", path.into()),
        ("bytes", bytes.len().into()),
    ]))
}

/// The name of a part of a file, beside it, that nobody else has.
pub(crate) fn part_of(path: &Path) -> std::io::Result<PathBuf> {
    let name = path.file_name().ok_or(std::io::ErrorKind::IsADirectory)?;
    let name = name.to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{:x}.part", clock::random())))
}

/// Writes beside the file and renames: readers see the old file or the new one, never a part.
fn replace(dir: &Dir, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let beside = part_of(path)?;
    let mut options = OpenOptions::new();
    let written = dir
        .open_with(&beside, options.write(true).create_new(true))
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
    let placed = written.and_then(|()| dir.rename(&beside, dir, path));
    if placed.is_err() {
        // The part is of no use to anybody; that it may stay behind changes nothing.
        let _ = dir.remove_file(&beside);
    }
    placed
}
