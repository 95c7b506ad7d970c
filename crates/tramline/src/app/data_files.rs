//! Backups of the data directory, and what is known about its files without opening it.

use super::{AppError, KEY_FILE};
use crate::config::{Config, default_data_dir};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tramline_store::{Sqlite, StoreCopy, Verification};

/// The largest key file that is copied, in bytes; a larger file is not a key.
const KEY_BYTES_MAX: u64 = 1_024;

/// The disk that a directory is on.
#[derive(Clone, Copy, Debug)]
pub struct DiskSpace {
    /// Bytes that this user may still write.
    pub free_bytes: u64,
    /// All bytes.
    pub total_bytes: u64,
}

/// The files of a data directory.
#[derive(Clone, Debug)]
pub struct DataFiles {
    /// The directory.
    pub dir: PathBuf,
    /// The key that encrypts settings.
    pub key: PathBuf,
}

impl DataFiles {
    /// The files that a configuration names.
    pub fn of(config: &Config) -> Self {
        let dir = config.data_dir.clone().unwrap_or_else(default_data_dir);
        let key = config.key_file.clone();
        Self {
            key: key.unwrap_or_else(|| dir.join(KEY_FILE)),
            dir,
        }
    }

    /// The database, if there is one.
    pub fn database(&self) -> Option<PathBuf> {
        Sqlite::is_at(&self.dir).then(|| Sqlite::file(&self.dir))
    }

    /// The bytes of the database and of its log.
    pub fn database_bytes(&self) -> (u64, u64) {
        let bytes = |path: PathBuf| fs::metadata(path).map_or(0, |about| about.len());
        let file = Sqlite::file(&self.dir);
        let mut log = file.clone().into_os_string();
        log.push("-wal");
        (bytes(file), bytes(log.into()))
    }

    /// The layout of the stored data, and the newest that this version supports.
    pub fn layouts(&self) -> Result<(i64, i64), AppError> {
        Ok((Sqlite::layout_at(&self.dir)?, Sqlite::LAYOUT))
    }

    /// Copies the database into a new file while it may be in use. The original is only read.
    pub async fn copy_database(&self, target: &Path) -> Result<StoreCopy, AppError> {
        Ok(Sqlite::copy(&self.dir, target).await?)
    }

    /// Copies the database into another directory, so that it is a data directory of its own.
    pub async fn copy_to_directory(&self, dir: &Path) -> Result<StoreCopy, AppError> {
        self.copy_database(&Sqlite::file(dir)).await
    }

    /// Copies the key into a new file that only its owner can read.
    pub fn copy_key(&self, target: &Path) -> io::Result<()> {
        use io::{Read as _, Write as _};
        let mut key = Vec::new();
        let mut from = fs::File::open(&self.key)?.take(KEY_BYTES_MAX);
        from.read_to_end(&mut key)?;
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(target)?;
        file.write_all(&key)?;
        file.sync_all()
    }
}

/// Reads a copy of a database and verifies its checksums.
pub async fn verify_copy(file: &Path) -> Result<Verification, AppError> {
    Ok(Sqlite::verify_copy(file).await?)
}

/// The file name of a backup that is made at a time, in milliseconds since 1970.
pub fn backup_name(at_ms: i64) -> String {
    StoreCopy::file_name(u64::try_from(at_ms).unwrap_or_default())
}

/// A time in milliseconds since 1970 as a UTC date and time.
pub fn utc(at_ms: i64) -> String {
    tramline_store::utc(u64::try_from(at_ms).unwrap_or_default())
}

/// The space on the disk of an existing directory, if it can be determined.
pub fn disk_space(dir: &Path) -> Option<DiskSpace> {
    let disk = nix::sys::statvfs::statvfs(dir).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.fragment_size());
    Some(DiskSpace {
        free_bytes: bytes(disk.blocks_available()),
        total_bytes: bytes(disk.blocks()),
    })
}
