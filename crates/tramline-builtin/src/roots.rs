//! The directories in which files may be touched. The operating system enforces it: paths are
//! resolved from an open directory, so neither `..` nor a symlink nor a race leads outside.

use crate::protected::{FileId, ProtectedHit, ProtectedPath, ProtectedSnapshot, marker_hit};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt as _};
use nix::fcntl::OFlag;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tramline_workflow::failure::{Failure, FailureKind};
use tramline_workflow::text::io_reason;

/// Longer paths are not shown in failures, in characters.
const PATH_CHARS_SHOWN: usize = 200;

/// The longest path, in bytes: no file system here supports longer ones.
const PATH_BYTES_MAX: usize = 4096;

/// Returns the protected paths as they are now.
pub(crate) type ProtectedPaths = Arc<dyn Fn() -> Vec<ProtectedPath> + Send + Sync>;

/// Open directories, and the protected paths in them.
pub struct Roots {
    open: Vec<AllowedRoot>,
    protected: RwLock<ProtectedPaths>,
}

/// A file that may be changed: its open directory and its name there.
pub(crate) struct WriteTarget {
    pub(crate) dir: Dir,
    pub(crate) name: OsString,
}

struct AllowedRoot {
    /// As the user named it, made absolute.
    as_named: PathBuf,
    /// With all symlinks resolved.
    resolved: PathBuf,
    dir: Dir,
}

/// A root that cannot be opened.
#[derive(Debug)]
pub struct RootError {
    path: PathBuf,
    error: std::io::Error,
}

impl fmt::Display for RootError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, error } = self;
        write!(
            f,
            "cannot open the root {}: {}; give --root a directory",
            path.display(),
            io_reason(error)
        )
    }
}

impl std::error::Error for RootError {}

