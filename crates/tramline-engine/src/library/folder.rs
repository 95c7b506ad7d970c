//! The library as a folder: a file for each workflow, and an index with what no file says.

use super::{Library, Refusal, Saved};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tramline_core::Str;

/// What a folder of workflows says of them beside their files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The workflows, by name.
    pub workflows: Vec<Listed>,
}

/// One workflow of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its name in the library.
    pub name: Str,
    /// Its file, in the folder.
    pub file: String,
    /// What it does.
    pub description: Str,
    /// Which of the document's workflows it is, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Str>,
    /// Its version when it was exported.
    #[serde(default)]
    pub version: u64,
    /// By whom that was saved.
    #[serde(default)]
    pub by: Str,
    /// When, in milliseconds since 1970.
    #[serde(default)]
    pub at_ms: i64,
}

impl Index {
    /// The file of a folder that holds its index.
    pub const FILE: &str = "library.json";
}

impl Library {
    /// Every saved workflow in its latest version, with the index of a folder of them.
    pub async fn export(&self) -> Result<(Index, Vec<Arc<Saved>>), Refusal> {
        let all = self.list(None).await?;
        let listed = |saved: &Arc<Saved>| Listed {
            name: saved.name.clone(),
            file: saved.file_name(),
            description: saved.description.clone(),
            tool: saved.tool.clone(),
            version: saved.version,
            by: saved.by.clone(),
            at_ms: saved.at_ms,
        };
        let workflows = all.iter().map(listed).collect();
        Ok((Index { workflows }, all))
    }
}
