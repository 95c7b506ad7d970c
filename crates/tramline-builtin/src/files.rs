//! `list-directory`, `read-file` and `write-file`: inside the allowed roots, bounded, with atomic
//! writes.

use crate::arguments::{Arguments, bad_arguments};
use crate::copy_move_delete;
use crate::describe;
use crate::roots::{Roots, WriteTarget};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::{FileType, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tramline_engine::clock;
use tramline_engine::ports::{Tool, ToolHints};
use tramline_expr::{Map, Value};
use tramline_workflow::failure::{Failure, FailureKind};

/// The largest file, in bytes: its content goes into the journal.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// The maximum number of entries in a listing.
const ENTRIES_MAX: usize = 50_000;
/// The maximum number of concurrent file tool calls. They share 512 blocking threads with the store's
/// reads: if all of these hang on a mount, the store still works.
const FILE_CALLS_MAX: usize = 32;

const READ_HINTS: ToolHints = ToolHints {
    read_only: Some(true),
    destructive: None,
    idempotent: Some(true),
    open_world: Some(false),
};
pub(crate) const WRITE_HINTS: ToolHints = ToolHints {
    read_only: Some(false),
    destructive: Some(true),
    idempotent: Some(true),
    open_world: Some(false),
};
use tramline_workflow::text::io_reason;
const WRITE_DESCRIPTION: &str = "Writes a text file inside the allowed roots, atomically. \
    Replaces an existing file. Parent directories are created if create_dirs is true.";

pub(crate) fn tools() -> [(&'static str, Tool); 3] {
    [
        describe(
            "list-directory",
            "Lists a directory inside the allowed roots: name, kind and size of each entry, sorted by name.",
            READ_HINTS,
        ),
        describe(
            "read-file",
            "Reads a file inside the allowed roots. Text is returned as text, other content as base64.",
            READ_HINTS,
        ),
        describe("write-file", WRITE_DESCRIPTION, WRITE_HINTS),
    ]
}

/// The roots, and the limit on concurrent calls.
pub(crate) struct FileTools {
    pub(crate) roots: Arc<Roots>,
    /// Held by each thread until its work has ended, which on a hanging file system is never.
    slots: Arc<Semaphore>,
}

impl FileTools {
    pub(crate) fn new(roots: Roots) -> Self {
        Self {
            roots: Arc::new(roots),
            slots: Arc::new(Semaphore::new(FILE_CALLS_MAX)),
        }
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Value,
        patience: Duration,
    ) -> Result<Value, Failure> {
        let tool = tool.to_owned();
        let work = move |roots: &Roots| match tool.as_str() {
            "list-directory" => list(roots, &arguments),
            "read-file" => read(roots, &arguments),
            "write-file" => write(roots, &arguments),
            "copy-file" => copy_move_delete::copy(roots, &arguments),
            "move-file" => copy_move_delete::move_file(roots, &arguments),
            "delete-file" => copy_move_delete::delete(roots, &arguments),
            other => Err(Failure::new(
                FailureKind::UnknownTool,
                format!("unknown built-in tool `{other}`"),
            )),
        };
        self.run_blocking(patience, work).await?
    }

    /// Runs work in the roots on a blocking thread, once a slot is free.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        &self,
        patience: Duration,
        work: impl FnOnce(&Roots) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let slot = Arc::clone(&self.slots).acquire_owned();
        let Ok(Ok(slot)) = tokio::time::timeout(patience, slot).await else {
            let message = format!(
                "{FILE_CALLS_MAX} file tool calls are running, and none ended within \
                 {patience:?}; a file system in the roots may hang"
            );
            return Err(Failure::new(FailureKind::Timeout, message));
        };
        let roots = Arc::clone(&self.roots);
        let work = move || {
            let done = work(&roots);
            drop(slot);
            done
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|died| Failure::new(FailureKind::Tool, format!("the tool panicked: {died}")))
    }
}

pub(crate) fn failed(path: &str, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Forbidden,
        _ => FailureKind::Tool,
    };
    Failure::new(kind, format!("{path}: {}", io_reason(error)))
}

