//! Where a database lives, and how it is made and opened: fast when it is there, whole when not.
//!
//! Nothing else in the process may open the database's files, not even to copy them: SQLite's locks
//! belong to the process, and closing any handle on a file gives them up.

use super::faults::{Trouble, file_fault, plain_fault};
use super::log::lost_frames;
use super::migrate;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};
use std::cell::Cell;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tramline_engine::seams::StoreFault;

const DATABASE: &str = "tramline.db";

/// What SQLite calls the log of that.
const LOG: &str = "tramline.db-wal";

/// Where a new database is put together before it takes its name in one move.
const DRAFT: &str = "tramline.db.new";

/// Held while a database is made or migrated, so that processes starting together make one.
const SETUP_LOCK: &str = "setup.lock";

/// How often another process's lock is tried at short intervals: it lasts about one disk sync.
const BUSY_QUICK_TRIES: i32 = 50;
const BUSY_QUICK_WAIT: Duration = Duration::from_micros(100);

/// After that, until a holder must be taken for hung: about 10 s in all.
const BUSY_TRIES_MAX: i32 = 10_000;
const BUSY_WAIT: Duration = Duration::from_millis(1);

/// Bytes in a page. Several chunks share one, so a group writes fewer than with SQLite's own 4096.
const PAGE_BYTES: u32 = 8_192;

/// Pages in the log before they are moved to the database: 4 MB. More would make the move rarer,
/// but longer for the appends that wait for it, and the next start after a crash reads them all.
const LOG_PAGES_MAX: u32 = 500;

/// The same in bytes: a log of this size begins anew before it needs more.
pub(super) const LOG_BYTES_MAX: u64 = LOG_PAGES_MAX as u64 * PAGE_BYTES as u64;

/// A log up to this size stays when the store is closed: reading it again takes well under a
/// millisecond.
const LOG_LEFT_BYTES_MAX: u64 = 512 << 10;

/// Prepared statements a connection keeps: more than there are in this crate.
const STATEMENTS_KEPT: usize = 64;

/// A data directory, or memory.
#[derive(Clone, Debug)]
pub(super) struct Place {
    dir: Option<PathBuf>,
    access: Access,
}

/// What may be done with a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    ReadWrite,
    /// Neither it nor its directory may be written; its log is read with it.
    ReadOnly,
    /// The same where there is no log, nor a place for one.
    Immutable,
}

/// A database that was opened for the first time.
pub(super) struct Opened {
    pub(super) place: Place,
    pub(super) conn: Connection,
    /// What whoever runs the program should know.
    pub(super) warnings: Vec<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dir {
            Some(dir) => dir.join(DATABASE).display().fmt(f),
            None => f.write_str("memory"),
        }
    }
}

impl Place {
    /// The database in a directory.
    pub(super) fn disk(dir: &Path) -> Self {
        Self {
            dir: Some(dir.to_owned()),
            access: Access::ReadWrite,
        }
    }

    /// Whether a directory has a database.
    pub(super) fn is_at(dir: &Path) -> bool {
        dir.join(DATABASE).exists()
    }

    /// A database that lives and dies with its one connection.
    pub(super) fn memory() -> Self {
        Self {
            dir: None,
            access: Access::ReadWrite,
        }
    }

    /// The data directory.
    pub(super) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Whether nothing can be written here, in words that say what to do.
    pub(super) fn refusal(&self) -> Option<StoreFault> {
        (self.access != Access::ReadWrite).then(|| {
            plain_fault(format!(
                "{self} is read-only, and this command has to write. Make the data directory and its \
                 files writable, or choose another with --data-dir"
            ))
        })
    }

    /// The first connection: makes or migrates the database where needed.
    pub(super) fn open(mut self) -> Result<Opened, StoreFault> {
        let Some(dir) = self.dir.clone() else {
            let conn = Connection::open_in_memory().map_err(|error| self.told(error))?;
            migrate::migrate(&conn).map_err(|error| self.told(error))?;
            return Ok(Opened {
                place: self,
                conn,
                warnings: Vec::new(),
            });
        };
        if !dir.join(DATABASE).exists() {
            self.make(&dir)?;
        }
        let (conn, layout) = self.look_into(&dir)?;
        self.check(layout)?;
        let mut warnings: Vec<_> = lost_frames(&conn)
            .map(|lost| lost.warning())
            .into_iter()
            .collect();
        if self.access != Access::ReadWrite {
            warnings.push(format!(
                "{self} is read-only: what it holds is shown, nothing is written"
            ));
        } else if layout < migrate::LAYOUT {
            let _alone = self.lock_setup(&dir)?;
            migrate::migrate(&conn).map_err(|error| self.told(error))?;
        }
        Ok(Opened {
            place: self,
            conn,
            warnings,
        })
    }

    /// Connects to a database that is there, finds out what may be done with it, and its layout.
    fn look_into(&mut self, dir: &Path) -> Result<(Connection, i64), StoreFault> {
        let conn = self.connect()?;
        match migrate::layout(&conn) {
            Ok(layout) => {
                let read_only = conn.is_readonly(MAIN_DB);
                if read_only.map_err(|error| self.told(error))? {
                    self.access = Access::ReadOnly;
                }
                Ok((conn, layout))
            }
            Err(error) if is_closed_to_us(&error) => {
                if fs::metadata(dir.join(LOG)).is_ok_and(|log| log.len() > 0) {
                    return Err(plain_fault(format!(
                        "{self} is read-only and was not closed, so that its log cannot be read: {error}. \
                         Copy the data directory to where you can write, and name it with --data-dir"
                    )));
                }
                self.access = Access::Immutable;
                let conn = self.connect()?;
                let layout = migrate::layout(&conn).map_err(|error| self.told(error))?;
                Ok((conn, layout))
            }
            Err(error) => Err(self.told(error)),
        }
    }

