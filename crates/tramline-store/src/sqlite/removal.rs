//! Removal: alternates with appends, and returns space to the disk.

use super::error::DbError;
use super::writer::Durability;
use super::{Sqlite, journal};
use rusqlite::Connection;
use tramline_engine::ports::StoreFault;
use tramline_workflow::ids::RunId;

/// Runs removed in one transaction, so that appends can run in between.
const REMOVE_RUNS_MAX: usize = 100;

/// Pages returned to the disk in one transaction, for the same reason.
const VACUUM_PAGES_MAX: u32 = 1_000;

impl Sqlite {
    /// Removes runs without blocking appends.
    pub(super) async fn remove_in_turns(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        let mut removed = 0;
        for some in runs.chunks(REMOVE_RUNS_MAX) {
            let some = some.to_vec();
            let work = move |conn: &Connection| journal::remove(conn, &some);
            removed += self.writer.submit(0, Durability::Durable, work).await?;
        }
        Ok(removed)
    }

    /// Returns the space of removed runs to the disk.
    pub(super) async fn vacuum(&self) -> Result<(), StoreFault> {
        while self
            .writer
            .submit(0, Durability::Volatile, vacuum_some)
            .await?
        {}
        Ok(())
    }
}

/// Returns some free pages; the result says whether more are left.
fn vacuum_some(conn: &Connection) -> Result<bool, DbError> {
    // Each row that is stepped over is one page.
    let mut vacuum = conn.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES_MAX})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    let free: i64 = conn.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
    Ok(free > 0)
}