fn list(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let path = Arguments::new("list-directory", arguments, &["path"])?.text("path")?;
    let dir = roots.open_directory(path)?;
    let mut found = Vec::new();
    for entry in dir.entries().map_err(|error| failed(path, &error))? {
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
    let bytes = content(roots, path)?;
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

/// The content of a file.
pub(crate) fn content(roots: &Roots, path: &str) -> Result<Vec<u8>, Failure> {
    let (file, _) = roots.open_file(path)?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(path, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let message = format!("{path} is larger than {FILE_BYTES_MAX} bytes");
        return Err(Failure::new(FailureKind::Tool, message));
    }
    Ok(bytes)
}

fn write(roots: &Roots, arguments: &Value) -> Result<Value, Failure> {
    let known = ["path", "content", "encoding", "create_dirs"];
    let given = Arguments::new("write-file", arguments, &known)?;
    let (path, content) = (given.text("path")?, given.text("content")?);
    let bytes = match given.text_or("encoding", "utf-8")? {
        "utf-8" => content.as_bytes().to_vec(),
        "base64" => STANDARD
            .decode(content)
            .map_err(|error| bad_arguments(format!("write-file: {error}")))?,
        other => {
            return Err(bad_arguments(format!(
                "write-file: unknown encoding `{other}`; use utf-8 or base64"
            )));
        }
    };
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(bad_arguments(format!(
            "write-file writes at most {FILE_BYTES_MAX} bytes"
        )));
    }
    let target = roots.target(path, given.flag("create_dirs")?)?;
    let target = target.ok_or_else(|| missing_directory(path))?;
    target.check_kind(path)?;
    replace(&target, &bytes).map_err(|error| failed(path, &error))?;
    Ok(Value::object([
        ("path", path.into()),
        ("bytes", bytes.len().into()),
    ]))
}

/// The failure for a path whose directory does not exist.
pub(crate) fn missing_directory(path: &str) -> Failure {
    failed(path, &std::io::ErrorKind::NotFound.into())
}

/// A unique name for a temporary file next to a file.
pub(crate) fn temporary_path(path: &Path) -> std::io::Result<PathBuf> {
    let name = path.file_name().ok_or(std::io::ErrorKind::IsADirectory)?;
    let name = name.to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{:x}.part", clock::random())))
}

/// Writes a temporary file and renames it: readers see the old file or the new one, never a part.
fn replace(target: &WriteTarget, bytes: &[u8]) -> std::io::Result<()> {
    let (dir, path) = (&target.dir, target.path());
    let beside = temporary_path(path)?;
    let mut options = OpenOptions::new();
    let written = dir
        .open_with(&beside, options.write(true).create_new(true))
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
    let placed = written.and_then(|()| dir.rename(&beside, dir, path));
    if placed.is_err() {
        // If the temporary file cannot be removed, it does no harm.
        let _ = dir.remove_file(&beside);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Condvar, Mutex};

    /// Calls that hang, as on a mount whose server is gone, until they are released.
    #[derive(Default)]
    struct HungMount(Mutex<bool>, Condvar);

    impl HungMount {
        fn hang(&self) {
            let is_released = self.0.lock().unwrap();
            let waited = self.1.wait_while(is_released, |is_released| !*is_released);
            drop(waited.unwrap());
        }

        fn release(&self) {
            *self.0.lock().unwrap() = true;
            self.1.notify_all();
        }
    }

    #[tokio::test]
    async fn a_hung_mount_keeps_few_threads_and_calls_that_write_say_why() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::open(&[dir.path().to_owned()]).unwrap();
        let tools = Arc::new(FileTools::new(roots));
        let mount = Arc::new(HungMount::default());
        let mut hanging = Vec::new();
        for _ in 0..FILE_CALLS_MAX {
            let (tools, mount) = (Arc::clone(&tools), Arc::clone(&mount));
            let call = async move {
                let work = move |_: &Roots| mount.hang();
                tools.run_blocking(Duration::from_secs(60), work).await
            };
            hanging.push(tokio::spawn(call));
        }
        while tools.slots.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        for (tool, arguments) in [
            ("write-file", r#"{"path":"new","content":"x"}"#),
            ("copy-file", r#"{"from":"a","to":"b"}"#),
            ("move-file", r#"{"from":"a","to":"b"}"#),
            ("delete-file", r#"{"path":"a"}"#),
            ("list-directory", r#"{"path":"."}"#),
        ] {
            let arguments = Value::from_json(arguments).unwrap();
            let failed = tools.call(tool, arguments, Duration::from_millis(20)).await;
            let failure = failed.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Timeout, "{tool}: {failure}");
            assert!(failure.message.contains("may hang"), "{failure}");
        }
        // The threads that the store reads on are not used up.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        mount.release();
        for call in hanging {
            call.await.unwrap().unwrap();
        }
        let arguments = Value::from_json(r#"{"path":"new","content":"x"}"#).unwrap();
        let wrote = tools.call("write-file", arguments, Duration::from_secs(60));
        wrote.await.unwrap();
    }
}
