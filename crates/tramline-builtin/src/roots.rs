//! The directories in which files may be touched. The operating system keeps paths inside: a
//! path is walked from an open directory, so neither `..` nor a link nor a race leads out.

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use tramline_core::failure::{Failure, FailureKind};

/// A longer path is not told in a failure, in characters.
const PATH_CHARS_SHOWN: usize = 200;

/// Longer paths are refused: no file system here takes them.
const PATH_BYTES_MAX: usize = 4096;

/// Open directories.
pub struct Roots(Vec<Root>);

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
        paths.iter().map(open).collect::<Result<_, _>>().map(Self)
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
            self.0.iter().find_map(|root| {
                let inside = path_given
                    .strip_prefix(&root.named)
                    .or_else(|_| path_given.strip_prefix(&root.real));
                inside.ok().map(|inside| (&root.dir, inside))
            })
        } else {
            self.0.first().map(|root| (&root.dir, path_given))
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
            .0
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

    fn outside(&self, path: &str, why: &str) -> Failure {
        let roots: Vec<_> = self
            .0
            .iter()
            .map(|root| root.named.display().to_string())
            .collect();
        // Never a part of it: it may hold a secret, and half of one is not known again.
        let shown = match path.chars().count() {
            ..=PATH_CHARS_SHOWN => path.to_owned(),
            count => format!("(a path of {count} characters)"),
        };
        let allowed = match roots.as_slice() {
            [] => "no root is allowed: give one with --root".to_owned(),
            roots => format!("allowed: {}; --root allows another", roots.join(", ")),
        };
        Failure::new(
            FailureKind::Forbidden,
            format!("`{}` {why} ({allowed})", shown.escape_debug()),
        )
    }
}
