//! Document files on disk, for the studio: reads are bounded, writes are atomic.

use crate::config::read_document;
use std::io::{self, Write};
use std::path::Path;
use tramline_web::DocumentFiles;
use tramline_workflow::text::io_reason;

/// The local file system.
pub(crate) struct DiskFiles;

impl DocumentFiles for DiskFiles {
    fn read(&self, path: &Path) -> Result<(String, bool), String> {
        let bytes = read_document(path)?;
        let text = String::from_utf8(bytes.to_vec());
        let text = text.map_err(|_| format!("{} is not UTF-8 text", path.display()))?;
        let meta = std::fs::metadata(path);
        Ok((text, meta.is_ok_and(|meta| !meta.permissions().readonly())))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), String> {
        replace(path, text).map_err(|error| format!("{}: {}", path.display(), io_reason(&error)))
    }
}

/// Replaces a file atomically through a temporary file next to it. A symlink stays a symlink.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let real = path.canonicalize()?;
    let permissions = std::fs::metadata(&real)?.permissions();
    if permissions.readonly() {
        let why = "it is read-only";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    let mut beside = real.file_name().unwrap_or_default().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = real.with_file_name(beside);
    let written = std::fs::File::create(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.set_permissions(permissions)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| std::fs::rename(&beside, &real));
    if moved.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_exchanged_whole_and_links_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.yaml");
        std::fs::write(&path, "old").unwrap();
        #[cfg(unix)]
        {
            let link = dir.path().join("link.yaml");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            DiskFiles.write(&link, "new").unwrap();
            assert!(link.is_symlink());
            std::fs::remove_file(&link).unwrap();
        }
        DiskFiles.write(&path, "new").unwrap();
        assert_eq!(DiskFiles.read(&path).unwrap(), ("new".to_owned(), true));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&path, permissions).unwrap();
        assert!(
            DiskFiles
                .write(&path, "x")
                .unwrap_err()
                .contains("read-only")
        );
        assert_eq!(DiskFiles.read(&path).unwrap(), ("new".to_owned(), false));
        assert!(DiskFiles.read(&dir.path().join("none")).is_err());
    }
}
