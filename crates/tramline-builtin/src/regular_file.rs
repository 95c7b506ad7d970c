//! Opens files that a document or an agent names: only regular ones.
//!
//! Opening a pipe blocks until it is written to, and opening some devices has side effects. Neither
//! may happen because of a path in a document.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a regular file for reading, without blocking.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    open_with(path, OpenOptions::new().read(true))
}

/// Opens a regular file with these options, which may create it, without blocking.
pub fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<(File, Metadata)> {
    match std::fs::metadata(path) {
        Ok(about) => is_regular(&about)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(unix)]
    {
        use nix::fcntl::OFlag;
        let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits());
    }
    let file = options.open(path)?;
    // The file may have been replaced a moment ago.
    let about = file.metadata()?;
    is_regular(&about)?;
    Ok((file, about))
}

fn is_regular(about: &Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    let says = match about.is_dir() {
        true => "it is a directory; name a file",
        false => "it is not a regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, says))
}
