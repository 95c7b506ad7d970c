//! The key file: readable only by its owner, created atomically, never replaced.

use crate::vault::{fault, random_bytes};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use tramline_engine::ports::CipherFault;
use zeroize::Zeroizing;

/// Bytes in a key.
pub(crate) const KEY_BYTES: usize = 32;
/// The start of the file; the key follows in hexadecimal.
const FILE_PREFIX: &str = "tramline-key-1 ";
/// The largest key file, in bytes; a larger file is not a key.
const FILE_BYTES_MAX: u64 = 1_024;

/// The path of the key.
pub(crate) struct KeyFile(pub(crate) PathBuf);

type Key = Zeroizing<[u8; KEY_BYTES]>;

/// A key as written in its file.
pub(crate) fn hex(key: &Key) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl KeyFile {
    /// The key, if the file exists.
    pub(crate) fn read(&self) -> Result<Option<Key>, CipherFault> {
        let file = match File::open(&self.0) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io_fault("be read", &error)),
        };
        self.is_private(&file)?;
        let mut text = Zeroizing::new(String::new());
        file.take(FILE_BYTES_MAX)
            .read_to_string(&mut text)
            .map_err(|error| self.io_fault("be read", &error))?;
        match key(&text) {
            Some(key) => Ok(Some(key)),
            None => Err(fault(format!(
                "the key file {} is damaged; restore it from a backup",
                self.display()
            ))),
        }
    }

    /// Creates the file with this key; if another process was faster, returns its key.
    pub(crate) fn make(&self, key: &Key) -> Result<Key, CipherFault> {
        self.write(key)
            .map_err(|error| self.io_fault("be made", &error))?;
        self.read()?.ok_or_else(|| self.missing_fault())
    }

    /// Writes a temporary file and links it to the name, which fails if the name is taken.
    fn write(&self, key: &Key) -> io::Result<()> {
        let directory = match self.0.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            Some(_) | None => Path::new("."),
        };
        make_private_dir(directory)?;
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        // A concurrent process has its own temporary file.
        let chance = random_bytes::<8>().map_err(io::Error::other)?;
        let draft = directory.join(format!(".{name}.{:016x}", u64::from_le_bytes(*chance)));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let made = options.open(&draft).and_then(|mut file| {
            let text = Zeroizing::new(format!(
                "{FILE_PREFIX}{}\n",
                Zeroizing::new(hex(key)).as_str()
            ));
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
        let linked = made.and_then(|()| match fs::hard_link(&draft, &self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            linked => linked,
        });
        let _ = fs::remove_file(&draft);
        linked?;
        // Encrypted values are synced too: the key must not be lost before them.
        #[cfg(unix)]
        File::open(directory)?.sync_all()?;
        Ok(())
    }

    /// Rejects a file that others can read: a key that others know protects nothing.
    fn is_private(&self, file: &File) -> Result<(), CipherFault> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let about = file
                .metadata()
                .map_err(|error| self.io_fault("be read", &error))?;
            let mode = about.permissions().mode() & 0o777;
            if mode & 0o077 != 0 {
                return Err(fault(format!(
                    "the key file {} can be read by others (mode {mode:03o}); run: chmod 600 {}",
                    self.display(),
                    self.display()
                )));
            }
        }
        #[cfg(not(unix))]
        let _ = file;
        Ok(())
    }

    /// The fault for a missing key.
    pub(crate) fn missing_fault(&self) -> CipherFault {
        fault(format!(
            "the key file {} is missing; restore it from a backup",
            self.display()
        ))
    }

    /// The fault for a wrong key.
    pub(crate) fn wrong_key_fault(&self) -> CipherFault {
        fault(format!(
            "it was not encrypted with the key in {}, or it is damaged; restore the right key file",
            self.display()
        ))
    }

    fn io_fault(&self, what: &str, error: &io::Error) -> CipherFault {
        fault(format!(
            "the key file {} cannot {what}: {}",
            self.display(),
            error.kind()
        ))
    }

    pub(crate) fn display(&self) -> std::path::Display<'_> {
        self.0.display()
    }
}

fn key(text: &str) -> Option<Key> {
    let hex = text.strip_prefix(FILE_PREFIX)?.trim_end();
    if hex.len() != KEY_BYTES * 2 || !hex.is_ascii() {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(key)
}

/// Creates a directory and its parents, which only its user may enter.
fn make_private_dir(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}
