//! `tramline library import` and `export`: the library as a folder of files.

use super::super::{CliError, CliResult, CommonArgs, Exit, output, runs};
use super::fill_description;
use crate::config::{read_bounded, read_document};
use serde_json::json;
use std::path::{Path, PathBuf};
use tramline_catalog::library::{
    FolderEntry, FolderIndex, LibraryError, SaveRequest, Saver, WorkflowName,
};
use tramline_expr::Str;
use tramline_workflow::text::io_reason;

/// The largest index file, in bytes.
const INDEX_BYTES_MAX: u64 = 32 << 20;
/// At most this many files of a folder are imported.
const FILES_MAX: usize = 10_000;

/// Save every workflow of a folder.
#[derive(clap::Args)]
pub(super) struct ImportArgs {
    /// The folder: an exported one, or any folder with documents
    pub(super) folder: PathBuf,
    /// Save as the next versions where the names exist
    #[arg(long)]
    force: bool,
    /// Also import workflows that call themselves, directly or indirectly
    #[arg(long)]
    allow_recursion: bool,
}

pub(super) async fn export(common: &CommonArgs, folder: &Path) -> CliResult {
    let house = runs::open(common)?;
    let (index, all) = house.catalog.library().export().await?;
    let cannot = |error: std::io::Error| CliError {
        exit: Exit::Failed,
        message: format!("cannot write {}: {}", folder.display(), io_reason(&error)),
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    for (listed, saved) in index.workflows.iter().zip(&all) {
        std::fs::write(folder.join(&listed.file), saved.text.as_bytes()).map_err(cannot)?;
    }
    let text = serde_json::to_string_pretty(&index).unwrap_or_default();
    // Last: the index marks the export as complete.
    std::fs::write(folder.join(FolderIndex::FILE), text).map_err(cannot)?;
    if common.json {
        let names: Vec<_> = index.workflows.iter().map(|listed| &listed.name).collect();
        output::line(&json!({ "folder": folder, "exported": names }));
    } else {
        output::status_line(&format!(
            "exported {} workflows to {}",
            all.len(),
            folder.display()
        ));
    }
    Ok(Exit::Done)
}

pub(super) async fn import(common: &CommonArgs, importing: ImportArgs) -> CliResult {
    let house = runs::open(common)?;
    let (mut new, mut same, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for listed in folder_workflows(&importing.folder)? {
        let name = listed.name.clone();
        let save = match to_save(&importing, listed) {
            Ok(save) => save,
            Err(message) => {
                refused.push((name, message));
                continue;
            }
        };
        match house.catalog.library().save(save).await {
            Ok(kept) if kept.new => new.push(name),
            Ok(_) => same.push(name),
            Err(LibraryError::Store(fault)) => return Err(LibraryError::Store(fault).into()),
            Err(refusal) => refused.push((name, refusal.to_string())),
        }
    }
    house.close().await;
    if common.json {
        let told = refused.iter();
        let told: Vec<_> = told
            .map(|(name, message)| json!({ "name": name, "message": message }))
            .collect();
        output::line(&json!({ "saved": new, "same": same, "refused": told }));
    } else {
        for (name, message) in &refused {
            output::print_error(&format!("{name}: {message}"));
        }
        let (new, same, refused) = (new.len(), same.len(), refused.len());
        output::status_line(&format!(
            "{new} saved, {same} unchanged, {refused} rejected"
        ));
    }
    match refused.is_empty() {
        true => Ok(Exit::Done),
        false => Ok(Exit::BadInput),
    }
}

/// The workflows of a folder: those in its index, or one per document.
fn folder_workflows(folder: &Path) -> Result<Vec<FolderEntry>, CliError> {
    let index = folder.join(FolderIndex::FILE);
    if index.exists() {
        let bytes = read_bounded(&index, INDEX_BYTES_MAX).map_err(CliError::bad_input)?;
        let read = serde_json::from_slice::<FolderIndex>(&bytes);
        let read =
            read.map_err(|bad| CliError::bad_input(format!("{}: {bad}", index.display())))?;
        return Ok(read.workflows);
    }
    let cannot = |error: std::io::Error| {
        CliError::bad_input(format!(
            "cannot read {}: {}",
            folder.display(),
            io_reason(&error)
        ))
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)?.take(FILES_MAX) {
        let file = entry.map_err(cannot)?.file_name();
        let file = file.to_string_lossy().into_owned();
        const ENDINGS: [&str; 4] = [".yaml", ".yml", ".json", ".pflow.md"];
        let Some(stem) = ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)) else {
            continue;
        };
        found.push(FolderEntry {
            name: stem.replace('_', "-").into(),
            file: file.clone(),
            description: Str::default(),
            tool: None,
            version: 0,
            by: Str::default(),
            at_ms: 0,
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// A workflow of a folder, ready to save.
fn to_save(importing: &ImportArgs, listed: FolderEntry) -> Result<SaveRequest, String> {
    let file = Path::new(&listed.file);
    // An index may come from anywhere: it may only name files in its own folder.
    if file.file_name() != Some(file.as_os_str()) {
        return Err(format!("`{}` is not a file in the folder", file.display()));
    }
    let bytes = read_document(&importing.folder.join(file))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not text", file.display()))?;
    // An exported workflow may be an agent's work; a plain file is the operator's.
    let operator = listed.by.is_empty();
    let by = match operator {
        true => runs::user_name(),
        false => listed.by,
    };
    let save = SaveRequest {
        name: WorkflowName::new(&listed.name).map_err(|bad| bad.to_string())?,
        text: text.into(),
        tool: listed.tool,
        description: listed.description,
        by,
        operator,
        saver: Saver::Operator,
        force: importing.force,
        recursive: importing.allow_recursion,
    };
    fill_description(save).map_err(|refusal| refusal.to_string())
}
