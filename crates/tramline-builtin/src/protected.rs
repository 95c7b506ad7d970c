//! Files that no file tool touches: what a server is started from, and where its runs are kept.
//!
//! A file is recognised by its device and inode, whatever name leads to it: a hard link, a symbolic
//! link, a bind mount. What does not exist is recognised by the directory that it would be made in
//! and its name there, so that a deleted document cannot be made again with another content.

use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use nix::fcntl::AtFlags;
use nix::sys::stat::fstatat;
use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// More entries in a protected directory are refused: all of them are looked at for each call.
const TREE_ENTRIES_MAX: usize = 20_000;
/// Directories inside each other in a protected directory.
const TREE_DEPTH_MAX: usize = 16;
/// Symbolic links on the path of a protected file: as many as Linux follows.
const LINKS_MAX: usize = 40;
/// Directories above a file. No path of 4,096 bytes has more.
const ANCESTORS_MAX: usize = 2_048;

/// How far a file is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// It can be read, but not changed.
    Unchanged,
    /// It can be neither read nor changed.
    Secret,
    /// A directory with everything in it; none of it can be read or changed.
    SecretDirectory,
}

/// A file or directory that file tools leave alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedPath {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What it is, for the message: "a served document".
    pub what: &'static str,
    /// How far it is protected.
    pub protection: Protection,
}

impl ProtectedPath {
    /// A path that is protected so far, because of what it is.
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

/// What was found, and how far it is protected.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    pub(crate) what: &'static str,
    pub(crate) secret: bool,
}

/// The protected files as they are on the disk now.
#[derive(Default)]
pub(crate) struct Snapshot {
    /// Files that are there.
    files: HashMap<FileId, Hit>,
    /// Protected directories and those inside them.
    trees: HashMap<FileId, Hit>,
    /// Names in directories, on the path of a protected file.
    names: HashMap<(FileId, String), Hit>,
}

/// A protected directory with more in it than can be looked at for each call.
pub(crate) struct TooLarge(pub(crate) PathBuf);

impl Snapshot {
    pub(crate) fn take(paths: &[ProtectedPath]) -> Result<Self, TooLarge> {
        let mut snapshot = Self::default();
        for one in paths {
            let hit = Hit {
                what: one.what,
                secret: one.protection != Protection::Unchanged,
            };
            let Some((real, about)) = snapshot.follow(&one.path, hit) else {
                continue;
            };
            match one.protection {
                Protection::SecretDirectory if about.is_dir() => {
                    let mut left = TREE_ENTRIES_MAX;
                    snapshot.trees.insert(FileId::std(&about), hit);
                    snapshot
                        .enter(&real, hit, TREE_DEPTH_MAX, &mut left)
                        .map_err(|()| TooLarge(one.path.clone()))?;
                }
                _ => snapshot.add_file(FileId::std(&about), hit),
            }
        }
        Ok(snapshot)
    }

    /// A file that two rules speak of is as secret as the stricter one says.
    fn add_file(&mut self, id: FileId, hit: Hit) {
        let kept = self.files.entry(id).or_insert(hit);
        if hit.secret {
            *kept = hit;
        }
    }

    /// Walks a path, notes every name on it, and says what is at its end. Links are followed by
    /// hand: each of them could be exchanged for another.
    fn follow(&mut self, path: &Path, hit: Hit) -> Option<(PathBuf, fs::Metadata)> {
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
                .entry((FileId::std(&above), fold(&part)))
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

    /// Notes everything in a protected directory.
    fn enter(&mut self, dir: &Path, hit: Hit, depth: usize, left: &mut usize) -> Result<(), ()> {
        // What cannot be listed is protected by its directory still.
        let Ok(entries) = fs::read_dir(dir) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            *left = left.checked_sub(1).ok_or(())?;
            let Ok(about) = entry.metadata() else {
                continue;
            };
            if about.is_dir() {
                self.trees.insert(FileId::std(&about), hit);
                self.enter(&entry.path(), hit, depth.checked_sub(1).ok_or(())?, left)?;
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
    pub(crate) fn file(&self, id: FileId) -> Option<Hit> {
        self.files.get(&id).or_else(|| self.trees.get(&id)).copied()
    }

    /// Whether this name in this directory is one that leads to a protected file.
    pub(crate) fn name(&self, dir: FileId, name: &OsStr) -> Option<Hit> {
        self.names.get(&(dir, fold(name))).copied()
    }

    /// Whether an open directory is a protected one or lies in one. The directories above it are
    /// asked for by the open one, so that no rename in between leads astray.
    pub(crate) fn inside(&self, dir: &Dir) -> Option<Hit> {
        if self.trees.is_empty() {
            return None;
        }
        let mut above = String::from(".");
        let mut before = None;
        for _ in 0..ANCESTORS_MAX {
            let about = fstatat(dir, above.as_str(), AtFlags::empty()).ok()?;
            let id = FileId::raw(&about);
            if let Some(hit) = self.trees.get(&id) {
                return Some(*hit);
            }
            if before == Some(id) {
                return None;
            }
            before = Some(id);
            above.push_str("/..");
        }
        None
    }
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

/// A name as file systems that ignore case compare it. On others it refuses a little more.
fn fold(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}
