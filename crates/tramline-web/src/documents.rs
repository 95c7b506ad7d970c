//! The documents that the studio was opened on: reading, and writing back unless the file changed.

use crate::check::{parse_format, read_options};
use crate::extract::JsonBody;
use crate::response::ApiError;
use crate::{AppState, Studio};
use axum::Json;
use axum::extract::{Extension, Path as Named, State};
use serde::Deserialize;
use serde_json::{Value as Told, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::PoisonError;
use tramline_engine::Admission;
use tramline_engine::KnownSchemas;
use tramline_formats::detect_kind_name;
use tramline_formats::edit::{self, GraphEdit};
use tramline_syntax::document::BYTES_MAX;
use tramline_views::diagnostics;

impl Studio {
    /// The id of the document at a path.
    pub(crate) fn id_of(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        let at = self.documents.iter().position(|own| own == path)?;
        Some(self.id(at))
    }

    /// A document's id: its file name, with a number if another document has that name too.
    fn id(&self, at: usize) -> String {
        let name = |at: usize| self.documents.get(at).and_then(|path| path.file_name());
        let own = name(at).unwrap_or_default().to_string_lossy();
        let mut others = (0..self.documents.len()).filter(|other| *other != at);
        match others.any(|other| name(other) == name(at)) {
            true => format!("{}-{own}", at + 1),
            false => own.into_owned(),
        }
    }

    /// The path of a document, and its file access.
    fn find(&self, id: &str) -> Result<(&Path, &dyn DocumentFiles), ApiError> {
        let at = (0..self.documents.len()).find(|at| self.id(*at) == id);
        let path = at.and_then(|at| self.documents.get(at));
        let found = path.zip(self.files.as_deref());
        found
            .map(|(path, files)| (path.as_path(), files))
            .ok_or_else(|| ApiError::not_found(format!("unknown document `{id}`")))
    }
}

/// Reads and writes documents: this crate does not touch files itself.
pub trait DocumentFiles: Send + Sync + 'static {
    /// The text of a file, and whether it may be written.
    fn read(&self, path: &Path) -> Result<(String, bool), String>;

    /// Replaces a file atomically.
    fn write(&self, path: &Path, text: &str) -> Result<(), String>;
}

/// A fingerprint of a text.
fn fingerprint(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn document_json(studio: &Studio, id: &str, with_text: bool) -> Result<Told, ApiError> {
    let (path, files) = studio.find(id)?;
    let (text, writable) = files.read(path).map_err(ApiError::not_found)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut told = json!({
        "id": id,
        "name": name,
        "path": path.display().to_string(),
        "format": detect_kind_name(&name, &text),
        "writable": writable,
        "hash": fingerprint(&text),
    });
    if with_text {
        told["text"] = text.into();
    }
    Ok(told)
}

pub(crate) async fn list(State(desk): State<AppState>) -> Json<Told> {
    let studio = &desk.studio;
    let ids = (0..studio.documents.len()).map(|at| studio.id(at));
    // Files deleted in the meantime are skipped.
    let all: Vec<_> = ids
        .filter_map(|id| document_json(studio, &id, false).ok())
        .collect();
    Json(json!({"documents": all}))
}

pub(crate) async fn one(
    State(desk): State<AppState>,
    Named(id): Named<String>,
) -> Result<Json<Told>, ApiError> {
    document_json(&desk.studio, &id, true).map(Json)
}

/// A new text, and the fingerprint of the text it was based on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentUpdate {
    text: String,
    hash: String,
}

pub(crate) async fn write(
    State(desk): State<AppState>,
    admission: Option<Extension<Admission>>,
    Named(id): Named<String>,
    JsonBody(draft): JsonBody<DocumentUpdate>,
) -> Result<Json<Told>, ApiError> {
    // Documents decide what is started on this machine: not for everyone who can reach the port.
    if admission.is_none_or(|Extension(it)| it == Admission::Open) {
        return Err(ApiError::token_needed(
            "documents are written with a token, or in the studio by the address that `tramline studio` prints",
        ));
    }
    let (path, files) = desk.studio.find(&id)?;
    if draft.text.len() > BYTES_MAX {
        return Err(ApiError::bad_request(format!(
            "a document has at most {BYTES_MAX} bytes"
        )));
    }
    {
        // Of two concurrent writers, the second finds that the text has changed.
        let _turn = desk
            .document_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (now, _) = files.read(path).map_err(ApiError::not_found)?;
        if fingerprint(&now) != draft.hash {
            return Err(ApiError::conflict(format!(
                "{} was changed in the meantime; read it again",
                path.display()
            )));
        }
        files
            .write(path, &draft.text)
            .map_err(ApiError::bad_request)?;
    }
    Ok(Json(json!({"hash": fingerprint(&draft.text)})))
}

/// Edits in the graph of a text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditRequest {
    text: String,
    format: Option<String>,
    name: Option<String>,
    workflow: Option<String>,
    edits: Vec<GraphEdit>,
}

pub(crate) async fn apply_edits(
    State(desk): State<AppState>,
    JsonBody(given): JsonBody<EditRequest>,
) -> Result<Json<Told>, ApiError> {
    let name = given.name.as_deref().unwrap_or("workflow");
    let form = parse_format(given.format.as_deref(), name, &given.text)?;
    let workflow = given.workflow.as_deref();
    let made =
        edit::apply_edits(&given.text, form, workflow, &given.edits).map_err(ApiError::refused)?;
    let schemas = KnownSchemas(desk.engine.tools().as_ref());
    let hint = read_options(name, &desk, &schemas);
    let checked = diagnostics::check(&made.text, form, hint);
    Ok(Json(json!({
        "text": made.text,
        "patches": made.changes,
        "flaws": checked.flaws,
    })))
}