    /// One more connection to a database that [`Place::open`] has seen.
    pub(super) fn connect(&self) -> Result<Connection, StoreFault> {
        let Some(dir) = &self.dir else {
            return Err(plain_fault("a database in memory has one connection only"));
        };
        let database = dir.join(DATABASE);
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || {
            let mut conn = match self.access {
                Access::ReadWrite => Connection::open_with_flags(
                    database,
                    flags | OpenFlags::SQLITE_OPEN_READ_WRITE,
                )?,
                Access::ReadOnly => {
                    Connection::open_with_flags(database, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)?
                }
                Access::Immutable => {
                    let flags =
                        flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                    Connection::open_with_flags(immutable(&database), flags)?
                }
            };
            conn.busy_handler(Some(wait_for_lock))?;
            conn.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
            // Moving the log at every close costs several syncs, which a short command would
            // spend most of its life on; the writer sees to it when the log has grown.
            conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            Ok(conn)
        };
        open().map_err(|error: rusqlite::Error| self.told(error))
    }

    /// What the one connection that writes needs beyond the others.
    pub(super) fn prepare_writer(conn: &Connection) -> rusqlite::Result<()> {
        conn.pragma_update(None, "wal_autocheckpoint", LOG_PAGES_MAX)?;
        #[cfg(target_os = "macos")]
        conn.pragma_update(None, "fullfsync", true)?;
        Ok(())
    }

    /// Moves the log into the database if it has grown so far that the next to open it would
    /// have to read for long.
    pub(super) fn put_away(conn: &Connection) -> rusqlite::Result<()> {
        let bytes = log_of(conn)
            .and_then(|log| fs::metadata(log).ok())
            .map_or(0, |about| about.len());
        if bytes > LOG_LEFT_BYTES_MAX {
            conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(())
    }

    fn told(&self, error: rusqlite::Error) -> StoreFault {
        Trouble::Sqlite(error).told(self)
    }

    fn check(&self, layout: i64) -> Result<(), StoreFault> {
        if layout > migrate::LAYOUT {
            return Err(plain_fault(format!(
                "{self} was made by a newer Tramline (layout {layout}; this one knows up to {}). \
                 Update Tramline, or choose another data directory with --data-dir",
                migrate::LAYOUT
            )));
        }
        if layout < 1 {
            return Err(plain_fault(format!(
                "{self} is empty or not Tramline's. It was left as it is: move it away to start \
                 anew, or restore it from a backup"
            )));
        }
        if layout < migrate::LAYOUT && self.access != Access::ReadWrite {
            return Err(plain_fault(format!(
                "{self} was made by an older Tramline (layout {layout}) and is read-only, so that it \
                 cannot be brought up to date. Copy the data directory to where you can write, and name \
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

    /// Makes the database beside its place and moves it there whole, so nobody ever sees a part.
    fn make(&self, dir: &Path) -> Result<(), StoreFault> {
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
                "{self} is missing but its log {} is there. Restore both from a backup, or move \
                 the log away to start anew",
                log.display()
            )));
        }
        let draft = dir.join(DRAFT);
        let failed = |error| file_fault(self, "make the database", &error);
        remove_if_there(&draft).map_err(failed)?;
        let file = private_file(&draft).map_err(failed)?;
        draw_up(&draft).map_err(|error| self.told(error))?;
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

/// Fills a draft. It needs no safety of its own: after a crash it is made anew.
fn draw_up(draft: &Path) -> rusqlite::Result<()> {
    let conn = Connection::open_with_flags(draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.execute_batch(&format!(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; \
         PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL;"
    ))?;
    migrate::migrate(&conn)?;
    conn.execute_batch("PRAGMA journal_mode = WAL")?;
    conn.close().map_err(|(_, error)| error)
}

/// Where the log of a connection is; nowhere if that is in memory.
pub(super) fn log_of(conn: &Connection) -> Option<PathBuf> {
    let path = conn.path().filter(|path| !path.is_empty())?;
    Some(format!("{path}-wal").into())
}

/// Whether SQLite could not even begin to read, for want of leave to write.
fn is_closed_to_us(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

/// A database that is read as if nobody could change it, as SQLite names such.
fn immutable(database: &Path) -> String {
    let path = database.to_string_lossy();
    let path = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{path}?immutable=1")
}

fn wait_for_lock(tries: i32) -> bool {
    if IMPATIENT.get() {
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

/// Opens a file only its user may read, making it where needed. Journals hold what tools said.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a directory, and those above it, that only its user may enter.
pub(super) fn make_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Makes a new directory's name survive a power cut. The names in it need nothing: SQLite syncs the
/// directory when it first syncs its log, and before that there is nothing to lose.
fn sync_above(dir: &Path) -> io::Result<()> {
    // The one above may not be ours to open, and only Unix opens directories.
    let above = dir.parent().and_then(|above| File::open(above).ok());
    above.map_or(Ok(()), |above| above.sync_all())
}

thread_local! {
    static IMPATIENT: Cell<bool> = const { Cell::new(false) };
}

/// Does some work on a thread that must not wait for another process: what is locked is busy at once.
pub(super) fn impatient<T>(work: impl FnOnce() -> T) -> T {
    IMPATIENT.set(true);
    let done = work();
    IMPATIENT.set(false);
    done
}
