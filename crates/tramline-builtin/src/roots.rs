//! The directories in which files may be touched. The operating system keeps paths inside: a
//! path is walked from an open directory, so neither `..` nor a link nor a race leads out.

use crate::protected::{FileId, Hit, ProtectedPath, Snapshot};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt as _};
use nix::fcntl::OFlag;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tramline_core::failure::{Failure, FailureKind};

/// A longer path is not told in a failure, in characters.
const PATH_CHARS_SHOWN: usize = 200;

/// Longer paths are refused: no file system here takes them.
const PATH_BYTES_MAX: usize = 4096;

/// Open directories, and what in them is left alone.
pub struct Roots {
    open: Vec<Root>,
    protected: RwLock<Arc<[ProtectedPath]>>,
}

/// A file that may be changed: its directory, open, and its name there.
pub(crate) struct Target {
    pub(crate) dir: Dir,
    pub(crate) name: OsString,
}

struct Root {
    /// As the user named it, made absolute.
    named: PathBuf,
    /// With all links resolved.
    real: PathBuf,
    dir: Dir,
}

/// A root that cannot be opened.
#[derive(Debug)]
pub struct BadRoot {
    path: PathBuf,
    error: std::io::Error,
}

impl fmt::Display for BadRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, error } = self;
        write!(
            f,
            "the root {} cannot be opened: {error}; give --root a directory",
            path.display()
        )
    }
}

impl std::error::Error for BadRoot {}

