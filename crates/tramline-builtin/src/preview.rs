//! Previews what a file tool would change, without changing anything, for the person who decides.

use crate::arguments::{Arguments, bad_arguments};
use crate::files::FileTools;
use crate::roots::Roots;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::Read;
use std::time::Duration;
use tramline_expr::Value;
use tramline_views::pause_view::FileChange;
use tramline_views::text_diff::unified;
use tramline_workflow::failure::Failure;
use tramline_workflow::text::{RedactText, io_reason};

/// Larger files, in bytes, are only summarized: a diff is meant to be read.
const COMPARED_BYTES_MAX: u64 = 512 << 10;
/// How long reading the files may take before the question is asked without a preview.
const PREVIEW_MAX: Duration = Duration::from_secs(5);

/// What a call of a file tool would change; `None` for other tools.
pub(crate) async fn preview(
    files: &FileTools,
    redact: &RedactText,
    tool: &str,
    arguments: &Value,
) -> Option<FileChange> {
    let make = match tool {
        "write-file" => write,
        "delete-file" => delete,
        "copy-file" => preview_copy,
        "move-file" => preview_move,
        _ => return None,
    };
    let (arguments, redact) = (arguments.clone(), redact.clone());
    let work = move |roots: &Roots| {
        make(roots, &redact, &arguments).unwrap_or_else(|failure| {
            let path = ["path", "to"].iter().find_map(|key| arguments.get(key));
            let path = path.and_then(Value::as_str).unwrap_or_default();
            let mut change = change(path, "unchanged");
            change.note = Some(format!("the call would fail: {}", failure.message).into());
            change
        })
    };
    let made = tokio::time::timeout(PREVIEW_MAX, files.run_blocking(PREVIEW_MAX, work)).await;
    made.ok()?.ok()
}

fn change(path: &str, change: &'static str) -> FileChange {
    FileChange {
        path: path.into(),
        change,
        from: None,
        diff: None,
        note: None,
        cut: false,
    }
}

/// The current content of a file.
enum FileContent {
    None,
    Text(String),
    /// Binary content, or too much text: its size in bytes.
    Other(u64),
}

impl FileContent {
    fn of(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        if length > COMPARED_BYTES_MAX {
            return Self::Other(length);
        }
        String::from_utf8(bytes).map_or(Self::Other(length), Self::Text)
    }

    fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one != other,
            _ => false,
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::None => "nothing".to_owned(),
            Self::Text(text) => format!("text of {} bytes", text.len()),
            Self::Other(bytes) if *bytes > COMPARED_BYTES_MAX => {
                format!("{bytes} bytes, too large to compare")
            }
            Self::Other(bytes) => format!("{bytes} bytes of binary data"),
        }
    }
}

/// The content of a file that may be read.
fn read(roots: &Roots, path: &str) -> Result<FileContent, Failure> {
    let (dir, inside) = roots.resolve(path)?;
    if matches!(dir.try_exists(&inside), Ok(false)) {
        return Ok(FileContent::None);
    }
    let (file, about) = roots.open_file(path)?;
    if about.len() > COMPARED_BYTES_MAX {
        return Ok(FileContent::Other(about.len()));
    }
    let mut bytes = Vec::new();
    let read = file.take(COMPARED_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| bad_arguments(format!("{path}: {}", io_reason(&error))))?;
    Ok(FileContent::of(bytes))
}

/// Fills in the diff between two contents, or a note instead. Both are redacted before they are compared: a diff cuts
/// long lines, and marks each line of a secret that has several.
fn with_diff(
    mut change: FileChange,
    redact: &RedactText,
    before: &FileContent,
    after: &FileContent,
) -> FileChange {
    let text = |content: &FileContent| match content {
        FileContent::None => Some(String::new()),
        FileContent::Text(text) => Some(redact.redact(text)),
        FileContent::Other(_) => None,
    };
    match (text(before), text(after)) {
        (Some(old), Some(new)) => {
            let shown = unified(&old, &new);
            change.cut = shown.is_truncated;
            change.diff = (!shown.text.is_empty()).then(|| shown.text.into());
            if change.diff.is_none() && before.differs(after) {
                change.note = Some("only redacted values change".into());
            }
        }
        _ => change.note = Some(format!("{} → {}", before.describe(), after.describe()).into()),
    }
    change
}

fn write(roots: &Roots, redact: &RedactText, arguments: &Value) -> Result<FileChange, Failure> {
    let known = ["path", "content", "encoding", "create_dirs"];
    let given = Arguments::new("write-file", arguments, &known)?;
    let (path, content) = (given.text("path")?, given.text("content")?);
    let bytes = match given.text_or("encoding", "utf-8")? {
        "base64" => STANDARD
            .decode(content)
            .map_err(|error| bad_arguments(format!("write-file: {error}")))?,
        _ => content.as_bytes().to_vec(),
    };
    roots.target(path, false)?;
    let (before, after) = (read(roots, path)?, FileContent::of(bytes));
    let what = match (&before, &after) {
        (FileContent::None, _) => "create",
        (FileContent::Text(old), FileContent::Text(new)) if old == new => "unchanged",
        _ => "replace",
    };
    Ok(with_diff(change(path, what), redact, &before, &after))
}

fn delete(roots: &Roots, redact: &RedactText, arguments: &Value) -> Result<FileChange, Failure> {
    let given = Arguments::new("delete-file", arguments, &["path", "confirm_delete"])?;
    let path = given.text("path")?;
    let target = roots.target(path, false)?;
    let about = target.and_then(|it| it.dir.symlink_metadata(it.path()).ok());
    if about.is_some_and(|about| about.is_symlink()) {
        let mut change = change(path, "delete");
        change.note = Some("it is a symlink; its target stays".into());
        return Ok(change);
    }
    Ok(match read(roots, path)? {
        FileContent::None => {
            let mut change = change(path, "unchanged");
            change.note = Some("the file does not exist".into());
            change
        }
        before => with_diff(change(path, "delete"), redact, &before, &FileContent::None),
    })
}

fn preview_copy(
    roots: &Roots,
    redact: &RedactText,
    arguments: &Value,
) -> Result<FileChange, Failure> {
    preview_put(("copy-file", "copy"), roots, redact, arguments)
}

fn preview_move(
    roots: &Roots,
    redact: &RedactText,
    arguments: &Value,
) -> Result<FileChange, Failure> {
    preview_put(("move-file", "move"), roots, redact, arguments)
}

/// A file copied or moved to another path: what it would replace there.
fn preview_put(
    (tool, what): (&'static str, &'static str),
    roots: &Roots,
    redact: &RedactText,
    arguments: &Value,
) -> Result<FileChange, Failure> {
    let known = ["from", "to", "overwrite", "create_dirs"];
    let given = Arguments::new(tool, arguments, &known)?;
    let (from, to) = (given.text("from")?, given.text("to")?);
    roots.resolve(from)?;
    roots.target(to, false)?;
    if tool == "move-file" {
        roots.target(from, false)?;
    }
    let mut change = change(to, what);
    change.from = Some(from.into());
    let new = read(roots, from)?;
    if matches!(new, FileContent::None) {
        return Err(bad_arguments(format!("{from} does not exist")));
    }
    match read(roots, to)? {
        FileContent::None => {
            change.note = Some(format!("{}; {to} does not exist yet", new.describe()).into());
            Ok(change)
        }
        _ if !given.flag("overwrite")? => Err(bad_arguments(format!(
            "{to} exists; overwrite: true replaces it"
        ))),
        old => Ok(with_diff(change, redact, &old, &new)),
    }
}
