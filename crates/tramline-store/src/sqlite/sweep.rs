//! Retention: finished runs are forgotten by age or for room, and the room goes back to the disk.

use super::faults::Trouble;
use super::{Sqlite, journal};
use crate::sqlite::owner::Owners;
use crate::sqlite::writer::Care;
use rusqlite::{Connection, params};
use std::time::{SystemTime, UNIX_EPOCH};
use tramline_core::ids::RunId;
use tramline_engine::seams::{Status, StoreFault};

/// Runs removed in one transaction, so that appends get their turn in between.
pub(super) const REMOVE_RUNS_MAX: usize = 100;

/// Pages given back to the disk in one transaction (4 MB), for the same reason.
const VACUUM_PAGES_MAX: u32 = 1_000;

/// What to keep. Runs that are not finished are always kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// Forget finished runs whose last event is older than this.
    pub finished_older_than_ms: Option<u64>,
    /// Forget the longest finished runs until all journals together hold no more than this.
    pub bytes_max: Option<u64>,
}

/// What a sweep removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// The runs that are gone.
    pub runs: Vec<RunId>,
    /// The bytes their journals held.
    pub bytes: u64,
}

impl Sqlite {
    /// Forgets finished runs beyond what is to be kept. Runs that a process drives are passed over.
    pub async fn sweep(&self, keep: Retention) -> Result<Swept, StoreFault> {
        let mut swept = Swept::default();
        if let Some(age) = keep.finished_older_than_ms {
            let before_ms = now_ms().saturating_sub(i64::try_from(age).unwrap_or(i64::MAX));
            self.sweep_while(&mut swept, before_ms, 0).await?;
        }
        if let Some(bytes_max) = keep.bytes_max {
            self.sweep_while(&mut swept, i64::MAX, bytes_max).await?;
        }
        if !swept.runs.is_empty() {
            self.vacuum().await?;
        }
        Ok(swept)
    }

    async fn sweep_while(
        &self,
        swept: &mut Swept,
        before_ms: i64,
        bytes_max: u64,
    ) -> Result<(), StoreFault> {
        loop {
            let owners = self.owners.clone();
            let work = move |conn: &Connection| {
                let found = oldest(conn, &owners, before_ms, bytes_max)?;
                journal::remove(conn, &found.runs)?;
                Ok(found)
            };
            let found = self.writer.submit(0, Care::Durable, work).await?;
            if found.runs.is_empty() {
                return Ok(());
            }
            swept.bytes += found.bytes;
            swept.runs.extend(found.runs);
        }
    }

    /// Gives the room of what was removed back to the disk.
    pub(super) async fn vacuum(&self) -> Result<(), StoreFault> {
        while self.writer.submit(0, Care::Passing, vacuum_some).await? {}
        Ok(())
    }
}

/// The finished runs that have waited longest, as many as go at once and must go.
fn oldest(
    conn: &Connection,
    owners: &Owners,
    before_ms: i64,
    bytes_max: u64,
) -> Result<Swept, Trouble> {
    let total: i64 = conn
        .prepare_cached("SELECT coalesce(sum(bytes), 0) FROM runs")?
        .query_row([], |row| row.get(0))?;
    let mut left = total as u64;
    let mut found = Swept::default();
    let mut query = conn.prepare_cached(
        "SELECT r.run, r.bytes, r.status, c.owner FROM runs r LEFT JOIN claims c ON c.run = r.run \
         WHERE r.updated_ms < ?1 ORDER BY r.updated_ms, r.run",
    )?;
    let mut rows = query.query(params![before_ms])?;
    while left > bytes_max && found.runs.len() < REMOVE_RUNS_MAX {
        let Some(row) = rows.next()? else {
            break;
        };
        let (run, bytes, status): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let driven = row
            .get::<_, Option<String>>(3)?
            .is_some_and(|owner| owners.lives(&owner));
        if driven || !Status::parse(&status).is_some_and(Status::is_over) {
            continue;
        }
        let Ok(run) = run.parse() else {
            continue;
        };
        left = left.saturating_sub(bytes as u64);
        found.bytes += bytes as u64;
        found.runs.push(run);
    }
    Ok(found)
}

/// Gives some free pages back; says whether more are left.
fn vacuum_some(conn: &Connection) -> Result<bool, Trouble> {
    // Each row that is stepped over is one page.
    let mut vacuum = conn.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES_MAX})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    let free: i64 = conn.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
    Ok(free > 0)
}

fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as i64)
}
