//! Opening files that somebody else names, a document or an agent: only regular ones are.
//!
//! Whoever opens a pipe waits until somebody writes to it, and some devices do something because they
//! are opened. Neither may happen because of a path in a document.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a regular file for reading. Waits for nobody.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    open_with(path, OpenOptions::new().read(true))
}

/// Opens a regular file by these options, which may make it. Waits for nobody.
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
    // What was there a moment ago may have been exchanged.
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
        false => "it is no regular file",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, says))
}
