//! Copies of the database while it is in use.
//!
//! A copy is a consistent snapshot in one file: it needs no log. Writers are not held up. It gets its final name only
//! once it is complete and on disk, so a crash leaves no half copy under that name.

use super::database::{Database, private_file};
use super::error::plain_fault;
use super::process_lock::utc;
use super::{Sqlite, Verification, migrate, verify};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{self, Path, PathBuf};
use tokio::task;
use tramline_engine::ports::StoreFault;

/// A copy that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreCopy {
    /// Its size in bytes.
    pub bytes: u64,
    /// The version of its layout, which is that of the original.
    pub layout: i64,
}

impl StoreCopy {
    /// The file name of a copy that is made at a time, in milliseconds since 1970. Names sort by time.
    pub fn file_name(at_ms: u64) -> String {
        let digits: String = utc(at_ms).chars().filter(char::is_ascii_digit).collect();
        let (day, time) = digits.split_at(digits.len().saturating_sub(6));
        format!("tramline-{day}-{time}.db")
    }
}

impl Sqlite {
    /// The version of the layout that this version writes; it reads all earlier ones.
    pub const LAYOUT: i64 = migrate::LAYOUT;

    /// The database file in a data directory.
    pub fn file(dir: &Path) -> PathBuf {
        Database::path_in(dir)
    }

    /// The version of the layout of a database in a data directory, whichever version wrote it.
    pub fn layout_at(dir: &Path) -> Result<i64, StoreFault> {
        let mut database = Database::disk(dir).for_reading();
        Ok(database.connect_existing(dir)?.1)
    }

    /// Reads a copy and verifies its checksums, without a data directory around it.
    pub async fn verify_copy(file: &Path) -> Result<Verification, StoreFault> {
        let file = file.to_owned();
        let reading = task::spawn_blocking(move || {
            let conn = Database::connect_alone(&file);
            let conn = conn.map_err(|error| {
                plain_fault(format!("cannot read the copy {}: {error}", file.display()))
            })?;
            Ok(verify::verify(&conn))
        });
        let stopped = |_| plain_fault("the verification was interrupted; try again");
        reading.await.map_err(stopped)?
    }

    /// Copies the database of a data directory into a new file while others may write to it.
    ///
    /// The original is only read, and is not migrated. The file must not exist; only its owner can read it.
    pub async fn copy(dir: &Path, target: &Path) -> Result<StoreCopy, StoreFault> {
        let (dir, target) = (dir.to_owned(), target.to_owned());
        let copying = task::spawn_blocking(move || copy(&dir, &target));
        copying
            .await
            .map_err(|_| plain_fault("the copy was interrupted; try again"))?
    }
}

fn copy(dir: &Path, target: &Path) -> Result<StoreCopy, StoreFault> {
    let failed = |error: &io::Error| write_fault(target, error);
    if target.symlink_metadata().is_ok() {
        return Err(plain_fault(format!(
            "{} exists already; choose another name",
            target.display()
        )));
    }
    // SQLite must not take it for a URI.
    let draft = path::absolute(draft_of(target)).map_err(|error| failed(&error))?;
    // What an earlier attempt left.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&error)),
        Ok(()) | Err(_) => {}
    }
    let file = private_file(&draft).map_err(|error| failed(&error))?;
    let done = fill(dir, &draft).and_then(|layout| {
        file.sync_all().map_err(|error| failed(&error))?;
        let bytes = file.metadata().map_err(|error| failed(&error))?.len();
        publish(&draft, target).map_err(|error| failed(&error))?;
        Ok(StoreCopy { bytes, layout })
    });
    if done.is_err() {
        // The failure is reported; the next attempt replaces what is left.
        let _ = fs::remove_file(&draft);
    }
    done
}

/// Writes the snapshot, and sets its mode so that opening it later does not rewrite it.
fn fill(dir: &Path, draft: &Path) -> Result<i64, StoreFault> {
    let mut original = Database::disk(dir).for_reading();
    let (conn, _) = original.connect_existing(dir)?;
    let text = draft.to_str().ok_or_else(|| {
        plain_fault(format!(
            "{} is not valid UTF-8; choose another name",
            draft.display()
        ))
    })?;
    let copied = conn.execute("VACUUM INTO ?1", [text]);
    copied.map_err(|error| original.to_fault(error))?;
    Database::use_log(draft).map_err(|error| original.to_fault(error))
}

/// Gives the draft its name, unless another process took it, and makes the name durable.
fn publish(draft: &Path, target: &Path) -> io::Result<()> {
    fs::hard_link(draft, target)?;
    fs::remove_file(draft)?;
    let dir = target
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Only Unix can open directories.
    File::open(dir).map_or(Ok(()), |dir| dir.sync_all())
}

/// A name beside the target, so that both are on one file system.
fn draft_of(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    target.with_file_name(name)
}

fn write_fault(target: &Path, error: &io::Error) -> StoreFault {
    let step = match error.kind() {
        ErrorKind::NotFound => "Make its directory first",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "Free some space there",
        _ => "Choose another place",
    };
    plain_fault(format!(
        "cannot write the copy {}: {error}. {step}",
        target.display()
    ))
}
