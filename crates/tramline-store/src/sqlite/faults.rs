//! Says what is wrong with the database in words that end in a next step.

use super::place::Place;
use rusqlite::ErrorCode;
use std::io;
use tramline_engine::seams::StoreFault;

/// Why work on the database came to nothing, before it is told to anyone.
#[derive(Debug)]
pub(super) enum Trouble {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// The rows contradict each other; what they lack or hold.
    Damage(String),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Trouble {
    /// Turns the trouble into the fault that callers see.
    pub(super) fn told(&self, place: &Place) -> StoreFault {
        let message = match self {
            Self::Damage(what) => damaged(place, what),
            Self::Sqlite(error) => sqlite(place, error),
        };
        StoreFault { message }
    }
}

/// A fault from the file system, while doing `what`.
pub(super) fn file_fault(place: &Place, what: &str, error: &io::Error) -> StoreFault {
    let step = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Make the data directory writable, or choose another with --data-dir"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "Free some space, or choose another data directory with --data-dir"
        }
        _ => "Check the data directory, or choose another with --data-dir",
    };
    StoreFault {
        message: format!("cannot {what} in {place}: {error}. {step}"),
    }
}

/// A fault with nothing to add.
pub(super) fn plain_fault(message: impl Into<String>) -> StoreFault {
    StoreFault {
        message: message.into(),
    }
}

fn sqlite(place: &Place, error: &rusqlite::Error) -> String {
    let Some(code) = error.sqlite_error_code() else {
        // A column of another type than was written there.
        return damaged(place, &error.to_string());
    };
    match code {
        ErrorCode::DiskFull => format!(
            "the disk is full: nothing more fits into {place}. Free some space, or remove old runs \
             with `tramline runs rm`"
        ),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => format!(
            "cannot write to {place}: {error}. Make the data directory and its files writable, or \
             choose another with --data-dir"
        ),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(place, &error.to_string()),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => format!(
            "another process keeps {place} locked. End the process that hangs (`fuser` on the \
             file names it) and try again"
        ),
        ErrorCode::SystemIoFailure => format!(
            "reading or writing {place} failed: {error}. Check the disk; what was acknowledged \
             before is kept"
        ),
        // The remaining codes of SQLite's own list say that our statements are wrong.
        _ => format!("the database {place} refused: {error}. Please report this"),
    }
}

fn damaged(place: &Place, what: &str) -> String {
    format!(
        "the database {place} is damaged: {what}. It was left as it is. Restore it from a backup, \
         or save what can be read with `sqlite3 tramline.db .recover`, or move it away to start anew"
    )
}
