//! What a file tool would change, told without changing anything: for the person who is asked.

use crate::arguments::{Arguments, bad};
use crate::files::FileTools;
use crate::roots::Roots;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::Read;
use std::time::Duration;
use tramline_core::Value;
use tramline_core::difference::unified;
use tramline_core::failure::Failure;
use tramline_core::question::FileChange;

/// Larger files are summarised, in bytes: a difference is for reading.
const COMPARED_BYTES_MAX: u64 = 512 << 10;
/// A question is asked without its preview if the files take longer to be read.
const PREVIEW_MAX: Duration = Duration::from_secs(5);

/// What a call of a file tool would change; nothing for other tools.
pub(crate) async fn preview(
    files: &FileTools,
    tool: &str,
    arguments: &Value,
) -> Option<FileChange> {
    let make = match tool {
        "write-file" => write,
        "delete-file" => delete,
        "copy-file" => copied,
        "move-file" => moved,
        _ => return None,
    };
    let arguments = arguments.clone();
    let work = move |roots: &Roots| {
        make(roots, &arguments).unwrap_or_else(|failure| {
            let path = ["path", "to"].iter().find_map(|key| arguments.get(key));
            let path = path.and_then(Value::as_str).unwrap_or_default();
            let mut change = change(path, "unchanged");
            change.note = Some(format!("the call would fail: {}", failure.message).into());
            change
        })
    };
    let made = tokio::time::timeout(PREVIEW_MAX, files.perform(PREVIEW_MAX, work)).await;
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

/// What is in a file now.
enum Content {
    None,
    Text(String),
    /// Bytes that are no text, or too many: how many.
    Other(u64),
}

impl Content {
    fn of(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        if length > COMPARED_BYTES_MAX {
            return Self::Other(length);
        }
        String::from_utf8(bytes).map_or(Self::Other(length), Self::Text)
    }

    fn says(&self) -> String {
        match self {
            Self::None => "nothing".to_owned(),
            Self::Text(text) => format!("text of {} bytes", text.len()),
            Self::Other(bytes) if *bytes > COMPARED_BYTES_MAX => {
                format!("{bytes} bytes, too many to compare")
            }
            Self::Other(bytes) => format!("{bytes} bytes that are no text"),
        }
    }
}

/// What is in a file that may be read.
fn read(roots: &Roots, path: &str) -> Result<Content, Failure> {
    let (dir, inside) = roots.place(path)?;
    if matches!(dir.try_exists(&inside), Ok(false)) {
        return Ok(Content::None);
    }
    let (file, about) = roots.open_file(path)?;
    if about.len() > COMPARED_BYTES_MAX {
        return Ok(Content::Other(about.len()));
    }
    let mut bytes = Vec::new();
    let read = file.take(COMPARED_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| bad(format!("{path}: {error}")))?;
    Ok(Content::of(bytes))
}

/// Fills in the difference from one content to another, or what can be said in its place.
fn compared(mut change: FileChange, before: &Content, after: &Content) -> FileChange {
    let text = |content: &Content| match content {
        Content::None => Some(String::new()),
        Content::Text(text) => Some(text.clone()),
        Content::Other(_) => None,
    };
    match (text(before), text(after)) {
        (Some(old), Some(new)) => {
            let shown = unified(&old, &new);
            change.cut = shown.cut;
            change.diff = (!shown.text.is_empty()).then(|| shown.text.into());
        }
        _ => change.note = Some(format!("{} → {}", before.says(), after.says()).into()),
    }
    change
}

fn write(roots: &Roots, arguments: &Value) -> Result<FileChange, Failure> {
    let known = ["path", "content", "encoding", "create_dirs"];
    let given = Arguments::new("write-file", arguments, &known)?;
    let (path, content) = (given.text("path")?, given.text("content")?);
    let bytes = match given.text_or("encoding", "utf-8")? {
        "base64" => STANDARD
            .decode(content)
            .map_err(|error| bad(format!("write-file: {error}")))?,
        _ => content.as_bytes().to_vec(),
    };
    roots.target(path, false)?;
    let (before, after) = (read(roots, path)?, Content::of(bytes));
    let what = match (&before, &after) {
        (Content::None, _) => "create",
        (Content::Text(old), Content::Text(new)) if old == new => "unchanged",
        _ => "replace",
    };
    Ok(compared(change(path, what), &before, &after))
}

fn delete(roots: &Roots, arguments: &Value) -> Result<FileChange, Failure> {
    let given = Arguments::new("delete-file", arguments, &["path", "confirm_delete"])?;
    let path = given.text("path")?;
    let target = roots.target(path, false)?;
    let about = target.and_then(|it| it.dir.symlink_metadata(it.path()).ok());
    if about.is_some_and(|about| about.is_symlink()) {
        let mut change = change(path, "delete");
        change.note = Some("it is a link; what it leads to stays".into());
        return Ok(change);
    }
    Ok(match read(roots, path)? {
        Content::None => {
            let mut change = change(path, "unchanged");
            change.note = Some("there is no such file".into());
            change
        }
        before => compared(change(path, "delete"), &before, &Content::None),
    })
}

fn copied(roots: &Roots, arguments: &Value) -> Result<FileChange, Failure> {
    put("copy-file", "copy", roots, arguments)
}

fn moved(roots: &Roots, arguments: &Value) -> Result<FileChange, Failure> {
    put("move-file", "move", roots, arguments)
}

/// A file that comes to another place: what it would replace there.
fn put(
    tool: &'static str,
    what: &'static str,
    roots: &Roots,
    arguments: &Value,
) -> Result<FileChange, Failure> {
    let known = ["from", "to", "overwrite", "create_dirs"];
    let given = Arguments::new(tool, arguments, &known)?;
    let (from, to) = (given.text("from")?, given.text("to")?);
    roots.place(from)?;
    roots.target(to, false)?;
    if tool == "move-file" {
        roots.target(from, false)?;
    }
    let mut change = change(to, what);
    change.from = Some(from.into());
    let new = read(roots, from)?;
    if matches!(new, Content::None) {
        return Err(bad(format!("there is no file {from}")));
    }
    match read(roots, to)? {
        Content::None => {
            change.note = Some(format!("{}; there is nothing at {to} yet", new.says()).into());
            Ok(change)
        }
        _ if !given.flag("overwrite")? => Err(bad(format!(
            "{to} is there already; overwrite: true replaces it"
        ))),
        old => Ok(compared(change, &old, &new)),
    }
}