impl Roots {
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Self, BadRoot> {
        let open = |path: &PathBuf| {
            let bad = |error| BadRoot {
                path: path.clone(),
                error,
            };
            Ok(Root {
                named: std::path::absolute(path).map_err(bad)?,
                real: path.canonicalize().map_err(bad)?,
                dir: Dir::open_ambient_dir(path, ambient_authority()).map_err(bad)?,
            })
        };
        Ok(Self {
            open: paths.iter().map(open).collect::<Result<_, _>>()?,
            protected: RwLock::new(Arc::default()),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Leaves these files alone from now on, in the place of those before.
    pub(crate) fn protect(&self, paths: &[ProtectedPath]) {
        let mut protected = self
            .protected
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *protected = paths.into();
    }

    /// The root that a path lies in, with the path inside it. Relative paths lie in the first.
    pub(crate) fn place(&self, path: &str) -> Result<(&Dir, PathBuf), Failure> {
        if path.is_empty() || path.len() > PATH_BYTES_MAX || path.contains('\0') {
            return Err(self.outside(path, "is no path"));
        }
        let path_given = Path::new(path);
        if path_given
            .components()
            .any(|part| part == Component::ParentDir)
        {
            return Err(self.outside(path, "goes up with `..`"));
        }
        let place = if path_given.is_absolute() {
            self.open.iter().find_map(|root| {
                let inside = path_given
                    .strip_prefix(&root.named)
                    .or_else(|_| path_given.strip_prefix(&root.real));
                inside.ok().map(|inside| (&root.dir, inside))
            })
        } else {
            self.open.first().map(|root| (&root.dir, path_given))
        };
        let (dir, inside) =
            place.ok_or_else(|| self.outside(path, "lies outside the allowed roots"))?;
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

    /// The real path of a directory, for a program that is to work in it.
    pub(crate) fn directory(&self, path: &str) -> Result<PathBuf, Failure> {
        let (dir, inside) = self.place(path)?;
        let root = self
            .open
            .iter()
            .find(|root| std::ptr::eq(&raw const root.dir, dir));
        let real = dir.canonicalize(&inside);
        let (Some(root), Ok(real)) = (root, real) else {
            return Err(self.outside(path, "is no directory in the allowed roots"));
        };
        if !dir.metadata(&real).is_ok_and(|about| about.is_dir()) {
            return Err(self.outside(path, "is no directory"));
        }
        Ok(root.real.join(real))
    }

    /// The protected files as they are now.
    fn snapshot(&self) -> Result<Snapshot, Failure> {
        let protected = self
            .protected
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let protected = Arc::clone(&protected);
        Snapshot::take(&protected).map_err(|too_large| {
            let message = format!(
                "{} holds too many files for file tools to leave them alone; give --data-dir a \
                 directory of its own",
                too_large.0.display()
            );
            Failure::new(FailureKind::Forbidden, message)
        })
    }

    /// The place of a file that is to be made, replaced, moved or deleted. Nothing where its
    /// directory is not there; that is made first if `create_dirs` says so.
    pub(crate) fn target(&self, path: &str, create_dirs: bool) -> Result<Option<Target>, Failure> {
        let failed = |error: &io::Error| crate::files::failed(path, error);
        let (dir, inside) = self.place(path)?;
        let Some(name) = inside.file_name() else {
            return Err(failed(&ErrorKind::IsADirectory.into()));
        };
        let parent = inside.parent().filter(|it| !it.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let snapshot = self.snapshot()?;
        let opened = match dir.open_dir(parent) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                may_be_made(&snapshot, dir, parent).map_err(|hit| protected(path, hit))?;
                if !create_dirs {
                    return Ok(None);
                }
                let made = dir.create_dir_all(parent);
                let opened = made.and_then(|()| dir.open_dir(parent));
                opened.map_err(|error| failed(&error))?
            }
            Err(error) => return Err(failed(&error)),
        };
        let target = Target {
            dir: opened,
            name: name.to_owned(),
        };
        match target.hit(&snapshot).map_err(|error| failed(&error))? {
            Some(hit) => Err(protected(path, hit)),
            None => Ok(Some(target)),
        }
    }

    /// A file that is to be read, opened. Only a regular file is: a pipe or a device could keep
    /// whoever opens it waiting, or do something because it is opened.
    pub(crate) fn open_file(&self, path: &str) -> Result<(File, Metadata), Failure> {
        let failed = |error: &io::Error| crate::files::failed(path, error);
        let (dir, inside) = self.place(path)?;
        let snapshot = self.snapshot()?;
        // Before it is opened: closing a database's file again would give up the locks on it.
        let about = dir.metadata(&inside).map_err(|error| failed(&error))?;
        refuse_secret(&snapshot, dir, &inside, &about).map_err(|hit| protected(path, hit))?;
        let (file, about) = open_regular(dir, &inside).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => not_a_file(path),
            _ => failed(&error),
        })?;
        match snapshot.file(FileId::of(&about)).filter(|hit| hit.secret) {
            Some(hit) => Err(protected(path, hit)),
            None => Ok((file, about)),
        }
    }

    /// A directory that is to be listed, opened.
    pub(crate) fn open_directory(&self, path: &str) -> Result<Dir, Failure> {
        let (dir, inside) = self.place(path)?;
        let opened = dir.open_dir(&inside);
        let opened = opened.map_err(|error| crate::files::failed(path, &error))?;
        match self.snapshot()?.inside(&opened) {
            Some(hit) => Err(protected(path, hit)),
            None => Ok(opened),
        }
    }

    fn outside(&self, path: &str, why: &str) -> Failure {
        let roots: Vec<_> = self
            .open
            .iter()
            .map(|root| root.named.display().to_string())
            .collect();
        // Never a part of it: it may hold a secret, and half of one is not known again.
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

impl Target {
    pub(crate) fn path(&self) -> &Path {
        Path::new(&self.name)
    }

    /// Why it may not be changed, if so: by its directory, its name there, or what is there.
    fn hit(&self, snapshot: &Snapshot) -> io::Result<Option<Hit>> {
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
        Ok(by_name.or_else(|| {
            there
                .map(|about| FileId::of(&about))
                .find_map(|id| snapshot.file(id))
        }))
    }
}

/// Whether missing directories may be made: neither inside a protected one, nor as a part of the
/// path of a protected file.
fn may_be_made(snapshot: &Snapshot, dir: &Dir, missing: &Path) -> Result<(), Hit> {
    let mut parts: Vec<_> = missing.components().collect();
    let mut first = parts.pop();
    while !parts.is_empty() {
        let above: PathBuf = parts.iter().collect();
        if let Ok(opened) = dir.open_dir(&above) {
            return refused_in(snapshot, &opened, first);
        }
        first = parts.pop();
    }
    refused_in(snapshot, dir, first)
}

fn refused_in(snapshot: &Snapshot, dir: &Dir, name: Option<Component<'_>>) -> Result<(), Hit> {
    let here = dir.dir_metadata().map(|about| FileId::of(&about));
    let by_name = here.ok().zip(name);
    let by_name = by_name.and_then(|(here, name)| snapshot.name(here, name.as_os_str()));
    match snapshot.inside(dir).or(by_name) {
        Some(hit) => Err(hit),
        None => Ok(()),
    }
}

/// Refuses what may not be read: by what it is, or by the directory that it lies in.
fn refuse_secret(
    snapshot: &Snapshot,
    dir: &Dir,
    inside: &Path,
    about: &Metadata,
) -> Result<(), Hit> {
    let mut hit = snapshot.file(FileId::of(about)).filter(|hit| hit.secret);
    let parent = inside.parent().filter(|it| !it.as_os_str().is_empty());
    if hit.is_none()
        && let Ok(above) = dir.open_dir(parent.unwrap_or(Path::new(".")))
    {
        hit = snapshot.inside(&above);
    }
    hit.map_or(Ok(()), Err)
}

/// Opens a regular file without waiting for anybody; `InvalidInput` where it is none.
pub(crate) fn open_regular(dir: &Dir, path: &Path) -> io::Result<(File, Metadata)> {
    if !dir.metadata(path)?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let mut options = OpenOptions::new();
    let file = dir.open_with(path, options.read(true).custom_flags(flags.bits()))?;
    // What was there a moment ago may have been exchanged.
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok((file, about)),
        false => Err(ErrorKind::InvalidInput.into()),
    }
}

pub(crate) fn not_a_file(path: &str) -> Failure {
    Failure::new(FailureKind::Tool, format!("{path} is not a file"))
}

fn protected(path: &str, hit: Hit) -> Failure {
    let Hit { what, secret } = hit;
    let shown: String = path.chars().take(200).collect();
    let does = match secret {
        true => "neither read nor change it",
        false => "do not change it",
    };
    let message = format!(
        "`{}` is {what}: file tools {does}; the operator does that outside of tramline",
        shown.escape_debug()
    );
    Failure::new(FailureKind::Forbidden, message)
}
