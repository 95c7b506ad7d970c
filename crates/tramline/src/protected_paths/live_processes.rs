//! The protected paths of the other processes on a data directory.
//!
//! Each process lists its own in a file there, which it keeps locked while it lives. File tools cannot touch these
//! files, because nothing in a data directory can be touched.

use serde_json::{Value, json};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use tramline_builtin::{ProtectedPath, Protection};

/// The directory of the lists in a data directory.
const LISTS_DIR: &str = "protected";
/// The extension of a finished list.
const LIST: &str = "json";
/// The maximum number of lists that are read for a call of a file tool.
const LISTS_MAX: usize = 256;
/// The maximum size of a list, in bytes: some thousand paths.
const LIST_BYTES_MAX: u64 = 1 << 20;

/// A process's own list, removed when this is dropped.
#[derive(Debug)]
pub(crate) struct ProtectedList {
    dir: PathBuf,
    own: PathBuf,
    /// Locked while it is open.
    _lock: File,
}

impl ProtectedList {
    /// Lists these paths for the other processes on a data directory. Data directories are left out: every process
    /// recognizes them.
    pub(crate) fn publish(data_dir: &Path, paths: &[ProtectedPath]) -> io::Result<Option<Self>> {
        let dir = data_dir.join(LISTS_DIR);
        let rows: Vec<_> = paths.iter().filter_map(row).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
        let random = RandomState::new().build_hasher().finish();
        let name = format!("{}-{random:016x}", std::process::id());
        let unfinished = dir.join(format!("{name}.new"));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.lock()?;
        file.write_all(Value::from(rows).to_string().as_bytes())?;
        let own = dir.join(format!("{name}.{LIST}"));
        fs::rename(&unfinished, &own)?;
        let list = Self {
            dir,
            own,
            _lock: file,
        };
        list.clear_dead();
        Ok(Some(list))
    }

    /// Removes the lists of processes that were killed, so that they do not accumulate.
    fn clear_dead(&self) {
        for path in lists(&self.dir, Some(self)) {
            let is_dead = File::open(&path).is_ok_and(|file| file.try_lock_shared().is_ok());
            if is_dead {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn own(&self) -> &Path {
        &self.own
    }
}

impl Drop for ProtectedList {
    fn drop(&mut self) {
        // If this fails, the next reader removes it.
        let _ = fs::remove_file(&self.own);
    }
}

/// The paths that other live processes on this data directory protect.
pub(crate) fn others(data_dir: &Path, own: Option<&ProtectedList>) -> Vec<ProtectedPath> {
    let lists = lists(&data_dir.join(LISTS_DIR), own);
    let live = lists.into_iter().take(LISTS_MAX);
    live.flat_map(|path| read(&path)).collect()
}

/// The lists of other processes.
fn lists(dir: &Path, own: Option<&ProtectedList>) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|end| end == LIST))
        .filter(|path| own.is_none_or(|own| own.own() != path))
        .collect()
}

/// The paths in a list whose process is alive; the list of a dead one is removed.
fn read(list: &Path) -> Vec<ProtectedPath> {
    let Ok(mut file) = File::open(list) else {
        return Vec::new();
    };
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = fs::remove_file(list);
            return Vec::new();
        }
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
    }
    let mut text = String::new();
    let read = (&mut file).take(LIST_BYTES_MAX).read_to_string(&mut text);
    let rows: Vec<Value> = match read {
        Ok(_) => serde_json::from_str(&text).unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    rows.iter().filter_map(protected).collect()
}

fn row(path: &ProtectedPath) -> Option<Value> {
    let name = path.path.to_str()?;
    match path.protection {
        Protection::Unchanged => Some(json!({"path": name, "secret": false})),
        Protection::UnchangedDirectory => {
            Some(json!({"path": name, "secret": false, "directory": true}))
        }
        Protection::Secret => Some(json!({"path": name, "secret": true})),
        Protection::SecretDirectory => None,
    }
}

fn protected(row: &Value) -> Option<ProtectedPath> {
    let is_directory = row["directory"].as_bool().unwrap_or_default();
    let protection = match (row["secret"].as_bool()?, is_directory) {
        (true, _) => Protection::Secret,
        (false, true) => Protection::UnchangedDirectory,
        (false, false) => Protection::Unchanged,
    };
    let what = "in use by another process";
    Some(ProtectedPath::new(row["path"].as_str()?, what, protection))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_while_its_process_lives() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = ProtectedPath::new("/x/tokens", "the token file", Protection::Secret);
        let document = ProtectedPath::new("/x/a.yaml", "a document in use", Protection::Unchanged);
        let data = ProtectedPath::new(dir.path(), "data", Protection::SecretDirectory);
        let nothing = ProtectedList::publish(dir.path(), std::slice::from_ref(&data)).unwrap();
        assert!(nothing.is_none());
        let all = [tokens, document, data];
        let list = ProtectedList::publish(dir.path(), &all).unwrap().unwrap();
        let seen = || {
            let seen = others(dir.path(), None).into_iter();
            seen.map(|one| (one.path, one.protection))
                .collect::<Vec<_>>()
        };
        let wanted = [
            (PathBuf::from("/x/tokens"), Protection::Secret),
            (PathBuf::from("/x/a.yaml"), Protection::Unchanged),
        ];
        assert_eq!(seen(), wanted);
        assert!(others(dir.path(), Some(&list)).is_empty());
        // A process that was killed leaves its list unlocked.
        let left = list.own.with_file_name("1-left.json");
        fs::copy(&list.own, &left).unwrap();
        assert_eq!(seen(), wanted);
        assert!(!left.exists());
        drop(list);
        assert!(seen().is_empty());
    }
}
