//! Small named documents next to the journals: saved workflows, settings, tool lists.

use super::error::DbError;
use rusqlite::{Connection, OptionalExtension, params};

/// Stores a document, replacing an existing one.
pub(super) fn put(conn: &Connection, kind: &str, key: &str, body: &[u8]) -> Result<(), DbError> {
    conn.prepare_cached(
        "INSERT INTO documents (kind, key, body) VALUES (?1, ?2, ?3) \
         ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body",
    )?
    .execute(params![kind, key, body])?;
    Ok(())
}

/// Stores a document if the existing one still has the seen content.
pub(super) fn swap(
    conn: &Connection,
    kind: &str,
    key: &str,
    seen: Option<&[u8]>,
    body: &[u8],
) -> Result<bool, DbError> {
    let changed = match seen {
        None => conn
            .prepare_cached(
                "INSERT INTO documents (kind, key, body) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (kind, key) DO NOTHING",
            )?
            .execute(params![kind, key, body])?,
        Some(seen) => conn
            .prepare_cached(
                "UPDATE documents SET body = ?3 WHERE kind = ?1 AND key = ?2 AND body = ?4",
            )?
            .execute(params![kind, key, body, seen])?,
    };
    Ok(changed == 1)
}

/// The document under a kind and a key.
pub(super) fn get(conn: &Connection, kind: &str, key: &str) -> Result<Option<Vec<u8>>, DbError> {
    let body = conn
        .prepare_cached("SELECT body FROM documents WHERE kind = ?1 AND key = ?2")?
        .query_row([kind, key], |row| row.get(0))
        .optional()?;
    Ok(body)
}

/// The keys of a kind, sorted.
pub(super) fn list(conn: &Connection, kind: &str) -> Result<Vec<String>, DbError> {
    let keys = conn
        .prepare_cached("SELECT key FROM documents WHERE kind = ?1 ORDER BY key")?
        .query_map([kind], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok(keys)
}

/// Deletes documents of a kind.
pub(super) fn forget(conn: &Connection, kind: &str, keys: &[String]) -> Result<(), DbError> {
    let mut gone = conn.prepare_cached("DELETE FROM documents WHERE kind = ?1 AND key = ?2")?;
    for key in keys {
        gone.execute([kind, key])?;
    }
    Ok(())
}
