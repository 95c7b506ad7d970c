//! The database file: how it is created and opened. Opening an existing one is fast, creating one
//! is atomic.
//!
//! Nothing else in the process may open the database's files, not even to copy them: SQLite's locks
//! belong to the process, and closing any handle on a file releases them.

use super::error::{DbError, file_fault, plain_fault};
use super::migrate;
use super::process_lock::ProcessLocks;
use super::wal_check::lost_frames;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use std::cell::Cell;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tramline_engine::ports::StoreFault;

const DATABASE: &str = "tramline.db";

/// The name that SQLite gives its write-ahead log.
const LOG: &str = "tramline.db-wal";

/// Where a new database is built before it is renamed.
const DRAFT: &str = "tramline.db.new";

/// Locked while a database is created or migrated, so that processes starting together create one.
const SETUP_LOCK: &str = "setup.lock";

/// How often another process's lock is retried at short intervals: it usually lasts one disk sync.
const BUSY_QUICK_TRIES: i32 = 50;
const BUSY_QUICK_WAIT: Duration = Duration::from_micros(100);

/// How often it is retried after that before its holder counts as hung: about 10 s in total.
const BUSY_TRIES_MAX: i32 = 10_000;
const BUSY_WAIT: Duration = Duration::from_millis(1);

/// Bytes per page. Several chunks share a page, so a group writes fewer pages than with SQLite's
/// default of 4096.
const PAGE_BYTES: u32 = 8_192;

/// Pages in the log before they are moved to the database: 4 MB. More would make the move rarer,
/// but longer for the appends that wait for it, and the next start after a crash reads all of them.
const LOG_PAGES_MAX: u32 = 500;

/// The same in bytes: a log of this size restarts before it grows.
pub(super) const LOG_BYTES_MAX: u64 = LOG_PAGES_MAX as u64 * PAGE_BYTES as u64;

/// The largest log that is left when the store is closed, in bytes: reading it again takes well
/// under a millisecond.
const LOG_LEFT_BYTES_MAX: u64 = 512 << 10;

/// Prepared statements cached per connection: more than this crate has.
const STATEMENT_CACHE_SIZE: usize = 64;

/// A data directory, or memory.
#[derive(Clone, Debug)]
pub(super) struct Database {
    dir: Option<PathBuf>,
    access: AccessMode,
}

/// How a database can be accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccessMode {
    ReadWrite,
    /// The database and its directory are read-only; its log is read too.
    ReadOnly,
    /// Read-only without a log, and without a place for one.
    Immutable,
}

/// A database opened for the first time.
pub(super) struct OpenedDatabase {
    pub(super) database: Database,
    pub(super) conn: Connection,
    /// Warnings for the operator.
    pub(super) warnings: Vec<String>,
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dir {
            Some(dir) => dir.join(DATABASE).display().fmt(f),
            None => f.write_str("memory"),
        }
    }
}

impl Database {
    /// The database in a directory.
    pub(super) fn disk(dir: &Path) -> Self {
        Self {
            dir: Some(dir.to_owned()),
            access: AccessMode::ReadWrite,
        }
    }

    /// Whether a directory contains a database.
    pub(super) fn is_at(dir: &Path) -> bool {
        dir.join(DATABASE).exists()
    }

    /// The file of the database in a directory.
    pub(super) fn path_in(dir: &Path) -> PathBuf {
        dir.join(DATABASE)
    }

    /// The same database, to read only: it is neither migrated nor changed.
    pub(super) fn for_reading(mut self) -> Self {
        self.access = AccessMode::ReadOnly;
        self
    }