impl Roots {
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Self, RootError> {
        let open = |path: &PathBuf| {
            let bad = |error| RootError {
                path: path.clone(),
                error,
            };
            Ok(AllowedRoot {
                as_named: std::path::absolute(path).map_err(bad)?,
                resolved: path.canonicalize().map_err(bad)?,
                dir: Dir::open_ambient_dir(path, ambient_authority()).map_err(bad)?,
            })
        };
        Ok(Self {
            open: paths.iter().map(open).collect::<Result<_, _>>()?,
            protected: RwLock::new(Arc::new(Vec::new)),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Protects these paths from now on, replacing the previous ones.
    pub(crate) fn protect(&self, paths: ProtectedPaths) {
        let mut protected = self
            .protected
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *protected = paths;
    }

    /// The root that contains a path, with the path inside it. Relative paths are in the first
    /// root.
    pub(crate) fn resolve(&self, path: &str) -> Result<(&Dir, PathBuf), Failure> {
        if path.is_empty() || path.len() > PATH_BYTES_MAX || path.contains('\0') {
            return Err(self.forbidden(path, "is not a valid path"));
        }
        let path_given = Path::new(path);
        if path_given
            .components()
            .any(|part| part == Component::ParentDir)
        {
            return Err(self.forbidden(path, "contains `..`"));
        }
        let place = if path_given.is_absolute() {
            self.open.iter().find_map(|root| {
                let inside = path_given
                    .strip_prefix(&root.as_named)
                    .or_else(|_| path_given.strip_prefix(&root.resolved));
                inside.ok().map(|inside| (&root.dir, inside))
            })
        } else {
            self.open.first().map(|root| (&root.dir, path_given))
        };
        let (dir, inside) =
            place.ok_or_else(|| self.forbidden(path, "is outside the allowed roots"))?;
        let here = inside.as_os_str().is_empty();
        Ok((
            dir,
            if here {
                PathBuf::from(".")
            } else {
                inside.to_owned()
            },
        ))
    }

    /// The real path of a directory, for a program to run in.
    pub(crate) fn directory(&self, path: &str) -> Result<PathBuf, Failure> {
        let (dir, inside) = self.resolve(path)?;
        let root = self
            .open
            .iter()
            .find(|root| std::ptr::eq(&raw const root.dir, dir));
        let real = dir.canonicalize(&inside);
        let (Some(root), Ok(real)) = (root, real) else {
            return Err(self.forbidden(path, "is not a directory in the allowed roots"));
        };
        if !dir.metadata(&real).is_ok_and(|about| about.is_dir()) {
            return Err(self.forbidden(path, "is not a directory"));
        }
        Ok(root.resolved.join(real))
    }

    /// The protected files as they are now.
    fn snapshot(&self) -> Result<ProtectedSnapshot, Failure> {
        let protected = self
            .protected
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let paths = Arc::clone(&protected);
        drop(protected);
        ProtectedSnapshot::take(&paths()).map_err(|too_large| {
            let message = format!(
                "{} has too many files to protect from file tools; give --data-dir a \
                 separate directory",
                too_large.0.display()
            );
            Failure::new(FailureKind::Forbidden, message)
        })
    }

    /// The target of a write, move or delete. `None` if its directory does not exist, unless
    /// `create_dirs` creates it.
    pub(crate) fn target(
        &self,
        path: &str,
        create_dirs: bool,
    ) -> Result<Option<WriteTarget>, Failure> {
        let failed = |error: &io::Error| crate::files::failed(path, error);
        let (dir, inside) = self.resolve(path)?;
        let Some(name) = inside.file_name() else {
            return Err(failed(&ErrorKind::IsADirectory.into()));
        };
        let parent = inside.parent().filter(|it| !it.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let snapshot = self.snapshot()?;
        let opened = match dir.open_dir(parent) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                check_creatable(&snapshot, dir, parent)
                    .map_err(|hit| protected_failure(path, hit))?;
                if !create_dirs {
                    return Ok(None);
                }
                let made = dir.create_dir_all(parent);
                let opened = made.and_then(|()| dir.open_dir(parent));
                opened.map_err(|error| failed(&error))?
            }
            Err(error) => return Err(failed(&error)),
        };
        let target = WriteTarget {
            dir: opened,
            name: name.to_owned(),
        };
        match target
            .protection(&snapshot)
            .map_err(|error| failed(&error))?
        {
            Some(hit) => Err(protected_failure(path, hit)),
            None => Ok(Some(target)),
        }
    }

    /// Opens a file for reading. Only regular files are accepted: opening a pipe or a device can
    /// block or have side effects.
    pub(crate) fn open_file(&self, path: &str) -> Result<(File, Metadata), Failure> {
        let failed = |error: &io::Error| crate::files::failed(path, error);
        let (dir, inside) = self.resolve(path)?;
        let snapshot = self.snapshot()?;
        // Before it is opened: closing a database file would release the locks on it.
        let about = dir.metadata(&inside).map_err(|error| failed(&error))?;
        check_readable(&snapshot, dir, &inside, &about)
            .map_err(|hit| protected_failure(path, hit))?;
        let (file, about) = open_regular(dir, &inside).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => not_a_file(path),
            _ => failed(&error),
        })?;
        match snapshot.file(FileId::of(&about)).filter(|hit| hit.secret) {
            Some(hit) => Err(protected_failure(path, hit)),
            None => Ok((file, about)),
        }
    }

    /// Opens a directory for listing.
    pub(crate) fn open_directory(&self, path: &str) -> Result<Dir, Failure> {
        let (dir, inside) = self.resolve(path)?;
        let opened = dir.open_dir(&inside);
        let opened = opened.map_err(|error| crate::files::failed(path, &error))?;
        match self.snapshot()?.inside(&opened).filter(|hit| hit.secret) {
            Some(hit) => Err(protected_failure(path, hit)),
            None => Ok(opened),
        }
    }

    fn forbidden(&self, path: &str, why: &str) -> Failure {
        let roots: Vec<_> = self
            .open
            .iter()
            .map(|root| root.as_named.display().to_string())
            .collect();
        // Never a part of it: it may contain a secret, and half of one is not recognized for
        // redaction.
        let shown = match path.chars().count() {
            ..=PATH_CHARS_SHOWN => path.to_owned(),
            count => format!("(a path of {count} characters)"),
        };
        let allowed = match roots.as_slice() {
            [] => "no directory is allowed: start tramline with --root DIR to allow one".to_owned(),
            roots => format!("allowed: {}; --root allows another", roots.join(", ")),
        };
        Failure::new(
            FailureKind::Forbidden,
            format!("`{}` {why} ({allowed})", shown.escape_debug()),
        )
    }
}

