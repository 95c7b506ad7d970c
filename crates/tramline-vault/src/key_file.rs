//! The file with the key: readable by its owner alone, made whole or not at all, never replaced.

use crate::vault::{draw, fault};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use tramline_engine::seams::SealFault;
use zeroize::Zeroizing;

/// Bytes in a key.
pub(crate) const KEY_BYTES: usize = 32;
/// What the file begins with; the key follows in hexadecimal.
const HEAD: &str = "tramline-key-1 ";
/// A larger file is not a key.
const FILE_BYTES_MAX: u64 = 1_024;

/// Where the key is.
pub(crate) struct KeyFile(pub(crate) PathBuf);

type Key = Zeroizing<[u8; KEY_BYTES]>;

/// A key as its file writes it.
pub(crate) fn hex(key: &Key) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl KeyFile {
    /// The key, if the file is there.
    pub(crate) fn read(&self) -> Result<Option<Key>, SealFault> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.cannot("be read", &error)),
        };
        self.is_private(&file)?;
        let mut text = Zeroizing::new(String::new());
        file.take(FILE_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(|error| self.cannot("be read", &error))?;
        match key(&text) {
            Some(key) => Ok(Some(key)),
            None => Err(fault(format!(
                "the key file {} is damaged; restore it from a backup",
                self.shown()
            ))),
        }
    }

    /// Makes the file with this key, unless another process was quicker: then with theirs.
    pub(crate) fn make(&self, key: &Key) -> Result<Key, SealFault> {
        self.write(key)
            .map_err(|error| self.cannot("be made", &error))?;
        self.read()?.ok_or_else(|| self.lost())
    }

    /// Writes a draft beside it and gives that its name, which fails if the name is taken.
    fn write(&self, key: &Key) -> io::Result<()> {
        let directory = match self.0.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            Some(_) | None => Path::new("."),
        };
        make_private_dir(directory)?;
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        // Whoever else makes one now has a draft of its own.
        let chance = draw::<8>().map_err(io::Error::other)?;
        let draft = directory.join(format!(".{name}.{:016x}", u64::from_le_bytes(*chance)));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let made = options.open(&draft).and_then(|mut file| {
            let text = Zeroizing::new(format!("{HEAD}{}\n", Zeroizing::new(hex(key)).as_str()));
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let linked = made.and_then(|()| match fs::hard_link(&draft, &self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
        let _ = fs::remove_file(&draft);
        linked?;
        // What is sealed with it is synced too: the key must not be lost before that.
        #[cfg(unix)]
        File::open(directory)?.sync_all()?;
        Ok(())
    }

    /// Refuses a file that others may read: a key they know hides nothing.
    fn is_private(&self, file: &File) -> Result<(), SealFault> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let about = file
                .metadata()
                .map_err(|error| self.cannot("be read", &error))?;
            let mode = about.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(fault(format!(
                    "the key file {} can be read by others (mode {mode:03o}); run: chmod 600 {}",
                    self.shown(),
                    self.shown()
                )));
            }
        }
        #[cfg(not(unix))]
        let _ = file;
        Ok(())
    }

    /// What to say when there is no key for what was sealed.
    pub(crate) fn lost(&self) -> SealFault {
        fault(format!(
            "the key file {} is missing; restore it from a backup",
            self.shown()
        ))
    }

    /// What to say when the key does not fit.
    pub(crate) fn wrong(&self) -> SealFault {
        fault(format!(
            "it was not sealed with the key in {}, or is damaged; restore the right key file",
            self.shown()
        ))
    }

    fn cannot(&self, what: &str, error: &io::Error) -> SealFault {
        fault(format!(
            "the key file {} cannot {what}: {error}",
            self.shown()
        ))
    }

    fn shown(&self) -> std::path::Display<'_> {
        self.0.display()
    }
}

fn key(text: &str) -> Option<Key> {
    let hex = text.strip_prefix(HEAD)?.trim_end();
    if hex.len() != KEY_BYTES * 2 || !hex.is_ascii() {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(key)
}

/// Makes a directory, and those above it, that only its user may enter.
fn make_private_dir(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
