//! Files that no file tool may touch: what a server is started from, and the store.
//!
//! A file is identified by its device and inode, whatever name leads to it: a hard link, a symlink,
//! a bind mount. A missing file is identified by its directory and its name there, so that a
//! deleted document cannot be created again with other content.

use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use nix::fcntl::AtFlags;
use nix::sys::stat::{SFlag, fstatat};
use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// The maximum number of entries in a protected directory: all of them are checked for each call.
const TREE_ENTRIES_MAX: usize = 20_000;
/// The maximum depth of a protected directory.
const TREE_DEPTH_MAX: usize = 16;
/// The maximum number of symlinks on the path of a protected file: as many as Linux follows.
const LINKS_MAX: usize = 40;
/// The maximum number of directories above a file. No path of 4,096 bytes has more.
const ANCESTORS_MAX: usize = 2_048;

/// The file that every data directory contains. A directory with such a file is protected like our own: another process
/// may use it, with another configuration.
const DATA_MARKER: &str = "tramline.db";
/// Files that a data directory contains before its first run.
const EARLY_DATA_MARKERS: [&str; 2] = ["settings.key", "trusted"];
/// What a file in such a directory is.
const IN_DATA_DIRECTORY: ProtectedHit = ProtectedHit {
    what: "in a data directory of tramline",
    secret: true,
};

/// How a file is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// It can be read, but not changed.
    Unchanged,
    /// A directory with everything in it; all of it can be read, but not changed.
    UnchangedDirectory,
    /// It can be neither read nor changed.
    Secret,
    /// A directory with everything in it; none of it can be read or changed.
    SecretDirectory,
}

/// A file or directory that file tools must not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPath {
    /// Its path, whether it exists or not.
    pub path: PathBuf,
    /// A description for messages: "a served document".
    pub what: &'static str,
    /// How it is protected.
    pub protection: Protection,
}

impl ProtectedPath {
    /// A protected path with its description.
    pub fn new(path: impl AsRef<Path>, what: &'static str, protection: Protection) -> Self {
        let path = path.as_ref();
        Self {
            path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            what,
            protection,
        }
    }
}

/// A file's device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId(u64, u64);

impl FileId {
    pub(crate) fn of(about: &Metadata) -> Self {
        Self(about.dev(), about.ino())
    }

    fn std(about: &fs::Metadata) -> Self {
        Self(about.dev(), about.ino())
    }

    #[allow(
        clippy::unnecessary_cast,
        reason = "the types differ between operating systems"
    )]
    fn raw(about: &nix::sys::stat::FileStat) -> Self {
        Self(about.st_dev as u64, about.st_ino as u64)
    }
}

/// A protected file that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtectedHit {
    pub(crate) what: &'static str,
    pub(crate) secret: bool,
}

/// The protected files as they are on disk now.
#[derive(Default)]
pub(crate) struct ProtectedSnapshot {
    /// Existing files.
    files: HashMap<FileId, ProtectedHit>,
    /// Protected directories and their subdirectories.
    trees: HashMap<FileId, ProtectedHit>,
    /// Names in directories, on the path of a protected file.
    names: HashMap<(FileId, String), ProtectedHit>,
}

/// A protected directory with too many entries to check for each call.
pub(crate) struct TreeTooLarge(pub(crate) PathBuf);

impl ProtectedSnapshot {
    pub(crate) fn take(paths: &[ProtectedPath]) -> Result<Self, TreeTooLarge> {
        let mut snapshot = Self::default();
        for one in paths {
            let hit = ProtectedHit {
                what: one.what,
                secret: match one.protection {
                    Protection::Unchanged | Protection::UnchangedDirectory => false,
                    Protection::Secret | Protection::SecretDirectory => true,
                },
            };
            let Some((real, about)) = snapshot.add_path(&one.path, hit) else {
                continue;
            };
            let mut left = TREE_ENTRIES_MAX;
            match one.protection {
                Protection::SecretDirectory if about.is_dir() => {
                    snapshot.add_directory(FileId::std(&about), hit);
                    snapshot
                        .add_tree(&real, hit, TREE_DEPTH_MAX, &mut left)
                        .map_err(|()| TreeTooLarge(one.path.clone()))?;
                }
                Protection::UnchangedDirectory if about.is_dir() => {
                    snapshot.add_directory(FileId::std(&about), hit);
                    // What is too much to list is still protected by its directory, only other links to it are not.
                    let _ = snapshot.add_tree(&real, hit, TREE_DEPTH_MAX, &mut left);
                }
                Protection::Unchanged
                | Protection::UnchangedDirectory
                | Protection::Secret
                | Protection::SecretDirectory => snapshot.add_file(FileId::std(&about), hit),
            }
        }
        Ok(snapshot)
    }

    /// If two rules cover a file, the stricter one applies.
    fn add_file(&mut self, id: FileId, hit: ProtectedHit) {
        let kept = self.files.entry(id).or_insert(hit);
        if hit.secret {
            *kept = hit;
        }
    }

