//! Migrates a database to the current layout, one step per file in `migrations/`.

use rusqlite::Connection;

/// The steps in order. A database's `user_version` counts the ones applied; released steps never
/// change.
const STEPS: [&str; 2] = [
    include_str!("../../migrations/0001.sql"),
    include_str!("../../migrations/0002.sql"),
];

/// The layout this version writes.
pub(super) const LAYOUT: i64 = STEPS.len() as i64;

/// The layout of a database; 0 means it is not ours.
pub(super) fn layout(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Applies the missing steps, all or none.
pub(super) fn migrate(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch("BEGIN IMMEDIATE")?;
    let done = missing_steps(conn).and_then(|()| conn.execute_batch("COMMIT"));
    if done.is_err() && !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK")?;
    }
    done
}

fn missing_steps(conn: &Connection) -> rusqlite::Result<()> {
    let had = layout(conn)?;
    for step in STEPS
        .iter()
        .skip(usize::try_from(had).unwrap_or(STEPS.len()))
    {
        conn.execute_batch(step)?;
    }
    if had < LAYOUT {
        conn.pragma_update(None, "user_version", LAYOUT)?;
    }
    Ok(())
}
