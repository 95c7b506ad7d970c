//! Claims: which owner drives which run. A row counts only while its owner is alive.

use super::error::DbError;
use super::process_lock::{ProcessLocks, display_name};
use rusqlite::{Connection, OptionalExtension};
use tramline_engine::ports::{Claim, Epoch};
use tramline_workflow::ids::RunId;

/// Claims a run for `owner`, unless another live owner has it.
///
/// Runs inside the writer's transaction, so concurrent claims of two processes are serialized.
pub(super) fn claim(
    conn: &Connection,
    owners: &ProcessLocks,
    run: &RunId,
    owner: &str,
) -> Result<Claim, DbError> {
    if let Some(owner) = holder(conn, owners, run, owner)? {
        return Ok(Claim::Elsewhere { owner });
    }
    put(conn, run, owner)?;
    Ok(Claim::Held(Epoch::default()))
}

/// The other live owner of a run, as shown in messages.
pub(super) fn holder(
    conn: &Connection,
    owners: &ProcessLocks,
    run: &RunId,
    owner: &str,
) -> Result<Option<String>, DbError> {
    let holder: Option<String> = conn
        .prepare_cached("SELECT owner FROM claims WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let other = holder.filter(|holder| holder != owner && owners.is_alive(holder));
    Ok(other.map(|holder| display_name(&holder)))
}

/// Stores who has claimed a run.
pub(super) fn put(conn: &Connection, run: &RunId, owner: &str) -> Result<(), DbError> {
    conn.prepare_cached("INSERT OR REPLACE INTO claims (run, owner) VALUES (?1, ?2)")?
        .execute([run.as_str(), owner])?;
    Ok(())
}

/// Releases a run.
pub(super) fn release(conn: &Connection, run: &RunId, owner: &str) -> Result<(), DbError> {
    conn.prepare_cached("DELETE FROM claims WHERE run = ?1 AND owner = ?2")?
        .execute([run.as_str(), owner])?;
    Ok(())
}

/// Removes any claim on a finished run.
pub(super) fn clear(conn: &Connection, run: &RunId) -> Result<(), DbError> {
    conn.prepare_cached("DELETE FROM claims WHERE run = ?1")?
        .execute([run.as_str()])?;
    Ok(())
}

/// Removes the claims of dead owners. Otherwise runs that are never requested again would keep
/// theirs.
pub(super) fn clear_dead(conn: &Connection, owners: &ProcessLocks) -> Result<(), DbError> {
    let names: Vec<String> = conn
        .prepare("SELECT DISTINCT owner FROM claims")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for name in names.iter().filter(|name| !owners.is_alive(name)) {
        conn.execute("DELETE FROM claims WHERE owner = ?1", [name])?;
    }
    owners.clear_dead();
    Ok(())
}
