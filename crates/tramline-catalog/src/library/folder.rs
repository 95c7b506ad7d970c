//! The library as a folder: one file per workflow, and an index with the metadata.

use super::{Library, LibraryError, SavedWorkflow};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_expr::Str;

/// The index of a folder of workflows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderIndex {
    /// The workflows, by name.
    pub workflows: Vec<FolderEntry>,
}

/// One workflow of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderEntry {
    /// Its name in the library.
    pub name: Str,
    /// The name of its file in the folder.
    pub file: String,
    /// What it does.
    pub description: Str,
    /// Which of the document's workflows it is, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Str>,
    /// The exported version.
    #[serde(default)]
    pub version: u64,
    /// Who saved that version.
    #[serde(default)]
    pub by: Str,
    /// When it was saved, in milliseconds since 1970.
    #[serde(default)]
    pub at_ms: i64,
}

impl FolderIndex {
    /// The name of the index file.
    pub const FILE: &str = "library.json";
}

impl Library {
    /// Every saved workflow in its latest version, with the index for a folder.
    pub async fn export(&self) -> Result<(FolderIndex, Vec<Arc<SavedWorkflow>>), LibraryError> {
        let all = self.list(None).await?;
        let listed = |saved: &Arc<SavedWorkflow>| FolderEntry {
            name: saved.name.clone(),
            file: saved.file_name(),
            description: saved.description.clone(),
            tool: saved.tool.clone(),
            version: saved.version,
            by: saved.by.clone(),
            at_ms: saved.at_ms,
        };
        let workflows = all.iter().map(listed).collect();
        Ok((FolderIndex { workflows }, all))
    }
}