    /// Connects to a file that no process writes to.
    pub(super) fn connect_alone(file: &Path) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable_uri(file), flags)
    }

    /// Makes a copy use a log, as [`Database::create`] does, and returns its layout.
    pub(super) fn use_log(copy: &Path) -> rusqlite::Result<i64> {
        let conn = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.execute_batch("PRAGMA journal_mode = WAL")?;
        let layout = migrate::layout(&conn)?;
        conn.close().map_err(|(_, error)| error)?;
        Ok(layout)
    }

    /// A database in memory that lives as long as its one connection.
    pub(super) fn memory() -> Self {
        Self {
            dir: None,
            access: AccessMode::ReadWrite,
        }
    }

    /// The data directory.
    pub(super) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// The fault for writing to a read-only database, with the next step.
    pub(super) fn read_only_fault(&self) -> Option<StoreFault> {
        (self.access != AccessMode::ReadWrite).then(|| {
            plain_fault(format!(
                "{self} is read-only, and this command has to write. Make the data directory and its \
                 files writable, or choose another with --data-dir"
            ))
        })
    }

    /// The first connection: creates or migrates the database if needed.
    pub(super) fn open(mut self) -> Result<OpenedDatabase, StoreFault> {
        let Some(dir) = self.dir.clone() else {
            let conn = Connection::open_in_memory().map_err(|error| self.to_fault(error))?;
            migrate::migrate(&conn).map_err(|error| self.to_fault(error))?;
            return Ok(OpenedDatabase {
                database: self,
                conn,
                warnings: Vec::new(),
            });
        };
        if !dir.join(DATABASE).exists() {
            self.create(&dir)?;
        }
        let (conn, layout) = self.connect_existing(&dir)?;
        self.check_layout(layout)?;
        // While another process uses the log, its end is what that process says. A killed one may have left frames of
        // a commit that it never announced, and a shorter commit overwrites only the first of them.
        let is_read_back = !ProcessLocks::new(Some(&dir)).is_other_alive();
        let lost = is_read_back.then(|| lost_frames(&conn)).flatten();
        let mut warnings: Vec<_> = lost.map(|lost| lost.warning()).into_iter().collect();
        if self.access != AccessMode::ReadWrite {
            warnings.push(format!(
                "{self} is read-only: its contents are shown, nothing is written"
            ));
        } else if layout < migrate::LAYOUT {
            let _alone = self.lock_setup(&dir)?;
            migrate::migrate(&conn).map_err(|error| self.to_fault(error))?;
        }
        Ok(OpenedDatabase {
            database: self,
            conn,
            warnings,
        })
    }

    /// Connects to an existing database, and determines its access mode and layout.
    pub(super) fn connect_existing(&mut self, dir: &Path) -> Result<(Connection, i64), StoreFault> {
        let conn = self.connect()?;
        match migrate::layout(&conn) {
            Ok(layout) => {
                let read_only = conn.is_readonly(MAIN_DB);
                if read_only.map_err(|error| self.to_fault(error))? {
                    self.access = AccessMode::ReadOnly;
                }
                Ok((conn, layout))
            }
            Err(error) if is_cannot_open(&error) => {
                if fs::metadata(dir.join(LOG)).is_ok_and(|log| log.len() > 0) {
                    return Err(plain_fault(format!(
                        "{self} is read-only and was not closed cleanly, so its log cannot be read: {error}. \
                         Copy the data directory to a writable place, and name it with --data-dir"
                    )));
                }
                self.access = AccessMode::Immutable;
                let conn = self.connect()?;
                let layout = migrate::layout(&conn).map_err(|error| self.to_fault(error))?;
                Ok((conn, layout))
            }
            Err(error) => Err(self.to_fault(error)),
        }
    }

    /// Another connection to a database that [`Place::open`] has checked.
    pub(super) fn connect(&self) -> Result<Connection, StoreFault> {
        let Some(dir) = &self.dir else {
            return Err(plain_fault("a database in memory has one connection only"));
        };
        let database = dir.join(DATABASE);
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let mut conn = match self.access {
                AccessMode::ReadWrite => Connection::open_with_flags(
                    database,
                    flags | OpenFlags::SQLITE_OPEN_READ_WRITE,
                )?,
                AccessMode::ReadOnly => {
                    Connection::open_with_flags(database, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)?
                }
                AccessMode::Immutable => Self::connect_alone(&database)?,
            };
            conn.busy_handler(Some(wait_for_lock))?;
            conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
            // Checkpointing at every close costs several syncs, most of the runtime of a short
            // command; the writer does it when the log has grown.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            Ok(conn)
        };
        open().map_err(|error: rusqlite::Error| self.to_fault(error))
    }

    /// Settings that only the writing connection needs.
    pub(super) fn prepare_writer(conn: &Connection) -> rusqlite::Result<()> {
        conn.pragma_update(None, "wal_autocheckpoint", LOG_PAGES_MAX)?;
        #[cfg(target_os = "macos")]
        conn.pragma_update(None, "fullfsync", true)?;
        Ok(())
    }

    /// Checkpoints the log if it has grown so large that reading it would slow the next open.
    pub(super) fn checkpoint_if_large(conn: &Connection) -> rusqlite::Result<()> {
        let bytes = log_path(conn)
            .and_then(|log| fs::metadata(log).ok())
            .map_or(0, |about| about.len());
        if bytes > LOG_LEFT_BYTES_MAX {
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(())
    }

    pub(super) fn to_fault(&self, error: rusqlite::Error) -> StoreFault {
        DbError::Sqlite(error).to_fault(self)
    }

    fn check_layout(&self, layout: i64) -> Result<(), StoreFault> {
        if layout > migrate::LAYOUT {
            return Err(plain_fault(format!(
                "{self} was made by a newer Tramline (layout {layout}; this one supports up to {}). \
                 Update Tramline, or choose another data directory with --data-dir",
                migrate::LAYOUT
            )));
        }
        if layout < 1 {
            return Err(plain_fault(format!(
                "{self} is empty or not Tramline's. It was not changed: move it away to start \
                 with a new one, or restore it from a backup"
            )));
        }
        if layout < migrate::LAYOUT && self.access != AccessMode::ReadWrite {
            return Err(plain_fault(format!(
                "{self} was made by an older Tramline (layout {layout}) and is read-only, so it \
                 cannot be migrated. Copy the data directory to a writable place, and name \
                 it with --data-dir"
            )));
        }
        Ok(())
    }

    fn lock_setup(&self, dir: &Path) -> Result<File, StoreFault> {
        private_file(&dir.join(SETUP_LOCK))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|error| file_fault(self, "set up the database", &error))
    }

    /// Creates the database under a temporary name and renames it, so that no process sees an
    /// incomplete one.
    fn create(&self, dir: &Path) -> Result<(), StoreFault> {
        let anew = !dir.exists();
        make_private_dir(dir)
            .map_err(|error| file_fault(self, "make the data directory", &error))?;
        let _alone = self.lock_setup(dir)?;
        if dir.join(DATABASE).exists() {
            return Ok(());
        }
        let log = dir.join(LOG);
        if log.exists() {
            return Err(plain_fault(format!(
                "{self} is missing but its log {} exists. Restore both from a backup, or move \
                 the log away to start with a new one",
                log.display()
            )));
        }
        let draft = dir.join(DRAFT);
        let failed = |error| file_fault(self, "make the database", &error);
        remove_if_there(&draft).map_err(failed)?;
        let file = private_file(&draft).map_err(failed)?;
        fill_draft(&draft).map_err(|error| self.to_fault(error))?;
        file.sync_all().map_err(failed)?;
        // Before another thread can connect and lock.
        drop(file);
        fs::rename(&draft, dir.join(DATABASE)).map_err(failed)?;
        if anew {
            sync_above(dir).map_err(failed)?;
        }
        Ok(())
    }
}

