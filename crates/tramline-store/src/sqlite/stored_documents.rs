//! Documents that journals refer to, each stored once: added with an append, removed with the last
//! journal that refers to them.
//!
//! Everything here runs inside the transaction of an append or removal. There is one writer at a
//! time, so no process can remove a document that another is about to refer to.

use super::error::DbError;
use rusqlite::{Connection, OptionalExtension, params};
use std::sync::Arc;
use tramline_workflow::journal::{ContentDigest, StoredDocument};

/// Stores the documents that are missing; returns the keys of all.
pub(super) fn keep(
    conn: &Connection,
    documents: &[Arc<StoredDocument>],
) -> Result<Vec<i64>, DbError> {
    let mut keys = Vec::with_capacity(documents.len());
    for document in documents {
        let key = match find(conn, &document.digest)? {
            Some(key) => key,
            None => insert(conn, document)?,
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

fn find(conn: &Connection, digest: &ContentDigest) -> Result<Option<i64>, DbError> {
    let key = conn
        .prepare_cached("SELECT key FROM contents WHERE digest = ?1")?
        .query_row([digest.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(key)
}

fn insert(conn: &Connection, document: &StoredDocument) -> Result<i64, DbError> {
    let key = conn
        .prepare_cached("INSERT INTO contents (digest, bytes, body) VALUES (?1, ?2, ?3)")?
        .insert(params![
            document.digest.as_bytes(),
            document.body.len() as i64,
            document.body,
        ])?;
    Ok(key)
}

/// A list of keys as `runs.contents` stores it; `None` for an empty list.
pub(super) fn list(keys: &[i64]) -> Option<String> {
    let keys: Vec<String> = keys.iter().map(i64::to_string).collect();
    (!keys.is_empty()).then(|| format!("[{}]", keys.join(",")))
}

/// Records that a journal refers to documents.
pub(super) fn refer(conn: &Connection, journal: i64, keys: &[i64]) -> Result<(), DbError> {
    for key in keys {
        conn.prepare_cached("INSERT OR IGNORE INTO refers (content, journal) VALUES (?1, ?2)")?
            .execute([*key, journal])?;
    }
    Ok(())
}

/// Adds documents to the ones a journal refers to.
pub(super) fn refer_more(conn: &Connection, journal: i64, keys: &[i64]) -> Result<(), DbError> {
    if keys.is_empty() {
        return Ok(());
    }
    refer(conn, journal, keys)?;
    conn.prepare_cached(
        "UPDATE runs SET contents = (SELECT json_group_array(value) FROM \
           (SELECT value FROM json_each(coalesce(runs.contents, '[]')) \
            UNION SELECT value FROM json_each(?2))) \
         WHERE key = ?1",
    )?
    .execute(params![journal, list(keys)])?;
    Ok(())
}

/// Removes the references of a removed journal, and documents without references.
pub(super) fn release(conn: &Connection, journal: i64, list: &str) -> Result<(), DbError> {
    let keys: Vec<i64> = conn
        .prepare_cached("SELECT value FROM json_each(?1)")?
        .query_map([list], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for key in &keys {
        conn.prepare_cached("DELETE FROM refers WHERE content = ?1 AND journal = ?2")?
            .execute([*key, journal])?;
    }
    drop_unused(conn, &keys)
}

/// Removes those of these documents that no journal refers to.
pub(super) fn drop_unused(conn: &Connection, keys: &[i64]) -> Result<(), DbError> {
    for key in keys {
        conn.prepare_cached(
            "DELETE FROM contents WHERE key = ?1 \
               AND NOT EXISTS (SELECT 1 FROM refers WHERE content = ?1)",
        )?
        .execute([*key])?;
    }
    Ok(())
}

/// A document's body.
pub(super) fn body(conn: &Connection, digest: &ContentDigest) -> Result<Option<Vec<u8>>, DbError> {
    let body = conn
        .prepare_cached("SELECT body FROM contents WHERE digest = ?1")?
        .query_row([digest.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(body)
}

/// Rebuilds which documents each journal refers to, from the journals' own lists.
pub(super) fn rebuild(conn: &Connection) -> Result<(), DbError> {
    conn.execute("DELETE FROM refers", [])?;
    conn.execute(
        "INSERT OR IGNORE INTO refers (content, journal) \
         SELECT each.value, runs.key FROM runs, json_each(runs.contents) AS each",
        [],
    )?;
    Ok(())
}