impl WriteTarget {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.name)
    }

    /// Rejects pipes, sockets and devices, also behind a symlink: they must not be replaced by a file or
    /// deleted, because other processes use them. Directories are left to the call itself.
    pub(crate) fn check_kind(&self, path: &str) -> Result<(), Failure> {
        let there = [
            self.dir.symlink_metadata(&self.name),
            self.dir.metadata(&self.name),
        ];
        let is_special =
            |about: Metadata| !about.is_file() && !about.is_dir() && !about.is_symlink();
        match there.into_iter().flatten().any(is_special) {
            true => Err(not_a_file(path)),
            false => Ok(()),
        }
    }

    /// Why it may not be changed, if so: because of its directory, its name there, or the file.
    fn protection(&self, snapshot: &ProtectedSnapshot) -> io::Result<Option<ProtectedHit>> {
        if let Some(hit) = snapshot.inside(&self.dir) {
            return Ok(Some(hit));
        }
        let here = FileId::of(&self.dir.dir_metadata()?);
        let there = [
            self.dir.symlink_metadata(&self.name),
            self.dir.metadata(&self.name),
        ];
        let there = there.into_iter().flatten();
        let by_name = snapshot.name(here, &self.name);
        let by_name = by_name.or_else(|| marker_hit(&self.dir, &self.name));
        Ok(by_name.or_else(|| {
            there
                .map(|about| FileId::of(&about))
                .find_map(|id| snapshot.file(id))
        }))
    }
}

/// Whether missing directories may be created: not inside a protected directory, and not on the
/// path of a protected file.
fn check_creatable(
    snapshot: &ProtectedSnapshot,
    dir: &Dir,
    missing: &Path,
) -> Result<(), ProtectedHit> {
    let mut parts: Vec<_> = missing.components().collect();
    let mut first = parts.pop();
    while !parts.is_empty() {
        let above: PathBuf = parts.iter().collect();
        if let Ok(opened) = dir.open_dir(&above) {
            return check_name(snapshot, &opened, first);
        }
        first = parts.pop();
    }
    check_name(snapshot, dir, first)
}

fn check_name(
    snapshot: &ProtectedSnapshot,
    dir: &Dir,
    name: Option<Component<'_>>,
) -> Result<(), ProtectedHit> {
    let here = dir.dir_metadata().map(|about| FileId::of(&about));
    let by_name = here.ok().zip(name);
    let by_name = by_name.and_then(|(here, name)| snapshot.name(here, name.as_os_str()));
    match snapshot.inside(dir).or(by_name) {
        Some(hit) => Err(hit),
        None => Ok(()),
    }
}

/// Rejects a file that may not be read, because of what it is or where it is.
fn check_readable(
    snapshot: &ProtectedSnapshot,
    dir: &Dir,
    inside: &Path,
    about: &Metadata,
) -> Result<(), ProtectedHit> {
    let mut hit = snapshot.file(FileId::of(about)).filter(|hit| hit.secret);
    let parent = inside.parent().filter(|it| !it.as_os_str().is_empty());
    if hit.is_none()
        && let Ok(above) = dir.open_dir(parent.unwrap_or(Path::new(".")))
    {
        hit = snapshot.inside(&above).filter(|hit| hit.secret);
    }
    hit.map_or(Ok(()), Err)
}

/// Opens a regular file without blocking; `InvalidInput` if it is not one.
pub(crate) fn open_regular(dir: &Dir, path: &Path) -> io::Result<(File, Metadata)> {
    if !dir.metadata(path)?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let mut options = OpenOptions::new();
    let file = dir.open_with(path, options.read(true).custom_flags(flags.bits()))?;
    // The file may have been replaced a moment ago.
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((file, about)),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

pub(crate) fn not_a_file(path: &str) -> Failure {
    Failure::new(FailureKind::Tool, format!("{path} is not a file"))
}

fn protected_failure(path: &str, hit: ProtectedHit) -> Failure {
    let ProtectedHit { what, secret } = hit;
    let does = match secret {
        true => "neither read nor change it",
        false => "do not change it",
    };
    let message = format!(
        "`{}` is {what}: file tools {does}; the operator can do it outside of tramline",
        path.escape_debug()
    );
    Failure::new(FailureKind::Forbidden, message)
}