/// Fills a draft. It needs no durability: after a crash it is created again.
fn fill_draft(draft: &Path) -> rusqlite::Result<()> {
    let conn = Connection::open_with_flags(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.execute_batch(&format!(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; \
         PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;"
    ))?;
    migrate::migrate(&conn)?;
    conn.execute_batch("PRAGMA journal_mode = WAL")?;
    conn.close().map_err(|(_, error)| error)
}

/// The log file of a connection; `None` in memory.
pub(super) fn log_path(conn: &Connection) -> Option<PathBuf> {
    let path = conn.path().filter(|path| !path.is_empty())?;
    Some(format!("{path}-wal").into())
}

/// Whether SQLite could not start reading because it may not write.
fn is_cannot_open(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

/// The URI of a database that SQLite treats as immutable.
fn immutable_uri(database: &Path) -> String {
    let path = database.to_string_lossy();
    let path = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{path}?immutable=1")
}

fn wait_for_lock(tries: i32) -> bool {
    if NO_WAIT.get() {
        return false;
    }
    let wait = if tries < BUSY_QUICK_TRIES {
        BUSY_QUICK_WAIT
    } else {
        BUSY_WAIT
    };
    thread::sleep(wait);
    tries < BUSY_TRIES_MAX
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Opens a file that only its user may read, creating it if needed. Journals contain the output of
/// tools.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Creates a directory and its parents, which only its user may enter.
pub(super) fn make_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Makes a new directory's name survive a power loss. The names in it need nothing: SQLite syncs
/// the directory when it first syncs its log, and before that there is nothing to lose.
fn sync_above(dir: &Path) -> io::Result<()> {
    // The parent may not be ours to open, and only Unix can open directories.
    let above = dir.parent().and_then(|above| File::open(above).ok());
    above.map_or(Ok(()), |above| above.sync_all())
}

thread_local! {
    static NO_WAIT: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on a thread that must not wait for another process: a lock fails as busy at once.
pub(super) fn without_waiting<T>(work: impl FnOnce() -> T) -> T {
    NO_WAIT.set(true);
    let done = work();
    NO_WAIT.set(false);
    done
}
