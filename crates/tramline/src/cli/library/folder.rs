//! `tramline library import` and `export`: the library as a folder of files.

use super::super::{Common, Done, Exit, Stopped, output, runs};
use super::described;
use crate::config::{read_bounded, read_document};
use serde_json::json;
use std::path::{Path, PathBuf};
use tramline_core::Str;
use tramline_engine::library::{Index, Listed, Name, Refusal, Save, Saver};

/// A larger index is none.
const INDEX_BYTES_MAX: u64 = 32 << 20;
/// More files of one folder are not looked at.
const FILES_MAX: usize = 10_000;

/// Save every workflow of a folder.
#[derive(clap::Args)]
pub(super) struct Importing {
    /// The folder: one that was exported, or any with documents in it
    pub(super) folder: PathBuf,
    /// Make them the next versions of what has their names already
    #[arg(long)]
    force: bool,
    /// Import those too that call themselves, directly or through others
    #[arg(long)]
    allow_recursion: bool,
}

pub(super) async fn export(common: &Common, folder: &Path) -> Done {
    let house = runs::open(common)?;
    let (index, all) = house.engine.library().export().await?;
    let cannot = |error: std::io::Error| Stopped {
        exit: Exit::Failed,
        message: format!("{} cannot be written: {error}", folder.display()),
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    for (listed, saved) in index.workflows.iter().zip(&all) {
        std::fs::write(folder.join(&listed.file), saved.text.as_bytes()).map_err(cannot)?;
    }
    let text = serde_json::to_string_pretty(&index).unwrap_or_default();
    // Last: an index tells that all files are there.
    std::fs::write(folder.join(Index::FILE), text).map_err(cannot)?;
    if common.json {
        let names: Vec<_> = index.workflows.iter().map(|listed| &listed.name).collect();
        output::line(&json!({ "folder": folder, "exported": names }));
    } else {
        output::say(&format!(
            "{} workflows are in {}",
            all.len(),
            folder.display()
        ));
    }
    Ok(Exit::Done)
}

pub(super) async fn import(common: &Common, importing: Importing) -> Done {
    let house = runs::open(common)?;
    let (mut new, mut same, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for listed in listed(&importing.folder)? {
        let name = listed.name.clone();
        let save = match ready(&importing, listed) {
            Ok(save) => save,
            Err(message) => {
                refused.push((name, message));
                continue;
            }
        };
        match house.engine.library().save(save).await {
            Ok(kept) if kept.new => new.push(name),
            Ok(_) => same.push(name),
            Err(Refusal::Store(fault)) => return Err(Refusal::Store(fault).into()),
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
            output::complain(&format!("{name}: {message}"));
        }
        let (new, same, refused) = (new.len(), same.len(), refused.len());
        output::say(&format!(
            "{new} saved, {same} the same already, {refused} refused"
        ));
    }
    match refused.is_empty() {
        true => Ok(Exit::Done),
        false => Ok(Exit::BadInput),
    }
}

/// The workflows of a folder: those of its index, or one for each document.
fn listed(folder: &Path) -> Result<Vec<Listed>, Stopped> {
    let index = folder.join(Index::FILE);
    if index.exists() {
        let bytes = read_bounded(&index, INDEX_BYTES_MAX).map_err(Stopped::bad)?;
        let read = serde_json::from_slice::<Index>(&bytes);
        let read = read.map_err(|bad| Stopped::bad(format!("{}: {bad}", index.display())))?;
        return Ok(read.workflows);
    }
    let cannot = |error: std::io::Error| Stopped::bad(format!("{}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)?.take(FILES_MAX) {
        let file = entry.map_err(cannot)?.file_name();
        let file = file.to_string_lossy().into_owned();
        const ENDINGS: [&str; 4] = [".yaml", ".yml", ".json", ".pflow.md"];
        let Some(stem) = ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)) else {
            continue;
        };
        found.push(Listed {
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

/// A workflow of a folder, ready to be saved.
fn ready(importing: &Importing, listed: Listed) -> Result<Save, String> {
    let file = Path::new(&listed.file);
    // An index may come from anywhere: it names files of its folder and no others.
    if file.file_name() != Some(file.as_os_str()) {
        return Err(format!("`{}` is no file of the folder", file.display()));
    }
    let bytes = read_document(&importing.folder.join(file))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not text", file.display()))?;
    // What another library has exported may be an agent's work; a plain file is the operator's.
    let operator = listed.by.is_empty();
    let by = match operator {
        true => runs::myself(),
        false => listed.by,
    };
    let save = Save {
        name: Name::new(&listed.name).map_err(|bad| bad.to_string())?,
        text: text.into(),
        tool: listed.tool,
        description: listed.description,
        by,
        operator,
        saver: Saver::Operator,
        force: importing.force,
        recursive: importing.allow_recursion,
    };
    described(save).map_err(|refusal| refusal.to_string())
}