    /// The same for directories.
    fn add_directory(&mut self, id: FileId, hit: ProtectedHit) {
        let kept = self.trees.entry(id).or_insert(hit);
        if hit.secret {
            *kept = hit;
        }
    }

    /// Resolves a path, records every name on it, and returns what is at its end. Links are
    /// followed by hand, because each of them could be replaced.
    fn add_path(&mut self, path: &Path, hit: ProtectedHit) -> Option<(PathBuf, fs::Metadata)> {
        let mut at = PathBuf::from("/");
        let mut rest: VecDeque<OsString> = parts(path).collect();
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            if part == ".." {
                at.pop();
                continue;
            }
            let above = fs::symlink_metadata(&at).ok()?;
            self.names
                .entry((FileId::std(&above), fold_case(&part)))
                .or_insert(hit);
            let next = at.join(&part);
            let about = fs::symlink_metadata(&next).ok()?;
            if !about.is_symlink() {
                at = next;
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return None;
            }
            let leads_to = fs::read_link(&next).ok()?;
            if leads_to.is_absolute() {
                at = PathBuf::from("/");
            }
            let leads_to: Vec<_> = parts(&leads_to).collect();
            leads_to
                .into_iter()
                .rev()
                .for_each(|part| rest.push_front(part));
        }
        let about = fs::symlink_metadata(&at).ok()?;
        Some((at, about))
    }

    /// Records everything in a protected directory.
    fn add_tree(
        &mut self,
        dir: &Path,
        hit: ProtectedHit,
        depth: usize,
        left: &mut usize,
    ) -> Result<(), ()> {
        // What cannot be listed is still protected by its directory.
        let Ok(entries) = fs::read_dir(dir) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            *left = left.checked_sub(1).ok_or(())?;
            let Ok(about) = entry.metadata() else {
                continue;
            };
            if about.is_dir() {
                self.add_directory(FileId::std(&about), hit);
                self.add_tree(&entry.path(), hit, depth.checked_sub(1).ok_or(())?, left)?;
                continue;
            }
            self.add_file(FileId::std(&about), hit);
            if about.is_symlink()
                && let Ok(leads_to) = fs::metadata(entry.path())
                && !leads_to.is_dir()
            {
                self.add_file(FileId::std(&leads_to), hit);
            }
        }
        Ok(())
    }

    /// Whether this is a protected file, or a directory inside a protected one.
    pub(crate) fn file(&self, id: FileId) -> Option<ProtectedHit> {
        self.files.get(&id).or_else(|| self.trees.get(&id)).copied()
    }

    /// Whether this name in this directory leads to a protected file.
    pub(crate) fn name(&self, dir: FileId, name: &OsStr) -> Option<ProtectedHit> {
        self.names.get(&(dir, fold_case(name))).copied()
    }

    /// Whether an open directory is protected or inside a protected one, by the strictest rule. Its parents are
    /// opened relative to it, so that a concurrent rename cannot redirect the check.
    pub(crate) fn inside(&self, dir: &Dir) -> Option<ProtectedHit> {
        let mut above = String::from(".");
        let mut before = None;
        let mut unchanged = None;
        for _ in 0..ANCESTORS_MAX {
            let Ok(about) = fstatat(dir, above.as_str(), AtFlags::empty()) else {
                break;
            };
            let id = FileId::raw(&about);
            match self.trees.get(&id) {
                Some(hit) if hit.secret => return Some(*hit),
                Some(hit) => unchanged = unchanged.or(Some(*hit)),
                None => {}
            }
            if is_data_directory(dir, &above) {
                return Some(IN_DATA_DIRECTORY);
            }
            if before == Some(id) {
                break;
            }
            before = Some(id);
            above.push_str("/..");
        }
        unchanged
    }
}

/// Whether a directory, relative to an open one, looks like a data directory.
fn is_data_directory(dir: &Dir, path: &str) -> bool {
    let has = |name: &str| {
        let about = fstatat(dir, format!("{path}/{name}").as_str(), AtFlags::empty());
        about.is_ok_and(|about| {
            SFlag::from_bits_truncate(about.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG
        })
    };
    has(DATA_MARKER) || EARLY_DATA_MARKERS.into_iter().all(has)
}

/// Whether no file tool may create this name, because what is in its directory would then be in a data directory.
pub(crate) fn marker_hit(dir: &Dir, name: &OsStr) -> Option<ProtectedHit> {
    let is_used = || {
        dir.entries()
            .map_or(true, |mut entries| entries.next().is_some())
    };
    (fold_case(name) == DATA_MARKER && is_used()).then_some(ProtectedHit {
        what: "the name of tramline's database",
        secret: false,
    })
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

/// A name as case-insensitive file systems compare it. On others this rejects slightly more.
fn fold_case(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}
