//! Retention: finished runs are forgotten by age or for room, and the room goes back to the disk.

use super::faults::Trouble;
use super::owner::Owners;
use super::writer::Care;
use super::{Sqlite, journal};
use rusqlite::Connection;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tramline_core::ids::{BadId, RunId};
use tramline_engine::seams::{Status, StoreFault};

/// Runs removed in one transaction, so that appends get their turn in between.
const REMOVE_RUNS_MAX: usize = 100;

/// Runs looked for at once: a look goes through the whole list, so it should find many.
const SWEEP_RUNS_MAX: usize = 10_000;

/// Pages given back to the disk in one transaction (4 MB), for the same reason.
const VACUUM_PAGES_MAX: u32 = 1_000;

/// What to keep. Runs that are not finished are always kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// Forget finished runs whose last event is older than this.
    pub finished_older_than_ms: Option<u64>,
    /// Forget finished runs, those that ended first, until all journals together hold no more than this.
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
            self.sweep_to(&mut swept, before_ms, 0).await?;
        }
        if let Some(bytes_max) = keep.bytes_max {
            self.sweep_to(&mut swept, i64::MAX, bytes_max).await?;
        }
        if !swept.runs.is_empty() {
            self.vacuum().await?;
        }
        Ok(swept)
    }

    async fn sweep_to(
        &self,
        swept: &mut Swept,
        before_ms: i64,
        bytes_max: u64,
    ) -> Result<(), StoreFault> {
        loop {
            let owners = Arc::clone(&self.owners);
            let look = move |conn: &Connection| oldest(conn, &owners, before_ms, bytes_max);
            let found = self.desks.read(look).await?;
            if self.remove_in_turns(&found.runs).await? == 0 {
                return Ok(());
            }
            swept.bytes += found.bytes;
            swept.runs.extend(found.runs);
        }
    }

    /// Removes runs without keeping appends waiting.
    pub(super) async fn remove_in_turns(&self, runs: &[RunId]) -> Result<usize, StoreFault> {
        let mut removed = 0;
        for some in runs.chunks(REMOVE_RUNS_MAX) {
            let some = some.to_vec();
            let work = move |conn: &Connection| journal::remove(conn, &some);
            removed += self.writer.submit(0, Care::Durable, work).await?;
        }
        Ok(removed)
    }

    /// Gives the room of what was removed back to the disk.
    pub(super) async fn vacuum(&self) -> Result<(), StoreFault> {
        while self.writer.submit(0, Care::Passing, vacuum_some).await? {}
        Ok(())
    }
}

/// The finished runs that ended first, as many as must go and are looked for at once.
fn oldest(
    conn: &Connection,
    owners: &Owners,
    before_ms: i64,
    bytes_max: u64,
) -> Result<Swept, Trouble> {
    let total: i64 = conn.query_row("SELECT coalesce(sum(bytes), 0) FROM runs", [], |row| {
        row.get(0)
    })?;
    let mut left = total as u64;
    let mut found = Swept::default();
    let mut query = conn.prepare(
        "SELECT r.run, r.bytes, r.status, c.owner FROM runs r LEFT JOIN claims c ON c.run = r.run \
         WHERE r.updated_ms < ?1 ORDER BY r.updated_ms, r.run",
    )?;
    let mut rows = query.query([before_ms])?;
    while left > bytes_max && found.runs.len() < SWEEP_RUNS_MAX {
        let Some(row) = rows.next()? else {
            break;
        };
        let (run, bytes, status): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let owner: Option<String> = row.get(3)?;
        let over = Status::parse(&status).is_some_and(Status::is_over);
        if !over || owner.is_some_and(|owner| owners.lives(&owner)) {
            continue;
        }
        let bad = |error| Trouble::Damage(format!("the list of runs holds {error}"));
        found
            .runs
            .push(run.parse().map_err(|error: BadId| bad(error))?);
        found.bytes += bytes as u64;
        left = left.saturating_sub(bytes as u64);
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
