//! The documents that the studio was opened on: read, and written back unless somebody else did.

use crate::asked::Body;
use crate::check::{form, hint};
use crate::told::Wrong;
use crate::{Desk, Studio};
use axum::Json;
use axum::extract::{Extension, Path as Named, State};
use serde::Deserialize;
use serde_json::{Value as Told, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::PoisonError;
use tramline_core::formats::checked;
use tramline_core::formats::document::BYTES_MAX;
use tramline_core::formats::edit::{self, Edit};
use tramline_engine::Admission;

impl Studio {
    /// What the document at a path is called here.
    pub(crate) fn id_of(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let at = self.documents.iter().position(|own| own == path)?;
        Some(self.id(at))
    }

    /// What a document is called here: its file's name, with its number where another has that too.
    fn id(&self, at: usize) -> String {
        let name = |at: usize| self.documents.get(at).and_then(|path| path.file_name());
        let own = name(at).unwrap_or_default().to_string_lossy();
        let mut others = (0..self.documents.len()).filter(|other| *other != at);
        match others.any(|other| name(other) == name(at)) {
            true => format!("{}-{own}", at + 1),
            false => own.into_owned(),
        }
    }

    /// The path of a document, and who reads it.
    fn find(&self, id: &str) -> Result<(&Path, &dyn Files), Wrong> {
        let at = (0..self.documents.len()).find(|at| self.id(*at) == id);
        let path = at.and_then(|at| self.documents.get(at));
        let found = path.zip(self.files.as_deref());
        found
            .map(|(path, files)| (path.as_path(), files))
            .ok_or_else(|| Wrong::missing(format!("there is no document `{id}`")))
    }
}

/// Reads and writes documents: files are not ours to touch.
pub trait Files: Send + Sync + 'static {
    /// The text of a file, and whether it may be written.
    fn read(&self, path: &Path) -> Result<(String, bool), String>;

    /// Puts a text in the place of a file, whole or not at all.
    fn write(&self, path: &Path, text: &str) -> Result<(), String>;
}

/// What tells one text from another.
fn print(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn told(studio: &Studio, id: &str, with_text: bool) -> Result<Told, Wrong> {
    let (path, files) = studio.find(id)?;
    let (text, writable) = files.read(path).map_err(Wrong::missing)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut told = json!({
        "id": id,
        "name": name,
        "path": path.display().to_string(),
        "format": checked::word_of(&name, &text),
        "writable": writable,
        "hash": print(&text),
    });
    if with_text {
        told["text"] = text.into();
    }
    Ok(told)
}

pub(crate) async fn list(State(desk): State<Desk>) -> Json<Told> {
    let studio = &desk.studio;
    let ids = (0..studio.documents.len()).map(|at| studio.id(at));
    // What was deleted meanwhile is not there.
    let all: Vec<_> = ids.filter_map(|id| told(studio, &id, false).ok()).collect();
    Json(json!({"documents": all}))
}

pub(crate) async fn one(
    State(desk): State<Desk>,
    Named(id): Named<String>,
) -> Result<Json<Told>, Wrong> {
    told(&desk.studio, &id, true).map(Json)
}

/// A new text, and the print of the one it was made from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Draft {
    text: String,
    hash: String,
}

pub(crate) async fn write(
    State(desk): State<Desk>,
    admission: Option<Extension<Admission>>,
    Named(id): Named<String>,
    Body(draft): Body<Draft>,
) -> Result<Json<Told>, Wrong> {
    // What a document says is started on this machine: not for anybody who can reach a port of it.
    if admission.is_none_or(|Extension(it)| it == Admission::Open) {
        return Err(Wrong::token_needed(
            "documents are written with a token, or in the studio by the address that `tramline studio` prints",
        ));
    }
    let (path, files) = desk.studio.find(&id)?;
    if draft.text.len() > BYTES_MAX {
        return Err(Wrong::request(format!(
            "a document has at most {BYTES_MAX} bytes"
        )));
    }
    {
        // Of two who write at once the second finds another text than it was made from.
        let _turn = desk.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, _) = files.read(path).map_err(Wrong::missing)?;
        if print(&now) != draft.hash {
            return Err(Wrong::stale(format!(
                "{} was changed meanwhile; read it again",
                path.display()
            )));
        }
        files.write(path, &draft.text).map_err(Wrong::request)?;
    }
    Ok(Json(json!({"hash": print(&draft.text)})))
}

/// Edits in the graph of a text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edits {
    text: String,
    format: Option<String>,
    name: Option<String>,
    workflow: Option<String>,
    edits: Vec<Edit>,
}

pub(crate) async fn edited(
    State(desk): State<Desk>,
    Body(given): Body<Edits>,
) -> Result<Json<Told>, Wrong> {
    let name = given.name.as_deref().unwrap_or("workflow");
    let form = form(given.format.as_deref(), name, &given.text)?;
    let workflow = given.workflow.as_deref();
    let made = edit::edit(&given.text, form, workflow, &given.edits).map_err(Wrong::refused)?;
    let checked = checked::check(&made.text, form, hint(name, &desk));
    Ok(Json(json!({
        "text": made.text,
        "patches": made.changes,
        "flaws": checked.flaws,
    })))
}
