//! Claims: which owner drives which run. A row counts only while its owner lives.

use super::faults::Trouble;
use super::owner::{Owners, spoken};
use rusqlite::{Connection, OptionalExtension};
use tramline_core::ids::RunId;
use tramline_engine::seams::Claim;

/// Takes a run for `owner`, unless a living other has it.
///
/// Runs inside the writer's transaction, so of two processes asking at once one comes second.
pub(super) fn claim(
    conn: &Connection,
    owners: &Owners,
    run: &RunId,
    owner: &str,
) -> Result<Claim, Trouble> {
    if let Some(owner) = holder(conn, owners, run, owner)? {
        return Ok(Claim::Elsewhere { owner });
    }
    put(conn, run, owner)?;
    Ok(Claim::Held)
}

/// The living other that has a run, as it is told to people.
pub(super) fn holder(
    conn: &Connection,
    owners: &Owners,
    run: &RunId,
    owner: &str,
) -> Result<Option<String>, Trouble> {
    let holder: Option<String> = conn
        .prepare_cached("SELECT owner FROM claims WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?;
    let other = holder.filter(|holder| holder != owner && owners.lives(holder));
    Ok(other.map(|holder| spoken(&holder)))
}

/// Writes down who has a run.
pub(super) fn put(conn: &Connection, run: &RunId, owner: &str) -> Result<(), Trouble> {
    conn.prepare_cached("INSERT OR REPLACE INTO claims (run, owner) VALUES (?1, ?2)")?
        .execute([run.as_str(), owner])?;
    Ok(())
}

/// Gives a run back.
pub(super) fn release(conn: &Connection, run: &RunId, owner: &str) -> Result<(), Trouble> {
    conn.prepare_cached("DELETE FROM claims WHERE run = ?1 AND owner = ?2")?
        .execute([run.as_str(), owner])?;
    Ok(())
}

/// Ends whoever's claim on a run that is over.
pub(super) fn clear(conn: &Connection, run: &RunId) -> Result<(), Trouble> {
    conn.prepare_cached("DELETE FROM claims WHERE run = ?1")?
        .execute([run.as_str()])?;
    Ok(())
}

/// Removes the claims of the dead. Without it, runs that nobody asks for again would keep theirs.
pub(super) fn clear_dead(conn: &Connection, owners: &Owners) -> Result<(), Trouble> {
    let names: Vec<String> = conn
        .prepare("SELECT DISTINCT owner FROM claims")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for name in names.iter().filter(|name| !owners.lives(name)) {
        conn.execute("DELETE FROM claims WHERE owner = ?1", [name])?;
    }
    owners.clear_dead();
    Ok(())
}
