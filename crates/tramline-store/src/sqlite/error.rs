//! Error messages for the database, each with a next step.

use super::database::Database;
use rusqlite::ErrorCode;
use std::io;
use tramline_engine::ports::StoreFault;
use tramline_workflow::text::io_reason;

/// Why work on the database failed, before it becomes a fault with a message.
#[derive(Debug)]
pub(super) enum DbError {
    /// SQLite returned an error.
    Sqlite(rusqlite::Error),
    /// The rows contradict each other; describes how.
    Damage(String),
}

impl From<rusqlite::Error> for DbError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl DbError {
    /// The fault that callers see.
    pub(super) fn to_fault(&self, place: &Database) -> StoreFault {
        let message = match self {
            Self::Damage(what) => damaged(place, what),
            Self::Sqlite(error) => sqlite(place, error),
        };
        StoreFault { message }
    }
}

/// A fault from the file system, while doing `what`.
pub(super) fn file_fault(place: &Database, what: &str, error: &io::Error) -> StoreFault {
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
        message: format!("cannot {what} in {place}: {}. {step}", io_reason(error)),
    }
}

/// A fault without a next step.
pub(super) fn plain_fault(message: impl Into<String>) -> StoreFault {
    StoreFault {
        message: message.into(),
    }
}

fn sqlite(place: &Database, error: &rusqlite::Error) -> String {
    let Some(code) = error.sqlite_error_code() else {
        // A column has a type other than the one written.
        return damaged(place, &error.to_string());
    };
    match code {
        ErrorCode::DiskFull => format!(
            "the disk is full, cannot write to {place}. Free some space, or remove old runs \
             with `tramline runs rm`"
        ),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen => format!(
            "cannot write to {place}: {error}. Make the data directory and its files writable, or \
             choose another with --data-dir"
        ),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(place, &error.to_string()),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => format!(
            "another process holds a lock on {place}. End the hanging process (`fuser` on the \
             file names it) and try again"
        ),
        ErrorCode::SystemIoFailure => format!(
            "cannot read or write {place}: {error}. Check the disk; everything acknowledged \
             before is safe"
        ),
        // The remaining SQLite codes mean that our statements are wrong.
        _ => format!("the database {place} failed: {error}. Please report this"),
    }
}

fn damaged(place: &Database, what: &str) -> String {
    format!(
        "the database {place} is damaged: {what}. It was not changed. Restore it from a backup, \
         or save what can be read with `sqlite3 tramline.db .recover`, or move it away to start with a new one"
    )
}
